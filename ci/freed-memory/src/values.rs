//! Private keys, and each public type that holds a secret.

use core::hint::black_box;
use std::sync::Arc;

use harness::peers::configs::{KEY_TYPES, KeyType, PROVIDERS, SERVER_NAME};
use rustls::ConnectionTrafficSecrets;
use rustls::crypto::aws_lc_rs::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey};
use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{SharedSecret, hmac};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::ServerSessionValue;
use rustls_trust::{CertifiedKeyFiles, ReloadingCertifiedKeys};

use crate::secrets::leaves;

const SECRET: [u8; 32] = *b"thirty-two bytes, as many as can";

#[test]
fn each_type_that_holds_a_secret_zeroizes_it() {
    // a control: a plain vector is not zeroized
    assert!(leaves(&SECRET, || drop(black_box(SECRET.to_vec()))));
    let iv = || Iv::new(*SECRET.first_chunk().unwrap());
    let traffic = |make: fn(AeadKey, Iv) -> ConnectionTrafficSecrets| {
        let (key, iv) = (AeadKey::from(SECRET), iv());
        drop(black_box(Box::new(make(key, iv))));
    };
    let types: [(&str, &dyn Fn()); 12] = [
        ("OkmBlock", &|| {
            drop(black_box(Box::new(OkmBlock::new(&SECRET))))
        }),
        ("Tag", &|| {
            drop(black_box(Box::new(hmac::Tag::new(&SECRET))))
        }),
        ("SharedSecret", &|| {
            drop(black_box(SharedSecret::from(SECRET.to_vec())))
        }),
        ("SharedSecret, copied", &|| {
            drop(black_box(SharedSecret::from(&SECRET[..])))
        }),
        ("AeadKey", &|| {
            drop(black_box(Box::new(AeadKey::from(SECRET))))
        }),
        ("Iv", &|| drop(black_box(Box::new(iv())))),
        ("HpkePrivateKey", &|| {
            drop(black_box(HpkePrivateKey::from(SECRET.to_vec())))
        }),
        ("ConnectionTrafficSecrets, AES-128", &|| {
            traffic(|key, iv| ConnectionTrafficSecrets::Aes128Gcm { key, iv })
        }),
        ("ConnectionTrafficSecrets, AES-256", &|| {
            traffic(|key, iv| ConnectionTrafficSecrets::Aes256Gcm { key, iv })
        }),
        ("ConnectionTrafficSecrets, ChaCha20", &|| {
            traffic(|key, iv| ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv })
        }),
        ("ServerSessionValue", &|| {
            drop(black_box(ServerSessionValue::from(SECRET.to_vec())))
        }),
        ("ServerSessionValue, cloned", &|| {
            drop(black_box(ServerSessionValue::from(SECRET.to_vec()).clone()))
        }),
    ];
    for (name, work) in types {
        assert!(!leaves(&SECRET, work), "{name}");
    }
}

#[test]
fn no_hpke_private_key_is_left_in_freed_memory() {
    for hpke in ALL_SUPPORTED_SUITES {
        let (public_key, private_key) = hpke.generate_key_pair().unwrap();
        // the outer bytes of an X25519 key are clamped in one copy and not in another
        let inner_bytes: [u8; 16] = *private_key.secret_bytes()[8..].first_chunk().unwrap();
        let left = leaves(&inner_bytes, || {
            let private_key = HpkePrivateKey::from(private_key.secret_bytes().to_vec());
            let (enc, sealed) = hpke.seal(b"", b"", b"text", &public_key).unwrap();
            let opened = hpke.open(&enc, b"", b"", &sealed, &private_key);
            assert_eq!(opened.unwrap(), b"text");
            let (enc, mut sealer) = hpke.setup_sealer(b"", &public_key).unwrap();
            let mut opener = hpke.setup_opener(&enc, b"", &private_key).unwrap();
            let sealed = sealer.seal(b"", b"text").unwrap();
            assert_eq!(opener.open(b"", &sealed).unwrap(), b"text");
        });
        assert!(!left, "{hpke:?}");
    }
}

