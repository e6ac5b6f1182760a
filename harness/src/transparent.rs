//! A crypto provider that hides nothing and leaves nothing to chance, for both crates.
//!
//! Its cipher is the identity with a tag that is never checked, its key exchange always yields the
//! same secret, its random bytes are always the same. So the plaintext of protected handshake messages
//! is on the wire where a test can change any byte of it, and what a connection is sent can be recorded
//! once and replayed to any number of others.

use std::sync::{Arc, OnceLock};

use crate::configs::{self, ClientAuth, KeyType};

/// What ends every protected record.
pub const TAG: [u8; 16] = [0x77; 16];
const SHARE: [u8; 32] = [9; 32];
const SECRET: [u8; 32] = [5; 32];

const SHA384_OF_NOTHING: [u8; 48] = [
    0x38, 0xb0, 0x60, 0xa7, 0x51, 0xac, 0x96, 0x38, 0x4c, 0xd9, 0x32, 0x7e, 0xb1, 0xb1, 0xe3, 0x6a,
    0x21, 0xfd, 0xb7, 0x11, 0x14, 0xbe, 0x07, 0x43, 0x4c, 0x0c, 0xc7, 0xbf, 0x63, 0xf6, 0xe1, 0xda,
    0x27, 0x4e, 0xde, 0xbf, 0xe7, 0x6f, 0x65, 0xfb, 0xd5, 0x1a, 0xd2, 0xf1, 0x48, 0x98, 0xb9, 0x5b,
];

/// What two connections agree on beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub auth: ClientAuth,
    /// The client's first key share is of a group that the server does not have.
    pub retry: bool,
    /// Whether the transcript is hashed. If not, its hash is the same whatever is in it, so that a message
    /// that was changed and accepted does not fail the handshake later.
    pub hashes_transcript: bool,
}

impl Setup {
    fn usual(auth: ClientAuth) -> Self {
        Self {
            auth,
            retry: false,
            hashes_transcript: true,
        }
    }
}

