//! Builds configurations of the crate from the options of a connection, and holds the state shared
//! by all connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::client::{ClientSessionMemoryCache, Resumption, Tls12Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::UnixTime;
use rustls::server::{
    ClientHello, ProducesTickets, ServerSessionMemoryCache, StoresServerSessions,
};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{ClientConfig, DistinguishedName, NamedGroup, ServerConfig, SupportedProtocolVersion};

use crate::certificate_types::Types;
use crate::compression::TestAlgorithm;
use crate::credentials::{
    ClientChoice, ClientResolver, Credentials, ServerResolver, names_of_authorities,
};
use crate::ech;
use crate::failure::Failure;
use crate::observed::{Observed, SecretsSeen};
use crate::options::{Options, Policy};
use crate::provider::{Library, versions};
use crate::sessions::{OwnTickets, WatchedSessions};
use crate::verifier::{ClientsVerifier, Rules, ServersVerifier};

/// The number of sessions stored on either side.
const SESSIONS: usize = 64;

/// The bytes of early data that a server accepts, as the runner expects.
const MAX_EARLY_DATA: u32 = 14336;

/// The state shared by all connections of the process, so that later ones can resume sessions of
/// earlier ones.
pub(crate) struct Shared {
    library: Library,
    client_sessions: Arc<ClientSessionMemoryCache>,
    client_resolver: Arc<ClientResolver>,
    client_verifier: Option<Arc<ServersVerifier>>,
    server_sessions: Arc<dyn StoresServerSessions>,
    ticketer: Arc<dyn ProducesTickets>,
    clock: Arc<Clock>,
}

impl Shared {
    pub(crate) fn new(library: Library) -> Result<Self, Failure> {
        Ok(Self {
            library,
            client_sessions: Arc::new(ClientSessionMemoryCache::new(SESSIONS)),
            client_resolver: Arc::default(),
            client_verifier: None,
            server_sessions: ServerSessionMemoryCache::new(SESSIONS),
            ticketer: library.ticketer()?,
            clock: Arc::default(),
        })
    }

    /// Lets time pass for all later connections.
    pub(crate) fn wait(&self, seconds: u64) {
        *self.clock.ahead.lock().unwrap() += Duration::from_secs(seconds);
    }

    /// Builds the configuration of a client's connection with these options.
    pub(crate) fn client(
        &mut self,
        options: &Options,
        observed: &Arc<Mutex<Observed>>,
    ) -> Result<Arc<ClientConfig>, Failure> {
        if options.reverify_on_resume {
            return Err(Failure::Unsupported(
                "a client does not verify the certificate of a session again".into(),
            ));
        }
        let provider = self.library.provider_for(options)?;
        let types = Types::of_client(options)?;
        self.client_resolver.set(ClientChoice {
            credentials: Credentials::load(options, types.ours, &provider)?,
            is_raw: types.ours.is_raw(),
            observed: observed.clone(),
        });
        let verifier = self.client_verifier(options, &provider, observed)?;
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = match ech::mode(options, self.library.hpke_suites())? {
            // a client that uses ECH only offers TLS 1.3
            Some(mode) if versions(options).contains(&&TLS13) => builder.with_ech(mode)?,
            _ => builder.with_protocol_versions(&enabled(options)?)?,
        };
        let mut config = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(self.client_resolver.clone());
        config.enable_sni = options.host_name.is_some();
        config.alpn_protocols = protocols(options.advertise_alpn.as_deref())?;
        config.check_selected_alpn = !options.allow_unknown_alpn;
        let compression = test_algorithms(options)?;
        config.cert_compressors = compression.iter().map(|&one| one as _).collect();
        config.cert_decompressors = compression.iter().map(|&one| one as _).collect();
        config.enable_early_data = options.enable_early_data;
        config.max_fragment_size = options.max_fragment_size();
        config.time_provider = self.clock.clone();
        config.require_ems = options.requires_ems;
        config.key_log = Arc::new(SecretsSeen(observed.clone()));
        config.resumption = Resumption::store(Arc::new(WatchedSessions {
            store: self.client_sessions.clone(),
            key_share: key_share(options)?,
            observed: observed.clone(),
        }))
        .tls12_resumption(match options.no_ticket {
            true => Tls12Resumption::SessionIdOnly,
            false => Tls12Resumption::SessionIdOrTickets,
        });
        Ok(Arc::new(config))
    }

    fn client_verifier(
        &mut self,
        options: &Options,
        provider: &CryptoProvider,
        observed: &Arc<Mutex<Observed>>,
    ) -> Result<Arc<ServersVerifier>, Failure> {
        let algorithms = provider.signature_verification_algorithms;
        let is_raw = Types::of_client(options)?.peers.is_raw();
        let rules = Rules::new(options, is_raw, algorithms, observed.clone())?;
        Ok(match &self.client_verifier {
            Some(verifier) => {
                verifier.set(rules);
                verifier.clone()
            }
            None => {
                let verifier = Arc::new(ServersVerifier::new(rules));
                self.client_verifier = Some(verifier.clone());
                verifier
            }
        })
    }

