//! The ClientHello (RFC 9846 §4.2.2): the client's offer, kept until the handshake ends.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::ServerName;
#[cfg(feature = "tls12")]
use pki_types::UnixTime;
use rustls_core::crypto::SupportedKxGroup;
use rustls_core::provider::CryptoProvider;
use smallvec::smallvec;

use super::key_shares::KeyShares;
use crate::config::client::ClientConfig;
use crate::config::compress::offered_algorithms;
use crate::config::ech::EchMode;
#[cfg(feature = "tls12")]
use crate::config::session::client::Tls12ClientSessionValue;
use crate::config::session::client::Verification;
use crate::config::settings::ClientSettings;
use crate::enums::{
    CertificateType, CipherSuite, Compression, NamedGroup, ProtocolVersion, PskKeyExchangeMode,
};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::client::ech::Ech;
use crate::handshake::client::offered_session::OfferedSession;
use crate::handshake::random::random_bytes;
use crate::handshake::transport::Transport;
use crate::msgs::EncodeMessage;
use crate::msgs::client_extensions::{CertificateStatusRequest, ClientExtensions};
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::msgs::extensions::{KeyShareEntry, ProtocolName};
use crate::msgs::server_name::ServerNamePayload;
use crate::msgs::short_list::ShortList;
use crate::msgs::transport_parameters::TransportParameters;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The typical length of a ClientHello in bytes, excluding its key shares and its session.
const USUAL_LEN: usize = 384;

/// A client's offer, apart from the key shares, the cookie and the TLS 1.3 session.
pub(crate) struct Offer {
    pub(crate) config: ClientSettings,
    pub(crate) server_name: ServerName<'static>,
    pub(crate) alpn_protocols: Vec<Vec<u8>>,
    pub(crate) random: Random,
    /// The legacy_session_id, which names the offered session, is random, or is empty.
    pub(crate) session_id: SessionId,
    /// The ID that accompanies a TLS 1.2 ticket, unless `session_id` is already random.
    #[cfg(feature = "tls12")]
    pub(super) random_id: [u8; 32],
    /// The TLS 1.2 session that is offered, and the time of the offer. After a TLS 1.2 ServerHello,
    /// the session that is resumed.
    #[cfg(feature = "tls12")]
    pub(crate) tls12_session: Option<(Tls12ClientSessionValue, UnixTime)>,
    /// The group that this server chose earlier, as remembered by the session store.
    pub(crate) kx_hint: Option<NamedGroup>,
    /// The state of ECH in this handshake.
    pub(crate) ech: Ech,
    /// The last verification of the server's certificates. For a resumed session, it happened
    /// before the session was created.
    pub(crate) verification: Option<Verification>,
    /// The transport parameters for the server, if the carrier has an extension for them.
    transport_parameters: Vec<u8>,
    extension_order: u16,
}

impl Offer {
    pub(crate) fn new(
        config: ClientSettings,
        server_name: ServerName<'static>,
        alpn_protocols: Vec<Vec<u8>>,
        transport: &dyn Transport,
    ) -> Result<Self, Error> {
        let offers_tls13 = config.versions.contains(ProtocolVersion::TLSv1_3);
        let randoms = HelloRandoms::generate(&config.provider)?;
        Ok(Self {
            random: Random(randoms.random),
            // RFC 9846 §4.2.2, §E.4: 32 unpredictable bytes in compatibility mode
            session_id: if offers_tls13 && config.carrier.has_compatibility_mode() {
                SessionId::from(randoms.session_id)
            } else {
                SessionId::EMPTY
            },
            #[cfg(feature = "tls12")]
            random_id: randoms.session_id,
            #[cfg(feature = "tls12")]
            tls12_session: None,
            kx_hint: None,
            ech: Ech::Absent,
            verification: None,
            transport_parameters: transport
                .parameters()
                .map(<[u8]>::to_vec)
                .unwrap_or_default(),
            extension_order: u16::from_ne_bytes(randoms.extension_order),
            config,
            server_name,
            alpn_protocols,
        })
    }

