//! Valid and invalid certificates, generated and corrupted in many ways.

use std::string::ToString;
use std::vec::Vec;
use std::{format, vec};

use pki_types::ServerName;
use rcgen::{
    BasicConstraints, CustomExtension, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    KeyUsagePurpose, NameConstraints, SanType, date_time_ymd,
};

use super::Case;
use super::pki::{Issuer, SERVER, at, crl, intermediate, leaf, root};
use crate::error::{CertRevocationListError, CertificateError, Error, ExtendedKeyPurpose};

fn nothing<T>(_: &mut T) {}

fn a_root() -> Issuer {
    root("Root", nothing)
}

/// Returns the text of a webpki error that maps to `CertificateError::Other`.
fn other(verdict: Result<(), Error>) -> std::string::String {
    match verdict {
        Err(Error::InvalidCertificate(CertificateError::Other(err))) => err.to_string(),
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn valid_paths_are_accepted() {
    let root = a_root();
    let direct = Case::new(leaf(&root, nothing), &[], &root);
    assert_eq!(direct.as_either(), Ok(()));

    let upper = intermediate("Upper", &root, nothing);
    let lower = intermediate("Lower", &upper, nothing);
    for order in [[&lower, &upper], [&upper, &lower]] {
        let long = Case::new(leaf(&lower, nothing), &order, &root);
        assert_eq!(long.as_either(), Ok(()));
    }
}

#[test]
fn an_unknown_issuer_is_rejected() {
    let issuer = a_root();
    let lower = intermediate("Intermediate", &issuer, nothing);
    let stranger = a_root();
    let verdict = Err(CertificateError::UnknownIssuer.into());

    let gap = Case::new(leaf(&lower, nothing), &[], &issuer);
    assert_eq!(gap.as_either(), verdict);

    let another = root("Another root", nothing);
    let nobody = Case::new(leaf(&issuer, nothing), &[], &another);
    assert_eq!(nobody.as_either(), verdict);

    // same name, so the signature is checked
    let namesake = Case::new(leaf(&issuer, nothing), &[], &stranger);
    assert_eq!(
        namesake.as_either(),
        Err(CertificateError::BadSignature.into())
    );
}

#[test]
fn certificates_are_valid_from_not_before_to_not_after() {
    let root = a_root();
    let (not_before, not_after) = (at(1_577_836_800), at(1_893_456_000)); // 2020, 2030
    let good = Case::new(leaf(&root, nothing), &[], &root);

    for (time, verdict) in [
        (at(1_577_836_800), Ok(())),
        (at(1_893_456_000), Ok(())),
        (
            at(1_577_836_799),
            Err(CertificateError::NotValidYetContext {
                time: at(1_577_836_799),
                not_before,
            }),
        ),
        (
            at(1_893_456_001),
            Err(CertificateError::ExpiredContext {
                time: at(1_893_456_001),
                not_after,
            }),
        ),
    ] {
        let case = good.clone().with(|case| case.now = time);
        assert_eq!(case.as_either(), verdict.map_err(Error::from));
    }

    let backwards = leaf(&root, |params| {
        params.not_before = date_time_ymd(2024, 1, 1);
        params.not_after = date_time_ymd(2022, 1, 1);
    });
    assert_eq!(
        Case::new(backwards, &[], &root).as_either(),
        Err(CertificateError::Expired.into())
    );

    let old = intermediate("Intermediate", &root, |params| {
        params.not_after = date_time_ymd(2022, 1, 1);
    });
    assert!(matches!(
        Case::new(leaf(&old, nothing), &[&old], &root).as_either(),
        Err(Error::InvalidCertificate(
            CertificateError::ExpiredContext { .. }
        ))
    ));
}

#[test]
fn server_names_must_match() {
    let root = a_root();
    let cert = leaf(&root, |params| {
        params.subject_alt_names = vec![
            SanType::DnsName("a.example".try_into().unwrap()),
            SanType::DnsName("*.b.example".try_into().unwrap()),
            SanType::IpAddress([192, 0, 2, 1].into()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
        ];
    });
    let case = Case::new(cert, &[], &root);

    for (name, good) in [
        ("a.example", true),
        ("A.EXAMPLE", true),
        ("x.b.example", true),
        ("192.0.2.1", true),
        ("2001:db8::1", true),
        ("b.example", false),
        ("x.y.b.example", false),
        ("a.example.org", false),
        ("192.0.2.2", false),
        ("2001:db8::2", false),
    ] {
        let expected = ServerName::try_from(name).unwrap();
        let case = case
            .clone()
            .with(|case| case.server_name = expected.clone());
        match case.as_server() {
            Ok(()) => assert!(good, "{name}"),
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                expected: named,
                presented,
            })) => {
                assert!(!good, "{name}");
                assert_eq!(named, expected);
                assert_eq!(presented.len(), 4, "{presented:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(case.as_client(), Ok(()));
    }

    // the common name is ignored
    let nameless = leaf(&root, |params| params.subject_alt_names.clear());
    assert_eq!(
        Case::new(nameless, &[], &root).as_server(),
        Err(CertificateError::NotValidForNameContext {
            expected: SERVER.try_into().unwrap(),
            presented: vec![],
        }
        .into())
    );
}

#[test]
fn certificates_must_permit_their_purpose() {
    use ExtendedKeyPurpose::{ClientAuth, Other, ServerAuth};
    let code_signing = Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 3]);
    let root = a_root();

    for (usages, presented) in [
        (vec![], None),
        (
            vec![ExtendedKeyUsagePurpose::ServerAuth],
            Some(vec![ServerAuth]),
        ),
        (
            vec![ExtendedKeyUsagePurpose::ClientAuth],
            Some(vec![ClientAuth]),
        ),
        (
            vec![
                ExtendedKeyUsagePurpose::CodeSigning,
                ExtendedKeyUsagePurpose::Other(vec![1, 2, 3, 77]),
            ],
            Some(vec![code_signing.clone(), Other(vec![1, 2, 3, 77])]),
        ),
    ] {
        let cert = leaf(&root, |params| params.extended_key_usages = usages);
        let case = Case::new(cert, &[], &root);
        for (required, verdict) in [
            (ServerAuth, case.as_server()),
            (ClientAuth, case.as_client()),
        ] {
            let expected = match &presented {
                Some(presented) if !presented.contains(&required) => {
                    Err(CertificateError::InvalidPurposeContext {
                        required,
                        presented: presented.clone(),
                    }
                    .into())
                }
                _ => Ok(()),
            };
            assert_eq!(verdict, expected);
        }
    }

    // an intermediate's purpose restricts all certificates below it
    let clients = intermediate("For clients", &root, |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let case = Case::new(leaf(&clients, nothing), &[&clients], &root);
    assert!(matches!(
        case.as_server(),
        Err(Error::InvalidCertificate(
            CertificateError::InvalidPurposeContext { .. }
        ))
    ));
    assert_eq!(case.as_client(), Ok(()));
}

#[test]
fn roles_and_constraints_are_checked() {
    let root = a_root();

    let ca_as_leaf = intermediate("CA", &root, |params| {
        params.subject_alt_names = vec![SanType::DnsName(SERVER.try_into().unwrap())];
    });
    let case = Case::new(ca_as_leaf.der().clone(), &[], &root);
    assert_eq!(other(case.as_either()), "CaUsedAsEndEntity");

    let leaf_as_ca = intermediate("No CA", &root, |params| params.is_ca = IsCa::ExplicitNoCa);
    let case = Case::new(leaf(&leaf_as_ca, nothing), &[&leaf_as_ca], &root);
    assert_eq!(other(case.as_either()), "EndEntityUsedAsCa");

    let childless = intermediate("Childless", &root, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    });
    let child = intermediate("Child", &childless, nothing);
    let case = Case::new(leaf(&child, nothing), &[&child, &childless], &root);
    assert_eq!(other(case.as_either()), "PathLenConstraintViolated");

    let elsewhere = intermediate("Elsewhere", &root, |params| {
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName("elsewhere.example".into())],
            excluded_subtrees: vec![],
        });
    });
    let case = Case::new(leaf(&elsewhere, nothing), &[&elsewhere], &root);
    assert_eq!(other(case.as_either()), "NameConstraintViolation");

    let extended = leaf(&root, |params| {
        let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(true);
        params.custom_extensions = vec![extension];
    });
    let verdict = Case::new(extended, &[], &root).as_either();
    assert_eq!(other(verdict), "UnsupportedCriticalExtension");

    let purposeless = leaf(&root, |params| {
        params.extended_key_usages.clear();
        params.custom_extensions = vec![CustomExtension::from_oid_content(
            &[2, 5, 29, 37],
            vec![0x30, 0],
        )];
    });
    let verdict = Case::new(purposeless, &[], &root).as_either();
    assert_eq!(other(verdict), "EmptyEkuExtension");
}

