//! Compares HPKE with upstream's: each opens what the other seals, and both reject the same inputs.

use rustls_core::blocks::HpkeError;
use rustls_core::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use rustls_core::error::{Error, OtherError};
use rustls_provider_aws_lc::hpke::ALL_SUPPORTED_SUITES;
use rustls_upstream as upstream;
use upstream::crypto::hpke as theirs;

const INFO: &[u8] = b"info";
const AAD: &[u8] = b"aad";
const TEXT: &[u8] = b"plaintext";

/// The suites of this crate and of upstream, in pairs.
fn suites() -> impl Iterator<Item = (&'static dyn Hpke, &'static dyn theirs::Hpke)> {
    let upstream = upstream::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES;
    assert_eq!(ALL_SUPPORTED_SUITES.len(), upstream.len());
    ALL_SUPPORTED_SUITES
        .iter()
        .copied()
        .zip(upstream.iter().copied())
}

fn their_key(key: &HpkePrivateKey) -> theirs::HpkePrivateKey {
    key.secret_bytes().to_vec().into()
}

fn their_enc(enc: &EncapsulatedSecret) -> theirs::EncapsulatedSecret {
    theirs::EncapsulatedSecret(enc.0.clone())
}

/// Returns the cause that `error` must hold.
fn cause(error: Error) -> HpkeError {
    let Error::Other(OtherError(cause)) = error else {
        panic!("{error:?}");
    };
    *cause.downcast_ref().expect("an HpkeError")
}

/// Returns the error of this crate if upstream fails with the same kind of error; `None` if both
/// succeed.
fn common_error<T, U>(
    ours: Result<T, Error>,
    theirs: Result<U, upstream::Error>,
) -> Option<HpkeError> {
    match (ours, theirs) {
        (Ok(_), Ok(_)) => None,
        (Err(ours), Err(upstream::Error::Other(_))) => Some(cause(ours)),
        (ours, theirs) => panic!("{:?}, {:?}", ours.err(), theirs.err()),
    }
}

#[test]
fn suites_match_upstream() {
    for (ours, theirs) in suites() {
        assert_eq!(
            format!("{:?}", ours.suite()),
            format!("{:?}", theirs.suite())
        );
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        #[cfg(not(feature = "fips"))]
        assert_eq!(ours.fips(), theirs.fips());
    }
}

#[test]
fn each_opens_what_the_other_seals() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (their_public_key, their_own_key) = theirs.generate_key_pair().unwrap();
        let long = vec![0x5a; 70_000];
        for (info, aad, text) in [(INFO, AAD, TEXT), (b"", b"", b""), (&long, &long, &long)] {
            let (enc, sealed) = ours
                .seal(info, aad, text, &HpkePublicKey(their_public_key.0.clone()))
                .unwrap();
            let opened = theirs.open(&their_enc(&enc), info, aad, &sealed, &their_own_key);
            assert_eq!(opened.unwrap(), text);

            let (enc, sealed) = theirs
                .seal(
                    info,
                    aad,
                    text,
                    &theirs::HpkePublicKey(public_key.0.clone()),
                )
                .unwrap();
            let opened = ours.open(&EncapsulatedSecret(enc.0), info, aad, &sealed, &key);
            assert_eq!(opened.unwrap(), text);
        }
    }
}

#[test]
fn contexts_number_messages_like_upstream() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (enc, mut sealer) = ours.setup_sealer(INFO, &public_key).unwrap();
        let mut opener = theirs
            .setup_opener(&their_enc(&enc), INFO, &their_key(&key))
            .unwrap();
        assert_eq!(format!("{sealer:?} {opener:?}"), "Sealer Opener");

        let (enc, mut their_sealer) = theirs
            .setup_sealer(INFO, &theirs::HpkePublicKey(public_key.0))
            .unwrap();
        let mut our_opener = ours
            .setup_opener(&EncapsulatedSecret(enc.0), INFO, &key)
            .unwrap();
        assert_eq!(format!("{our_opener:?}"), "Opener");

        for text in 0..300_u32 {
            let text = text.to_be_bytes();
            let sealed = sealer.seal(AAD, &text).unwrap();
            assert_eq!(opener.open(AAD, &sealed).unwrap(), text);
            let sealed = their_sealer.seal(AAD, &text).unwrap();
            assert_eq!(our_opener.open(AAD, &sealed).unwrap(), text);
        }
    }
}