    /// Looks up the group that this server chose earlier.
    pub(crate) fn find_kx_hint(&mut self) {
        let config = &self.config;
        let store = config.resumption.store.as_ref();
        if let Some(store) = store.filter(|_| self.offers_tls13()) {
            self.kx_hint = store.kx_hint(&visible_name(config, &self.server_name));
        }
    }

    /// Encodes a ClientHello with `shares`, the `cookie` of a HelloRetryRequest, and `session`. The
    /// session's binder is still zero.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the extensions are too long.
    pub(crate) fn client_hello(
        &self,
        shares: Option<&KeyShares>,
        cookie: Option<&[u8]>,
        session: Option<&OfferedSession>,
    ) -> Result<Vec<u8>, Error> {
        let hello = self.hello(shares, cookie, session);
        let shares_len = shares.map_or(0, KeyShares::len);
        let session_len = session.map_or(0, OfferedSession::extension_len);
        #[cfg(feature = "tls12")]
        let session_len = session_len + self.tls12_ticket().map_or(0, <[u8]>::len);
        let mut message = Vec::with_capacity(USUAL_LEN + shares_len + session_len);
        hello.encode_message(&mut message)?;
        Ok(message)
    }

    /// Like [`Self::client_hello`], but not encoded.
    pub(crate) fn hello<'a>(
        &'a self,
        shares: Option<&'a KeyShares>,
        cookie: Option<&'a [u8]>,
        session: Option<&'a OfferedSession>,
    ) -> ClientHello<'a> {
        ClientHello {
            // RFC 9846 §4.2.2: legacy_version is 0x0303, and the only compression method is null
            legacy_version: ProtocolVersion::TLSv1_2,
            random: self.random,
            legacy_session_id: self.session_id,
            cipher_suites: self.cipher_suites(),
            compression_methods: smallvec![Compression::Null],
            extensions: self.extensions(shares.map(KeyShares::entries), cookie, session),
        }
    }

    fn extensions<'a>(
        &'a self,
        shares: Option<Vec<KeyShareEntry<'a>>>,
        cookie: Option<&'a [u8]>,
        session: Option<&'a OfferedSession>,
    ) -> ClientExtensions<'a> {
        let verifier = self.config.verifier();
        let versions = self.config.versions;
        // omit TLS 1.3 extensions if that version is not offered
        let tls13 = self.offers_tls13().then_some(());
        let extensions = ClientExtensions {
            server_name: self.sent_name(),
            status_request: Some(CertificateStatusRequest::Ocsp),
            supported_groups: Some(self.groups().collect()),
            signature_algorithms: Some(verifier.supported_verify_schemes().into()),
            alpn_protocol_names: self.protocol_names(),
            // RFC 9846 §4.3.1: all versions that this side accepts
            supported_versions: tls13.map(|()| versions.iter().collect()),
            cookie,
            // RFC 9846 §4.3.9: without it, servers send no tickets
            psk_key_exchange_modes: tls13.map(|()| smallvec![PskKeyExchangeMode::PskDheKe]),
            // RFC 7250 §4.1: omitted if X.509 is the only type
            client_certificate_type: tls13
                .and_then(|()| offered_type(self.config.client_auth().only_raw_public_keys())),
            server_certificate_type: tls13
                .and_then(|()| offered_type(verifier.requires_raw_public_keys())),
            compress_certificate: tls13
                .and_then(|()| offered_algorithms(&self.config.cert_decompressors)),
            certificate_authorities: tls13
                .and_then(|()| verifier.root_hint_subjects())
                .map(<[_]>::to_vec),
            key_shares: shares,
            transport_parameters: self.transport_parameters(),
            ticket_request: tls13.and(self.config.send_ticket_request),
            early_data: session.is_some_and(|session| session.with_early_data),
            pre_shared_key: session
                .map(OfferedSession::extension)
                .or_else(|| self.ech.grease_psk()),
            encrypted_client_hello: self.ech.extension(),
            layout: self.ech.layout(),
            // RFC 9846 §4.2.2: the second ClientHello may change only a few extensions, so their
            // order stays
            order_seed: self.extension_order.into(),
            ..ClientExtensions::default()
        };
        #[cfg(feature = "tls12")]
        let extensions = self.with_tls12_extensions(extensions);
        extensions
    }

    /// Returns the `server_name` extension. RFC 6066 §3 allows no IP addresses in it.
    fn sent_name(&self) -> Option<ServerNamePayload<'_>> {
        match &self.server_name {
            // the public name of ECH is sent even without SNI
            ServerName::DnsName(name) if self.config.enable_sni || self.ech.is_rejected() => {
                Some(ServerNamePayload::DnsName(name.borrow()))
            }
            _ => None,
        }
    }

    fn transport_parameters(&self) -> TransportParameters<'_> {
        match self.config.carrier.parameters_extension() {
            Some(typ) => TransportParameters::new(typ, &self.transport_parameters),
            None => TransportParameters::default(),
        }
    }

    fn protocol_names(&self) -> Option<Vec<ProtocolName<'_>>> {
        let names = || self.alpn_protocols.iter().map(|name| ProtocolName(name));
        (!self.alpn_protocols.is_empty()).then(|| names().collect())
    }

    /// Returns the suites of all offered versions, in the provider's order. With TLS 1.2, the suite
    /// that signals secure renegotiation follows them.
    fn cipher_suites(&self) -> ShortList<CipherSuite> {
        let offered = self.suites().filter(|suite| self.offers_suite(suite));
        let offers_tls12 = self.config.versions.contains(ProtocolVersion::TLSv1_2);
        // RFC 5746 §3.4: equivalent to an empty renegotiation_info
        let signalling = offers_tls12.then_some(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV);
        offered
            .map(SupportedCipherSuite::suite)
            .chain(signalling)
            .collect()
    }

    /// Returns the suites that the carrier supports, whatever their version.
    fn suites(&self) -> impl Iterator<Item = &SupportedCipherSuite> {
        let carrier = self.config.carrier;
        let suites = self.config.provider.cipher_suites.iter();
        suites.filter(move |suite| carrier.can_use(suite))
    }

    fn offers_suite(&self, suite: &SupportedCipherSuite) -> bool {
        match suite {
            SupportedCipherSuite::Tls13(_) => self.offers_tls13(),
            #[cfg(feature = "tls12")]
            SupportedCipherSuite::Tls12(suite) => self.offers_tls12_suite(suite),
            #[cfg(not(feature = "tls12"))]
            SupportedCipherSuite::Tls12(_) => false,
        }
    }

    pub(crate) fn offers_tls13(&self) -> bool {
        self.config.versions.contains(ProtocolVersion::TLSv1_3)
    }

    pub(crate) fn tls13_suites(&self) -> impl Iterator<Item = &'static Tls13CipherSuite> {
        self.suites().filter_map(SupportedCipherSuite::tls13)
    }

    /// Returns the TLS 1.3 suite with this code point.
    ///
    /// # Errors
    ///
    /// Returns an error if the suite was not offered, or belongs to TLS 1.2.
    pub(crate) fn suite(
        &self,
        suite: CipherSuite,
    ) -> Result<&'static Tls13CipherSuite, PeerMisbehaved> {
        match self.suites().find(|known| known.suite() == suite) {
            Some(SupportedCipherSuite::Tls13(suite)) => Ok(suite),
            Some(SupportedCipherSuite::Tls12(_)) => {
                Err(PeerMisbehaved::SelectedUnusableCipherSuiteForVersion)
            }
            None => Err(PeerMisbehaved::SelectedUnofferedCipherSuite),
        }
    }

    fn tls13_groups(&self) -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
        let groups = self.config.provider.kx_groups.iter().copied();
        groups.filter(|group| group.usable_for_version(ProtocolVersion::TLSv1_3))
    }

    /// Returns the names of all offered groups of any version, in order of preference, without
    /// duplicates.
    pub(crate) fn groups(&self) -> impl Iterator<Item = NamedGroup> {
        let versions = self.config.versions;
        let usable = move |group: &&&'static dyn SupportedKxGroup| {
            let mut versions = versions.iter();
            versions.any(|version| group.usable_for_version(version))
        };
        let names = move || {
            let groups = self.config.provider.kx_groups.iter();
            groups.filter(usable).map(|group| group.name())
        };
        let first = move |(i, name): &(usize, NamedGroup)| !names().take(*i).any(|n| n == *name);
        names().enumerate().filter(first).map(|(_, name)| name)
    }

    /// Returns the group with this name if it was offered for TLS 1.3.
    pub(crate) fn offered_group(&self, name: NamedGroup) -> Option<&'static dyn SupportedKxGroup> {
        self.tls13_groups().find(|group| group.name() == name)
    }

    /// Returns the group for the first key share: the one that this server chose earlier, or the
    /// most preferred one.
    pub(crate) fn first_group(&self) -> Result<&'static dyn SupportedKxGroup, Error> {
        self.kx_hint
            .and_then(|hint| self.offered_group(hint))
            .or_else(|| self.tls13_groups().next())
            .ok_or_else(|| Error::General("no key exchange group can be used with TLS 1.3".into()))
    }

    /// Checks the application protocol that the server selected.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::SelectedUnofferedApplicationProtocol`] if it was not offered and
    /// the configuration checks that. Returns [`Error::NoApplicationProtocol`] if the carrier
    /// requires one and none was selected.
    pub(crate) fn check_protocol(&self, selected: Option<ProtocolName<'_>>) -> Result<(), Error> {
        let offered = &self.alpn_protocols;
        let Some(selected) = selected else {
            let is_allowed = self
                .config
                .carrier
                .allows_no_protocol(!offered.is_empty(), false);
            return if is_allowed {
                Ok(())
            } else {
                Err(Error::NoApplicationProtocol)
            };
        };
        // RFC 7301 §3.1: the server selects one of the offered protocols
        if self.config.check_selected_alpn && !offered.iter().any(|name| name == selected.0) {
            return Err(PeerMisbehaved::SelectedUnofferedApplicationProtocol.into());
        }
        Ok(())
    }

    /// Returns the name under which this server's key exchange group is stored.
    pub(crate) fn visible_name(&self) -> ServerName<'static> {
        visible_name(&self.config, &self.server_name).into_owned()
    }

    /// Passes a secret to the key log.
    pub(crate) fn log_secret(&self, label: &str, secret: &[u8]) {
        let key_log = &self.config.key_log;
        if key_log.will_log(label) {
            key_log.log(label, &self.random.0, secret);
        }
    }
}

