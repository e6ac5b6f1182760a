//! An unbuffered connection after its handshake with upstream, in every role and version, and with
//! every provider.

use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Unbuffered, UpstreamBuffered};
pub(crate) use harness::peers::roles::this::Config;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

pub(crate) use crate::cases::{Case, cases};

/// Creates an end and its peer, which have sent nothing yet.
pub(crate) fn fresh<C: Unbuffered>(case: Case, end: ThisUnbuffered<C>) -> (C, UpstreamBuffered) {
    (end.conn, case.peer())
}

/// Creates an end and its peer after the handshake.
pub(crate) fn connected<C: Unbuffered>(
    case: Case,
    mut end: ThisUnbuffered<C>,
) -> (C, UpstreamBuffered) {
    let mut peer = case.peer();
    case.role.handshake(&mut end, &mut peer);
    (end.conn, peer)
}

/// Runs a test of the form `fn test(case: Case, conn: impl Unbuffered, peer: UpstreamBuffered)`
/// with all cases, after the handshake or before it. Servers send no tickets.
macro_rules! for_all {
    ($test:path $(, $more:expr)?) => {
        crate::unbuffered::ends::for_all!(@with connected: $test $(, $more)?)
    };
    (fresh $test:path) => {
        crate::unbuffered::ends::for_all!(@with fresh: $test)
    };
    (@with $state:ident: $test:path $(, $more:expr)?) => {
        for case in crate::unbuffered::ends::cases() {
            println!("{case:?}");
            use crate::unbuffered::ends::{Config, $state};
            match case.config().edit(|_| {}, |server| server.send_tls13_tickets = 0) {
                Config::Client(config) => {
                    let client = harness::peers::endpoints::ThisUnbuffered::client(config);
                    let (conn, peer) = $state(case, client);
                    $test(case, conn, peer $(, $more)?);
                }
                Config::Server(config) => {
                    let server = harness::peers::endpoints::ThisUnbuffered::server(config);
                    let (conn, peer) = $state(case, server);
                    $test(case, conn, peer $(, $more)?);
                }
            }
        }
    };
}

pub(crate) use for_all;

/// Encrypts `plaintext`.
pub(crate) fn encrypted(conn: &mut impl Unbuffered, plaintext: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut traffic = conn.write_traffic().unwrap();
    traffic.encrypt_to_vec(plaintext, &mut wire, 0).unwrap();
    wire
}

/// Processes `incoming`, which must begin with application data, and reads one record.
pub(crate) fn take_one(conn: &mut impl Unbuffered, incoming: &mut Vec<u8>) -> Vec<u8> {
    let UnbufferedStatus { discard, state } = conn.process(incoming);
    let Ok(ConnectionState::ReadTraffic(mut traffic)) = state else {
        panic!("{state:?}");
    };
    let record = traffic.next_record().unwrap().unwrap();
    assert_eq!(record.discard, 0);
    let plaintext = record.payload.to_vec();
    incoming.drain(..discard);
    plaintext
}

/// Replaces the sending keys; later records are sent with the new ones.
pub(crate) fn replace_keys(conn: &mut impl Unbuffered, peer: &mut UpstreamBuffered) {
    let traffic = conn.write_traffic().unwrap();
    traffic.refresh_traffic_keys().unwrap();
    peer.receive(&own_output(conn)).unwrap();
}

/// Processes `incoming`; returns the number of bytes to discard, and the state.
pub(crate) fn processed(conn: &mut impl Unbuffered, incoming: &mut [u8]) -> (usize, String) {
    let UnbufferedStatus { discard, state } = conn.process(incoming);
    (discard, format!("{:?}", state.unwrap()))
}

/// Returns the state that the connection reports without input.
pub(crate) fn idle_state(conn: &mut impl Unbuffered) -> String {
    processed(conn, &mut []).1
}

/// Takes all output that the connection itself has to send.
pub(crate) fn own_output(conn: &mut impl Unbuffered) -> Vec<u8> {
    let (mut output, mut used) = (Vec::new(), 0);
    loop {
        match conn.process(&mut []).state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => {
                used += state.encode_to_vec(&mut output, used).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            _ => {
                assert_eq!(output.len(), used);
                return output;
            }
        }
    }
}
