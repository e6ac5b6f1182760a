//! A ClientHello that was sent, and everything that its answer is checked against.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::key_shares::KeyShares;
use super::offer::Offer;
use super::offered::OfferedExtensions;
use super::offered_session::OfferedSession;
use crate::conn::transport::Transport;
use crate::crypto::hash::Hash;
use crate::ech::OuterHello;
use crate::error::Error;
use crate::handshake::transcript::Transcript;
use crate::suites::Tls13CipherSuite;

/// The last ClientHello, while no version is chosen.
pub(crate) struct SentHello {
    pub(crate) offer: Box<Offer>,
    /// None where TLS 1.3 is not offered.
    pub(crate) shares: Option<KeyShares>,
    /// The message, header included; where ECH is offered, the ClientHelloInner.
    pub(crate) encoded: Vec<u8>,
    /// What carried it, as long as the server may use that instead.
    pub(crate) outer: Option<Box<OuterHello>>,
    /// The one that ends with this message, if there is one already: a binder took it, by the hash of the session,
    /// or a HelloRetryRequest has come.
    transcript: Option<Box<Transcript>>,
    /// The extensions in it.
    pub(crate) offered: OfferedExtensions,
    /// The session that it offers to resume.
    pub(crate) session: Option<Box<OfferedSession>>,
    /// What the HelloRetryRequest that it answers has chosen.
    pub(crate) retry_suite: Option<&'static Tls13CipherSuite>,
    pub(crate) ccs: CompatibilityCcs,
}

/// What a HelloRetryRequest has settled.
pub(crate) struct Retry {
    pub(crate) suite: &'static Tls13CipherSuite,
    /// From message_hash to the HelloRetryRequest.
    pub(crate) transcript: Transcript,
    /// What carried the first ClientHello, and carries the second.
    pub(crate) outer: Option<Box<OuterHello>>,
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
        mut outer: Option<Box<OuterHello>>,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let hello = Hello {
            offer: &offer,
            shares: shares.as_ref(),
            cookie: None,
            before: None,
        };
        let (encoded, mut transcript) = hello.encode(&mut session, &mut outer)?;
        transport.send_first_client_hello(sent_message(&encoded, outer.as_deref()))?;
        let mut ccs = CompatibilityCcs::default();
        if let (Some(session), Some(transcript)) = (&session, &mut transcript) {
            if session.with_early_data {
                // RFC 9846 §E.4: with early data it stands right behind the first ClientHello
                ccs.send_once(transport);
                session.start_early_data(&offer, transcript.current(), transport);
            }
        }
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer: Box::new(offer),
            shares,
            encoded,
            outer,
            transcript,
            session,
            retry_suite: None,
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
        mut retry: Retry,
        mut ccs: CompatibilityCcs,
        transport: &mut dyn Transport,
    ) -> Result<Self, Error> {
        let hello = Hello {
            offer: &offer,
            shares: Some(&shares),
            cookie,
            before: Some(&retry.transcript),
        };
        let (encoded, transcript) = hello.encode(&mut session, &mut retry.outer)?;
        ccs.send_once(transport);
        transport.send_handshake(sent_message(&encoded, retry.outer.as_deref()))?;
        let transcript = transcript.unwrap_or_else(|| {
            retry.transcript.add(&encoded);
            Box::new(retry.transcript)
        });
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer,
            shares: Some(shares),
            encoded,
            outer: retry.outer,
            transcript: Some(transcript),
            session,
            retry_suite: Some(retry.suite),
            ccs,
        })
    }

    /// The transcript by `hash`, up to this message.
    pub(crate) fn take_transcript(&mut self, hash: &'static dyn Hash) -> Transcript {
        match self.transcript.take() {
            Some(transcript) if transcript.algorithm() == hash.algorithm() => *transcript,
            // the server has chosen another hash than the session's; after a HelloRetryRequest it cannot
            _ => Transcript::start(hash, &self.encoded),
        }
    }

    /// A fork of [`Self::take_transcript`], which can still be taken.
    pub(crate) fn fork_transcript(&mut self, hash: &'static dyn Hash) -> Transcript {
        let transcript = self.take_transcript(hash);
        let fork = transcript.fork();
        self.transcript = Some(Box::new(transcript));
        fork
    }

    /// Goes on as if `encoded` had been sent in its place, and that without a session.
    pub(crate) fn replace(&mut self, encoded: Vec<u8>) {
        self.offered = OfferedExtensions::of(&encoded);
        self.encoded = encoded;
        self.transcript = None;
        self.session = None;
    }

    /// How many bytes went to the server.
    pub(crate) fn sent_len(&self) -> usize {
        sent_message(&self.encoded, self.outer.as_deref()).len()
    }

    /// Whether a HelloRetryRequest may answer it.
    pub(super) fn takes_retry(&self) -> bool {
        self.offer.offers_tls13() && !self.is_retried()
    }

    /// Whether a HelloRetryRequest has come.
    pub(crate) fn is_retried(&self) -> bool {
        self.retry_suite.is_some()
    }
}

/// What goes to the server.
fn sent_message<'a>(encoded: &'a [u8], outer: Option<&'a OuterHello>) -> &'a [u8] {
    outer.map_or(encoded, OuterHello::message)
}

/// What a ClientHello is made of, but for the session.
struct Hello<'a> {
    offer: &'a Offer,
    shares: Option<&'a KeyShares>,
    cookie: Option<&'a [u8]>,
    /// Of the messages before a second ClientHello.
    before: Option<&'a Transcript>,
}

impl Hello<'_> {
    /// Encodes a ClientHello that offers `session`, which becomes `None` if it does not fit: a ticket may be as long
    /// as all extensions together. If the session has a binder, so has what is returned a transcript.
    fn encode(
        &self,
        session: &mut Option<Box<OfferedSession>>,
        outer: &mut Option<Box<OuterHello>>,
    ) -> Result<(Vec<u8>, Option<Box<Transcript>>), Error> {
        if let Some(offered) = session {
            match self.encode_with(Some(offered), outer) {
                Err(Error::General(_)) => *session = None,
                done => return done,
            }
        }
        self.encode_with(None, outer)
    }

    fn encode_with(
        &self,
        session: Option<&OfferedSession>,
        outer: &mut Option<Box<OuterHello>>,
    ) -> Result<(Vec<u8>, Option<Box<Transcript>>), Error> {
        let Self {
            offer,
            shares,
            cookie,
            before,
        } = *self;
        let mut encoded = offer.client_hello(shares, cookie, session)?;
        let transcript = session.map(|session| Box::new(session.bind(&mut encoded, before)));
        if let Some(outer) = outer {
            let inner = offer.hello(shares, cookie, session);
            outer.seal(inner, &encoded, &offer.config.provider)?;
        }
        Ok((encoded, transcript))
    }
}

/// The change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4): sent once, before the second ClientHello, or
/// the first record that the client protects.
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
