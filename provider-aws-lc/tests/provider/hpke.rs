//! Compares HPKE with upstream's: each opens what the other seals, and this crate rejects all that
//! upstream rejects.

use rustls_core::blocks::HpkeError;
use rustls_core::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use rustls_core::error::{Error, OtherError};
use rustls_provider_aws_lc::hpke::ALL_SUPPORTED_SUITES;
use rustls_upstream as upstream;
use upstream::crypto::hpke as theirs;

use crate::{from_hex, x25519_small_order};

const INFO: &[u8] = b"info";
const AAD: &[u8] = b"aad";
const TEXT: &[u8] = b"plaintext";

/// Returns the suites of this crate and of upstream, in pairs.
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

/// Returns the [`HpkeError`] inside `error`.
fn cause(error: Error) -> HpkeError {
    let Error::Other(OtherError(cause)) = error else {
        panic!("{error:?}");
    };
    *cause.downcast_ref().expect("an HpkeError")
}

/// Returns the error of this crate if upstream fails as well; `None` if both succeed.
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
        let (suite, their_suite) = (ours.suite(), theirs.suite());
        assert_eq!(format!("{suite:?}"), format!("{their_suite:?}"));
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        #[cfg(not(feature = "fips"))]
        assert_eq!(ours.fips(), theirs.fips());
    }
}

#[test]
fn each_provider_opens_what_the_other_seals() {
    for (ours, theirs) in suites() {
        let (public_key, key) = ours.generate_key_pair().unwrap();
        let (their_public_key, their_own_key) = theirs.generate_key_pair().unwrap();
        let long = vec![0x5a; 70_000];
        for (info, aad, text) in [(INFO, AAD, TEXT), (b"", b"", b""), (&long, &long, &long)] {
            let receiver = HpkePublicKey(their_public_key.0.clone());
            let (enc, sealed) = ours.seal(info, aad, text, &receiver).unwrap();
            let opened = theirs.open(&their_enc(&enc), info, aad, &sealed, &their_own_key);
            assert_eq!(opened.unwrap(), text);

            let receiver = theirs::HpkePublicKey(public_key.0.clone());
            let (enc, sealed) = theirs.seal(info, aad, text, &receiver).unwrap();
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

        let mut open = |sealed: &[u8]| opener.open(AAD, sealed).map_err(cause);
        for refused in [&second[..], &first[1..], b""] {
            assert_eq!(open(refused), Err(HpkeError::Open));
        }
        assert_eq!(open(&first).unwrap(), TEXT);
        // no message can be opened twice
        assert_eq!(open(&first), Err(HpkeError::Open));
        assert_eq!(open(&second).unwrap(), TEXT);
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
            for mut point in x25519_small_order() {
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
        let no_key = HpkeError::InvalidPrivateKey;
        let (invalid, another) = ((no_key, Some(no_key)), (HpkeError::Open, None));

        let valid = key.secret_bytes();
        assert_eq!(check(b""), invalid);
        assert_eq!(check(&valid[1..]), invalid);
        assert_eq!(check(&[&[0], valid].concat()), invalid);
        assert_eq!(check(&[valid, &[0]].concat()), invalid);

        let one = [&vec![0; valid.len() - 1][..], &[1]].concat();
        assert_eq!(check(&one), another);
        // RFC 9180 §7.1.2: clamping turns these bytes into valid X25519 keys
        let is_x25519 = public_key.0.len() == 32;
        let of_extremes = if is_x25519 { another } else { invalid };
        assert_eq!(check(&vec![0; valid.len()]), of_extremes);
        assert_eq!(check(&vec![0xff; valid.len()]), of_extremes);
        if !is_x25519 {
            let mut order = order(valid.len());
            assert_eq!(check(&order), invalid);
            *order.last_mut().unwrap() -= 1;
            assert_eq!(check(&order), another);
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
    from_hex(digits)
}