#[test]
fn a_rejected_message_leaves_the_context_unchanged() {
    for (ours, _) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (enc, mut sealer) = ours.setup_sealer(INFO, &public_key).unwrap();
        let mut opener = ours.setup_opener(&enc, INFO, &key).unwrap();
        let first = sealer.seal(AAD, TEXT).unwrap();
        let second = sealer.seal(AAD, TEXT).unwrap();
        assert_ne!(first, second);

        for refused in [&second[..], &first[1..], b""] {
            assert_eq!(
                cause(opener.open(AAD, refused).unwrap_err()),
                HpkeError::Open
            );
        }
        assert_eq!(opener.open(AAD, &first).unwrap(), TEXT);
        // no message can be opened twice
        assert_eq!(
            cause(opener.open(AAD, &first).unwrap_err()),
            HpkeError::Open
        );
        assert_eq!(opener.open(AAD, &second).unwrap(), TEXT);
    }
}

#[test]
fn unauthentic_messages_are_rejected() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (other_public_key, other_key) = ours.generate_key_pair().unwrap();
        let (enc, sealed) = ours.seal(INFO, AAD, TEXT, &public_key).unwrap();
        let check = |enc: &EncapsulatedSecret, info, aad, sealed: &[u8], key: &HpkePrivateKey| {
            common_error(
                ours.open(enc, info, aad, sealed, key),
                theirs.open(&their_enc(enc), info, aad, sealed, &their_key(key)),
            )
        };
        assert_eq!(check(&enc, INFO, AAD, &sealed, &key), None);

        let refused = Some(HpkeError::Open);
        for at in 0..sealed.len() {
            let mut wrong = sealed.clone();
            wrong[at] ^= 1;
            assert_eq!(check(&enc, INFO, AAD, &wrong, &key), refused);
            assert_eq!(check(&enc, INFO, AAD, &sealed[..at], &key), refused);
        }
        let longer = [&sealed[..], &[0]].concat();
        assert_eq!(check(&enc, INFO, AAD, &longer, &key), refused);
        assert_eq!(check(&enc, INFO, b"", &sealed, &key), refused);
        assert_eq!(check(&enc, b"", AAD, &sealed, &key), refused);
        assert_eq!(check(&enc, INFO, AAD, &sealed, &other_key), refused);
        // a valid public key, but not the one used for sealing
        let wrong_enc = EncapsulatedSecret(other_public_key.0);
        assert_eq!(check(&wrong_enc, INFO, AAD, &sealed, &key), refused);
    }
}

/// Uses invalid keys as the receiver's public key and as an encapsulated key.
#[test]
fn invalid_public_keys_are_rejected() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let valid = &public_key.0;
        let (_, sealed) = ours.seal(INFO, AAD, TEXT, &public_key).unwrap();
        let check = |bytes: &[u8]| {
            let enc = EncapsulatedSecret(bytes.to_vec());
            let receiver = HpkePublicKey(bytes.to_vec());
            let their_receiver = theirs::HpkePublicKey(bytes.to_vec());
            let causes = [
                common_error(
                    ours.seal(INFO, AAD, TEXT, &receiver),
                    theirs.seal(INFO, AAD, TEXT, &their_receiver),
                ),
                common_error(
                    ours.setup_sealer(INFO, &receiver),
                    theirs.setup_sealer(INFO, &their_receiver),
                ),
                common_error(
                    ours.open(&enc, INFO, AAD, &sealed, &key),
                    theirs.open(&their_enc(&enc), INFO, AAD, &sealed, &their_key(&key)),
                ),
                common_error(
                    ours.setup_opener(&enc, INFO, &key),
                    theirs.setup_opener(&their_enc(&enc), INFO, &their_key(&key)),
                ),
            ];
            assert_eq!(causes, [Some(HpkeError::InvalidPublicKey); 4], "{bytes:?}");
        };

        check(b"");
        check(&valid[1..]);
        check(&valid[..valid.len() - 1]);
        check(&[valid, &[0][..]].concat());
        // X25519: a point of small order; the others: not a point
        check(&vec![0; valid.len()]);
        if valid.len() == 32 {
            for mut point in X25519_SMALL_ORDER {
                check(&point);
                point[31] |= 0x80;
                check(&point);
            }
        } else {
            // the point at infinity (SEC 1 §2.3.3)
            check(&[0]);
            // not on the curve
            let mut wrong = valid.clone();
            *wrong.last_mut().unwrap() ^= 1;
            check(&wrong);
            // a coordinate beyond the field
            let mut wrong = valid.clone();
            wrong[1..].fill(0xff);
            check(&wrong);
            // RFC 9180 §7.1.1: neither compressed nor hybrid; upstream accepts the hybrid form
            let parity = valid.last().unwrap() & 1;
            let mut hybrid = valid.clone();
            hybrid[0] = 6 + parity;
            let mut compressed = valid[..=valid.len() / 2].to_vec();
            compressed[0] = 2 + parity;
            for form in [hybrid, compressed] {
                let refused = ours.setup_sealer(INFO, &HpkePublicKey(form.clone()));
                assert_eq!(cause(refused.unwrap_err()), HpkeError::InvalidPublicKey);
                let refused = ours.setup_opener(&EncapsulatedSecret(form), INFO, &key);
                assert_eq!(cause(refused.unwrap_err()), HpkeError::InvalidPublicKey);
            }
        }
    }
}

