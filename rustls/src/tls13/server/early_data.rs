//! Early data (0-RTT, RFC 9846 §2.3, §4.3.10): whether it is accepted, and EndOfEarlyData.

use alloc::boxed::Box;

use pki_types::UnixTime;

use super::finished::WaitFinished;
use super::parameters::Parameters;
use super::tickets::TicketKind;
use crate::conn::transport::Level;
use crate::crypto::tls13::OkmBlock;
use crate::handshake::settings::ServerSettings;
use crate::handshake::{Failure, ServerContext};
use crate::msgs::client_hello::ClientHello;
use crate::server::{EarlyData, ServerConfig, ServerConnectionData};
use crate::session::value::Tls13Session;
use crate::tls13::key_schedule::TrafficSecret;

/// RFC 9846 §8.3: by how much a ClientHello may come later or sooner than its ticket's age says, in
/// milliseconds. The RFC speaks of ten seconds; here it is 0.23's minute, as single use is what keeps early data
/// from being repeated.
const MAX_AGE_DIFFERENCE: u64 = 60_000;

/// How many bytes of records are skipped where no early data is allowed. A client that sends some was allowed
/// to by another configuration; one record's worth is tolerated.
const TOLERATED: usize = 1 << 14;

/// Returns how many bytes of early data are skipped that is not accepted. `of_ticket` is what the client's ticket allows
/// it to send, as far as that is known.
pub(super) fn skipped_limit(config: &ServerConfig, of_ticket: u32) -> usize {
    // RFC 9846 §4.3.10: up to the configured max_early_data_size. It may have been more when the ticket was made
    match config.max_early_data_size.max(of_ticket) {
        0 => TOLERATED,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

/// A session that is resumed, perhaps with early data.
pub(super) struct Offer<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    /// It is the first that the client offers.
    pub(super) is_first: bool,
    pub(super) obfuscated_ticket_age: u32,
    pub(super) session: &'a Tls13Session<'a>,
    pub(super) kind: TicketKind,
}

impl Offer<'_> {
    /// How many bytes of early data are accepted; `None` for none.
    pub(super) fn accepted_limit(
        &self,
        parameters: &Parameters<'_>,
        config: &ServerSettings,
        data: &ServerConnectionData,
        now: UnixTime,
    ) -> Option<u32> {
        let session = self.session;
        let limit = session.max_early_data_size;
        let is_wanted = self.hello.extensions.early_data
            && data.early_data != EarlyData::Rejected
            // what the ticket allows, and still is allowed
            && (1..=config.max_early_data_size).contains(&limit);
        // RFC 9846 §4.3.10: the first session, under the same cipher suite and protocol
        let is_same = self.is_first
            && session.suite == parameters.suite.common.suite
            && session.facts.alpn_protocol == parameters.alpn_protocol.as_deref()
            && config.carrier.allows_early_data_of(session.carrier);
        // RFC 9846 §8: once; a session from the storage was taken out of it
        let is_single_use = self.kind == TicketKind::Stored;

        (is_wanted && is_same && is_single_use && self.is_fresh(now)).then_some(limit)
    }

    /// RFC 9846 §4.3.10, §8.3: the ClientHello was sent when it came, as far as the age that it states tells.
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

/// Waits for the end of the early data that was accepted.
pub(crate) struct WaitEndOfEarlyData {
    /// The state that follows.
    pub(super) finished: Box<WaitFinished>,
    pub(super) client_handshake_traffic_secret: OkmBlock,
}

impl WaitEndOfEarlyData {
    /// In its box, as [`WaitFinished::read_finished`].
    #[expect(
        clippy::boxed_local,
        reason = "what is moved out of a box is not zeroized there"
    )]
    pub(super) fn read_end_of_early_data(
        mut self: Box<Self>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<Box<WaitFinished>, Failure> {
        self.finished.transcript.add(encoded);
        // RFC 9846 §4.6: what follows is under handshake keys. §5.1: nothing may follow before them
        let secret = &self.client_handshake_traffic_secret;
        TrafficSecret::with(self.finished.suite, secret, |secret| {
            cx.transport.set_receiving_secret(Level::Handshake, secret)
        })?;
        Ok(self.finished)
    }
}
