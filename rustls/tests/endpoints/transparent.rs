//! A crypto provider that hides nothing and leaves nothing to chance, for both crates.
//!
//! Its cipher is the identity with a tag that is never checked, its key exchange always yields the
//! same secret, its random bytes are always the same. So the plaintext of protected handshake messages
//! is on the wire where a test can change any byte of it, and two connections of different crates
//! exchange the same bytes.

use std::sync::Arc;

use super::configs::{ClientAuth, KeyType};

const TAG: [u8; 16] = [0x77; 16];
const SHARE: [u8; 32] = [9; 32];
const SECRET: [u8; 32] = [5; 32];

macro_rules! transparent {
    ($module:ident, $tls:ident, $configs:ident) => {
        pub mod $module {
            use $tls::crypto::cipher::{
                AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter,
                MessageEncrypter, Tls13AeadAlgorithm, UnsupportedOperationError,
            };
            use $tls::crypto::{
                ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
                SupportedKxGroup,
            };
            use $tls::{
                CipherSuiteCommon, ConnectionTrafficSecrets, Error, NamedGroup, PeerMisbehaved,
                Tls13CipherSuite,
            };

            use super::*;

            /// ring's provider with everything replaced that is random or secret.
            pub fn provider() -> CryptoProvider {
                let mut provider = $tls::crypto::ring::default_provider();
                let suite = provider
                    .cipher_suites
                    .iter()
                    .find_map(|suite| suite.tls13());
                let suite = suite.unwrap();
                let suite: &'static Tls13CipherSuite = Box::leak(Box::new(Tls13CipherSuite {
                    common: CipherSuiteCommon {
                        suite: suite.common.suite,
                        hash_provider: suite.common.hash_provider,
                        confidentiality_limit: u64::MAX,
                    },
                    hkdf_provider: suite.hkdf_provider,
                    aead_alg: &Identity,
                    quic: None,
                }));
                provider.cipher_suites = vec![suite.into()];
                provider.kx_groups = vec![&FixedKx];
                provider.secure_random = &FixedRandom;
                provider
            }

            pub fn client(auth: ClientAuth) -> $tls::ClientConnection {
                let config =
                    super::super::configs::$configs::client(provider(), KeyType::Ed25519, auth);
                let name = super::super::configs::server_name();
                $tls::ClientConnection::new(Arc::new(config), name).unwrap()
            }

            pub fn server(auth: ClientAuth) -> $tls::ServerConnection {
                let config =
                    super::super::configs::$configs::server(provider(), KeyType::Ed25519, auth);
                $tls::ServerConnection::new(Arc::new(config)).unwrap()
            }

            #[derive(Debug)]
            struct FixedRandom;

            impl SecureRandom for FixedRandom {
                fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
                    buf.fill(0x3c);
                    Ok(())
                }
            }

            #[derive(Debug)]
            struct FixedKx;

            impl SupportedKxGroup for FixedKx {
                fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
                    Ok(Box::new(FixedKx))
                }

                fn name(&self) -> NamedGroup {
                    NamedGroup::X25519
                }
            }

            impl ActiveKeyExchange for FixedKx {
                fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
                    match peer.len() == SHARE.len() {
                        true => Ok(SharedSecret::from(&SECRET[..])),
                        false => Err(PeerMisbehaved::InvalidKeyShare.into()),
                    }
                }

                fn pub_key(&self) -> &[u8] {
                    &SHARE
                }

                fn group(&self) -> NamedGroup {
                    NamedGroup::X25519
                }
            }

            struct Identity;

            impl Tls13AeadAlgorithm for Identity {
                fn encrypter(&self, _: AeadKey, _: Iv) -> Box<dyn MessageEncrypter> {
                    Box::new(Identity)
                }

                fn decrypter(&self, _: AeadKey, _: Iv) -> Box<dyn MessageDecrypter> {
                    Box::new(Identity)
                }

                fn key_len(&self) -> usize {
                    16
                }

                fn extract_keys(
                    &self,
                    _: AeadKey,
                    _: Iv,
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                    Err(UnsupportedOperationError)
                }
            }

            impl MessageDecrypter for Identity {
                fn decrypt<'a>(
                    &mut self,
                    mut msg: InboundOpaqueMessage<'a>,
                    _: u64,
                ) -> Result<InboundPlainMessage<'a>, Error> {
                    let len = msg.payload.len().checked_sub(TAG.len());
                    msg.payload.truncate(len.ok_or(Error::DecryptError)?);
                    msg.into_tls13_unpadded_message()
                }
            }

            impl MessageEncrypter for Identity {
                $module!(encrypt);

                fn encrypted_payload_len(&self, payload_len: usize) -> usize {
                    payload_len + 1 + TAG.len()
                }
            }
        }
    };
}

/// Encryption is where the two crates' interfaces differ.
macro_rules! this {
    (encrypt) => {
        fn encrypt(
            &mut self,
            msg: rustls::crypto::cipher::OutboundPlainMessage<'_>,
            seq: u64,
            out: &mut [u8],
        ) -> Result<usize, rustls::crypto::cipher::EncryptError> {
            let len = msg.payload.len();
            msg.payload.copy_to_slice(&mut out[..len]);
            self.encrypt_in_place(msg.typ, msg.version, len, seq, out)
        }

        fn encrypt_in_place(
            &mut self,
            typ: rustls::ContentType,
            _: rustls::ProtocolVersion,
            len: usize,
            _: u64,
            out: &mut [u8],
        ) -> Result<usize, rustls::crypto::cipher::EncryptError> {
            out[len] = typ.into();
            out[len + 1..len + 1 + TAG.len()].copy_from_slice(&TAG);
            Ok(len + 1 + TAG.len())
        }

        fn payload_offset(&self) -> usize {
            0
        }
    };
}

macro_rules! upstream {
    (encrypt) => {
        fn encrypt(
            &mut self,
            msg: rustls_upstream::crypto::cipher::OutboundPlainMessage<'_>,
            _: u64,
        ) -> Result<rustls_upstream::crypto::cipher::OutboundOpaqueMessage, rustls_upstream::Error>
        {
            let mut payload = rustls_upstream::crypto::cipher::PrefixedPayload::with_capacity(
                self.encrypted_payload_len(msg.payload.len()),
            );
            payload.extend_from_chunks(&msg.payload);
            payload.extend_from_slice(&[msg.typ.into()]);
            payload.extend_from_slice(&TAG);
            Ok(rustls_upstream::crypto::cipher::OutboundOpaqueMessage::new(
                rustls_upstream::ContentType::ApplicationData,
                rustls_upstream::ProtocolVersion::TLSv1_2,
                payload,
            ))
        }
    };
}

transparent!(this, rustls, this);
transparent!(upstream, rustls_upstream, upstream);
