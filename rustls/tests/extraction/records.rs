//! Records sealed and opened with extracted secrets work with the connection's peer.

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::wire::bare_records::{Form, Keys, Records};
use harness::wire::{self, ALERT, APPLICATION_DATA as DATA};
use rustls::ExtractedSecrets;

use crate::extraction::{Case, Role, cases};

/// Exchanges records between the bare AEAD and `peer` in both directions.
fn check_records(case: &Case, secrets: ExtractedSecrets, mut peer: UpstreamBuffered) {
    let is_tls13 = case.is_tls13();
    let mut sending = Records::new(is_tls13, secrets.tx);
    let mut receiving = Records::new(is_tls13, secrets.rx);
    for payload in [&b"one"[..], b"two", &[3; 1 << 14]] {
        peer.receive(&sending.seal(DATA, payload)).unwrap();
        let received = peer.read_all();
        assert!(received == payload, "{case:?}");

        peer.send(payload);
        let records = wire::records(&peer.take_output());
        assert_eq!(records.len(), 1);
        let opened = receiving
            .open(&records[0])
            .expect("a record that can be opened");
        assert!(opened == (DATA, payload.to_vec()), "{case:?}");
    }
    peer.receive(&sending.seal(ALERT, &[1, 0])).unwrap();
    assert!(peer.peer_has_closed());
}

#[test]
fn records_of_every_suite_work_with_the_peer() {
    for case in cases() {
        let mut peer = case.peer();
        let mut ours = case.buffered();
        case.connect(&mut ours, &mut peer);
        check_records(&case, ours.conn.dangerous_extract_secrets().unwrap(), peer);

        let mut peer = case.peer();
        let secrets = match case.role {
            Role::Client => {
                let mut ours = case.unbuffered_client();
                case.connect(&mut ours, &mut peer);
                ours.conn.dangerous_extract_secrets()
            }
            Role::Server => {
                let mut ours = case.unbuffered_server();
                case.connect(&mut ours, &mut peer);
                ours.conn.dangerous_extract_secrets()
            }
        };
        check_records(&case, secrets.unwrap(), peer);
    }
}

/// The secrets and numbers equal upstream's, except for one bit in the explicit nonces of TLS 1.2.
/// Both ends of this crate agree on them.
#[test]
fn secrets_match_those_of_the_peer() {
    for case in cases() {
        let mut peer = case.peer();
        let mut ours = case.buffered();
        case.connect(&mut ours, &mut peer);
        let ours = ours.conn.dangerous_extract_secrets().unwrap();
        let theirs = peer.conn.dangerous_extract_secrets().unwrap();
        for (ours, theirs) in [(ours.rx, theirs.tx), (ours.tx, theirs.rx)] {
            let (mut ours, theirs) = (Keys::from(ours), Keys::from(theirs));
            if Form::new(case.is_tls13(), ours.cipher) == Form::Tls12Gcm {
                ours.iv[4] ^= 0x80;
            }
            assert_eq!(ours, theirs, "{case:?}");
        }
    }
}

/// RFC 5288 §3: an AES-GCM nonce must not repeat under a key. The new owner of the secrets either
/// increments the explicit nonce, as the kernel does, or XORs it with the sequence number.
#[test]
fn explicit_nonces_are_not_reused() {
    for case in cases().filter(|case| !case.is_tls13()) {
        let mut peer = case.peer();
        let mut ours = case.buffered();
        case.connect(&mut ours, &mut peer);
        let mut used = Vec::new();
        for _ in 0..40 {
            ours.send(b"data");
            let output = ours.take_output();
            used.push(explicit_nonce(&output[5..]));
            peer.receive(&output).unwrap();
        }
        let keys = Keys::from(ours.conn.dangerous_extract_secrets().unwrap().tx);
        if Form::new(false, keys.cipher) != Form::Tls12Gcm {
            continue;
        }
        let first = explicit_nonce(&keys.iv[4..]);
        for count in 0..1000 {
            assert!(!used.contains(&first.wrapping_add(count)));
            assert!(!used.contains(&(first ^ (keys.seq + count))));
        }
    }
}

fn explicit_nonce(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().unwrap())
}
