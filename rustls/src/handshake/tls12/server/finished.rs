//! The end of the handshake: change_cipher_spec and Finished (RFC 5246 §7.1, §7.4.9) of both sides,
//! and the server's NewSessionTicket.

use alloc::boxed::Box;

use super::State;
use super::handshake::Handshake;
use super::hello::Kind;
use super::resumption::usable_ticket;
use crate::config::session::stored::ServerSessionValue;
use crate::config::settings::ServerSettings;
use crate::enums::Side;
use crate::failure::Failure;
use crate::handshake::established::Established;
use crate::handshake::finished::check_finished;
use crate::handshake::wait::{Call, Opens, Wait};
use crate::handshake::{ServerContext, operation};
use crate::keys::tls12::{KeyBlock, MasterSecret};
use crate::msgs::Finished;

pub(crate) struct WaitChangeCipherSpec {
    pub(super) handshake: Handshake,
    pub(super) master_secret: MasterSecret,
    pub(super) keys: KeyBlock,
    pub(super) kind: Kind,
}

impl AsRef<ServerSettings> for WaitChangeCipherSpec {
    fn as_ref(&self) -> &ServerSettings {
        &self.handshake.config
    }
}

impl WaitChangeCipherSpec {
    pub(super) fn read_change_cipher_spec(
        self: Box<Self>,
        cx: &mut ServerContext<'_>,
    ) -> Result<WaitFinished, Failure> {
        cx.transport
            .change_receiving_cipher(&self.keys, Side::Client)?;
        Ok(WaitFinished(self))
    }

    /// Stores `to_store`, and seals the promised ticket, if any. Then sends the ticket and the
    /// server's Finished, and continues with `next`. While storing or sealing is pending, only the
    /// records in `opens` may be opened.
    pub(super) fn finish(
        self: Box<Self>,
        to_store: Option<ServerSessionValue>,
        opens: Opens,
        next: impl FnOnce(Box<Self>, &mut ServerContext<'_>) -> Result<State, Failure> + Send + 'static,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let plain = self.handshake.session_for_ticket(&self.master_secret, cx);
        let callbacks = cx.callbacks;
        let send_finished =
            move |mut finished: Box<Self>, ticket: &[u8], cx: &mut ServerContext<'_>| {
                let Self {
                    handshake, keys, ..
                } = &mut *finished;
                handshake.send_ticket_and_finished(ticket, keys, cx)?;
                if !ticket.is_empty() {
                    cx.recorder.events(|events| events.tickets_made += 1);
                }
                next(finished, cx)
            };
        let seal = move |finished: Box<Self>, cx: &mut ServerContext<'_>| {
            let Some(plain) = plain else {
                return send_finished(finished, &[], cx);
            };
            let called = finished.handshake.seal(&plain, callbacks);
            let call = Call::Ticket;
            operation::after(called, Wait { call, opens }, cx, move |ticket, cx| {
                let ticket = ticket.and_then(usable_ticket).unwrap_or_default();
                send_finished(finished, &ticket, cx)
            })
        };
        let Some(session) = to_store else {
            return seal(self, cx);
        };
        let called = self.handshake.store(session, callbacks);
        let call = Call::Session;
        // a session that could not be stored is not found later
        operation::after(called, Wait { call, opens }, cx, move |is_stored, cx| {
            cx.recorder.session(is_stored);
            seal(self, cx)
        })
    }
}

/// Waits for the client's Finished, the first message under its new keys.
pub(crate) struct WaitFinished(Box<WaitChangeCipherSpec>);

impl WaitFinished {
    pub(super) fn read_finished(
        self,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self(mut last) = self;
        let WaitChangeCipherSpec {
            handshake,
            master_secret,
            keys,
            kind,
        } = &mut *last;
        let transcript = handshake.transcript.current();
        let expected = keys.received_verify_data(Side::Client, transcript);
        check_finished(&expected, finished)?;
        cx.transport.check_aligned()?;
        cx.negotiated.prove_peer();
        *cx.session = handshake.stored_session();

        match kind {
            Kind::Full => {
                handshake.transcript.add(encoded);
                let session = handshake.session_to_store(master_secret, cx);
                last.finish(session, Opens::Nothing, Self::connect, cx)
            }
            Kind::Abbreviated => {
                cx.negotiated.share_peer(&handshake.config.peer_chains);
                Self::connect(last, cx)
            }
        }
    }

    fn connect(
        last: Box<WaitChangeCipherSpec>,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        *cx.established = Some(Established::Tls12(Box::new(last.master_secret)));
        cx.transport.start_receiving();
        cx.transport.start_sending();
        Ok(State::Connected)
    }
}
