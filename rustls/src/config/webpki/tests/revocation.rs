//! Revoked certificates and invalid revocation lists.

use std::sync::Arc;
use std::{format, vec};

use rcgen::{
    CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope, KeyUsagePurpose, SerialNumber,
};
use rustls_upstream as theirs;

use super::pki::{Issuer, at, crl, intermediate, leaf, root};
use super::{Case, providers};
use crate as ours;
use crate::certificates::RevocationList;
use crate::error::{CertRevocationListError, CertificateError, Error};

const LEAF: u8 = 11;
const INTERMEDIATE: u8 = 22;

struct Chain {
    root: Issuer,
    intermediate: Issuer,
    /// The case without revocation lists.
    case: Case,
}

impl Chain {
    fn new() -> Self {
        let root = root("Root", |_| ());
        let intermediate = intermediate("Intermediate", &root, |params| {
            params.serial_number = Some(SerialNumber::from(u64::from(INTERMEDIATE)));
        });
        let leaf = leaf(&intermediate, |params| {
            params.serial_number = Some(SerialNumber::from(u64::from(LEAF)));
        });
        let case = Case::new(leaf, &[&intermediate], &root);
        Self {
            root,
            intermediate,
            case,
        }
    }

    fn case(&self, change: impl FnOnce(&mut Case)) -> Case {
        self.case.clone().with(change)
    }
}

#[test]
fn revoked_certificates_are_rejected() {
    let chain = Chain::new();
    let good_lists = vec![
        crl(&chain.root, &[LEAF], |_| ()), // the serial number, but another issuer
        crl(&chain.intermediate, &[INTERMEDIATE], |_| ()),
    ];
    let case = chain.case(|case| case.crls = good_lists.clone());
    assert_eq!(case.as_either(), Ok(()));

    let mut lists = good_lists.clone();
    lists[1] = crl(&chain.intermediate, &[3, LEAF, 4], |_| ());
    let case = chain.case(|case| case.crls = lists);
    assert_eq!(case.as_either(), Err(CertificateError::Revoked.into()));

    let mut lists = good_lists;
    lists[0] = crl(&chain.root, &[INTERMEDIATE], |_| ());
    let case = chain.case(|case| case.crls = lists);
    assert_eq!(case.as_either(), Err(CertificateError::Revoked.into()));
    let case = case.with(|case| case.only_check_end_entity = true);
    assert_eq!(case.as_either(), Ok(()));
}

#[test]
fn a_certificate_of_unknown_status_is_rejected_unless_allowed() {
    let chain = Chain::new();
    let unknown = Err(CertificateError::UnknownRevocationStatus.into());

    let case = chain.case(|case| case.crls = vec![crl(&chain.intermediate, &[], |_| ())]);
    assert_eq!(case.as_either(), unknown);
    let end_entity_only = case.clone().with(|case| case.only_check_end_entity = true);
    assert_eq!(end_entity_only.as_either(), Ok(()));
    let allowed = case.with(|case| case.allow_unknown_status = true);
    assert_eq!(allowed.as_either(), Ok(()));

    let case = chain.case(|case| {
        case.crls = vec![crl(&chain.root, &[], |_| ())];
        case.only_check_end_entity = true;
    });
    assert_eq!(case.as_either(), unknown);
}

#[test]
fn an_expired_list_is_an_error_only_if_enforced() {
    let chain = Chain::new();
    let next_update = at(1_704_067_200); // 2024
    let case = chain.case(|case| {
        case.crls = vec![
            crl(&chain.root, &[], |_| ()),
            crl(&chain.intermediate, &[], |_| ()),
        ];
        case.now = next_update;
    });
    assert_eq!(case.as_either(), Ok(()));

    let case = case.with(|case| case.enforce_expiration = true);
    assert_eq!(
        case.as_either(),
        Err(CertificateError::ExpiredRevocationListContext {
            time: next_update,
            next_update,
        }
        .into())
    );
}

