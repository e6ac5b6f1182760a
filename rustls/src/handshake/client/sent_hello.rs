//! A ClientHello that was sent, and everything that its answer is checked against.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::key_shares::KeyShares;
use super::offer::Offer;
use super::offered::OfferedExtensions;
use crate::conn::transport::Transport;
use crate::error::Error;
use crate::handshake::transcript::Transcript;
use crate::suites::Tls13CipherSuite;

/// The last ClientHello, while no version is chosen.
pub(crate) struct SentHello {
    pub(crate) offer: Box<Offer>,
    pub(crate) shares: KeyShares,
    /// The message, header included.
    pub(crate) encoded: Vec<u8>,
    /// The extensions in it.
    pub(crate) offered: OfferedExtensions,
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
    /// Sends the first ClientHello.
    ///
    /// # Errors
    ///
    /// Those of [`Offer::client_hello`] and [`Transport::send_handshake`].
    pub(super) fn send_first(
        offer: Offer,
        shares: KeyShares,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let encoded = offer.client_hello(&shares, None)?;
        transport.send_first_client_hello(&encoded)?;
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer: Box::new(offer),
            shares,
            encoded,
            retry: None,
            ccs: CompatibilityCcs::default(),
        })
    }

    /// Sends the second one, with the shares and the cookie that were asked for.
    ///
    /// # Errors
    ///
    /// Those of [`Offer::client_hello`] and [`Transport::send_handshake`].
    pub(crate) fn send_second(
        offer: Box<Offer>,
        shares: KeyShares,
        cookie: Option<&[u8]>,
        retry: Retry,
        mut ccs: CompatibilityCcs,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let encoded = offer.client_hello(&shares, cookie)?;
        ccs.send_once(transport);
        transport.send_handshake(&encoded)?;
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer,
            shares,
            encoded,
            retry: Some(retry),
            ccs,
        })
    }

    /// Whether a HelloRetryRequest has come.
    pub(crate) fn is_retried(&self) -> bool {
        self.retry.is_some()
    }
}

/// The change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4): sent once, before the client's
/// second flight.
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
