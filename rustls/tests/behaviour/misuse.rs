//! Calls that do not fit a connection's state return what upstream's return, and panic where
//! upstream's do. The text of an error without a more specific variant begins with upstream's text.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::comparison::agree;
use harness::peers::configs::product3;
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};

use crate::cases::{Case, cases};

harness::listed! {
    /// The state of a connection.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum State {
        Fresh,
        InHandshake,
        Connected,
        /// The connection has output to send and plaintext to read.
        Busy,
        HasClosed,
        PeerHasClosed,
        BothClosed,
        Failed,
    }
}

/// Returns the `Debug` of a value or an error.
fn outcome<T: Debug, E: Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error:?}"),
    }
}

fn io<T: Debug>(result: std::io::Result<T>) -> String {
    outcome(result.map_err(|error| (error.kind(), error.to_string())))
}

macro_rules! misuse {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::Connection;

            use super::*;
            use crate::behaviour::connected::$module::{config, exchange_all, input, output};

            /// A call whose outcome is compared.
            type Call = (&'static str, fn(Connection) -> String);

            pub(super) const CALLS: &[Call] = &[
                ("export", |conn| export(&conn, 32, None)),
                ("export nothing", |conn| export(&conn, 0, None)),
                ("export much", |conn| export(&conn, 8000, None)),
                ("export more", |conn| export(&conn, 1 << 14, None)),
                ("export too much", |conn| export(&conn, 70_000, None)),
                ("export with context", |conn| export(&conn, 32, Some(b"c"))),
                ("refresh", |mut conn| outcome(conn.refresh_traffic_keys())),
                ("extract", extract),
                ("extract though it is disabled", extract),
                ("write", |mut conn| io(conn.writer().write(b"data"))),
                ("write nothing", |mut conn| io(conn.writer().write(b""))),
                ("flush", |mut conn| io(conn.writer().flush())),
                ("read", |mut conn| io(conn.reader().read(&mut [0; 10]))),
                ("read nothing", |mut conn| io(conn.reader().read(&mut []))),
                ("close", close),
                ("early data", early_data),
                ("facts", facts),
                ("set no resumption data", |conn| set_data(conn, 0)),
                ("set most resumption data", |conn| set_data(conn, 32_767)),
                ("set too much resumption data", |conn| {
                    set_data(conn, 32_768)
                }),
                ("set far too much resumption data", |conn| {
                    set_data(conn, 100_000)
                }),
                ("reject early data", reject_early_data),
                ("read_tls", |mut conn| {
                    io(conn.read_tls(&mut &b"\x17\x03"[..]))
                }),
                ("write_tls", |mut conn| {
                    io(conn.write_tls(&mut std::io::sink()).map(|_| ()))
                }),
                ("process", |mut conn| {
                    let state = conn.process_new_packets();
                    outcome(state.map(|it| (it.plaintext_bytes_to_read(), it.peer_has_closed())))
                }),
            ];

            pub(super) fn run(case: Case, state: State, (what, call): Call) -> String {
                let extracts = what == "extract";
                let config = config(case).edit(
                    |client| client.enable_secret_extraction = extracts,
                    |server| server.enable_secret_extraction = extracts,
                );
                let mut conn = config.connection();
                bring(&mut conn, &mut case.peer(), state);
                let made = catch_unwind(AssertUnwindSafe(|| call(conn)));
                made.unwrap_or_else(|_| "panic".to_string())
            }

            fn bring(conn: &mut Connection, peer: &mut UpstreamBuffered, state: State) {
                match state {
                    State::Fresh => return,
                    State::InHandshake => {
                        peer.receive(&output(conn)).unwrap();
                        input(conn, &peer.take_output()).unwrap();
                        if conn.is_handshaking() {
                            peer.receive(&output(conn)).unwrap();
                        }
                        return;
                    }
                    _ => exchange_all(conn, peer),
                };
                match state {
                    State::Busy => {
                        conn.writer().write_all(b"to be sent").unwrap();
                        peer.send(b"to be read");
                        input(conn, &peer.take_output()).unwrap();
                    }
                    State::HasClosed => conn.send_close_notify(),
                    State::PeerHasClosed => {
                        peer.close();
                        input(conn, &peer.take_output()).unwrap();
                    }
                    State::BothClosed => {
                        conn.send_close_notify();
                        peer.close();
                        exchange_all(conn, peer);
                    }
                    State::Failed => {
                        let bad = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
                        input(conn, &bad).unwrap_err();
                    }
                    _ => {}
                }
            }

            fn export(conn: &Connection, len: usize, context: Option<&[u8]>) -> String {
                let exported = conn.export_keying_material(vec![0; len], b"label", context);
                outcome(exported.map(|exported| exported.len()))
            }

            fn extract(conn: Connection) -> String {
                let extracted = conn.dangerous_extract_secrets();
                outcome(extracted.map(|secrets| (secrets.tx.0, secrets.rx.0)))
            }

            fn close(mut conn: Connection) -> String {
                let before = conn.wants_write();
                conn.send_close_notify();
                conn.send_close_notify();
                format!("{before} {}", conn.wants_write())
            }

            fn early_data(conn: Connection) -> String {
                match conn {
                    Connection::Client(mut conn) => {
                        let accepted = conn.is_early_data_accepted();
                        format!("{} {accepted}", conn.early_data().is_none())
                    }
                    Connection::Server(mut conn) => format!("{}", conn.early_data().is_none()),
                }
            }

            fn reject_early_data(conn: Connection) -> String {
                if let Connection::Server(mut conn) = conn {
                    conn.reject_early_data();
                }
                "rejected".to_string()
            }

            fn set_data(conn: Connection, len: usize) -> String {
                if let Connection::Server(mut conn) = conn {
                    conn.set_resumption_data(&vec![7; len]);
                }
                "set".to_string()
            }

            fn facts(conn: Connection) -> String {
                let common = format!(
                    "{:?} {:?} {:?}",
                    conn.protocol_version(),
                    conn.alpn_protocol(),
                    conn.peer_certificates().map(<[_]>::len),
                );
                match conn {
                    Connection::Client(conn) => {
                        format!("{common} {}", conn.tls13_tickets_received())
                    }
                    Connection::Server(conn) => format!(
                        "{common} {:?} {:?}",
                        conn.server_name(),
                        conn.received_resumption_data()
                    ),
                }
            }
        }
    };
}

misuse!(this, rustls);
misuse!(upstream, rustls_upstream);

/// True if this crate deliberately differs from upstream.
fn is_deviation(state: State, call: &str) -> bool {
    match call {
        // the state is wrong as well, and this crate reports that first
        "export nothing" => matches!(state, State::Fresh | State::InHandshake | State::Failed),
        // this crate reports the failure, not the unsent alert
        "extract" => state == State::Failed,
        _ => false,
    }
}

#[test]
fn each_call_in_each_state_returns_what_upstream_returns() {
    let mut different = Vec::new();
    let calls = this::CALLS.iter().zip(upstream::CALLS);
    for (case, &state, (&ours, &theirs)) in product3(cases(), State::ALL, calls) {
        let what = ours.0;
        if is_deviation(state, what) {
            continue;
        }
        let ours = this::run(case, state, ours);
        let theirs = upstream::run(case, state, theirs);
        if !agree(&ours, &theirs) {
            different.push(format!(
                "{case:?} {state:?} {what}: ours {ours}, theirs {theirs}"
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