    /// Prepares the verifier of a client's connection that continues after its early data was
    /// rejected: only then is there a certificate to verify.
    pub(crate) fn prepare_client_retry(
        &mut self,
        options: &Options,
        observed: &Arc<Mutex<Observed>>,
    ) -> Result<(), Failure> {
        let provider = self.library.provider_for(options)?;
        self.client_verifier(options, &provider, observed)?;
        Ok(())
    }

    /// Builds the configuration of a server's connection with these options. The ClientHello is
    /// needed if they depend on it.
    pub(crate) fn server(
        &self,
        options: &Options,
        hello: Option<&ClientHello<'_>>,
        observed: &Arc<Mutex<Observed>>,
    ) -> Result<Arc<ServerConfig>, Failure> {
        let provider = self.library.provider_for(options)?;
        let types = Types::of_server(options, hello);
        let resolver = ServerResolver {
            credentials: Credentials::load(options, types.ours, &provider)?,
            is_raw: types.ours.is_raw(),
            fails: options.ocsp_callback.installed && options.ocsp_callback.fails,
            observed: observed.clone(),
        };
        let algorithms = provider.signature_verification_algorithms;
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&enabled(options)?)?;
        let peers_are_raw = types.peers.is_raw();
        let builder = if options.verify_peer || options.require_client_certificate {
            builder.with_client_cert_verifier(Arc::new(ClientsVerifier {
                rules: Rules::new(options, peers_are_raw, algorithms, observed.clone())?,
                mandatory: options.require_client_certificate,
                authorities: names_of_authorities(options.client_ca_list.as_deref())?
                    .into_iter()
                    .map(DistinguishedName::from)
                    .collect(),
            }))
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = options
            .select_alpn
            .iter()
            .map(|protocol| protocol.clone().into_bytes())
            .collect();
        if options.reject_alpn {
            config.alpn_protocols = vec![b"known to no client".into()];
        }
        let compression = test_algorithms(options)?;
        config.cert_compressors = compression.iter().map(|&one| one as _).collect();
        config.cert_decompressors = compression.iter().map(|&one| one as _).collect();
        config.ignore_client_order =
            options.server_preference || options.policy == Some(Policy::Cnsa202407);
        config.max_fragment_size = options.max_fragment_size();
        config.time_provider = self.clock.clone();
        config.require_ems = options.requires_ems;
        config.key_log = Arc::new(SecretsSeen(observed.clone()));
        config.session_storage = self.server_sessions.clone();
        if options.enable_early_data {
            // only the storage has sessions that allow early data, and each can be taken once
            config.max_early_data_size = match options.quic {
                // RFC 9001 §4.6.1
                true => u32::MAX,
                false => MAX_EARLY_DATA,
            };
            config.send_half_rtt_data = true;
        } else if options.no_ticket {
            // TLS 1.2 sessions have identifiers
            config.send_tls13_tickets = 0;
        } else {
            config.ticketer = self.ticketer.clone();
            if options.own_tickets {
                config.ticketer = Arc::new(OwnTickets {
                    protection: self.ticketer.clone(),
                    skips: options.skip_ticket,
                });
            }
        }
        Ok(Arc::new(config))
    }
}

fn enabled(options: &Options) -> Result<Vec<&'static SupportedProtocolVersion>, Failure> {
    let enabled = versions(options);
    if enabled.is_empty() && options.max_version.is_some_and(|max| max < 0x0303) {
        return Err(Failure::Unsupported("versions before TLS 1.2".into()));
    }
    Ok(enabled)
}

/// The group of the share that a client must send. It is presented as one that it remembers.
fn key_share(options: &Options) -> Result<Option<NamedGroup>, Failure> {
    match options.key_shares.as_slice() {
        [] => Ok(None),
        &[group] => Ok(Some(group.into())),
        _ => Err(Failure::Unsupported("several key shares of choice".into())),
    }
}

fn test_algorithms(options: &Options) -> Result<Vec<&'static TestAlgorithm>, Failure> {
    let named = |&code_point| {
        TestAlgorithm::named(code_point)
            .ok_or_else(|| Failure::Unsupported(format!("compression by {code_point}")))
    };
    options.cert_compression.iter().map(named).collect()
}

/// Reads names that are each prefixed by a byte with their length.
fn protocols(list: Option<&str>) -> Result<Vec<Vec<u8>>, Failure> {
    let mut rest = list.unwrap_or_default().as_bytes();
    let mut names = Vec::new();
    while let Some((&length, behind)) = rest.split_first() {
        let (name, next) = behind
            .split_at_checked(length.into())
            .ok_or_else(|| Failure::Usage("an ALPN list that ends too soon".into()))?;
        names.push(name.into());
        rest = next;
    }
    Ok(names)
}

/// The system's clock, plus an offset that tests set.
#[derive(Debug, Default)]
struct Clock {
    ahead: Mutex<Duration>,
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let ahead = *self.ahead.lock().unwrap();
        let now = Duration::from_secs(UnixTime::now().as_secs());
        Some(UnixTime::since_unix_epoch(now + ahead))
    }
}
