//! A crypto provider without encryption and randomness, for both crates.
//!
//! Its ciphers, one for each version, copy the plaintext and append a tag that is never checked.
//! Its key exchange always yields the same secret, and its random bytes and clock are constant. So
//! protected handshake messages are on the wire in plaintext, where a test can change any byte. The
//! input of a connection can be recorded once and replayed to any number of others.

mod quick_mac;
mod signatures;
mod stores;

use std::sync::{Arc, OnceLock};

use crate::peers::callbacks::Clock;
use crate::peers::configs::{self, ClientAuth, KeyType, Versions};
use crate::quic::{self, Framed, Version};

/// The last bytes of every protected record.
pub const TAG: [u8; 16] = [0x77; 16];
/// The transport parameters of both sides.
const PARAMETERS: &[u8] = b"transport parameters";
const SHARE: [u8; 32] = [9; 32];
const SECRET: [u8; 32] = [5; 32];

/// The parameters of two connections.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The client's versions, then the server's.
    pub versions: [Versions; 2],
    pub auth: ClientAuth,
    /// True if the client's first key share is of a group that the server lacks.
    pub retry: bool,
    /// True if the transcript is hashed. Otherwise its hash is constant, so that a changed message
    /// that was accepted does not fail the handshake later. MACs and secrets do not depend on a
    /// hash then, either.
    pub hashes_transcript: bool,
    /// `Some` to resume: each connection with the same configurations resumes an earlier one. A
    /// server keeps its first sessions and returns them any number of times; a client uses the last
    /// one of the thread once.
    pub resumes: Option<Resumes>,
    /// True if early data is sent and accepted.
    pub early_data: bool,
    /// True if certificates are compressed with zlib, which needs the feature `compression`.
    pub compresses: bool,
    /// True for QUIC connections. The underlying provider protects their packets.
    pub quic: bool,
    /// True if the underlying provider protects records, with early key updates in TLS 1.3. This
    /// detects records opened with another key than they were sealed with. Every run is still the
    /// same.
    pub seals: bool,
}

impl Setup {
    /// TLS 1.3 with default settings.
    pub const fn usual(auth: ClientAuth) -> Self {
        Self {
            versions: [Versions::Tls13; 2],
            auth,
            retry: false,
            hashes_transcript: true,
            resumes: None,
            early_data: false,
            compresses: false,
            quic: false,
            seals: false,
        }
    }
}

/// The location of a server's sessions. Their names on the wire are constant and of equal length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resumes {
    /// In the server's storage, under a ticket or a session ID.
    Stored,
    /// In a ticket, which is a number that the ticketer maps to the content.
    Tickets,
}

/// The clock of all connections, in seconds since 1970: a time in 2026.
pub const NOW: u64 = 1_780_000_000;