/// The secrets are those of RFC 9180 §A.1.1.
#[test]
fn no_secret_of_an_hpke_context_is_left() {
    let hpke = DH_KEM_X25519_HKDF_SHA256_AES_128;
    let private_key = HpkePrivateKey::from(hex(
        "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
    ));
    let enc = EncapsulatedSecret(hex(
        "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    ));
    let info = hex("4f6465206f6e2061204772656369616e2055726e");
    let ciphertext = hex(
        "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a9\
         6d8770ac83d07bea87e13c512a",
    );
    for (name, secret) in [
        (
            "shared_secret",
            "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc",
        ),
        (
            "secret",
            "12fff91991e93b48de37e7daddb52981084bd8aa64289c3788471d9a9712f397",
        ),
        ("key", "4531685d41d65f03dc48f6b8302c05b0"),
        ("base_nonce", "56d890e5accaaf011cff4b7d"),
    ] {
        let left = leaves(&hex(secret), || {
            let mut opener = hpke.setup_opener(&enc, &info, &private_key).unwrap();
            let opened = opener.open(b"Count-0", &ciphertext).unwrap();
            assert_eq!(opened, b"Beauty is truth, truth beauty");
        });
        assert!(!left, "{name}");
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&digits[at..][..2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// Secret bytes of a PKCS#8 private key, without adjacent public ones.
fn secret_part(key_type: KeyType, pkcs8: &[u8]) -> Vec<u8> {
    let at = match key_type {
        // the second half contains the prime factors and the values derived from them
        KeyType::Rsa2048 => pkcs8.len() * 3 / 4,
        KeyType::Ed25519 => 24,
        _ => 44,
    };
    pkcs8[at..][..16].to_vec()
}

/// The ECPrivateKey or RSAPrivateKey in PKCS#8: its last OCTET STRING.
fn inner(key_type: KeyType, pkcs8: &[u8]) -> Option<PrivateKeyDer<'static>> {
    let octets = match key_type {
        // SEQUENCE and OCTET STRING with two bytes of length each, version, 15 bytes of algorithm
        KeyType::Rsa2048 => &pkcs8[4 + 3 + 15 + 4..],
        KeyType::EcdsaP256 => &pkcs8[3 + 3 + 21 + 2..],
        _ => return None,
    };
    Some(match key_type {
        KeyType::Rsa2048 => PrivateKeyDer::Pkcs1(octets.to_vec().into()),
        _ => PrivateKeyDer::Sec1(octets.to_vec().into()),
    })
}

#[test]
fn no_loaded_private_key_is_left() {
    for provider in PROVIDERS {
        let crypto = Arc::new(provider.this());
        for key_type in KEY_TYPES {
            if !key_type.usable_with(provider) {
                continue;
            }
            let identity = &key_type.identities().server;
            let PrivateKeyDer::Pkcs8(pkcs8) = identity.key() else {
                panic!("another encoding");
            };
            let pkcs8 = pkcs8.secret_pkcs8_der();
            let secret = secret_part(key_type, pkcs8);
            let load = |key: PrivateKeyDer<'static>| {
                drop(crypto.key_provider.load_private_key(key).unwrap());
            };
            let left = leaves(&secret, || load(identity.key()));
            assert!(!left, "{provider:?}, {key_type:?}");
            if let Some(key) = inner(key_type, pkcs8) {
                let left = leaves(&secret, || load(key.clone_key()));
                assert!(!left, "{provider:?}, {key_type:?}, its own encoding");
            }
            let mut cut = pkcs8.to_vec();
            cut.pop();
            let left = leaves(&secret, || {
                let key = PrivateKeyDer::Pkcs8(cut.clone().into());
                crypto.key_provider.load_private_key(key).unwrap_err();
            });
            assert!(!left, "{provider:?}, {key_type:?}, refused");
        }
    }
}

/// Without zeroizing, each change of the files would leave another copy.
#[test]
fn no_key_of_a_rejected_pair_is_left() {
    let identity = &KeyType::EcdsaP256.identities().server;
    let PrivateKeyDer::Pkcs8(pkcs8) = identity.key() else {
        panic!("another encoding");
    };
    let secret = secret_part(KeyType::EcdsaP256, pkcs8.secret_pkcs8_der());
    let dir = std::env::temp_dir().join(format!("refused-pair-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (chain, key) = (dir.join("chain.pem"), dir.join("key.pem"));
    std::fs::write(&chain, &identity.cert_pem).unwrap();
    std::fs::write(&key, identity.key_pem()).unwrap();
    for provider in PROVIDERS {
        let crypto = Arc::new(provider.this());
        for (name, is_good) in [(SERVER_NAME, true), ("another.example", false)] {
            let left = leaves(&secret, || {
                let files = CertifiedKeyFiles::new(&chain, &key);
                let keys = ReloadingCertifiedKeys::builder(crypto.clone())
                    .with_names([name], files)
                    .build();
                assert_eq!(keys.is_ok(), is_good);
            });
            assert!(!left, "{provider:?}, {name}");
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