/// Returns the name that the network may see: the server's name, or the public name of ECH. RFC
/// 9849 §10.5: no cleartext may depend on an encrypted name.
fn visible_name<'a>(
    config: &ClientConfig,
    server_name: &'a ServerName<'static>,
) -> Cow<'a, ServerName<'static>> {
    match &config.ech_mode {
        Some(EchMode::Enable(ech)) => Cow::Owned(ServerName::DnsName(ech.public_name().clone())),
        Some(EchMode::Grease(_)) | None => Cow::Borrowed(server_name),
    }
}

/// Returns the certificate types to offer. Without the extension the type is X.509.
fn offered_type(is_raw: bool) -> Option<Vec<CertificateType>> {
    is_raw.then(|| vec![CertificateType::RawPublicKey])
}

/// The random parts of a ClientHello, except its key shares and ECH. They are drawn in one call,
/// because each call to the generator can cost as much as hashing a kilobyte.
struct HelloRandoms {
    random: [u8; 32],
    session_id: [u8; 32],
    extension_order: [u8; 2],
}

impl HelloRandoms {
    fn generate(provider: &CryptoProvider) -> Result<Self, Error> {
        let bytes: [u8; 66] = random_bytes(provider)?;
        let mut all = Self {
            random: [0; 32],
            session_id: [0; 32],
            extension_order: [0; 2],
        };
        let (random, rest) = bytes.split_at(all.random.len());
        let (session_id, extension_order) = rest.split_at(all.session_id.len());
        all.random.copy_from_slice(random);
        all.session_id.copy_from_slice(session_id);
        all.extension_order.copy_from_slice(extension_order);
        Ok(all)
    }
}
