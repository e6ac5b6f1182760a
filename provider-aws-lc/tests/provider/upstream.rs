//! Compares the tickets of both providers with upstream's. The test `configuration` of rustls
//! compares lists and properties, and `quic_matrix` the packets of QUIC.

use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream as upstream;

/// The tickets cannot be compared: only their creator can open them.
#[test]
fn tickets_have_the_lifetime_of_upstream() {
    let ours = [aws_lc::Ticketer::new(), ring::Ticketer::new()].map(Result::unwrap);
    let of_aws_lc = upstream::crypto::aws_lc_rs::Ticketer::new();
    let theirs = [of_aws_lc, upstream::crypto::ring::Ticketer::new()].map(Result::unwrap);

    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!(ours.enabled());
        assert_eq!(ours.lifetime(), theirs.lifetime());

        for len in [0, 1, 1000, 16_000] {
            let plain = vec![7; len];
            assert_eq!(ours.decrypt(&ours.encrypt(&plain).unwrap()), Some(plain));
        }
        let ticket = ours.encrypt(b"state").unwrap();
        assert!(!ticket.windows(5).any(|bytes| bytes == b"state"));
        assert_eq!(ours.decrypt(&ticket).unwrap(), b"state");
        assert_ne!(ours.encrypt(b"state").unwrap(), ticket);
    }
    let ticket = ours[0].encrypt(b"state").unwrap();
    assert!(ours[1].decrypt(&ticket).is_none());
    assert!(aws_lc::Ticketer::new().unwrap().decrypt(&ticket).is_none());
}
