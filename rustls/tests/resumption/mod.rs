//! Tests of resumption of TLS 1.3 sessions (RFC 9846 §2.2) by this crate's client and server, and
//! of TLS 1.2 sessions where both versions behave alike.

mod client;
mod clock_reads;
mod server;

use harness::peers::clients::Client;
use harness::peers::endpoints::{Endpoint, handshake, talk_and_close};
use harness::peers::servers::{KEY_TYPE, Server};

/// Returns the kind of the handshake that `end` has completed.
fn kind_of(end: &dyn Endpoint) -> String {
    let negotiated = end.negotiated();
    let (_, kind) = negotiated.rsplit_once("Some(").unwrap();
    kind.trim_end_matches(')').to_owned()
}

/// Connects, checks that the connection works, and returns its kind of handshake.
fn kind(client: &Client, server: &Server) -> String {
    let (mut client, mut server) = (client.connect(), server.accept());
    handshake(&mut *client, &mut *server);
    let chain = &KEY_TYPE.identities().server.chain;
    assert_eq!(client.peer_certificates(), [chain[0].to_vec()]);
    let kind = kind_of(&*server);
    talk_and_close(&mut *client, &mut *server);
    kind
}
