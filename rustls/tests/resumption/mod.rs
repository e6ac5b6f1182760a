//! Resumption of TLS 1.3 sessions (RFC 9846 §2.2) by this crate's client and server.

mod client;
mod server;

use harness::peers::endpoints::Endpoint;

/// The kind of the handshake that `end` has completed.
fn kind_of(end: &dyn Endpoint) -> String {
    let negotiated = end.negotiated();
    let (_, kind) = negotiated.rsplit_once("Some(").unwrap();
    kind.trim_end_matches(')').to_owned()
}
