//! Calls that do not fit a connection's state return what upstream's return, and panic where
//! upstream's do. An error that consists of a text begins with upstream's text.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::peers::configs::{PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::peers::texts::agree;

use crate::behaviour::connected::{KEY_TYPE, ROLES, Role, fresh_peer_of};

harness::listed! {
    /// The state of a connection.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum State {
        Fresh,
        InHandshake,
        Connected,
        /// Has output to send and plaintext to read.
        Busy,
        HasClosed,
        PeerHasClosed,
        BothClosed,
        Failed,
    }
}

harness::listed! {
    /// A call whose outcome is compared.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Call {
        Export,
        ExportNothing,
        ExportMuch,
        ExportTooMuch,
        ExportContext,
        Refresh,
        Extract,
        ExtractDisabled,
        Write,
        WriteNothing,
        Flush,
        Read,
        ReadNothing,
        Close,
        EarlyData,
        Facts,
        SetNoResumptionData,
        SetMostResumptionData,
        SetTooMuchResumptionData,
        SetFarTooMuchResumptionData,
        RejectEarlyData,
        ReadTls,
        WriteTls,
        Process,
    }
}

/// Returns the `Debug` of a value or an error.
fn outcome<T: Debug, E: Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error:?}"),
    }
}

macro_rules! misuse {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::Connection;

            use super::*;
            use crate::behaviour::connected::$module::{Config, exchange_all, input, output};

            pub(super) fn run(
                provider: Provider,
                versions: Versions,
                role: Role,
                state: State,
                call: Call,
            ) -> String {
                let extracts = call == Call::Extract;
                let config = Config::new(role, versions, provider.$module(), KEY_TYPE).edit(
                    |client| client.enable_secret_extraction = extracts,
                    |server| server.enable_secret_extraction = extracts,
                );
                let mut conn = config.connection();
                bring(
                    &mut conn,
                    &mut fresh_peer_of(versions, provider, role),
                    state,
                );
                let made = catch_unwind(AssertUnwindSafe(|| make(conn, call)));
                made.unwrap_or_else(|_| "panic".to_string())
            }

            fn bring(conn: &mut Connection, peer: &mut UpstreamBuffered, state: State) {
                match state {
                    State::Fresh => return,
                    State::InHandshake => {
                        peer.receive(&output(conn)).unwrap();
                        input(conn, &peer.take_output()).unwrap();
                        if !conn.is_handshaking() {
                            return;
                        }
                        peer.receive(&output(conn)).unwrap();
                        return;
                    }
                    _ => exchange_all(conn, peer),
                }
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

            fn make(mut conn: Connection, call: Call) -> String {
                let export = |len: usize, context: Option<&[u8]>| {
                    let exported = conn.export_keying_material(vec![0; len], b"label", context);
                    outcome(exported.map(|exported| exported.len()))
                };
                match call {
                    Call::Export => export(32, None),
                    Call::ExportNothing => export(0, None),
                    Call::ExportMuch => export(8000, None),
                    Call::ExportTooMuch => export(70_000, None),
                    Call::ExportContext => export(32, Some(b"context")),
                    Call::Refresh => outcome(conn.refresh_traffic_keys()),
                    Call::Extract | Call::ExtractDisabled => {
                        let extracted = conn.dangerous_extract_secrets();
                        outcome(extracted.map(|secrets| (secrets.tx.0, secrets.rx.0)))
                    }
                    Call::Write => io(conn.writer().write(b"data")),
                    Call::WriteNothing => io(conn.writer().write(b"")),
                    Call::Flush => io(conn.writer().flush()),
                    Call::Read => io(conn.reader().read(&mut [0; 10])),
                    Call::ReadNothing => io(conn.reader().read(&mut [])),
                    Call::Close => {
                        let before = conn.wants_write();
                        conn.send_close_notify();
                        conn.send_close_notify();
                        format!("{before} {}", conn.wants_write())
                    }
                    Call::EarlyData => match &mut conn {
                        Connection::Client(conn) => {
                            let accepted = conn.is_early_data_accepted();
                            format!("{} {accepted}", conn.early_data().is_none())
                        }
                        Connection::Server(conn) => format!("{}", conn.early_data().is_none()),
                    },
                    Call::Facts => facts(&conn),
                    Call::SetNoResumptionData => set_resumption_data(&mut conn, 0),
                    Call::SetMostResumptionData => set_resumption_data(&mut conn, 32_767),
                    Call::SetTooMuchResumptionData => set_resumption_data(&mut conn, 32_768),
                    Call::SetFarTooMuchResumptionData => set_resumption_data(&mut conn, 100_000),
                    Call::RejectEarlyData => match &mut conn {
                        Connection::Client(_) => String::new(),
                        Connection::Server(conn) => {
                            conn.reject_early_data();
                            "rejected".to_string()
                        }
                    },
                    Call::ReadTls => io(conn.read_tls(&mut &b"\x17\x03"[..])),
                    Call::WriteTls => io(conn.write_tls(&mut std::io::sink()).map(|_| ())),
                    Call::Process => {
                        let state = conn.process_new_packets();
                        outcome(state.map(|state| {
                            (state.plaintext_bytes_to_read(), state.peer_has_closed())
                        }))
                    }
                }
            }

            fn set_resumption_data(conn: &mut Connection, len: usize) -> String {
                if let Connection::Server(conn) = conn {
                    conn.set_resumption_data(&vec![7; len]);
                }
                "set".to_string()
            }

            fn io<T: Debug>(result: std::io::Result<T>) -> String {
                outcome(result.map_err(|error| (error.kind(), error.to_string())))
            }

            fn facts(conn: &Connection) -> String {
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
fn is_deviation(state: State, call: Call) -> bool {
    match call {
        // the state is wrong as well, and this crate reports that first
        Call::ExportNothing => {
            matches!(state, State::Fresh | State::InHandshake | State::Failed)
        }
        // RFC 9846 §6.1: upstream accepts data that it will never send
        Call::Write | Call::WriteNothing => {
            matches!(state, State::HasClosed | State::BothClosed)
        }
        // this crate reports the failure, not the unsent alert
        Call::Extract => state == State::Failed,
        _ => false,
    }
}

#[test]
fn each_call_in_each_state_returns_what_upstream_returns() {
    let mut different = Vec::new();
    let ends = product3(PROVIDERS, [Versions::Tls12, Versions::Tls13], ROLES);
    for ((provider, versions, role), &state, &call) in product3(ends, State::ALL, Call::ALL) {
        if is_deviation(state, call) {
            continue;
        }
        let ours = this::run(provider, versions, role, state, call);
        let theirs = upstream::run(provider, versions, role, state, call);
        if !agree(&ours, &theirs) {
            different.push(format!(
                "{provider:?} {versions:?} {role:?} {state:?} {call:?}: \
                     ours {ours}, theirs {theirs}"
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