#[test]
fn the_number_of_checked_signatures_is_limited() {
    // one name with different keys, so each path must be tried to the end
    let issuers = (0..20).map(|_| root("Same", nothing)).collect::<Vec<_>>();
    let [issuer, trusted, others @ ..] = issuers.as_slice() else {
        unreachable!();
    };
    let case = Case::new(leaf(issuer, nothing), &[], trusted).with(|case| {
        case.intermediates = others.iter().map(|other| other.der().clone()).collect();
        case.roots = case.intermediates.clone();
    });
    assert_eq!(other(case.as_either()), "MaximumSignatureChecksExceeded");
}

#[test]
fn unsupported_signature_algorithms_are_rejected() {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let mut params = rcgen::CertificateParams::new([SERVER.to_string()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = Issuer::self_signed(params, key).unwrap();
    let good = leaf(&issuer, nothing);
    assert_eq!(Case::new(good.clone(), &[], &issuer).as_either(), Ok(()));

    // replace ecdsa-with-SHA384 with an unknown algorithm, and with one for another kind of key
    for (oid, what) in [
        (
            &[42, 134, 72, 206, 61, 4, 3, 9],
            "UnsupportedSignatureAlgorithmContext",
        ),
        (&[42, 134, 72, 206, 61, 4, 3, 2], "BadSignature"),
    ] {
        let mut bytes = good.to_vec();
        let known = [42, 134, 72, 206, 61, 4, 3, 3];
        for at in 0..bytes.len() - known.len() {
            if bytes[at..].starts_with(&known) {
                bytes[at..at + known.len()].copy_from_slice(oid);
            }
        }
        let verdict = Case::new(bytes.into(), &[], &issuer).as_either();
        let text = format!("{verdict:?}");
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn a_signature_algorithm_of_another_kind_of_key_is_rejected() {
    let ed25519 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let mut params = None;
    let p256_root = root("Root", |it| params = Some(it.clone()));
    let ed25519_root = Issuer::self_signed(params.unwrap(), ed25519).unwrap();

    let case = Case::new(leaf(&p256_root, nothing), &[], &ed25519_root);
    assert!(matches!(
        case.as_either(),
        Err(Error::InvalidCertificate(
            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
        ))
    ));

    let case = Case::new(leaf(&ed25519_root, nothing), &[], &ed25519_root)
        .with(|case| case.crls = vec![crl(&p256_root, &[], nothing)]);
    assert!(matches!(
        case.as_either(),
        Err(Error::InvalidCertRevocationList(
            CertRevocationListError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
        ))
    ));
}

#[test]
fn corruption_of_any_byte_is_detected() {
    let root = a_root();
    let lower = intermediate("Intermediate", &root, nothing);
    let good = Case::new(leaf(&lower, nothing), &[&lower], &root)
        .with(|case| case.crls = vec![crl(&root, &[], nothing), crl(&lower, &[], nothing)]);
    assert_eq!(good.as_either(), Ok(()));

    let damaged = |bytes: &[u8]| {
        let mut damaged = Vec::new();
        for at in 0..bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= mask;
                damaged.push(bytes);
            }
            damaged.push(bytes[..at].to_vec());
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        damaged.push(longer);
        damaged
    };

    for bytes in damaged(&good.end_entity) {
        let case = good.clone().with(|case| case.end_entity = bytes.into());
        // only a bit of the serial number has no other effect, and it is signed
        assert!(case.as_server().is_err());
    }
    for bytes in damaged(&good.intermediates[0]) {
        let case = good
            .clone()
            .with(|case| case.intermediates[0] = bytes.into());
        assert!(case.as_server().is_err());
    }
}

#[test]
fn key_usage_is_ignored() {
    let root = a_root();
    let cert = leaf(&root, |params| {
        params.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
    });
    assert_eq!(Case::new(cert, &[], &root).as_either(), Ok(()));
}
