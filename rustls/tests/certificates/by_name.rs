//! `ResolvesServerCertUsingSni` returns the same key as upstream's for names in any case and with a
//! trailing dot.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::wire::client_hello::{ClientHello, SERVER_NAME, host_name};
use pki_types::PrivatePkcs8KeyDer;

/// The names in the certificate, with its spelling.
const NAMES: [&str; 3] = ["a.Example", "b.example", "*.c.example"];

/// Returns for each of `added` whether adding it succeeded, and for each of `requested` whether a
/// key was found.
macro_rules! lookups {
    ($tls:ident, $provider:expr, $added:expr, $requested:expr) => {{
        let identity = rcgen::generate_simple_self_signed(NAMES.map(String::from)).unwrap();
        let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let chain = vec![identity.cert.der().clone()];
        let key = $tls::sign::CertifiedKey::from_der(chain, key.into(), &$provider).unwrap();
        let mut resolver = $tls::server::ResolvesServerCertUsingSni::new();
        let added: Vec<bool> = $added
            .iter()
            .map(|name| resolver.add(name, key.clone()).is_ok())
            .collect();
        let resolver: Arc<dyn $tls::server::ResolvesServerCert> = Arc::new(resolver);
        let found: Vec<Option<bool>> = $requested
            .iter()
            .map(|name: &&str| {
                let hello = ClientHello::new().with(SERVER_NAME, host_name(name.as_bytes()));
                let mut acceptor = $tls::server::Acceptor::default();
                acceptor.read_tls(&mut &hello.record()[..]).unwrap();
                let accepted = acceptor.accept().ok()?.unwrap();
                Some(resolver.resolve(accepted.client_hello()).is_some())
            })
            .collect();
        (added, found)
    }};
}

#[test]
fn names_are_compared_case_insensitively() {
    let requested = [
        "a.example",
        "A.EXAMPLE",
        "a.Example",
        "a.example.",
        "b.example",
        "B.Example",
        "x.c.example",
        "X.C.EXAMPLE",
        "d.example",
        "127.0.0.1",
    ];
    for added in [
        &["a.example", "b.example", "x.c.example"][..],
        &["A.Example", "B.EXAMPLE", "X.c.example"],
        &["a.example.", "d.example", "", "a..example"],
    ] {
        let ours = lookups!(rustls, Provider::Ring.this(), added, requested);
        let theirs = lookups!(rustls_upstream, Provider::Ring.upstream(), added, requested);
        assert_eq!(ours, theirs, "{added:?}");
    }

    let (_, found) = lookups!(rustls, Provider::Ring.this(), ["A.Example"], requested);
    assert_eq!(found[..3], [Some(true); 3]);
    assert_eq!(found[4..9], [Some(false); 5]);
}
