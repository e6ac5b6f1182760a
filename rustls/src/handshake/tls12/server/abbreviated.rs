//! The abbreviated handshake (RFC 5246 §7.3): the server's flight when a session is resumed.

use alloc::boxed::Box;

use super::State;
use super::finished::WaitChangeCipherSpec;
use super::hello::{HelloFacts, Kind, server_hello};
use super::parameters::Parameters;
use crate::config::handshake_kind::HandshakeKind;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::flight::Flight;
use crate::handshake::wait::Opens;
use crate::logging::debug;

/// Sends everything up to Finished, and waits for the client's change_cipher_spec. If the ticket is
/// pending, sends only the ServerHello until it is ready.
pub(super) fn resume(
    mut next: Box<WaitChangeCipherSpec>,
    parameters: &Parameters,
    facts: &HelloFacts,
    cx: &mut ServerContext<'_>,
) -> Result<State, Failure> {
    debug!("resuming a session");
    cx.negotiated.alpn_protocol = parameters.alpn_protocol.clone();
    cx.negotiated.handshake_kind = Some(HandshakeKind::Resumed);
    let server_hello = server_hello(
        facts,
        Kind::Abbreviated,
        &next.handshake,
        parameters,
        cx.data.server_name(),
    );
    let mut flight = Flight::new(&mut next.handshake.transcript);
    flight.add(&server_hello);
    flight.send(cx.transport)?;
    next.handshake.log(&next.master_secret);
    let wait_change = |next, _: &mut ServerContext<'_>| Ok(State::WaitChangeCipherSpec(next));
    next.finish(None, Opens::Alerts, wait_change, cx)
}
