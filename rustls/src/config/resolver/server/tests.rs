use std::string::ToString;
use std::vec;

use pki_types::PrivatePkcs8KeyDer;

use super::*;
use crate::config::resolver::client_hello::{DecodedLists, Lists};
use crate::enums::{CipherSuite, NamedGroup, SignatureScheme};
use crate::error::CertificateError;
use crate::msgs::extensions::ProtocolName;
use crate::providers::any_provider;

fn identity(names: &[&str]) -> CertifiedKey {
    let names = names
        .iter()
        .map(|name| name.to_string())
        .collect::<vec::Vec<_>>();
    let identity = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    CertifiedKey::from_der(
        vec![identity.cert.der().clone()],
        key.into(),
        &any_provider(),
    )
    .unwrap()
}

fn client_hello(server_name: Option<&str>) -> ClientHello<'_> {
    ClientHello {
        server_name,
        lists: Lists::Decoded(DecodedLists {
            signature_schemes: &[SignatureScheme::ED25519],
            alpn: Some(&[ProtocolName(b"h2"), ProtocolName(b"http/1.1")]),
            cipher_suites: &[CipherSuite::TLS13_AES_128_GCM_SHA256],
            named_groups: Some(&[NamedGroup::X25519]),
            ..DecodedLists::default()
        }),
    }
}

#[test]
fn certificates_are_resolved_by_server_name() {
    let (a, b) = (
        identity(&["a.example"]),
        identity(&["b.example", "*.b.example"]),
    );
    let mut resolver = ResolvesServerCertUsingSni::new();
    assert_eq!(resolver.add("a.example", a.clone()), Ok(()));
    assert_eq!(resolver.add("B.Example", b.clone()), Ok(()));
    assert_eq!(resolver.add("x.b.example", b.clone()), Ok(()));

    for (name, chosen) in [
        (Some("a.example"), Some(&a)),
        (Some("b.example"), Some(&b)),
        (Some("x.b.example"), Some(&b)),
        // the certificate is valid for this name, but was not added for it
        (Some("y.b.example"), None),
        (Some("example"), None),
        (None, None),
    ] {
        let resolved = resolver.resolve(client_hello(name));
        assert_eq!(
            resolved.map(|key| key.cert.clone()),
            chosen.map(|key| key.cert.clone()),
            "{name:?}"
        );
    }

    let another = identity(&["a.example"]);
    resolver.add("a.example", another.clone()).unwrap();
    let resolved = resolver.resolve(client_hello(Some("a.example")));
    assert_eq!(resolved.unwrap().cert, another.cert);
}

#[test]
fn certificates_that_are_not_valid_for_the_name_are_rejected() {
    let good = identity(&["a.example"]);
    let mut resolver = ResolvesServerCertUsingSni::default();

    for no_name in ["", "192.0.2.1", "a..example", "*.example", "a example"] {
        assert!(
            matches!(resolver.add(no_name, good.clone()), Err(Error::General(_))),
            "{no_name}"
        );
    }
    assert!(matches!(
        resolver.add("b.example", good.clone()),
        Err(Error::InvalidCertificate(
            CertificateError::NotValidForNameContext { .. }
        ))
    ));

    let mut bad = good;
    bad.cert = vec![vec![0].into()];
    assert_eq!(
        resolver.add("a.example", bad.clone()),
        Err(CertificateError::BadEncoding.into())
    );
    bad.cert.clear();
    assert_eq!(
        resolver.add("a.example", bad),
        Err(Error::NoCertificatesPresented)
    );
    assert!(resolver.resolve(client_hello(Some("a.example"))).is_none());
}

#[test]
fn client_hello_returns_the_offered_values() {
    let hello = client_hello(Some("a.example"));
    assert_eq!(hello.server_name(), Some("a.example"));
    assert_eq!(hello.signature_schemes(), [SignatureScheme::ED25519]);
    assert_eq!(
        hello.alpn().unwrap().collect::<vec::Vec<_>>(),
        [&b"h2"[..], b"http/1.1"]
    );
    assert_eq!(
        hello.cipher_suites(),
        [CipherSuite::TLS13_AES_128_GCM_SHA256]
    );
    assert_eq!(hello.named_groups(), Some(&[NamedGroup::X25519][..]));
    assert!(hello.server_cert_types().is_none());
    assert!(hello.client_cert_types().is_none());
    assert!(hello.certificate_authorities().is_none());
}
