//! Sealing is a function of key, nonce and plaintext, so the ciphers of both crates seal the same
//! bytes, and each opens them.

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, upstream as configs};
use harness::peers::endpoints::handshake;
use harness::peers::roles::upstream::Config;
use harness::peers::roles::{ROLES, Role};
use rustls::SupportedCipherSuite;
use rustls::crypto::cipher::AeadKey;
use rustls_upstream::crypto::cipher::AeadKey as TheirKey;

const IV: [u8; 12] = *b"twelve bytes";

macro_rules! layers {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::crypto::cipher::{
                AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter,
                OutboundPlainMessage,
            };
            use $tls::{ContentType, ProtocolVersion, SupportedCipherSuite};

            use super::IV;

            /// Returns the encrypter and the decrypter of a suite, which take equal keys.
            pub(super) fn directions(
                suite: SupportedCipherSuite,
                [key, key2]: [AeadKey; 2],
            ) -> (Box<dyn MessageEncrypter>, Box<dyn MessageDecrypter>) {
                match suite {
                    SupportedCipherSuite::Tls13(suite) => {
                        let aead = suite.aead_alg;
                        let encrypter = aead.encrypter(key, Iv::new(IV));
                        (encrypter, aead.decrypter(key2, Iv::new(IV)))
                    }
                    SupportedCipherSuite::Tls12(suite) => {
                        let aead = suite.aead_alg;
                        let (fixed, explicit) = IV.split_at(aead.key_block_shape().fixed_iv_len);
                        let encrypter = aead.encrypter(key, fixed, explicit);
                        (encrypter, aead.decrypter(key2, fixed))
                    }
                }
            }

            pub(super) fn message(plain: &[u8]) -> OutboundPlainMessage<'_> {
                OutboundPlainMessage {
                    typ: ContentType::ApplicationData,
                    version: ProtocolVersion::TLSv1_2,
                    payload: plain.into(),
                }
            }

            pub(super) fn open(by: &mut dyn MessageDecrypter, record: &[u8], seq: u64) -> Vec<u8> {
                let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
                let mut record = record.to_vec();
                let msg = InboundOpaqueMessage::new(typ, version, &mut record);
                by.decrypt(msg, seq).unwrap().payload.to_vec()
            }
        }
    };
}

layers!(this, rustls);
layers!(upstream, rustls_upstream);

#[test]
fn records_match_upstream() {
    const HEADER_LEN: usize = 5;

    for provider in PROVIDERS {
        let (ours, theirs) = (provider.this(), provider.upstream());
        for (ours, theirs) in ours.cipher_suites.into_iter().zip(theirs.cipher_suites) {
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            // the FIPS module demands growing explicit nonces, and each crate makes its own
            if cfg!(feature = "fips") && ours.tls13().is_none() {
                continue;
            }
            let their_keys = their_keys(key_len(ours));
            let our_keys = [(); 2].map(|()| AeadKey::new(their_keys[0].as_ref()));
            let (mut sealing, mut opening) = this::directions(ours, our_keys);
            let (mut their_sealing, mut their_opening) = upstream::directions(theirs, their_keys);
            for len in [0, 1, 15, 16, 17, 255, 1400, 16384] {
                let (plain, seq) = (vec![0x5a; len], len as u64);
                let mut record = vec![0; sealing.encrypted_payload_len(len)];
                sealing
                    .encrypt(this::message(&plain), seq, &mut record)
                    .unwrap();
                let their_record = their_sealing.encrypt(upstream::message(&plain), seq);
                let their_record = their_record.unwrap().encode();
                assert!(record == their_record[HEADER_LEN..], "{ours:?} {len}");
                assert!(this::open(&mut *opening, &record, seq) == plain);
                assert!(upstream::open(&mut *their_opening, &record, seq) == plain);
            }
        }
    }
}

fn key_len(suite: SupportedCipherSuite) -> usize {
    match suite {
        SupportedCipherSuite::Tls13(suite) => suite.aead_alg.key_len(),
        SupportedCipherSuite::Tls12(suite) => suite.aead_alg.key_block_shape().enc_key_len,
    }
}

/// Returns the same key twice. Those of 16 bytes are extracted from a connection, because
/// upstream's API cannot create them. The client's key for sending is the server's for receiving.
fn their_keys(len: usize) -> [TheirKey; 2] {
    use rustls_upstream::{CipherSuite, ConnectionTrafficSecrets};

    if len == 32 {
        return [[0x4b; 32]; 2].map(TheirKey::from);
    }
    let [mut client, mut server] = ROLES.map(|role| {
        let suite = CipherSuite::TLS13_AES_128_GCM_SHA256;
        let crypto = configs::provider_of(Provider::Ring, suite);
        let config = Config::new(role, Versions::Tls13, crypto, KeyType::Ed25519);
        (role, config.extractable().buffered())
    });
    handshake(&mut client.1, &mut server.1);
    [client, server].map(|(role, end)| {
        let secrets = end.conn.dangerous_extract_secrets().unwrap();
        let (_, secrets) = match role {
            Role::Client => secrets.tx,
            Role::Server => secrets.rx,
        };
        match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, .. } => key,
            _ => panic!("the connection has one suite only"),
        }
    })
}
