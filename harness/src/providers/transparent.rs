//! A crypto provider without encryption and randomness, for both crates.
//!
//! Its ciphers, one for each version, copy the plaintext and append a tag that is never checked.
//! Its key exchange always yields the same secret, and its random bytes and clock are constant. So
//! protected handshake messages are on the wire in plaintext, where a test can change any byte. The
//! input of a connection can be recorded once and replayed to any number of others.

mod quick_mac;
mod signatures;
mod stores;

use std::sync::Arc;

use crate::peers::callbacks::Clock;
use crate::peers::configs::{self, ClientAuth, KeyType, Versions};
use crate::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use crate::peers::roles::Role;
use crate::quic::{self, Framed, Version};

/// The last bytes of every protected record.
pub const TAG: [u8; 16] = [0x77; 16];
/// The transport parameters of both sides.
const PARAMETERS: &[u8] = b"transport parameters";
/// The only ticket.
const TICKET: [u8; 48] = [0x71; 48];

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
    /// True if the ends accept any certificate and any signature, and do not sign: for connections
    /// whose authentication does not matter. Both sides have a fake OCSP response, which servers
    /// staple.
    pub trusts: bool,
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
            trusts: false,
        }
    }

    /// Like [`Self::usual`], without hashed transcripts.
    pub const fn unhashed(auth: ClientAuth) -> Self {
        let mut setup = Self::usual(auth);
        setup.hashes_transcript = false;
        setup
    }

    pub const fn with_versions(mut self, versions: [Versions; 2]) -> Self {
        self.versions = versions;
        self
    }

    pub const fn with_retry(mut self) -> Self {
        self.retry = true;
        self
    }

    pub const fn resuming(mut self, resumes: Resumes) -> Self {
        self.resumes = Some(resumes);
        self
    }

    /// Resumes stored sessions with early data.
    pub const fn with_early_data(mut self) -> Self {
        self.early_data = true;
        self.resuming(Resumes::Stored)
    }

    pub const fn compressing(mut self) -> Self {
        self.compresses = true;
        self
    }

    pub const fn over_quic(mut self) -> Self {
        self.quic = true;
        self
    }

    pub const fn trusting(mut self) -> Self {
        self.trusts = true;
        self
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
    ($module:ident, $tls:ident, $buffered:ident, $provider:path) => {
        /// The provider, configurations and connections of one crate.
        pub mod $module {
            use $tls::client::Resumption;
            use $tls::crypto::cipher::{
                AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape,
                MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
                UnsupportedOperationError,
            };
            use $tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
            use $tls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
            use $tls::server::danger::ClientCertVerifier;
            use $tls::server::{
                NoServerSessionStorage, StoresServerSessions, WebPkiClientVerifier,
            };
            use $tls::version::{TLS12, TLS13};
            use $tls::{
                CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, Error, NamedGroup,
                SignatureScheme, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
            };

            use super::quick_mac::$module::{HKDF, PRF};
            use super::signatures::$module::{self as signatures, unsigned};
            pub use super::stores::$module::forget_sessions;
            use super::stores::$module::{FirstSessions, ThreadSessions};
            use super::*;
            use crate::providers::constant::$module::Group;
            use crate::providers::tickets::$module::Tickets;
            use crate::verifiers::$module::Verifier;

            /// Configurations of the two sides, shared by all connections.
            pub struct Configs {
                pub client: Arc<$tls::ClientConfig>,
                pub server: Arc<$tls::ServerConfig>,
            }

            impl Configs {
                pub fn new(setup: Setup) -> Self {
                    let Setup { auth, retry, .. } = setup;
                    let (first, second) = (NamedGroup::X25519, NamedGroup::secp256r1);
                    let groups = match retry {
                        true => [vec![first, second], vec![second]],
                        false => [vec![first], vec![first]],
                    };
                    let [client, server] = groups.map(|groups| provider_with(&groups, setup));
                    let mut client = configs::$module::client_of(
                        setup.versions[0],
                        client,
                        KeyType::Ed25519,
                        auth,
                    );
                    let mut server = configs::$module::server_of(
                        setup.versions[1],
                        server,
                        KeyType::Ed25519,
                        auth,
                    );
                    if setup.trusts {
                        trust(&mut client, &mut server, setup);
                    }
                    #[cfg(feature = "compression")]
                    if setup.compresses {
                        let decompressors = match setup.trusts {
                            true => $tls::compress::default_cert_decompressors(),
                            false => &[$tls::compress::ZLIB_DECOMPRESSOR],
                        };
                        client.cert_compressors = vec![&Zlib];
                        client.cert_decompressors = decompressors.to_vec();
                        server.cert_compressors = vec![&Zlib];
                        server.cert_decompressors = decompressors.to_vec();
                    }
                    client.time_provider = Clock::at(NOW);
                    server.time_provider = Clock::at(NOW);
                    // only one, so that the choice of a client is determined
                    server.send_tls13_tickets = 1;
                    if setup.early_data {
                        client.enable_early_data = true;
                        server.max_early_data_size = if setup.quic { u32::MAX } else { 1000 };
                    }
                    let sessions = Arc::new(FirstSessions::default());
                    client.resumption = Resumption::store(Arc::new(ThreadSessions::default()));
                    match setup.resumes {
                        // no connection depends on an earlier one
                        None => {
                            client.resumption = Resumption::disabled();
                            // without randomness, the server's session ID would equal the client's
                            if setup.versions == [Versions::Both, Versions::Tls12] {
                                server.session_storage = Arc::new(NoServerSessionStorage {});
                            }
                        }
                        Some(Resumes::Stored) => server.session_storage = sessions,
                        Some(Resumes::Tickets) => {
                            server.session_storage = Arc::new(NoServerSessionStorage {});
                            let sealed = sessions.clone();
                            let encrypt = move |plain: &[u8]| {
                                let is_put = sealed.put(TICKET.to_vec(), plain.to_vec());
                                is_put.then(|| TICKET.to_vec())
                            };
                            let decrypt = move |ticket: &[u8]| sessions.get(ticket);
                            server.ticketer = Arc::new(Tickets::new(60 * 60, encrypt, decrypt));
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

                /// Creates a connection over records, or over QUIC if the setup is for that.
                pub fn endpoint(&self, side: Role, is_quic: bool) -> Box<dyn Endpoint> {
                    use quic::$module::{client, server};
                    let v1 = Version::V1;
                    match side {
                        Role::Client if is_quic => {
                            Framed::boxed(client(&self.client, v1, PARAMETERS).unwrap())
                        }
                        Role::Server if is_quic => {
                            Framed::boxed(server(&self.server, v1, PARAMETERS).unwrap())
                        }
                        Role::Client => Box::new($buffered::new(self.client())),
                        Role::Server => Box::new($buffered::new(self.server())),
                    }
                }
            }

            /// Replaces everything that authenticates.
            fn trust(
                client: &mut $tls::ClientConfig,
                server: &mut $tls::ServerConfig,
                setup: Setup,
            ) {
                let is_optional = Arc::new((setup.auth != ClientAuth::Required).into());
                let schemes = [SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256];
                let verifier = Verifier::accepting(Versions::Both, &schemes);
                let verifier = Arc::new(verifier.optional_while(is_optional));
                client
                    .dangerous()
                    .set_certificate_verifier(verifier.clone());
                let identities = KeyType::Ed25519.identities();
                if setup.auth.is_presented() {
                    client.client_auth_cert_resolver = unsigned(&identities.client);
                }
                let verifier: Arc<dyn ClientCertVerifier> = match setup.auth {
                    ClientAuth::None => WebPkiClientVerifier::no_client_auth(),
                    _ => verifier,
                };
                let builder =
                    $tls::ServerConfig::builder_with_provider(server.crypto_provider().clone())
                        .with_protocol_versions(&setup.versions[1].choose(&TLS12, &TLS13))
                        .unwrap();
                let alpn_protocols = std::mem::take(&mut server.alpn_protocols);
                *server = builder
                    .with_client_cert_verifier(verifier)
                    .with_cert_resolver(unsigned(&identities.server));
                server.alpn_protocols = alpn_protocols;
                server.cert_compressors.clear();
                server.cert_decompressors.clear();
            }

            /// The provider of the usual setup.
            pub fn provider() -> CryptoProvider {
                provider_with(&[NamedGroup::X25519], Setup::usual(ClientAuth::None))
            }

            /// ring's provider, with all random and secret parts replaced.
            fn provider_with(groups: &[NamedGroup], setup: Setup) -> CryptoProvider {
                let group = |name: &NamedGroup| {
                    let mut group = Group::new(*name, &[9; 32]);
                    (group.secret, group.peer_len) = (vec![5; 32], Some(32));
                    group.leak()
                };
                let mut provider = signatures::provider();
                provider.cipher_suites = suites(setup);
                provider.kx_groups = groups.iter().map(group).collect();
                provider.secure_random = &FixedRandom;
                provider
            }

            /// A suite of ring of each version, with other ciphers and possibly other hashes. If
            /// they seal, the TLS 1.3 suite is the one with the quickest hash, whose keys wear out
            /// after a few records, and the TLS 1.2 suite is unchanged.
            fn suites(setup: Setup) -> Vec<SupportedCipherSuite> {
                let (seals, hashes) = (setup.seals, setup.hashes_transcript);
                let all = $provider().cipher_suites;
                let find = |name| *all.iter().find(|suite| suite.suite() == name).unwrap();
                let tls13 = find(match seals {
                    true => CipherSuite::TLS13_AES_128_GCM_SHA256,
                    false => CipherSuite::TLS13_AES_256_GCM_SHA384,
                });
                let tls12 = find(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384);
                let (SupportedCipherSuite::Tls13(tls13), SupportedCipherSuite::Tls12(tls12)) =
                    (tls13, tls12)
                else {
                    panic!("one suite of each version");
                };
                let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
                    suite: common.suite,
                    hash_provider: if hashes {
                        common.hash_provider
                    } else {
                        &FixedHash
                    },
                    confidentiality_limit: if seals { 12 } else { u64::MAX },
                };
                let new_tls13: &_ = Box::leak(Box::new(Tls13CipherSuite {
                    common: common(&tls13.common),
                    hkdf_provider: if hashes { tls13.hkdf_provider } else { &HKDF },
                    aead_alg: if seals {
                        tls13.aead_alg
                    } else {
                        &Identity::<1>
                    },
                    quic: tls13.quic,
                }));
                let new_tls12: &_ = Box::leak(Box::new(Tls12CipherSuite {
                    common: common(&tls12.common),
                    prf_provider: if hashes { tls12.prf_provider } else { &PRF },
                    aead_alg: &Identity::<0>,
                    ..*tls12
                }));
                match seals {
                    true => vec![tls12.into(), new_tls13.into()],
                    false => vec![new_tls13.into(), new_tls12.into()],
                }
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

            /// The record protection: the identity with an inner content type of one byte in TLS
            /// 1.3, of none in TLS 1.2.
            struct Identity<const INNER_TYPE: usize>;

            impl Tls13AeadAlgorithm for Identity<1> {
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

            impl Tls12AeadAlgorithm for Identity<0> {
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

transparent!(
    this,
    rustls,
    ThisBuffered,
    rustls_provider_ring::default_provider
);
transparent!(
    upstream,
    rustls_upstream,
    UpstreamBuffered,
    rustls_upstream::crypto::ring::default_provider
);