#[test]
fn a_list_from_another_issuer_is_an_error() {
    let chain = Chain::new();
    let namesake = intermediate("Intermediate", &chain.root, |_| ());
    let case = chain.case(|case| {
        case.crls = vec![crl(&namesake, &[], |_| ())];
        case.only_check_end_entity = true;
    });
    assert_eq!(
        case.as_either(),
        Err(CertRevocationListError::BadSignature.into())
    );

    // rcgen refuses to sign lists for an issuer without that permission, so sign with the same key
    // under another certificate
    let mut params = rcgen::CertificateParams::new([]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Intermediate");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let not_for_lists = params
        .signed_by(chain.intermediate.key(), &chain.root)
        .unwrap();
    let case = chain.case(|case| {
        case.intermediates = vec![not_for_lists.der().clone()];
        case.crls = vec![crl(&chain.intermediate, &[], |_| ())];
        case.only_check_end_entity = true;
    });
    assert_eq!(
        case.as_either(),
        Err(CertRevocationListError::IssuerInvalidForCrl.into())
    );
}

#[test]
fn a_list_with_an_unknown_signature_algorithm_is_an_error() {
    let chain = Chain::new();
    let mut bytes = crl(&chain.intermediate, &[], |_| ()).to_vec();
    let ecdsa_sha256 = [42, 134, 72, 206, 61, 4, 3, 2];
    for at in 0..bytes.len() - ecdsa_sha256.len() {
        if bytes[at..].starts_with(&ecdsa_sha256) {
            bytes[at + ecdsa_sha256.len() - 1] = 9;
        }
    }
    let case = chain.case(|case| {
        case.crls = vec![bytes.into()];
        case.only_check_end_entity = true;
    });
    assert!(matches!(
        case.as_either(),
        Err(Error::InvalidCertRevocationList(
            CertRevocationListError::UnsupportedSignatureAlgorithmContext { .. }
        ))
    ));
}

/// Builds verifiers with `crls` for both sides; ours and upstream's must agree on the result.
fn build(
    crls: &[pki_types::CertificateRevocationListDer<'static>],
) -> Result<(), super::super::VerifierBuilderError> {
    let root = root("Root", |_| ());
    let (our_provider, their_provider) = providers().next().unwrap();

    macro_rules! verdict {
        ($builder:path, $lib:ident, $provider:expr) => {{
            let mut roots = $lib::RootCertStore::empty();
            roots.add(root.der().clone()).unwrap();
            $builder(Arc::new(roots), $provider.clone())
                .with_crls(crls.to_vec())
                .build()
                .map(|_| ())
        }};
    }
    use ours::client::WebPkiServerVerifier as OurServerVerifier;
    use ours::server::WebPkiClientVerifier as OurClientVerifier;
    use theirs::client::WebPkiServerVerifier as TheirServerVerifier;
    use theirs::server::WebPkiClientVerifier as TheirClientVerifier;

    let verdict = verdict!(OurServerVerifier::builder_with_provider, ours, our_provider);
    for other in [
        format!(
            "{:?}",
            verdict!(OurClientVerifier::builder_with_provider, ours, our_provider)
        ),
        format!(
            "{:?}",
            verdict!(
                TheirServerVerifier::builder_with_provider,
                theirs,
                their_provider
            )
        ),
        format!(
            "{:?}",
            verdict!(
                TheirClientVerifier::builder_with_provider,
                theirs,
                their_provider
            )
        ),
    ] {
        assert_eq!(format!("{verdict:?}"), other);
    }
    verdict
}

#[test]
fn corruption_of_any_byte_of_a_list_is_detected() {
    let root = root("Root", |_| ());
    let simple = crl(&root, &[1, 2], |_| ());
    let distributed = crl(&root, &[1], |params| {
        params.issuing_distribution_point = Some(CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint {
                uris: vec!["http://crl.example".into()],
            },
            scope: Some(CrlScope::UserCertsOnly),
        });
    });

    let mut kinds = std::collections::BTreeSet::new();
    for good in [simple, distributed] {
        assert!(build(core::slice::from_ref(&good)).is_ok());
        for at in 0..good.len() {
            // flip bits, and change one extension or tag into another
            let bits = [good[at] ^ 0x01, good[at] ^ 0x80, !good[at], 0x00];
            for byte in bits
                .into_iter()
                .chain([0x14, 0x1b, 0x1c, 0x20, 0x23, 0x82, 0x84])
            {
                let mut bytes = good.to_vec();
                bytes[at] = byte;
                kinds.insert(format!("{:?}", build(&[bytes.into()])));
            }
            let verdict = build(&[good[..at].to_vec().into()]);
            assert!(verdict.is_err());
            kinds.insert(format!("{verdict:?}"));
        }
    }
    // the corruption produced the errors that have names
    for kind in [
        "ParseError",
        "InvalidCrlNumber",
        "InvalidRevokedCertSerialNumber",
        "UnsupportedCriticalExtension",
        "UnsupportedCrlVersion",
        "UnsupportedDeltaCrl",
        "UnsupportedIndirectCrl",
        "UnsupportedRevocationReason",
        "Other(",
    ] {
        assert!(
            kinds.iter().any(|seen| seen.contains(kind)),
            "{kind}: {kinds:#?}"
        );
    }
}

#[test]
fn builders_require_roots() {
    use ours::client::WebPkiServerVerifier;
    use ours::server::WebPkiClientVerifier;

    let (provider, _) = providers().next().unwrap();
    let empty = Arc::new(ours::RootCertStore::empty());
    let bad_list = [vec![0u8].into()];

    let server = WebPkiServerVerifier::builder_with_provider(empty.clone(), provider.clone());
    let client = WebPkiClientVerifier::builder_with_provider(empty, provider);
    for verdict in [
        server.build().map(|_| ()),
        client.clone().build().map(|_| ()),
        client.with_crls(bad_list).build().map(|_| ()),
    ] {
        assert!(matches!(
            verdict,
            Err(ours::client::VerifierBuilderError::NoRootAnchors)
        ));
    }
}

#[test]
fn verifiers_of_both_sides_share_a_list() {
    let root = root("Root", |_| ());
    let der = crl(&root, &[3], |_| ());
    let list = RevocationList::from_der(der.clone()).unwrap();
    let alone = Arc::strong_count(&list);

    let mut roots = ours::RootCertStore::empty();
    roots.add(root.der().clone()).unwrap();
    let roots = Arc::new(roots);
    for (provider, _) in providers() {
        use ours::client::WebPkiServerVerifier;
        use ours::server::WebPkiClientVerifier;

        let server = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .with_crls([der.clone()]);
        let client = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider)
            .with_crls([der.clone()]);
        let verifiers = (
            server.clone().build().unwrap(),
            server.build().unwrap(),
            client.with_shared_crls([list.clone()]).build().unwrap(),
        );
        // the rules of each verifier refer to it as well
        assert_eq!(Arc::strong_count(&list), alone + 2 * 4);
        drop(verifiers);
        assert_eq!(Arc::strong_count(&list), alone);
    }
}

#[test]
fn an_empty_set_of_shared_lists_is_an_error() {
    use ours::client::WebPkiServerVerifier;
    use ours::server::WebPkiClientVerifier;

    let root = root("Root", |_| ());
    let list = RevocationList::from_der(crl(&root, &[], |_| ())).unwrap();
    let mut roots = ours::RootCertStore::empty();
    roots.add(root.der().clone()).unwrap();
    let roots = Arc::new(roots);
    for (provider, _) in providers() {
        let server = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        let client = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider);
        for verdict in [
            server.clone().with_shared_crls([]).build().map(|_| ()),
            client.clone().with_shared_crls([]).build().map(|_| ()),
            // other lists do not replace the missing ones
            server
                .with_shared_crls([list.clone()])
                .with_shared_crls([])
                .build()
                .map(|_| ()),
            client
                .with_shared_crls([])
                .with_crls([list.der().clone()])
                .build()
                .map(|_| ()),
        ] {
            let error = verdict.unwrap_err();
            assert!(
                format!("{error}").contains("NoRevocationLists"),
                "{error} {error:?}"
            );
        }
    }
}
