//! Checks HPKE with the vectors of RFC 9180, from the shared secret to the last message.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use rustls_core::blocks::{AeadAlgorithm, Curve, HashFunction, HpkeBase, HpkeDh, HpkeError};
use rustls_core::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use rustls_core::crypto::{GetRandomFailed, SharedSecret};
use rustls_core::error::{Error, OtherError};

use crate::hex;

const PLAINTEXT: &[u8] = b"Beauty is truth, truth beauty";

/// Checks the HPKE suite of `D`, `H` and `A` in both roles.
pub fn check_hpke<D: HpkeDh, H: HashFunction, A: AeadAlgorithm>() {
    let hpke = HpkeBase::<FixedEphemeral<D>, H, A>::NEW;
    let vector = Vector::of(&hpke);
    EPHEMERAL.set(vector.ephemeral.clone());

    let (enc, mut sealer) = hpke.setup_sealer(&vector.info, &vector.receiver).unwrap();
    assert_eq!(enc.0, vector.enc.0);
    let mut opener = hpke
        .setup_opener(&vector.enc, &vector.info, &vector.secret_key)
        .unwrap();

    let mut checked = 0;
    for number in 0..=256 {
        let aad = format!("Count-{number}");
        let sealed = sealer.seal(aad.as_bytes(), PLAINTEXT).unwrap();
        if let Some((_, expected)) = vector.ciphertexts.iter().find(|(n, _)| *n == number) {
            assert_eq!(sealed, *expected, "message {number} of {hpke:?}");
            checked += 1;
        }
        assert_eq!(opener.open(aad.as_bytes(), &sealed).unwrap(), PLAINTEXT);
    }
    assert_eq!(checked, 6);

    check_single_shot(&hpke, &vector);
    check_key_pair::<D>(&HpkeBase::<D, H, A>::NEW);
}

/// Checks that the suite of X25519, `H` and `A` rejects a shared secret of zeros in both roles,
/// even if the library does not.
pub fn check_hpke_rejects_zeros<D: HpkeDh, H: HashFunction, A: AeadAlgorithm>() {
    let hpke = HpkeBase::<FixedEphemeral<D>, H, A>::NEW;
    let vector = Vector::of(&hpke);
    EPHEMERAL.set(vector.ephemeral.clone());
    AGREES_ON_ZEROS.set(true);
    let sealer = hpke.setup_sealer(&vector.info, &vector.receiver);
    let opener = hpke.setup_opener(&vector.enc, &vector.info, &vector.secret_key);
    AGREES_ON_ZEROS.set(false);
    for refused in [sealer.err(), opener.err()] {
        let Some(Error::Other(OtherError(cause))) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(
            cause.downcast_ref::<HpkeError>(),
            Some(&HpkeError::InvalidPublicKey)
        );
    }
}

fn check_single_shot(hpke: &dyn Hpke, vector: &Vector) {
    let (enc, sealed) = hpke
        .seal(&vector.info, b"Count-0", PLAINTEXT, &vector.receiver)
        .unwrap();
    assert_eq!(
        (enc.0, &sealed),
        (vector.enc.0.clone(), &vector.ciphertexts[0].1)
    );
    let opened = hpke.open(
        &vector.enc,
        &vector.info,
        b"Count-0",
        &sealed,
        &vector.secret_key,
    );
    assert_eq!(opened.unwrap(), PLAINTEXT);
}

/// Checks a generated pair: the form of the private key, and that the public key matches it.
fn check_key_pair<D: HpkeDh>(hpke: &dyn Hpke) {
    let (public_key, private_key) = hpke.generate_key_pair().unwrap();
    let bytes = private_key.secret_bytes();
    let key = D::from_bytes(bytes).unwrap();
    assert_eq!(D::public_key(&key).unwrap(), public_key.0);
    if D::CURVE == Curve::X25519 {
        // RFC 7748 §5
        assert_eq!((bytes[0] & 0b111, bytes[31] >> 6), (0, 0b01));
    }
}

/// The vector of one suite.
struct Vector {
    info: Vec<u8>,
    ephemeral: Vec<u8>,
    secret_key: HpkePrivateKey,
    receiver: HpkePublicKey,
    enc: EncapsulatedSecret,
    ciphertexts: Vec<(u32, Vec<u8>)>,
}

impl Vector {
    fn of(hpke: &dyn Hpke) -> Self {
        let suite = hpke.suite();
        let [kem, kdf, aead] = [
            u16::from(suite.kem),
            u16::from(suite.sym.kdf_id),
            u16::from(suite.sym.aead_id),
        ];
        let name = format!("suite {kem} {kdf} {aead}\n");
        let (_, rest) = include_str!("hpke/vectors.txt")
            .split_once(&name)
            .unwrap_or_else(|| panic!("no vector for {suite:?}"));
        let block = rest.split("\n\n").next().unwrap();
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name));
            hex(line.unwrap_or_else(|| panic!("no {name}of {suite:?}")))
        };
        let ciphertext = |line: &str| {
            let (number, ciphertext) = line.strip_prefix("ct ")?.split_once(' ')?;
            Some((number.parse().unwrap(), hex(ciphertext)))
        };
        Self {
            info: field("info "),
            ephemeral: field("skE "),
            secret_key: field("skR ").into(),
            receiver: HpkePublicKey(field("pkR ")),
            enc: EncapsulatedSecret(field("enc ")),
            ciphertexts: block.lines().filter_map(ciphertext).collect(),
        }
    }
}

std::thread_local! {
    /// The next key that [`FixedEphemeral`] generates.
    static EPHEMERAL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };

    /// True if [`FixedEphemeral`] agrees on zeros.
    static AGREES_ON_ZEROS: Cell<bool> = const { Cell::new(false) };
}

/// `D` with the vector's ephemeral key, and optionally a shared secret of zeros.
struct FixedEphemeral<D>(PhantomData<D>);

impl<D: HpkeDh> HpkeDh for FixedEphemeral<D> {
    type Hash = D::Hash;
    type PrivateKey = D::PrivateKey;

    const CURVE: Curve = D::CURVE;

    fn generate() -> Result<Self::PrivateKey, GetRandomFailed> {
        EPHEMERAL.with_borrow(|bytes| D::from_bytes(bytes).ok_or(GetRandomFailed))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self::PrivateKey> {
        D::from_bytes(bytes)
    }

    fn to_bytes(key: &Self::PrivateKey) -> Option<HpkePrivateKey> {
        D::to_bytes(key)
    }

    fn public_key(key: &Self::PrivateKey) -> Option<Vec<u8>> {
        D::public_key(key)
    }

    fn agree(key: &Self::PrivateKey, peer: &[u8]) -> Option<SharedSecret> {
        let secret = D::agree(key, peer)?;
        if AGREES_ON_ZEROS.get() {
            return Some(vec![0; secret.secret_bytes().len()].into());
        }
        Some(secret)
    }
}
