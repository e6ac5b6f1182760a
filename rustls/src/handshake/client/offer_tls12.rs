//! The parts of a ClientHello that only TLS 1.2 needs.

use pki_types::UnixTime;
use rustls_core::codec::LengthSize;
use rustls_core::crypto::SupportedKxGroup;
use smallvec::smallvec;

use super::key_shares::KeyShares;
use super::offer::Offer;
use crate::config::observer::handshake::NotResumed;
use crate::config::session::client::{Tls12ClientSessionValue, Tls12Resumption};
use crate::enums::{CipherSuite, ECPointFormat, KeyExchangeAlgorithm, ProtocolVersion};
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::SessionId;
use crate::msgs::tls12::key_exchange::ServerKeyExchangeParams;
use crate::suites::{SupportedCipherSuite, Tls12CipherSuite};

/// A ticket of at most this many bytes is assumed to fit into any ClientHello.
const SURELY_FITS: usize = 2048;

/// The maximum length of a ClientHello with a ticket, in bytes. Its extensions have at most
/// 2^16 - 1 bytes.
const MAX_LEN: usize = LengthSize::U16.max_len();

impl Offer {
    /// Offers `session`, at the time `now`, if its suite is offered. Servers choose the length of a
    /// ticket, and a ticket that does not fit is omitted. Returns the reason if the session is not
    /// offered.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::client_hello`].
    pub(crate) fn add_tls12_session(
        &mut self,
        (mut session, now): (Tls12ClientSessionValue, UnixTime),
        shares: Option<&KeyShares>,
    ) -> Result<Option<NotResumed>, Error> {
        // RFC 5246 §7.4.1.2: the suite of the session must be among the offered ones
        if self.tls12_suite(session.suite().common.suite).is_err() {
            return Ok(Some(NotResumed::OtherCipherSuite));
        }
        let is_too_long = match session.ticket().map(<[u8]>::len) {
            Some(len) if len > SURELY_FITS => {
                self.client_hello(shares, None, None)?.len() + len > MAX_LEN
            }
            _ => false,
        };
        if is_too_long {
            session.drop_ticket();
            if !session.is_resumable() {
                return Ok(Some(NotResumed::TooLong));
            }
        }
        if session.ticket().is_none() {
            self.session_id = session.session_id();
        } else if self.session_id.is_empty() {
            // RFC 5077 §3.4: a random id; the server echoes it if it accepts the ticket
            self.session_id = SessionId::from(self.random_id);
        }
        self.tls12_session = Some((session, now));
        Ok(None)
    }

    /// Adds the extensions that only TLS 1.2 needs.
    pub(super) fn with_tls12_extensions<'a>(
        &'a self,
        extensions: ClientExtensions<'a>,
    ) -> ClientExtensions<'a> {
        let config = &self.config;
        if !config.versions.contains(ProtocolVersion::TLSv1_2) {
            return extensions;
        }
        // RFC 8422 §4: only with a suite that uses elliptic curves
        let mut suites = config.provider.cipher_suites.iter();
        let has_curves = suites.any(|suite| {
            let suite = suite.tls12();
            suite.is_some_and(|it| it.kx == KeyExchangeAlgorithm::ECDHE)
        });
        let takes_tickets =
            config.resumption.tls12_resumption == Tls12Resumption::SessionIdOrTickets;
        let ticket = self.tls12_ticket();
        ClientExtensions {
            ec_point_formats: has_curves.then(|| smallvec![ECPointFormat::Uncompressed]),
            extended_master_secret: true,
            // RFC 5077 §3.2: an empty extension requests a ticket
            session_ticket: takes_tickets.then(|| ticket.unwrap_or_default()),
            ..extensions
        }
    }

    /// Returns the ticket of the offered session, if it has one.
    pub(super) fn tls12_ticket(&self) -> Option<&[u8]> {
        let (session, _) = self.tls12_session.as_ref()?;
        session.ticket()
    }

    fn tls12_groups(&self) -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
        let groups = self.config.provider.kx_groups.iter().copied();
        groups.filter(|group| group.usable_for_version(ProtocolVersion::TLSv1_2))
    }

    /// True if `suite` is offered, which requires a group for its key exchange.
    pub(super) fn offers_tls12_suite(&self, suite: &Tls12CipherSuite) -> bool {
        let mut groups = self.tls12_groups();
        self.config.versions.contains(ProtocolVersion::TLSv1_2)
            && groups.any(|group| group.name().key_exchange_algorithm() == suite.kx)
    }

    /// Returns the TLS 1.2 suite with this code point.
    ///
    /// # Errors
    ///
    /// Returns an error if the suite was not offered, or belongs to TLS 1.3.
    pub(crate) fn tls12_suite(
        &self,
        suite: CipherSuite,
    ) -> Result<&'static Tls12CipherSuite, PeerMisbehaved> {
        let mut suites = self.config.provider.cipher_suites.iter();
        match suites.find(|known| known.suite() == suite) {
            Some(SupportedCipherSuite::Tls12(suite)) if self.offers_tls12_suite(suite) => Ok(suite),
            Some(SupportedCipherSuite::Tls13(_)) => {
                Err(PeerMisbehaved::SelectedUnusableCipherSuiteForVersion)
            }
            _ => Err(PeerMisbehaved::SelectedUnofferedCipherSuite),
        }
    }

    /// Returns the group in `params` if it was offered for TLS 1.2.
    pub(crate) fn tls12_group(
        &self,
        params: &ServerKeyExchangeParams<'_>,
    ) -> Option<&'static dyn SupportedKxGroup> {
        let mut groups = self
            .tls12_groups()
            .filter(|group| group.name().key_exchange_algorithm() == params.algorithm());
        match *params {
            ServerKeyExchangeParams::Ecdhe { group, .. } => {
                groups.find(|offered| offered.name() == group)
            }
            ServerKeyExchangeParams::Dhe { .. } => {
                groups.find(|offered| offered.ffdhe_group() == params.ffdhe_group())
            }
        }
    }
}
