//! Random sequences of operations on an unbuffered connection of each crate: the same bytes arrive
//! in the same pieces, and each state is used in the same way. States, discarded lengths and
//! results of all calls are the same.
//!
//! The sequences are the same in each run, and are shortened when two connections differ.
//! Deliberate deviations of this crate are left out and have their own tests.

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use proptest::prelude::*;

use crate::behaviour::compared::{Log, same_for_operations};
use crate::behaviour::operations::next;
use crate::cases::{Case, cases};

/// An operation of the connection or its peer.
#[derive(Clone, Debug)]
enum Operation {
    /// A number of further bytes arrives.
    Arrive(usize),
    ArriveAll,
    /// Calls `process_tls_records` and handles the resulting state.
    Process(Use),
    PeerSends(usize),
    PeerRefreshes,
    PeerCloses,
}

/// The use of a state that can be used in several ways.
#[derive(Clone, Copy, Debug)]
enum Use {
    Nothing,
    /// Peeks at the length of the data and leaves it for the next state.
    PeekOnly,
    /// Encrypts a number of bytes, if possible.
    Encrypt(usize),
    Refresh,
    Close,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let len = || prop_oneof![4 => 0..300_usize, 1 => 0..40_000_usize];
    let made = prop_oneof![
        6 => Just(Use::Nothing),
        1 => Just(Use::PeekOnly),
        6 => len().prop_map(Use::Encrypt),
        1 => Just(Use::Refresh),
        1 => Just(Use::Close),
    ];
    let operation = prop_oneof![
        4 => len().prop_map(Operation::Arrive),
        4 => Just(Operation::ArriveAll),
        20 => made.prop_map(Operation::Process),
        3 => len().prop_map(Operation::PeerSends),
        1 => Just(Operation::PeerRefreshes),
        1 => Just(Operation::PeerCloses),
    ];
    proptest::collection::vec(operation, 1..150)
}

