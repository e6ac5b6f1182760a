//! Early data (0-RTT, RFC 9846 §2.3, §4.3.10): the decision to accept it, and EndOfEarlyData.

use alloc::boxed::Box;

use pki_types::UnixTime;
use rustls_core::crypto::tls13::OkmBlock;

use super::finished::WaitFinished;
use super::parameters::Parameters;
use super::ticket_kind::TicketKind;
use crate::config::observer::handshake::EarlyDataRejected;
use crate::config::server::ServerConfig;
use crate::config::session::value::Tls13Session;
use crate::config::settings::ServerSettings;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::transport::Level;
use crate::keys::tls13::TrafficSecret;

/// The tolerated difference in milliseconds between the time at which a ClientHello arrives and the
/// time expected from its ticket's age (RFC 9846 §8.3). The RFC suggests ten seconds. A minute is
/// safe here, because single-use sessions already prevent replays.
const MAX_AGE_DIFFERENCE: u64 = 60_000;

/// The number of bytes of early data to skip if neither the configuration nor a known ticket allows
/// any. A different configuration may have allowed it, so one record's worth is tolerated.
const TOLERATED: usize = 1 << 14;

/// Returns the number of bytes of rejected early data to skip. `of_ticket` is the limit in the
/// client's ticket, or 0 if that is unknown.
pub(super) fn skipped_limit(config: &ServerConfig, of_ticket: u32) -> usize {
    // RFC 9846 §4.3.10: up to the configured max_early_data_size, which may have been larger when
    // the ticket was created
    match config.max_early_data_size.max(of_ticket) {
        0 => TOLERATED,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

/// A session that is resumed, possibly with early data.
pub(super) struct EarlyDataOffer<'a> {
    pub(super) offers_early_data: bool,
    /// True if this is the first session that the client offers.
    pub(super) is_first: bool,
    pub(super) obfuscated_ticket_age: u32,
    pub(super) session: &'a Tls13Session<'a>,
    pub(super) kind: TicketKind,
}

impl EarlyDataOffer<'_> {
    /// Returns the number of bytes of early data to accept. The application may still reject it.
    ///
    /// # Errors
    ///
    /// Returns the reason for rejecting early data. The reason has no meaning if the client does
    /// not offer early data.
    pub(super) fn accepted_limit(
        &self,
        parameters: &Parameters<'_>,
        config: &ServerSettings,
        now: UnixTime,
    ) -> Result<u32, EarlyDataRejected> {
        let session = self.session;
        let limit = session.max_early_data_size;
        if !self.offers_early_data {
            return Err(EarlyDataRejected::NotAllowed);
        }
        // the ticket allows early data, and the configuration still does
        if !(1..=config.max_early_data_size).contains(&limit) {
            return Err(EarlyDataRejected::NotAllowed);
        }
        // RFC 9846 §4.3.10: only for the first session, with the same cipher suite and protocol
        if !self.is_first {
            return Err(EarlyDataRejected::OtherSession);
        }
        if session.suite != parameters.suite.common.suite {
            return Err(EarlyDataRejected::OtherCipherSuite);
        }
        if session.facts.alpn_protocol != parameters.alpn_protocol.as_deref() {
            return Err(EarlyDataRejected::OtherProtocol);
        }
        if !config.carrier.allows_early_data_of(session.carrier) {
            return Err(EarlyDataRejected::OtherCarrier);
        }
        // RFC 9846 §8: early data may be accepted only once; a stored session has been removed from
        // the storage
        if self.kind != TicketKind::Stored {
            return Err(EarlyDataRejected::Replayable);
        }
        if !self.is_fresh(now) {
            return Err(EarlyDataRejected::TicketAge);
        }
        Ok(limit)
    }

    /// True if the ClientHello was sent recently, according to the ticket age in it (RFC 9846
    /// §4.3.10, §8.3).
    fn is_fresh(&self, now: UnixTime) -> bool {
        // RFC 9846 §4.3.10: modulo 2^32
        let age = self
            .obfuscated_ticket_age
            .wrapping_sub(self.session.age_add);
        let issued_at = self.session.facts.issued_at.saturating_mul(1000);
        let expected_arrival = issued_at.saturating_add(age.into());
        let now = now.as_secs().saturating_mul(1000);
        now.abs_diff(expected_arrival) <= MAX_AGE_DIFFERENCE
    }
}

/// Waits for the end of accepted early data.
pub(crate) struct WaitEndOfEarlyData {
    /// The next state.
    pub(super) finished: Box<WaitFinished>,
    pub(super) client_handshake_traffic_secret: OkmBlock,
}

impl WaitEndOfEarlyData {
    /// Creates the state. The secret is cloned into its final place, because a move would leave a
    /// copy behind.
    pub(super) fn boxed(
        finished: Box<WaitFinished>,
        client_handshake_traffic_secret: &OkmBlock,
    ) -> Box<Self> {
        let mut waiting = Box::new(Self {
            finished,
            client_handshake_traffic_secret: OkmBlock::new(&[]),
        });
        let secret = &mut waiting.client_handshake_traffic_secret;
        secret.clone_from(client_handshake_traffic_secret);
        waiting
    }

    /// Handles EndOfEarlyData. `self` stays in its box for the same reason as in
    /// [`WaitFinished::read_finished`].
    #[expect(
        clippy::boxed_local,
        reason = "moving a secret out of a box leaves a copy there"
    )]
    pub(super) fn read_end_of_early_data(
        mut self: Box<Self>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Box<WaitFinished>, Failure> {
        self.finished.transcript.add(encoded);
        // RFC 9846 §4.6: the next message is under handshake keys. §5.1: nothing may follow in this
        // record
        let secret = &self.client_handshake_traffic_secret;
        TrafficSecret::with(self.finished.suite, secret, |secret| {
            cx.transport.set_receiving_secret(Level::Handshake, secret)
        })?;
        Ok(self.finished)
    }
}
