//! A session of TLS 1.3 that a ClientHello offers to resume: its `pre_shared_key` extension (RFC 9846
//! §4.3.11), and whether early data goes with it (§4.3.10).

use alloc::boxed::Box;
use alloc::vec;

use pki_types::UnixTime;

use super::offer::Offer;
use crate::client::Tls13ClientSessionValue;
use crate::conn::transport::Transport;
use crate::crypto::hash;
use crate::enums::ProtocolVersion;
use crate::handshake::transcript::Transcript;
use crate::msgs::pre_shared_key::{OfferedPsks, PskBinderEntry, PskIdentity};
use crate::suites::Tls13CipherSuite;
use crate::tls13::key_schedule::EarlySecret;

/// What stands in a binder's place until it is computed.
const NO_BINDER: [u8; hash::Output::MAX_LEN] = [0; hash::Output::MAX_LEN];

/// The one session that a ClientHello offers.
pub(crate) struct OfferedSession {
    pub(crate) value: Tls13ClientSessionValue,
    /// One with the session's hash, and the session's if it is on offer; but of this configuration's provider, as the
    /// session may have been made with another one's.
    suite: &'static Tls13CipherSuite,
    pub(crate) early_secret: EarlySecret,
    /// Whether `early_data` is offered, too.
    pub(crate) with_early_data: bool,
    obfuscated_ticket_age: u32,
}

impl OfferedSession {
    /// Takes a session with the server of `offer` out of the store.
    pub(super) fn take(offer: &Offer) -> Option<Tls13ClientSessionValue> {
        // RFC 9846 §C.4: a ticket is used once. Taken out, it cannot be offered again
        let store = offer.config.resumption.store.as_ref()?;
        store.take_tls13_ticket(&offer.server_name)
    }

    /// Offers `value`, unless the configuration of `offer` may not resume it: then it is lost.
    pub(super) fn new(value: Tls13ClientSessionValue, offer: &Offer) -> Option<Box<Self>> {
        let config = &offer.config;
        if !config.versions.contains(ProtocolVersion::TLSv1_3) {
            return None;
        }
        let now = config.current_time().ok()?;
        let session = &value.common;
        // RFC 9846 §4.7.1: no ticket outlives its lifetime
        if session.has_expired(now) || !session.is_of(config.verifier(), config.client_auth()) {
            return None;
        }
        if !config.carrier.goes_with_session_of(value.carrier) {
            return None;
        }
        // RFC 9846 §4.7.1: only with a suite whose hash is the session's
        let mut suites = offer.tls13_suites();
        let of_session = suites.find(|suite| *suite == value.suite());
        let mut suites = offer.tls13_suites();
        let suite = of_session.or_else(|| suites.find(|suite| value.has_hash_of(suite)))?;
        // RFC 9846 §4.3.10: early data has the session's suite, so that must be on offer. If its protocol is not, the
        // server cannot select it, and rejects the early data
        let with_early_data = config.enable_early_data
            && value.max_early_data_size() != 0
            && config.carrier.allows_early_data_of(value.carrier)
            && of_session.is_some();
        Some(Box::new(Self {
            suite,
            early_secret: EarlySecret::new(suite, Some(value.psk())),
            obfuscated_ticket_age: value.obfuscated_ticket_age(now),
            with_early_data,
            value,
        }))
    }

    /// Returns the suite that early data would have.
    pub(super) fn suite(&self) -> &'static Tls13CipherSuite {
        self.suite
    }

    /// What is offered after a HelloRetryRequest that chose `suite`: RFC 9846 §4.2.2 drops what does not go
    /// with the suite, forbids early data, and computes the age anew.
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

    /// The extension, with room for the binder.
    pub(super) fn extension(&self) -> OfferedPsks<'_> {
        OfferedPsks {
            identities: vec![PskIdentity {
                identity: self.value.ticket(),
                obfuscated_ticket_age: self.obfuscated_ticket_age,
            }],
            binders: vec![PskBinderEntry(&NO_BINDER[..self.binder_len()])],
        }
    }

    /// How many bytes the extension takes in a ClientHello: type and length, identities, binders.
    pub(crate) fn extension_len(&self) -> usize {
        4 + (2 + 2 + self.value.ticket().len() + 4) + (2 + 1 + self.binder_len())
    }

    fn binder_len(&self) -> usize {
        self.suite.common.hash_provider.output_len()
    }

    /// Computes the binder of `client_hello`, which ends with this extension. `before` is of the messages before a
    /// second ClientHello. Returns the transcript, `client_hello` included.
    pub(super) fn bind(&self, client_hello: &mut [u8], before: Option<&Transcript>) -> Transcript {
        let binder_at = client_hello.len().saturating_sub(self.binder_len());
        let list_at = binder_at.saturating_sub(2 + 1);
        // RFC 9846 §4.3.11.2: a binder covers everything before the list of binders
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

    /// Starts to send early data, if that is offered: `client_hello` is the hash of the first one, which was sent.
    pub(super) fn start_early_data(
        &self,
        offer: &Offer,
        client_hello: &hash::Output,
        transport: &mut dyn Transport,
    ) {
        let secret = self.early_secret.client_early_traffic_secret(client_hello);
        offer.log_secret("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_ref());
        const EXPORTER: &str = "EARLY_EXPORTER_SECRET";
        // nothing else needs it
        if offer.config.key_log.will_log(EXPORTER) {
            let exporter = self.early_secret.early_exporter_secret(client_hello);
            offer.log_secret(EXPORTER, exporter.as_ref());
        }
        transport.start_early_data(
            self.suite,
            &secret,
            self.value.max_early_data_size() as usize,
            self.value.quic_parameters(),
        );
    }
}
