//! A TLS 1.3 session offered for resumption: its `pre_shared_key` extension (RFC 9846 §4.3.11) and
//! its early data (§4.3.10).

use alloc::boxed::Box;
use alloc::vec;

use pki_types::UnixTime;
use rustls_core::crypto::hash;
use rustls_core::crypto::tls13::OkmBlock;

use crate::config::observer::handshake::NotResumed;
use crate::config::session::client::Tls13ClientSessionValue;
use crate::enums::ProtocolVersion;
use crate::handshake::client::offer::Offer;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Transport;
use crate::keys::tls13::EarlySecret;
use crate::msgs::pre_shared_key::{OfferedPsks, PskBinderEntry, PskIdentity};
use crate::suites::Tls13CipherSuite;

/// A placeholder for the binder until it is computed.
const NO_BINDER: [u8; hash::Output::MAX_LEN] = [0; hash::Output::MAX_LEN];

/// The session that a ClientHello offers. There is at most one.
pub(crate) struct OfferedSession {
    pub(crate) value: Tls13ClientSessionValue,
    /// The suite to resume with: the session's own if it is offered, otherwise one with the same
    /// hash. It always comes from this configuration's provider, although another provider may have
    /// created the session.
    suite: &'static Tls13CipherSuite,
    pub(crate) early_secret: EarlySecret,
    /// True if `early_data` is offered as well.
    pub(crate) with_early_data: bool,
    obfuscated_ticket_age: u32,
}

impl OfferedSession {
    /// Takes a session with the server in `offer` from the store.
    pub(crate) fn take(offer: &Offer) -> Option<Tls13ClientSessionValue> {
        // RFC 9846 §C.4: a ticket is used once. It is removed here, so it cannot be offered again
        let store = offer.config.resumption.store.as_ref()?;
        store.take_tls13_ticket(&offer.server_name)
    }

    /// Prepares the offer of `value`.
    ///
    /// # Errors
    ///
    /// Returns the reason for not offering `value`, for example if it has expired, or if the
    /// configuration of `offer` does not allow its resumption.
    pub(crate) fn new(
        value: Tls13ClientSessionValue,
        offer: &Offer,
    ) -> Result<Box<Self>, NotResumed> {
        let config = &offer.config;
        if !config.versions.contains(ProtocolVersion::TLSv1_3) {
            return Err(NotResumed::VersionDisabled);
        }
        let now = config.current_time().map_err(|_| NotResumed::NoSessions)?;
        let session = &value.common;
        // RFC 9846 §4.7.1: a ticket must not be used after its lifetime
        if session.has_expired(now) {
            return Err(NotResumed::Expired);
        }
        if !session.belongs_to(config.verifier(), config.client_auth()) {
            return Err(NotResumed::OtherPolicy);
        }
        if !config.carrier.accepts_session_over(value.carrier) {
            return Err(NotResumed::OtherCarrier);
        }
        // RFC 9846 §4.7.1: the suite must have the session's hash
        let mut suites = offer.tls13_suites();
        let of_session = suites.find(|suite| *suite == value.suite());
        let mut suites = offer.tls13_suites();
        let suite = of_session
            .or_else(|| suites.find(|suite| value.has_hash_of(suite)))
            .ok_or(NotResumed::OtherCipherSuite)?;
        // RFC 9846 §4.3.10: early data uses the session's suite, so it must be offered. A server
        // that cannot select the session's protocol rejects the early data
        let with_early_data = config.enable_early_data
            && value.max_early_data_size() != 0
            && config.carrier.allows_early_data_of(value.carrier)
            && of_session.is_some();
        Ok(Box::new(Self {
            suite,
            early_secret: EarlySecret::new(suite, Some(value.psk())),
            obfuscated_ticket_age: value.obfuscated_ticket_age(now),
            with_early_data,
            value,
        }))
    }

    /// Returns the suite to resume with. Early data is protected with it.
    pub(crate) fn suite(&self) -> &'static Tls13CipherSuite {
        self.suite
    }

    /// Returns the offer for a second ClientHello, after a HelloRetryRequest that chose `suite`.
    /// RFC 9846 §4.2.2: a session with a different hash is removed, early data is forbidden, and
    /// the age is recomputed.
    pub(crate) fn retried(
        mut self: Box<Self>,
        suite: &'static Tls13CipherSuite,
        now: Option<UnixTime>,
    ) -> Option<Box<Self>> {
        if !self.value.has_hash_of(suite) {
            return None;
        }
        self.with_early_data = false;
        if let Some(now) = now {
            self.obfuscated_ticket_age = self.value.obfuscated_ticket_age(now);
        }
        Some(self)
    }

    /// Returns the extension, with zeros for the binder.
    pub(crate) fn extension(&self) -> OfferedPsks<'_> {
        OfferedPsks {
            identities: vec![PskIdentity {
                identity: self.value.ticket(),
                obfuscated_ticket_age: self.obfuscated_ticket_age,
            }],
            binders: vec![PskBinderEntry(&NO_BINDER[..self.binder_len()])],
        }
    }

    /// Returns the length of the whole extension in bytes, including its type and length fields.
    pub(crate) fn extension_len(&self) -> usize {
        4 + (2 + 2 + self.value.ticket().len() + 4) + (2 + 1 + self.binder_len())
    }

    fn binder_len(&self) -> usize {
        self.suite.common.hash_provider.output_len()
    }

    /// Computes the binder, and writes it into `client_hello`, which ends with this extension.
    /// `before` is the transcript of the messages before a second ClientHello. Returns the
    /// transcript including `client_hello`.
    pub(crate) fn bind(&self, client_hello: &mut [u8], before: Option<&Transcript>) -> Transcript {
        let binder_at = client_hello.len().saturating_sub(self.binder_len());
        let list_at = binder_at.saturating_sub(2 + 1);
        // RFC 9846 §4.3.11.2: the binder covers everything before the list of binders
        let truncated = &client_hello[..list_at];
        let mut transcript = match before {
            Some(before) => {
                let mut transcript = before.fork();
                transcript.add(truncated);
                transcript
            }
            None => Transcript::start(self.suite.common.hash_provider, truncated),
        };
        let binder = self.early_secret.resumption_binder(transcript.current());
        client_hello[binder_at..].copy_from_slice(binder.as_ref());
        transcript.add(&client_hello[list_at..]);
        transcript
    }

    /// Starts sending early data. `client_hello` is the hash of the first ClientHello, which has
    /// been sent.
    pub(crate) fn start_early_data(
        &self,
        offer: &Offer,
        client_hello: &hash::Output,
        transport: &mut dyn Transport,
    ) {
        let mut secret = OkmBlock::new(&[]);
        self.early_secret
            .client_early_traffic_secret(client_hello, &mut secret);
        offer.log_secret("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_ref());
        const EXPORTER: &str = "EARLY_EXPORTER_SECRET";
        // the secret is needed only for the key log
        if offer.config.key_log.will_log(EXPORTER) {
            let mut exporter = OkmBlock::new(&[]);
            self.early_secret
                .early_exporter_secret(client_hello, &mut exporter);
            offer.log_secret(EXPORTER, exporter.as_ref());
        }
        transport.start_early_data(
            self.suite,
            &secret,
            self.value.max_early_data_size() as usize,
        );
    }
}
