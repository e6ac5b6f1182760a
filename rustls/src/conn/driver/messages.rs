//! Handshake messages: taken from records or QUIC, and handled one by one.

use core::mem;
use core::task::{self, Poll, ready};

use super::Driver;
use crate::error::{Error, InvalidMessage};
use crate::failure::Failure;
use crate::handshake::wait::Wait;
use crate::logging::{debug, trace};
use crate::msgs::{HANDSHAKE_HEADER_LEN, HandshakeMessage};

/// The maximum number of bytes from QUIC that are buffered while a handshake is waiting: twice the
/// maximum length of a message, so that more can follow a message of that length.
const MAX_WAITING_CRYPTO: usize = 2 * (HANDSHAKE_HEADER_LEN + 0xffff);

impl<Data> Driver<Data> {
    /// Handles the payload of a handshake record.
    pub(super) fn handle_handshake(&mut self, payload: &[u8]) -> Result<(), Failure> {
        // RFC 9846 §5.1: a handshake record is not empty
        if payload.is_empty() {
            return Err(InvalidMessage::InvalidEmptyPayload.into());
        }
        self.handle_piece(payload)
    }

    /// Processes the next handshake bytes from QUIC CRYPTO frames, and handles the messages that
    /// are complete, unless the handshake is waiting.
    pub(crate) fn process_crypto(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check_failed()?;
        let is_waiting = self.common.is_waiting();
        if is_waiting {
            self.common.records.unpolled.called();
        }
        if let Some(quic) = &mut self.common.quic {
            quic.received.add(0, bytes.len());
        }
        let joiner = self.common.joiner();
        if is_waiting && joiner.len() + bytes.len() > MAX_WAITING_CRYPTO {
            return Err(self.fail(InvalidMessage::HandshakePayloadTooLarge.into()));
        }
        let handled = self.handle_piece(bytes);
        self.end_work();
        handled.map_err(|failure| self.fail(failure))
    }

    /// Handles the messages that `piece` completes while the machine is ready, and buffers the
    /// rest.
    fn handle_piece(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let mut rest = self.common.joiner().begin(piece)?;
        self.start_work();
        while self.handshake.machine.is_ready() {
            let Some(message) = self.common.joiner().next_in(&mut rest) else {
                break;
            };
            self.handle_message(message)?;
            self.common.send_buffered()?;
            self.report();
        }
        let joiner = self.common.joiner();
        joiner.keep(rest)?;
        if joiner.is_empty() {
            return Ok(());
        }
        self.handle_messages()
    }

    /// Handles the buffered messages while the machine is ready.
    pub(super) fn handle_messages(&mut self) -> Result<(), Failure> {
        self.start_work();
        while self.handshake.machine.is_ready() {
            let Some(message) = self.common.joiner().next_message()? else {
                break;
            };
            self.handle_message(&message)?;
            self.common.joiner().give_back(message);
            self.common.send_buffered()?;
            self.report();
        }
        Ok(())
    }

    fn handle_message(&mut self, message: &[u8]) -> Result<(), Failure> {
        let message_in = HandshakeMessage::new(message)?;
        trace!("received {:?}, {} bytes", message_in.typ, message.len());
        let (machine, mut cx) = self.machine_and_context();
        machine.handle(message_in, &mut cx)?;
        self.update_wait();
        if let Some(wait) = self.common.wait {
            self.common.records.unpolled.begin(wait.call);
        }
        Ok(())
    }

    /// Notes the callback that the handshake is waiting for, if any.
    fn update_wait(&mut self) {
        let wait = self.handshake.machine.wait();
        if wait.is_some() || self.common.wait.is_some() {
            self.set_wait(wait);
        }
    }

    /// Notes the start, change or end of a wait. Logs the callback if it is a new one.
    #[cold]
    fn set_wait(&mut self, wait: Option<Wait>) {
        let call = wait.map(|wait| wait.call);
        let before = mem::replace(&mut self.common.wait, wait).map(|wait| wait.call);
        if call == before {
            return;
        }
        if let Some(observation) = &mut self.common.observation {
            observation.times.set_wait(call);
        }
        if let Some(call) = call {
            debug!("waiting for a {call}");
        }
    }

    /// Starts measuring this side's work on messages, if there is an observer. [`Self::end_work`]
    /// stops that.
    fn start_work(&mut self) {
        if let Some(observation) = &mut self.common.observation {
            observation.times.start_work();
        }
    }

    /// Stops measuring this side's work on messages.
    pub(crate) fn end_work(&mut self) {
        if let Some(observation) = &mut self.common.observation {
            observation.times.end_work();
        }
    }

    /// Polls the operation that the handshake is waiting for. Continues the handshake with its
    /// result, and with the buffered messages. Returns `Ready` if the handshake is not waiting for
    /// an operation.
    pub(crate) fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        self.check_failed()?;
        while self.common.is_waiting() {
            self.common.records.unpolled.polled();
            let (machine, mut context) = self.machine_and_context();
            let polled = machine.poll_operation(cx, &mut context);
            self.update_wait();
            ready!(polled)
                .and_then(|()| Ok(self.common.send_buffered()?))
                .and_then(|()| {
                    self.report();
                    self.handle_messages()
                })
                .map_err(|failure| self.fail(failure))?;
            self.end_work();
        }
        Poll::Ready(Ok(()))
    }

    /// Reports new events to the observer, if there is one.
    pub(super) fn report(&mut self) {
        if let Some(observation) = &mut self.common.observation {
            if !observation.has_server_name() {
                if let Some(name) = self.handshake.machine.server_name(&self.data) {
                    observation.set_server_name(name);
                }
            }
            self.common.report();
        }
    }
}
