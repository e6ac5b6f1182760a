//! The end of a handshake: NewSessionTicket (RFC 5077), change_cipher_spec and Finished (RFC 5246
//! §7.4.9).
//!
//! In a new session, the client sends its Finished before these messages arrive. In a resumed
//! session, it replies with its Finished.

use alloc::boxed::Box;

use super::State;
use super::in_progress::{Finishing, Handshake, ReceivedTicket};
use super::resumption::{StoreEntry, store_session};
use crate::enums::Side;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::established::Established;
use crate::handshake::finished::check_finished;
use crate::handshake::tls12::finished::send_finished;
use crate::handshake::transport::Transport;
use crate::keys::tls12::MasterSecret;
use crate::msgs::Finished;
use crate::msgs::tls12::session_ticket::NewSessionTicket;

impl Finishing {
    /// Sends change_cipher_spec, then Finished under the new keys.
    pub(super) fn send_finished(&mut self, transport: &mut dyn Transport) -> Result<(), Error> {
        let transcript = &mut self.handshake.transcript;
        send_finished(Side::Client, &self.keys, transcript, transport)
    }

    pub(super) fn next_state(self: Box<Self>) -> State {
        if self.handshake.announces_ticket {
            State::WaitNewSessionTicket(WaitNewSessionTicket(self))
        } else {
            State::WaitChangeCipherSpec(WaitChangeCipherSpec(self))
        }
    }
}

/// Returns the secret of the resumed session, and records the session's chain. Returns `None` in a
/// full handshake.
pub(super) fn resumed_secret(
    handshake: &Handshake,
    cx: &mut ClientContext<'_>,
) -> Option<MasterSecret> {
    let offer = &handshake.offer;
    let (session, _) = offer.tls12_session.as_ref()?;
    let server_chain = session.common().server_chain().clone();
    cx.negotiated
        .set_expected_peer(server_chain, &offer.config.provider);
    let master_secret = MasterSecret::resumed(
        handshake.suite,
        session.master_secret().clone(),
        handshake.randoms,
        handshake.uses_extended_master_secret,
    );
    offer.log_secret("CLIENT_RANDOM", master_secret.as_bytes());
    Some(master_secret)
}

/// Waits for the NewSessionTicket that the ServerHello announced.
pub(crate) struct WaitNewSessionTicket(Box<Finishing>);

impl WaitNewSessionTicket {
    pub(super) fn read_new_session_ticket(
        mut self,
        ticket: &NewSessionTicket<'_>,
        encoded: &[u8],
    ) -> WaitChangeCipherSpec {
        // RFC 5077 §3.3: the ticket is empty if the server changed its mind
        if !ticket.ticket.is_empty() {
            self.0.ticket = Some(ReceivedTicket {
                lifetime_hint: ticket.lifetime_hint,
                bytes: ticket.ticket.into(),
            });
        }
        self.0.handshake.transcript.add(encoded);
        WaitChangeCipherSpec(self.0)
    }
}

pub(crate) struct WaitChangeCipherSpec(Box<Finishing>);

impl WaitChangeCipherSpec {
    pub(super) fn read_change_cipher_spec(
        self,
        transport: &mut dyn Transport,
    ) -> Result<WaitFinished, Failure> {
        transport.change_receiving_cipher(&self.0.keys, Side::Server)?;
        Ok(WaitFinished(self.0))
    }
}

/// Waits for the server's Finished, the first message under its new keys.
pub(crate) struct WaitFinished(Box<Finishing>);

impl WaitFinished {
    pub(super) fn read_finished(
        self,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<(), Failure> {
        let mut finishing = self.0;
        let transcript = finishing.handshake.transcript.current();
        let expected = finishing
            .keys
            .received_verify_data(Side::Server, transcript);
        check_finished(&expected, finished)?;
        cx.negotiated.prove_peer();

        if finishing.handshake.offer.tls12_session.is_some() {
            finishing.handshake.transcript.add(encoded);
            finishing.send_finished(cx.transport)?;
        }
        if finishing.ticket.is_some() {
            cx.recorder.events(|events| events.tickets_received += 1);
        }
        let server_chain = cx.negotiated.peer_chain();
        if store_session(&mut finishing, server_chain, &mut cx.recorder) {
            *cx.session = Some(StoreEntry::of(&finishing.handshake.offer));
        }
        *cx.established = Some(Established::Tls12(Box::new(finishing.master_secret)));
        cx.transport.start_receiving();
        cx.transport.start_sending();
        Ok(())
    }
}