macro_rules! transparent {
    ($module:ident, $tls:ident, $configs:ident, $provider:path) => {
        /// The provider, configurations and connections of one crate.
        pub mod $module {
            use $tls::client::Resumption;
            use $tls::crypto::cipher::{
                AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter,
                MessageEncrypter, Tls13AeadAlgorithm, UnsupportedOperationError,
            };
            use $tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
            use $tls::crypto::{
                ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
                SupportedKxGroup,
            };
            use $tls::{
                CipherSuiteCommon, ConnectionTrafficSecrets, Error, NamedGroup, PeerMisbehaved,
                Tls13CipherSuite,
            };

            use super::*;

            /// Configurations of the two sides, shared by all connections.
            pub struct Configs {
                pub client: Arc<$tls::ClientConfig>,
                pub server: Arc<$tls::ServerConfig>,
            }

            impl Configs {
                pub fn new(setup: Setup) -> Self {
                    let Setup { auth, retry, .. } = setup;
                    let groups: [&[&dyn SupportedKxGroup]; 2] = if retry {
                        [&[&FIRST, &SECOND], &[&SECOND]]
                    } else {
                        [&[&FIRST], &[&FIRST]]
                    };
                    let [client, server] = groups.map(|groups| provider_with(groups, setup));
                    let mut client = configs::$configs::client(client, KeyType::Ed25519, auth);
                    // no connection depends on an earlier one
                    client.resumption = Resumption::disabled();
                    let server = configs::$configs::server(server, KeyType::Ed25519, auth);
                    Self {
                        client: Arc::new(client),
                        server: Arc::new(server),
                    }
                }

                pub fn client(&self) -> $tls::ClientConnection {
                    let name = configs::server_name();
                    $tls::ClientConnection::new(self.client.clone(), name).unwrap()
                }

                pub fn server(&self) -> $tls::ServerConnection {
                    $tls::ServerConnection::new(self.server.clone()).unwrap()
                }
            }

            /// The provider of a setup with nothing unusual.
            pub fn provider() -> CryptoProvider {
                provider_with(&[&FIRST], Setup::usual(ClientAuth::None))
            }

            pub fn client(auth: ClientAuth) -> $tls::ClientConnection {
                Configs::new(Setup::usual(auth)).client()
            }

            pub fn server(auth: ClientAuth) -> $tls::ServerConnection {
                Configs::new(Setup::usual(auth)).server()
            }

            /// ring's provider, with everything replaced that is random or secret.
            fn provider_with(
                groups: &[&'static dyn SupportedKxGroup],
                setup: Setup,
            ) -> CryptoProvider {
                let mut provider = $provider();
                provider.cipher_suites = vec![suite(setup.hashes_transcript).into()];
                provider.kx_groups = groups.to_vec();
                provider.secure_random = &FixedRandom;
                provider
            }

            /// The first suite of ring's with another cipher, and another hash function if need be.
            fn suite(hashes_transcript: bool) -> &'static Tls13CipherSuite {
                static MADE: [OnceLock<Tls13CipherSuite>; 2] = [const { OnceLock::new() }; 2];
                MADE[usize::from(hashes_transcript)].get_or_init(|| {
                    let all = $provider().cipher_suites;
                    let suite = all.iter().find_map(|suite| suite.tls13()).unwrap();
                    Tls13CipherSuite {
                        common: CipherSuiteCommon {
                            suite: suite.common.suite,
                            hash_provider: if hashes_transcript {
                                suite.common.hash_provider
                            } else {
                                &FixedHash
                            },
                            confidentiality_limit: u64::MAX,
                        },
                        hkdf_provider: suite.hkdf_provider,
                        aead_alg: &Identity,
                        quic: None,
                    }
                })
            }

            /// Not a hash function: a fixed output, as long as that of the suite's hash.
            struct FixedHash;

            impl Hash for FixedHash {
                fn start(&self) -> Box<dyn Context> {
                    Box::new(FixedHash)
                }

                fn hash(&self, bytes: &[u8]) -> Output {
                    match bytes {
                        // which everybody knows, so that it may be used without being asked for
                        [] => Output::new(&SHA384_OF_NOTHING),
                        _ => Output::new(&[0x42; 48]),
                    }
                }

                fn output_len(&self) -> usize {
                    48
                }

                fn algorithm(&self) -> HashAlgorithm {
                    HashAlgorithm::SHA384
                }
            }

            impl Context for FixedHash {
                fn fork_finish(&self) -> Output {
                    self.hash(&[0])
                }

                fn fork(&self) -> Box<dyn Context> {
                    Box::new(FixedHash)
                }

                fn finish(self: Box<Self>) -> Output {
                    self.hash(&[0])
                }

                fn update(&mut self, _: &[u8]) {}
            }

            #[derive(Debug)]
            struct FixedRandom;

            impl SecureRandom for FixedRandom {
                fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
                    buf.fill(0x3d);
                    Ok(())
                }
            }

            const FIRST: FixedKx = FixedKx(NamedGroup::X25519);
            const SECOND: FixedKx = FixedKx(NamedGroup::secp256r1);

            #[derive(Clone, Copy, Debug)]
            struct FixedKx(NamedGroup);

            impl SupportedKxGroup for FixedKx {
                fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
                    Ok(Box::new(*self))
                }

                fn name(&self) -> NamedGroup {
                    self.0
                }
            }

            impl ActiveKeyExchange for FixedKx {
                fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
                    if peer.len() != SHARE.len() {
                        return Err(PeerMisbehaved::InvalidKeyShare.into());
                    }
                    Ok(SharedSecret::from(&SECRET[..]))
                }

                fn pub_key(&self) -> &[u8] {
                    &SHARE
                }

                fn group(&self) -> NamedGroup {
                    self.0
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

transparent!(this, rustls, this, rustls_provider_ring::default_provider);
transparent!(
    upstream,
    rustls_upstream,
    upstream,
    rustls_upstream::crypto::ring::default_provider
);
