//! A ClientHello that was sent, and everything that its answer is checked against.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::key_shares::KeyShares;
use super::offer::Offer;
use super::offered::OfferedExtensions;
use super::offered_session::OfferedSession;
use crate::conn::transport::Transport;
use crate::error::Error;
use crate::handshake::transcript::Transcript;
use crate::suites::Tls13CipherSuite;

/// The last ClientHello, while no version is chosen.
pub(crate) struct SentHello {
    pub(crate) offer: Box<Offer>,
    /// None where TLS 1.3 is not offered.
    pub(crate) shares: Option<KeyShares>,
    /// The message, header included.
    pub(crate) encoded: Vec<u8>,
    /// The extensions in it.
    pub(crate) offered: OfferedExtensions,
    /// The session that it offers to resume.
    pub(crate) session: Option<Box<OfferedSession>>,
    /// What the HelloRetryRequest that it answers has settled.
    pub(crate) retry: Option<Retry>,
    pub(crate) ccs: CompatibilityCcs,
}

/// What a HelloRetryRequest has settled.
pub(crate) struct Retry {
    pub(crate) suite: &'static Tls13CipherSuite,
    /// From message_hash to the HelloRetryRequest.
    pub(crate) transcript: Transcript,
}

impl SentHello {
    /// Sends the first ClientHello, and makes ready for early data if that is offered.
    ///
    /// # Errors
    ///
    /// Those of [`Offer::client_hello`] and [`Transport::send_handshake`].
    pub(super) fn send_first(
        offer: Offer,
        shares: Option<KeyShares>,
        mut session: Option<Box<OfferedSession>>,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let encoded = encode(&offer, shares.as_ref(), None, &mut session, None)?;
        transport.send_first_client_hello(&encoded)?;
        let mut ccs = CompatibilityCcs::default();
        if let Some(session) = session.as_ref().filter(|session| session.with_early_data) {
            // RFC 9846 §E.4: with early data it stands right behind the first ClientHello
            ccs.send_once(transport);
            session.start_early_data(&offer, &encoded, transport);
        }
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer: Box::new(offer),
            shares,
            encoded,
            session,
            retry: None,
            ccs,
        })
    }

    /// Sends the second one, with the shares and the cookie that were asked for and the session that may still
    /// be offered.
    ///
    /// # Errors
    ///
    /// Those of [`Offer::client_hello`] and [`Transport::send_handshake`].
    pub(crate) fn send_second(
        offer: Box<Offer>,
        shares: KeyShares,
        cookie: Option<&[u8]>,
        mut session: Option<Box<OfferedSession>>,
        retry: Retry,
        mut ccs: CompatibilityCcs,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let before = Some(&retry.transcript);
        let encoded = encode(&offer, Some(&shares), cookie, &mut session, before)?;
        ccs.send_once(transport);
        transport.send_handshake(&encoded)?;
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer,
            shares: Some(shares),
            encoded,
            session,
            retry: Some(retry),
            ccs,
        })
    }

    /// Whether a HelloRetryRequest may answer it.
    pub(super) fn takes_retry(&self) -> bool {
        self.offer.offers_tls13() && !self.is_retried()
    }

    /// Whether a HelloRetryRequest has come.
    pub(crate) fn is_retried(&self) -> bool {
        self.retry.is_some()
    }
}

/// Encodes a ClientHello that offers `session`, which becomes `None` if it does not fit: a ticket may be as long
/// as all extensions together. `transcript` is of the messages before a second ClientHello.
fn encode(
    offer: &Offer,
    shares: Option<&KeyShares>,
    cookie: Option<&[u8]>,
    session: &mut Option<Box<OfferedSession>>,
    transcript: Option<&Transcript>,
) -> Result<Vec<u8>, Error> {
    if let Some(offered) = session {
        if let Ok(mut encoded) = offer.client_hello(shares, cookie, Some(offered)) {
            offered.bind(&mut encoded, transcript);
            return Ok(encoded);
        }
        *session = None;
    }
    offer.client_hello(shares, cookie, None)
}

/// The change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4): sent once, before the client's
/// second flight, or before its early data.
#[derive(Default)]
pub(crate) struct CompatibilityCcs {
    sent: bool,
}

impl CompatibilityCcs {
    pub(crate) fn send_once(&mut self, transport: &mut dyn Transport) {
        if !core::mem::replace(&mut self.sent, true) {
            transport.send_change_cipher_spec();
        }
    }
}