macro_rules! transparent {
    ($module:ident, $tls:ident, $configs:ident, $provider:path) => {
        /// The provider, configurations and connections of one crate.
        pub mod $module {
            use $tls::client::Resumption;
            use $tls::crypto::cipher::{
                AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape,
                MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
                UnsupportedOperationError,
            };
            use $tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
            use $tls::crypto::{
                ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
                SupportedKxGroup,
            };
            use $tls::server::NoServerSessionStorage;
            use $tls::{
                CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, Error, NamedGroup,
                PeerMisbehaved, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
            };

            use super::quick_mac::$module::{HKDF, PRF};
            pub use super::stores::$module::forget_sessions;
            use super::stores::$module::{Kept, OfThread};
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
                    let mut client = configs::$configs::client_of(
                        setup.versions[0],
                        client,
                        KeyType::Ed25519,
                        auth,
                    );
                    let mut server = configs::$configs::server_of(
                        setup.versions[1],
                        server,
                        KeyType::Ed25519,
                        auth,
                    );
                    #[cfg(feature = "compression")]
                    if setup.compresses {
                        client.cert_compressors = vec![&Zlib];
                        client.cert_decompressors = vec![$tls::compress::ZLIB_DECOMPRESSOR];
                        server.cert_compressors = vec![&Zlib];
                        server.cert_decompressors = vec![$tls::compress::ZLIB_DECOMPRESSOR];
                    }
                    client.time_provider = Clock::at(NOW);
                    server.time_provider = Clock::at(NOW);
                    // only one, so that the choice of a client is determined
                    server.send_tls13_tickets = 1;
                    if setup.early_data {
                        client.enable_early_data = true;
                        server.max_early_data_size = if setup.quic { u32::MAX } else { 1000 };
                    }
                    let kept = Arc::new(Kept::default());
                    client.resumption = Resumption::store(Arc::new(OfThread::default()));
                    match setup.resumes {
                        // no connection depends on an earlier one
                        None => {
                            client.resumption = Resumption::disabled();
                            // without randomness, the server's session ID would equal the client's
                            if setup.versions == [Versions::Both, Versions::Tls12] {
                                server.session_storage = Arc::new(NoServerSessionStorage {});
                            }
                        }
                        Some(Resumes::Stored) => server.session_storage = kept,
                        Some(Resumes::Tickets) => {
                            server.session_storage = Arc::new(NoServerSessionStorage {});
                            server.ticketer = kept;
                        }
                    }
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

                /// Creates a QUIC client. The setup must be for QUIC.
                pub fn quic_client(&self) -> Framed {
                    let client = quic::$module::client(&self.client, Version::V1, PARAMETERS);
                    Framed::new(Box::new(client.unwrap()))
                }

                pub fn quic_server(&self) -> Framed {
                    let server = quic::$module::server(&self.server, Version::V1, PARAMETERS);
                    Framed::new(Box::new(server.unwrap()))
                }
            }

            /// The provider of the usual setup.
            pub fn provider() -> CryptoProvider {
                provider_with(&[&FIRST], Setup::usual(ClientAuth::None))
            }

            pub fn client(auth: ClientAuth) -> $tls::ClientConnection {
                Configs::new(Setup::usual(auth)).client()
            }

            pub fn server(auth: ClientAuth) -> $tls::ServerConnection {
                Configs::new(Setup::usual(auth)).server()
            }

            /// ring's provider, with all random and secret parts replaced.
            fn provider_with(
                groups: &[&'static dyn SupportedKxGroup],
                setup: Setup,
            ) -> CryptoProvider {
                let mut provider = super::signatures::$module::provider();
                let hashes = setup.hashes_transcript;
                let tls12 = tls12_suite(hashes);
                if setup.seals {
                    let suites = &mut provider.cipher_suites;
                    suites.retain(|suite| suite.suite() == tls12.common.suite);
                    suites.push(sealing_suite().into());
                } else {
                    provider.cipher_suites = vec![suite(hashes).into(), tls12.into()];
                }
                provider.kx_groups = groups.to_vec();
                provider.secure_random = &FixedRandom;
                provider
            }

            /// The first suite of ring, with another cipher and possibly another hash function.
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
                        hkdf_provider: if hashes_transcript {
                            suite.hkdf_provider
                        } else {
                            &HKDF
                        },
                        aead_alg: &Identity13,
                        quic: suite.quic,
                    }
                })
            }

            /// The suite of ring with the quickest hash, and with keys that wear out after a few
            /// records.
            fn sealing_suite() -> &'static Tls13CipherSuite {
                static MADE: OnceLock<Tls13CipherSuite> = OnceLock::new();
                MADE.get_or_init(|| {
                    let all = $provider().cipher_suites;
                    let name = CipherSuite::TLS13_AES_128_GCM_SHA256;
                    let suite = all.iter().find(|suite| suite.suite() == name);
                    let suite = suite.and_then(|suite| suite.tls13()).unwrap();
                    Tls13CipherSuite {
                        common: CipherSuiteCommon {
                            suite: suite.common.suite,
                            hash_provider: suite.common.hash_provider,
                            confidentiality_limit: 12,
                        },
                        hkdf_provider: suite.hkdf_provider,
                        aead_alg: suite.aead_alg,
                        quic: suite.quic,
                    }
                })
            }

            /// The TLS 1.2 suite of ring that has the same hash function, changed in the same way.
            fn tls12_suite(hashes_transcript: bool) -> &'static Tls12CipherSuite {
                static MADE: [OnceLock<Tls12CipherSuite>; 2] = [const { OnceLock::new() }; 2];
                MADE[usize::from(hashes_transcript)].get_or_init(|| {
                    let name = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
                    let all = $provider().cipher_suites;
                    let suite = all.iter().find(|suite| suite.suite() == name).unwrap();
                    let SupportedCipherSuite::Tls12(suite) = suite else {
                        panic!("{name:?} is of TLS 1.2");
                    };
                    Tls12CipherSuite {
                        common: CipherSuiteCommon {
                            suite: name,
                            hash_provider: if hashes_transcript {
                                suite.common.hash_provider
                            } else {
                                &FixedHash
                            },
                            confidentiality_limit: u64::MAX,
                        },
                        kx: suite.kx,
                        sign: suite.sign,
                        aead_alg: &Identity12,
                        prf_provider: if hashes_transcript {
                            suite.prf_provider
                        } else {
                            &PRF
                        },
                    }
                })
            }

            /// Zlib compression, the same for both crates.
            #[cfg(feature = "compression")]
            #[derive(Debug)]
            struct Zlib;

            #[cfg(feature = "compression")]
            impl $tls::compress::CertCompressor for Zlib {
                fn compress(
                    &self,
                    input: Vec<u8>,
                    _level: $tls::compress::CompressionLevel,
                ) -> Result<Vec<u8>, $tls::compress::CompressionFailed> {
                    use rustls::compress::{CompressionLevel, ZLIB_COMPRESSOR};

                    ZLIB_COMPRESSOR
                        .compress(input, CompressionLevel::Interactive)
                        .map_err(|_| $tls::compress::CompressionFailed)
                }

                fn algorithm(&self) -> $tls::CertificateCompressionAlgorithm {
                    $tls::CertificateCompressionAlgorithm::Zlib
                }
            }

            /// A fixed output of the length of the suite's hash.
            struct FixedHash;

            impl Hash for FixedHash {
                fn start(&self) -> Box<dyn Context> {
                    Box::new(FixedHash)
                }

                fn hash(&self, _: &[u8]) -> Output {
                    Output::new(&[0x42; 48])
                }

                fn output_len(&self) -> usize {
                    48
                }

                fn algorithm(&self) -> HashAlgorithm {
                    // another algorithm than the suite's, because the first secrets of that are
                    // well known
                    HashAlgorithm::SHA512
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

            /// The record protection in TLS 1.3.
            struct Identity13;

            impl Tls13AeadAlgorithm for Identity13 {
                fn encrypter(&self, _: AeadKey, _: Iv) -> Box<dyn MessageEncrypter> {
                    Box::new(Identity::<1>)
                }

                fn decrypter(&self, _: AeadKey, _: Iv) -> Box<dyn MessageDecrypter> {
                    Box::new(Identity::<1>)
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

            /// The record protection in TLS 1.2.
            struct Identity12;

            impl Tls12AeadAlgorithm for Identity12 {
                fn encrypter(&self, _: AeadKey, _: &[u8], _: &[u8]) -> Box<dyn MessageEncrypter> {
                    Box::new(Identity::<0>)
                }

                fn decrypter(&self, _: AeadKey, _: &[u8]) -> Box<dyn MessageDecrypter> {
                    Box::new(Identity::<0>)
                }

                fn key_block_shape(&self) -> KeyBlockShape {
                    KeyBlockShape {
                        enc_key_len: 16,
                        fixed_iv_len: 12,
                        explicit_nonce_len: 0,
                    }
                }

                fn extract_keys(
                    &self,
                    _: AeadKey,
                    _: &[u8],
                    _: &[u8],
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                    Err(UnsupportedOperationError)
                }
            }

            /// The identity with an inner content type of one byte, or none.
            struct Identity<const INNER_TYPE: usize>;

            impl<const INNER_TYPE: usize> MessageDecrypter for Identity<INNER_TYPE> {
                fn decrypt<'a>(
                    &mut self,
                    mut msg: InboundOpaqueMessage<'a>,
                    _: u64,
                ) -> Result<InboundPlainMessage<'a>, Error> {
                    let len = msg.payload.len().checked_sub(TAG.len());
                    msg.payload.truncate(len.ok_or(Error::DecryptError)?);
                    match INNER_TYPE {
                        0 if msg.payload.len() > 1 << 14 => Err(Error::PeerSentOversizedRecord),
                        0 => Ok(msg.into_plain_message()),
                        _ => msg.into_tls13_unpadded_message(),
                    }
                }
            }

            impl<const INNER_TYPE: usize> MessageEncrypter for Identity<INNER_TYPE> {
                $module!(encrypt);

                fn encrypted_payload_len(&self, payload_len: usize) -> usize {
                    payload_len + INNER_TYPE + TAG.len()
                }
            }
        }
    };
}

/// The two crates' interfaces differ in encryption.
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
            let (inner_type, tag) = out[len..].split_at_mut(INNER_TYPE);
            inner_type.fill(typ.into());
            tag[..TAG.len()].copy_from_slice(&TAG);
            Ok(len + INNER_TYPE + TAG.len())
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
            payload.extend_from_slice(&[msg.typ.into(); INNER_TYPE]);
            payload.extend_from_slice(&TAG);
            let typ = match INNER_TYPE {
                0 => msg.typ,
                _ => rustls_upstream::ContentType::ApplicationData,
            };
            Ok(rustls_upstream::crypto::cipher::OutboundOpaqueMessage::new(
                typ,
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