macro_rules! runs {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::endpoints::$endpoint;
            use harness::peers::pairs::$module::unbuffered::Unbuffered;
            use $tls::unbuffered::{
                ConnectionState, EncodeTlsData, EncryptError, ReadTraffic, UnbufferedStatus,
            };

            use super::*;
            use crate::behaviour::connected::$module::{Config, config};

            struct Run<C> {
                conn: C,
                peer: UpstreamBuffered,
                incoming: Vec<u8>,
                from_peer: Vec<u8>,
                to_peer: Vec<u8>,
                written: u8,
                has_refreshed: bool,
                has_closed: bool,
                has_failed: bool,
                peer_has_closed: bool,
                at_peer: Vec<u8>,
                log: Vec<String>,
            }

            pub(super) fn run(case: Case, operations: &[Operation]) -> Log {
                let peer = case.peer();
                match config(case) {
                    Config::Client(config) => {
                        Run::new($endpoint::client(config).conn, peer).run(operations)
                    }
                    Config::Server(config) => {
                        Run::new($endpoint::server(config).conn, peer).run(operations)
                    }
                }
            }

            impl<C: Unbuffered> Run<C> {
                fn new(conn: C, peer: UpstreamBuffered) -> Self {
                    Self {
                        conn,
                        peer,
                        incoming: Vec::new(),
                        from_peer: Vec::new(),
                        to_peer: Vec::new(),
                        written: 0,
                        has_refreshed: false,
                        has_closed: false,
                        has_failed: false,
                        peer_has_closed: false,
                        at_peer: Vec::new(),
                        log: Vec::new(),
                    }
                }

                fn run(mut self, operations: &[Operation]) -> Log {
                    for operation in operations {
                        if !self.has_failed {
                            self.step(operation);
                        }
                    }
                    self.log
                        .push(format!("the peer received {:?}", self.at_peer));
                    self.log
                }

                fn step(&mut self, operation: &Operation) {
                    match *operation {
                        Operation::Arrive(len) => self.arrive(len),
                        Operation::ArriveAll => self.arrive(usize::MAX),
                        Operation::Process(made) => {
                            let (line, discard) = self.process(made);
                            self.hand_over();
                            self.log.push(format!("{line}, discard {discard}"));
                        }
                        Operation::PeerSends(len) if !self.peer_has_closed => {
                            self.peer.send(&next(&mut self.written, len));
                        }
                        Operation::PeerRefreshes => {
                            // fails for TLS 1.2
                            if !self.peer.is_handshaking()
                                && !self.peer_has_closed
                                && self.peer.conn.refresh_traffic_keys().is_ok()
                            {
                                self.has_refreshed = true;
                            }
                        }
                        Operation::PeerCloses => {
                            if !self.peer.is_handshaking() {
                                self.peer.close();
                                self.peer_has_closed = true;
                            }
                        }
                        Operation::PeerSends(_) => {}
                    }
                }

                fn arrive(&mut self, len: usize) {
                    self.from_peer.extend(self.peer.take_output());
                    let len = len.min(self.from_peer.len());
                    self.incoming.extend(self.from_peer.drain(..len));
                }

                fn hand_over(&mut self) {
                    self.peer
                        .receive(&std::mem::take(&mut self.to_peer))
                        .unwrap();
                    self.peer.read_into(&mut self.at_peer);
                }

                /// Returns what happened and the number of bytes discarded.
                fn process(&mut self, made: Use) -> (String, usize) {
                    let UnbufferedStatus { discard, state, .. } =
                        self.conn.process(&mut self.incoming);
                    let line = match state {
                        Ok(ConnectionState::EncodeTlsData(state)) => {
                            encode(state, &mut self.to_peer)
                        }
                        Ok(ConnectionState::TransmitTlsData(state)) => {
                            state.done();
                            "transmitted".to_string()
                        }
                        Ok(ConnectionState::ReadTraffic(state)) => match made {
                            // the same state follows
                            Use::PeekOnly => format!("ReadTraffic {:?}", state.peek_len()),
                            _ => read(state),
                        },
                        Ok(ConnectionState::WriteTraffic(mut state)) => match made {
                            Use::Encrypt(len) if !self.has_closed => {
                                let plaintext = next(&mut self.written, len);
                                let encrypt = |out: &mut [u8]| state.encrypt(&plaintext, out);
                                format!("encrypt {len} {}", append(&mut self.to_peer, encrypt))
                            }
                            // the same conditions as for buffered connections
                            Use::Refresh if !self.has_refreshed && !self.has_closed => {
                                self.has_refreshed = true;
                                format!("refresh {:?}", state.refresh_traffic_keys())
                            }
                            Use::Close => {
                                self.has_closed = true;
                                let close = |out: &mut [u8]| state.queue_close_notify(out);
                                format!("close {}", append(&mut self.to_peer, close))
                            }
                            _ => "WriteTraffic".to_string(),
                        },
                        Ok(state) => format!("{state:?}"),
                        Err(error) => {
                            self.has_failed = true;
                            format!("{error:?}")
                        }
                    };
                    self.incoming.drain(..discard);
                    (line, discard)
                }
            }

            fn encode<D>(mut state: EncodeTlsData<'_, D>, out: &mut Vec<u8>) -> String {
                let short = state.encode(&mut []).is_err();
                let start = out.len();
                out.resize(start + 100_000, 0);
                let len = state.encode(&mut out[start..]).unwrap();
                out.truncate(start + len);
                // a single record, whose length may differ
                let (typ, records) = (out[start], harness::wire::records(&out[start..]).len());
                let again = format!("{:?}", state.encode(&mut []));
                format!("encoded {typ}: {short} {records} {again}")
            }

            /// Appends the output of `write`, after a call with a buffer that is too short.
            fn append(
                out: &mut Vec<u8>,
                mut write: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>,
            ) -> String {
                let short = write(&mut []);
                let start = out.len();
                out.resize(start + 100_000, 0);
                let written = write(&mut out[start..]);
                out.truncate(start + *written.as_ref().unwrap_or(&0));
                let required = |result| match result {
                    Err(EncryptError::InsufficientSize(error)) => {
                        format!("needs {}", error.required_size)
                    }
                    other => format!("{other:?}"),
                };
                format!("{:?} {:?}", required(short), required(written))
            }

            /// Reads the record, and logs the result of reading when no record is left.
            fn read<D>(mut state: ReadTraffic<'_, '_, D>) -> String {
                let record = match state.next_record() {
                    Some(Ok(record)) => format!("{:?}, discard {}", record.payload, record.discard),
                    Some(Err(error)) => format!("{error:?}"),
                    None => "none".to_string(),
                };
                let (len, again) = (state.peek_len(), state.next_record().is_some());
                format!("ReadTraffic {record}; then {len:?} {again}")
            }
        }
    };
}

runs!(this, rustls, ThisUnbuffered);
runs!(upstream, rustls_upstream, UpstreamUnbuffered);

#[test]
fn operations_in_any_order_lead_to_the_same_states_as_upstream() {
    for case in cases() {
        same_for_operations(&format!("{case:?}"), 25, &operations(), |operations| {
            [this::run(case, operations), upstream::run(case, operations)]
        });
    }
}
