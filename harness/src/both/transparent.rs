//! The provider, configurations and connections, for one crate.

use std::sync::Arc;

use super::buffered::BufferedEndpoint;
use super::constant::Group;
use super::quick_mac::{HKDF, PRF};
use super::signatures::{self, unsigned};
pub use super::stores::forget_sessions;
use super::stores::{FirstSessions, ThreadSessions};
use super::tickets::Tickets;
use super::tls::client::Resumption;
use super::tls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use super::tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use super::tls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use super::tls::server::danger::ClientCertVerifier;
use super::tls::server::{NoServerSessionStorage, StoresServerSessions, WebPkiClientVerifier};
use super::tls::version::{TLS12, TLS13};
use super::tls::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, Error, NamedGroup, SignatureScheme,
    SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};
use super::verifiers::Verifier;
use super::{configs, ring, tls};
use crate::peers::callbacks::Clock;
use crate::peers::configs::{ClientAuth, KeyType, Versions, server_name};
use crate::peers::endpoints::Endpoint;
use crate::peers::roles::Role;
use crate::providers::leak;
use crate::providers::transparent::{NOW, PARAMETERS, Resumes, Setup, TAG, TICKET};
use crate::quic::{Framed, Version};

/// The configurations of both sides, which all connections share.
pub struct Configs {
    pub client: Arc<tls::ClientConfig>,
    pub server: Arc<tls::ServerConfig>,
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
        let mut client = configs::client_of(setup.versions[0], client, KeyType::Ed25519, auth);
        let mut server = configs::server_of(setup.versions[1], server, KeyType::Ed25519, auth);
        if setup.trusts {
            trust(&mut client, &mut server, setup);
        }
        #[cfg(feature = "compression")]
        if setup.compresses {
            let decompressors = match setup.trusts {
                true => tls::compress::default_cert_decompressors(),
                false => &[tls::compress::ZLIB_DECOMPRESSOR],
            };
            client.cert_compressors = vec![&Zlib];
            client.cert_decompressors = decompressors.to_vec();
            server.cert_compressors = vec![&Zlib];
            server.cert_decompressors = decompressors.to_vec();
        }
        client.time_provider = Clock::at(NOW);
        server.time_provider = Clock::at(NOW);
        // only one, so that there is only one that a client can choose
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

    pub fn client(&self) -> tls::ClientConnection {
        let name = server_name();
        tls::ClientConnection::new(self.client.clone(), name).unwrap()
    }

    pub fn server(&self) -> tls::ServerConnection {
        tls::ServerConnection::new(self.server.clone()).unwrap()
    }

    /// Creates a connection over records, or over QUIC if `is_quic`.
    pub fn endpoint(&self, side: Role, is_quic: bool) -> Box<dyn Endpoint> {
        use super::quic::{client, server};
        let v1 = Version::V1;
        match side {
            Role::Client if is_quic => Framed::boxed(client(&self.client, v1, PARAMETERS).unwrap()),
            Role::Server if is_quic => Framed::boxed(server(&self.server, v1, PARAMETERS).unwrap()),
            Role::Client => Box::new(BufferedEndpoint::new(self.client())),
            Role::Server => Box::new(BufferedEndpoint::new(self.server())),
        }
    }
}

/// Makes both sides accept any certificate and any signature, and sign with zeros.
fn trust(client: &mut tls::ClientConfig, server: &mut tls::ServerConfig, setup: Setup) {
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
    let builder = tls::ServerConfig::builder_with_provider(server.crypto_provider().clone())
        .with_protocol_versions(&setup.versions[1].choose(&TLS12, &TLS13))
        .unwrap();
    let alpn_protocols = std::mem::take(&mut server.alpn_protocols);
    *server = builder
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(unsigned(&identities.server));
    server.alpn_protocols = alpn_protocols;
    server.cert_compressors.clear();
    server.cert_decompressors.clear();
    super::observe_server(server);
}

/// Returns the provider for the usual setup.
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

/// Returns one of ring's suites for each version. Its cipher only copies, and its hash is constant
/// unless transcripts are hashed. If records are sealed, the TLS 1.3 suite keeps its cipher and is
/// the one with the fastest hash; its keys wear out after a few records. The TLS 1.2 suite is then
/// unchanged.
fn suites(setup: Setup) -> Vec<SupportedCipherSuite> {
    let (seals, hashes) = (setup.seals, setup.hashes_transcript);
    let all = ring().cipher_suites;
    let find = |name| *all.iter().find(|suite| suite.suite() == name).unwrap();
    let tls13 = find(match seals {
        true => CipherSuite::TLS13_AES_128_GCM_SHA256,
        false => CipherSuite::TLS13_AES_256_GCM_SHA384,
    });
    let tls12 = find(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384);
    let (SupportedCipherSuite::Tls13(tls13), SupportedCipherSuite::Tls12(tls12)) = (tls13, tls12)
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
    let new_tls13: &_ = leak(Tls13CipherSuite {
        common: common(&tls13.common),
        hkdf_provider: if hashes { tls13.hkdf_provider } else { &HKDF },
        aead_alg: if seals {
            tls13.aead_alg
        } else {
            &Identity::<1>
        },
        quic: tls13.quic,
    });
    let new_tls12: &_ = leak(Tls12CipherSuite {
        common: common(&tls12.common),
        prf_provider: if hashes { tls12.prf_provider } else { &PRF },
        aead_alg: &Identity::<0>,
        ..*tls12
    });
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
impl tls::compress::CertCompressor for Zlib {
    fn compress(
        &self,
        input: Vec<u8>,
        _level: tls::compress::CompressionLevel,
    ) -> Result<Vec<u8>, tls::compress::CompressionFailed> {
        use rustls::compress::{CompressionLevel, ZLIB_COMPRESSOR};

        ZLIB_COMPRESSOR
            .compress(input, CompressionLevel::Interactive)
            .map_err(|_| tls::compress::CompressionFailed)
    }

    fn algorithm(&self) -> tls::CertificateCompressionAlgorithm {
        tls::CertificateCompressionAlgorithm::Zlib
    }
}

/// A hash with a fixed output, which is as long as that of the suite's hash.
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
        // not the suite's algorithm, for which the key schedule has constants
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

/// The record protection, which copies the plaintext. In TLS 1.3, it also appends a one-byte
/// content type.
pub(crate) struct Identity<const INNER_TYPE: usize>;

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