/// All points whose order divides 8, canonical or not. The highest bit is clear: it is ignored (RFC
/// 7748 §5). Each of them leads to a secret of zeros.
const X25519_SMALL_ORDER: [[u8; 32]; 7] = [
    small(0x00, 0x00, 0x00),
    small(0x01, 0x00, 0x00),
    // p - 1, p, p + 1
    small(0xec, 0xff, 0x7f),
    small(0xed, 0xff, 0x7f),
    small(0xee, 0xff, 0x7f),
    // the points of order 8
    [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4,
        0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49,
        0xb8, 0x00,
    ],
    [
        0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef,
        0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f,
        0x11, 0x57,
    ],
];

const fn small(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut point = [middle; 32];
    point[0] = first;
    point[31] = last;
    point
}

#[test]
fn invalid_private_keys_are_rejected() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (enc, sealed) = ours.seal(INFO, AAD, TEXT, &public_key).unwrap();
        let check = |bytes: &[u8]| {
            let key = HpkePrivateKey::from(bytes.to_vec());
            let cause = common_error(
                ours.open(&enc, INFO, AAD, &sealed, &key),
                theirs.open(&their_enc(&enc), INFO, AAD, &sealed, &their_key(&key)),
            );
            let of_setup = common_error(
                ours.setup_opener(&enc, INFO, &key),
                theirs.setup_opener(&their_enc(&enc), INFO, &their_key(&key)),
            );
            (cause.unwrap(), of_setup)
        };
        let invalid = (
            HpkeError::InvalidPrivateKey,
            Some(HpkeError::InvalidPrivateKey),
        );

        let valid = key.secret_bytes();
        assert_eq!(check(b""), invalid);
        assert_eq!(check(&valid[1..]), invalid);
        assert_eq!(check(&[&[0], valid].concat()), invalid);
        assert_eq!(check(&[valid, &[0]].concat()), invalid);

        let one = [&vec![0; valid.len() - 1][..], &[1]].concat();
        assert_eq!(check(&one), (HpkeError::Open, None));
        let (zero, ones) = (vec![0; valid.len()], vec![0xff; valid.len()]);
        if public_key.0.len() == 32 {
            // RFC 9180 §7.1.2: clamping makes these non-zero
            assert_eq!(check(&zero), (HpkeError::Open, None));
            assert_eq!(check(&ones), (HpkeError::Open, None));
        } else {
            assert_eq!(check(&zero), invalid);
            assert_eq!(check(&ones), invalid);
            let mut order = order(valid.len());
            assert_eq!(check(&order), invalid);
            *order.last_mut().unwrap() -= 1;
            assert_eq!(check(&order), (HpkeError::Open, None));
        }
    }
}

/// Returns the order of the curve whose private keys have `len` bytes (RFC 9180 §7.1.3).
fn order(len: usize) -> Vec<u8> {
    let digits = match len {
        32 => "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        48 => {
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf\
             581a0db248b0a77aecec196accc52973"
        }
        66 => {
            "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
             fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
        _ => panic!("no curve with keys of {len} bytes"),
    };
    (0..len)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

#[test]
fn key_pairs_and_ephemeral_keys_are_unique() {
    for (ours, _) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (other_public_key, other_key) = ours.generate_key_pair().unwrap();
        assert_ne!(public_key.0, other_public_key.0);
        assert_ne!(key.secret_bytes(), other_key.secret_bytes());
        let (enc, sealed) = ours.seal(INFO, AAD, TEXT, &public_key).unwrap();
        let (other_enc, other_sealed) = ours.seal(INFO, AAD, TEXT, &public_key).unwrap();
        assert_ne!(enc.0, other_enc.0);
        assert_ne!(sealed, other_sealed);
    }
}
