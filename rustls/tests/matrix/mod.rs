//! Tests of every feature combined with every other, between this crate and upstream in either
//! role, and between two ends of this crate. The negotiated values are as expected, and data
//! arrives.
//!
//! `table.rs` lists the features and their rules, `cover.rs` chooses cases, and `ends.rs` creates
//! their ends. This file runs the connections.

mod cover;
mod ends;
mod table;

use std::panic;
use std::sync::OnceLock;

use ends::Side;
use harness::peers::configs::Identity;
use harness::peers::endpoints::{Endpoint, exchange, handshake, send_and_check, talk_and_close};
use harness::verifiers::raw_keys::this::raw_key;
use table::Case;

/// Runs all cases with these ends.
fn run(ends: &str) {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    let cases = CASES.get_or_init(cover::cases).iter();
    let cases: Vec<_> = cases.filter(|case| case.is("ends", ends)).collect();
    assert!(!cases.is_empty());
    let fails = |case: &&&Case| panic::catch_unwind(|| connect_and_talk(case)).is_err();
    let failed: Vec<_> = cases.iter().filter(fails).collect();
    for case in &failed {
        println!("failed: {case}");
    }
    assert!(failed.is_empty(), "{} of {}", failed.len(), cases.len());
}

fn connect_and_talk(case: &Case) {
    let (client, server) = (Side::client(case), Side::server(case));
    let first = match case.value("retry") {
        "yes" => "FullWithHelloRetryRequest",
        _ => "Full",
    };
    let again = match case.value("resumption") {
        "none" => first,
        _ => "Resumed",
    };
    for kind in [first, again] {
        let is_resumed = kind == "Resumed";
        // the connection's protocol then differs from the session's
        let rejects = is_resumed && case.is("early data", "rejected");
        let mut server = if rejects {
            server.clone().without_alpn().connection()
        } else {
            server.connection()
        };
        let mut client = client.connection();
        client.send_early(b"early");
        handshake(&mut *client, &mut *server);
        let mut early_data = Vec::new();
        server.read_early_into(&mut early_data);
        let accepted = is_resumed && case.is("early data", "accepted");
        assert_eq!(early_data, if accepted { &b"early"[..] } else { b"" });
        check_negotiated(case, kind, rejects, &*client);
        check_certificates(case, &*client, &*server);
        if case.is_tls13() {
            talk_and_close(&mut *client, &mut *server);
        } else {
            talk_without_key_update(&mut *client, &mut *server);
        }
    }
}

fn check_negotiated(case: &Case, kind: &str, without_alpn: bool, client: &dyn Endpoint) {
    let version = if case.is_tls13() { 3 } else { 2 };
    // RFC 5246 §7.3: an abbreviated handshake of TLS 1.2 exchanges no keys
    let group = match (version, kind) {
        (2, "Resumed") => "None".to_owned(),
        _ => format!("Some({})", case.value("group")),
    };
    let suite = case.value("suite");
    let alpn = format!("{:?}", (!without_alpn).then_some(b"http/1.1"));
    assert_eq!(
        client.negotiated(),
        format!("Some(TLSv1_{version}) Some({suite}) {group} {alpn} Some({kind})")
    );
}

fn check_certificates(case: &Case, client: &dyn Endpoint, server: &dyn Endpoint) {
    let identities = case.key_type().identities();
    let expected = |identity: &Identity, is_raw: bool| {
        if is_raw {
            vec![raw_key(identity, case.provider()).cert[0].to_vec()]
        } else {
            vec![identity.chain[0].to_vec()]
        }
    };
    let (servers_is_raw, clients_is_raw) = case.raw_keys();
    let of_server = expected(&identities.server, servers_is_raw);
    assert_eq!(client.peer_certificates(), of_server);
    if case.auth().is_presented() {
        let of_client = expected(&identities.client, clients_is_raw);
        assert_eq!(server.peer_certificates(), of_client);
    } else {
        assert!(server.peer_certificates().is_empty());
    }
}

fn talk_without_key_update(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    send_and_check(client, server, &[1; 20_000]);
    send_and_check(server, client, &[2; 20_000]);
    client.close();
    exchange(client, server).unwrap();
    assert!(server.peer_has_closed());
    // RFC 5246 §7.2.1: the other side answers with its own close_notify
    server.close();
    exchange(client, server).unwrap();
    assert!(client.peer_has_closed());
}

macro_rules! tests {
    ($($name:ident: $ends:literal,)*) => {
        /// Client and server: each API of this crate in each role against upstream, against the
        /// other API and against itself.
        const PAIRS: [&str; 10] = [$($ends),*];

        $(
            #[test]
            fn $name() {
                run($ends);
            }
        )*
    };
}

tests! {
    buffered_connects_to_upstream: "buffered to upstream",
    unbuffered_connects_to_upstream: "unbuffered to upstream",
    upstream_connects_to_buffered: "upstream to buffered",
    upstream_connects_to_unbuffered: "upstream to unbuffered",
    buffered_connects_to_unbuffered: "buffered to unbuffered",
    unbuffered_connects_to_buffered: "unbuffered to buffered",
    buffered_connects_to_buffered: "buffered to buffered",
    unbuffered_connects_to_unbuffered: "unbuffered to unbuffered",
    in_place_connects_to_upstream: "in place to upstream unbuffered",
    upstream_connects_to_in_place: "upstream unbuffered to in place",
}
