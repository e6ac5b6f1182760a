//! A sent ClientHello, and everything needed to check the server's reply.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::hash::Hash;

use super::key_shares::KeyShares;
use super::offer::Offer;
use super::offered::OfferedExtensions;
use crate::error::Error;
use crate::handshake::client::ech::OuterHello;
use crate::handshake::client::offered_session::OfferedSession;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Transport;
use crate::suites::Tls13CipherSuite;

/// The latest ClientHello, until a version is chosen.
pub(crate) struct SentHello {
    pub(crate) offer: Box<Offer>,
    /// The key exchange whose shares were sent; `None` if TLS 1.3 is not offered.
    pub(crate) shares: Option<KeyShares>,
    /// The message, header included. With ECH, it is the ClientHelloInner until the server rejects
    /// ECH.
    pub(crate) encoded: Vec<u8>,
    /// The ClientHelloOuter, while the server may still use it instead.
    pub(crate) outer: Option<Box<OuterHello>>,
    /// The transcript up to this message, if it already exists. It exists, for example, if a binder
    /// was computed (with the session's hash), or after a HelloRetryRequest.
    transcript: Option<Box<Transcript>>,
    /// The extension types in the message.
    pub(crate) offered: OfferedExtensions,
    /// The session offered for resumption.
    pub(crate) session: Option<Box<OfferedSession>>,
    /// The suite chosen by the HelloRetryRequest that this message answers.
    pub(crate) retry_suite: Option<&'static Tls13CipherSuite>,
    pub(crate) ccs: CompatibilityCcs,
}

/// The result of a HelloRetryRequest.
pub(crate) struct ReceivedRetry {
    pub(crate) suite: &'static Tls13CipherSuite,
    /// The transcript from message_hash to the HelloRetryRequest.
    pub(crate) transcript: Transcript,
    /// The outer hello of ECH, unless ECH was rejected.
    pub(crate) outer: Option<Box<OuterHello>>,
}

impl SentHello {
    /// Sends the first ClientHello, and prepares early data if it is offered.
    ///
    /// # Errors
    ///
    /// Returns errors of [`Offer::client_hello`], [`OuterHello::seal`] and
    /// [`Transport::send_handshake`].
    pub(crate) fn send_first(
        offer: Box<Offer>,
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
            transport.remember_peer_parameters(session.value.quic_parameters());
            if session.with_early_data {
                // RFC 9846 §E.4: with early data, the change_cipher_spec directly follows the first
                // ClientHello
                ccs.send_once(transport);
                session.start_early_data(&offer, transcript.current(), transport);
            }
        }
        Ok(Self {
            offered: OfferedExtensions::of(&encoded),
            offer,
            shares,
            encoded,
            outer,
            transcript,
            session,
            retry_suite: None,
            ccs,
        })
    }

    /// Sends the second ClientHello, with `shares`, the server's `cookie`, and the session if it
    /// still fits.
    ///
    /// # Errors
    ///
    /// Returns errors of [`Offer::client_hello`], [`OuterHello::seal`] and
    /// [`Transport::send_handshake`].
    pub(crate) fn send_second(
        offer: Box<Offer>,
        shares: KeyShares,
        cookie: Option<&[u8]>,
        mut session: Option<Box<OfferedSession>>,
        mut retry: ReceivedRetry,
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

    /// Takes the transcript up to this message. Hashes the ClientHello now if `hash` was not used
    /// for it before, for example because no session was offered, or because the server chose a
    /// hash other than the session's.
    pub(crate) fn take_transcript(&mut self, hash: &'static dyn Hash) -> Transcript {
        match self.transcript.take() {
            Some(transcript) if transcript.algorithm() == hash.algorithm() => *transcript,
            // no session was offered, the server chose a hash other than the session's, or it
            // rejected ECH. None of these is possible after a HelloRetryRequest
            _ => Transcript::start(hash, &self.encoded),
        }
    }

    /// Like [`Self::take_transcript`], but returns a fork, so that the transcript can still be
    /// taken.
    pub(crate) fn fork_transcript(&mut self, hash: &'static dyn Hash) -> Transcript {
        let transcript = self.take_transcript(hash);
        let fork = transcript.fork();
        self.transcript = Some(Box::new(transcript));
        fork
    }

    /// Continues as if `encoded` had been sent instead, without a session.
    pub(crate) fn replace(&mut self, encoded: Vec<u8>) {
        self.offered = OfferedExtensions::of(&encoded);
        self.encoded = encoded;
        self.transcript = None;
        self.session = None;
    }

    /// Returns the length in bytes of the message that was sent to the server, header included.
    pub(crate) fn sent_len(&self) -> usize {
        sent_message(&self.encoded, self.outer.as_deref()).len()
    }

    /// True if the server may reply with a HelloRetryRequest.
    pub(crate) fn accepts_retry(&self) -> bool {
        self.offer.offers_tls13() && !self.is_retried()
    }

    /// True after a HelloRetryRequest.
    pub(crate) fn is_retried(&self) -> bool {
        self.retry_suite.is_some()
    }
}

/// Returns the message that is sent to the server.
fn sent_message<'a>(encoded: &'a [u8], outer: Option<&'a OuterHello>) -> &'a [u8] {
    outer.map_or(encoded, OuterHello::message)
}

/// The parts of a ClientHello, without the session.
struct Hello<'a> {
    offer: &'a Offer,
    shares: Option<&'a KeyShares>,
    cookie: Option<&'a [u8]>,
    /// The transcript of the messages before a second ClientHello.
    before: Option<&'a Transcript>,
}

impl Hello<'_> {
    /// Encodes a ClientHello that offers `session`. Sets `session` to `None` if the session does
    /// not fit, because a ticket can be as long as all extensions together. Returns a transcript if
    /// a session is offered.
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

/// The change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4). It is sent at most once,
/// before the second ClientHello or the client's first protected record.
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
