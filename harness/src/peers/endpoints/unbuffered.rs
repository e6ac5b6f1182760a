//! Unbuffered connections of this crate and of upstream, driven as their documentation describes.

use super::{Endpoint, Transfer};

macro_rules! unbuffered_endpoint {
    ($module:ident, $name:ident, $tls:ident, $exported:expr) => {
        mod $module {
            use std::sync::Arc;

            use pki_types::ServerName;
            use $tls::client::UnbufferedClientConnection;
            use $tls::server::UnbufferedServerConnection;
            use $tls::unbuffered::{
                ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic,
            };

            use super::{Endpoint, encode_after_short_tries};
            use crate::peers::configs::server_name;
            use crate::peers::pairs::$module::unbuffered::Unbuffered;

            /// An unbuffered connection with the buffers of an application.
            pub struct $name<C: Unbuffered> {
                pub conn: C,
                incoming: Vec<u8>,
                outgoing: Vec<u8>,
                received: Vec<u8>,
                received_early: Vec<u8>,
                to_send: ToSend,
                peer_has_closed: bool,
                pub(super) encrypt: Encrypt<C::Data>,
            }

            /// Turns plaintext into records.
            type Encrypt<D> = fn(WriteTraffic<'_, D>, &[u8], &mut Vec<u8>);

            fn encrypt<D>(
                mut state: WriteTraffic<'_, D>,
                plaintext: &[u8],
                outgoing: &mut Vec<u8>,
            ) {
                encode_after_short_tries(outgoing, |out| {
                    state.encrypt(plaintext, out).map_err(required_size)
                });
            }

            fn required_size(error: EncryptError) -> usize {
                match error {
                    EncryptError::InsufficientSize(size) => size.required_size,
                    EncryptError::EncryptExhausted => panic!("{error}"),
                }
            }

            /// The operations that wait for [`ConnectionState::WriteTraffic`].
            #[derive(Default)]
            struct ToSend {
                early: Vec<u8>,
                plaintext: Vec<u8>,
                close: bool,
                refresh: bool,
            }

            impl<C: Unbuffered> $name<C> {
                pub fn new(conn: C) -> Self {
                    Self {
                        conn,
                        incoming: Vec::new(),
                        outgoing: Vec::new(),
                        received: Vec::new(),
                        received_early: Vec::new(),
                        to_send: ToSend::default(),
                        peer_has_closed: false,
                        encrypt: encrypt::<C::Data>,
                    }
                }

                /// Creates an end with earlier output, `outgoing`.
                pub fn with_output(conn: C, outgoing: Vec<u8>) -> Self {
                    Self {
                        outgoing,
                        ..Self::new(conn)
                    }
                }

                /// Drives the connection until it needs bytes from its peer.
                fn drive(&mut self) -> Result<(), String> {
                    loop {
                        let UnbufferedStatus {
                            mut discard, state, ..
                        } = self.conn.process(&mut self.incoming);
                        let mut blocked = false;
                        match state {
                            Ok(ConnectionState::EncodeTlsData(mut state)) => {
                                encode_after_short_tries(&mut self.outgoing, |out| {
                                    state.encode(out).map_err(|error| match error {
                                        EncodeError::InsufficientSize(size) => size.required_size,
                                        EncodeError::AlreadyEncoded => panic!("{error}"),
                                    })
                                });
                            }
                            Ok(ConnectionState::TransmitTlsData(mut state)) => {
                                let early = &mut self.to_send.early;
                                if !early.is_empty()
                                    && C::encrypt_early_data(&mut state, early, &mut self.outgoing)
                                {
                                    early.clear();
                                }
                                state.done();
                            }
                            Ok(ConnectionState::ReadTraffic(mut state)) => {
                                while let Some(record) = state.next_record() {
                                    let record = record.map_err(|error| format!("{error:?}"))?;
                                    self.received.extend_from_slice(record.payload);
                                    discard += record.discard;
                                }
                            }
                            Ok(ConnectionState::ReadEarlyData(state)) => {
                                let read = C::read_early_data(state, &mut self.received_early);
                                discard += read.map_err(|error| format!("{error:?}"))?;
                            }
                            Ok(ConnectionState::WriteTraffic(state)) => {
                                blocked =
                                    !self.to_send.send(state, &mut self.outgoing, self.encrypt);
                            }
                            Ok(ConnectionState::PeerClosed) => self.peer_has_closed = true,
                            Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => {
                                blocked = true
                            }
                            Ok(other) => panic!("{other:?}"),
                            Err(error) => {
                                self.incoming.drain(..discard);
                                return Err(format!("{error:?}"));
                            }
                        }
                        self.incoming.drain(..discard);
                        if blocked {
                            return Ok(());
                        }
                    }
                }
            }

            impl $name<UnbufferedClientConnection> {
                /// A client of the server in [`configs`](crate::peers::configs).
                pub fn client(config: impl Into<Arc<$tls::ClientConfig>>) -> Self {
                    Self::client_of(server_name(), config)
                }

                pub fn client_of(
                    server: ServerName<'static>,
                    config: impl Into<Arc<$tls::ClientConfig>>,
                ) -> Self {
                    Self::new(UnbufferedClientConnection::new(config.into(), server).unwrap())
                }
            }

            impl $name<UnbufferedServerConnection> {
                pub fn server(config: impl Into<Arc<$tls::ServerConfig>>) -> Self {
                    Self::new(UnbufferedServerConnection::new(config.into()).unwrap())
                }
            }

            impl ToSend {
                /// Performs the next waiting operation; returns false if there is none.
                fn send<D>(
                    &mut self,
                    mut state: WriteTraffic<'_, D>,
                    outgoing: &mut Vec<u8>,
                    encrypt: Encrypt<D>,
                ) -> bool {
                    if !self.plaintext.is_empty() {
                        encrypt(state, &std::mem::take(&mut self.plaintext), outgoing);
                    } else if std::mem::take(&mut self.refresh) {
                        state.refresh_traffic_keys().unwrap();
                    } else if std::mem::take(&mut self.close) {
                        encode_after_short_tries(outgoing, |out| {
                            state.queue_close_notify(out).map_err(required_size)
                        });
                    } else {
                        return false;
                    }
                    true
                }
            }

            impl<C: Unbuffered> Endpoint for $name<C> {
                fn take_output(&mut self) -> Vec<u8> {
                    // `receive` has reported the error; this collects the alert that follows it
                    let _ = self.drive();
                    std::mem::take(&mut self.outgoing)
                }

                fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
                    self.incoming.extend_from_slice(bytes);
                    self.drive()
                }

                fn process(&mut self) -> Result<(), String> {
                    self.drive()
                }

                fn send(&mut self, plaintext: &[u8]) -> usize {
                    self.to_send.plaintext.extend_from_slice(plaintext);
                    plaintext.len()
                }

                fn read_into(&mut self, plaintext: &mut Vec<u8>) {
                    plaintext.append(&mut self.received);
                }

                fn send_early(&mut self, plaintext: &[u8]) -> usize {
                    self.to_send.early.extend_from_slice(plaintext);
                    0
                }

                fn read_early_into(&mut self, plaintext: &mut Vec<u8>) {
                    plaintext.append(&mut self.received_early);
                }

                fn close(&mut self) {
                    self.to_send.close = true;
                }

                fn peer_has_closed(&self) -> bool {
                    self.peer_has_closed
                }

                accessors!();

                fn exported(&self) -> Option<[u8; 32]> {
                    $exported(&*self.conn)
                }

                fn refresh_traffic_keys(&mut self) {
                    self.to_send.refresh = true;
                }
            }
        }
    };
}

unbuffered_endpoint!(
    this,
    ThisUnbuffered,
    rustls,
    |conn: &rustls::unbuffered::UnbufferedConnectionCommon<_>| {
        Some(
            conn.export_keying_material([0; 32], b"label", Some(b"context"))
                .unwrap(),
        )
    }
);
// upstream's unbuffered connections have no exporter
unbuffered_endpoint!(upstream, UpstreamUnbuffered, rustls_upstream, |_| None);

pub use this::ThisUnbuffered;
pub use upstream::UpstreamUnbuffered;

pub use crate::peers::pairs::this::unbuffered::Unbuffered;

impl<C: Unbuffered> ThisUnbuffered<C> {
    /// Lets the end encrypt in place.
    pub fn in_place(mut self) -> Self {
        self.encrypt = encrypt_in_place::<C::Data>;
        self
    }
}

impl<C: Unbuffered> Transfer for ThisUnbuffered<C> {
    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn input(&mut self, bytes: &[u8]) {
        self.receive(bytes).unwrap();
    }
}

fn encrypt_in_place<D>(
    mut state: rustls::unbuffered::WriteTraffic<'_, D>,
    plaintext: &[u8],
    outgoing: &mut Vec<u8>,
) {
    let room = state.in_place_room();
    for fragment in plaintext.chunks(room.max_payload) {
        let payload = room.headroom..room.headroom + fragment.len();
        let mut buffer = vec![0xa5; payload.end + room.tailroom];
        buffer[payload.clone()].copy_from_slice(fragment);
        let record = match state.encrypt_in_place(&mut buffer, payload.clone()) {
            Err(rustls::InPlaceError::OutputPending) => {
                encode_after_short_tries(outgoing, |out| encrypt_nothing(&mut state, out));
                state.encrypt_in_place(&mut buffer, payload)
            }
            record => record,
        };
        outgoing.extend_from_slice(&buffer[record.unwrap()]);
    }
}

/// Writes pending output; returns the required length if `out` is too short.
fn encrypt_nothing<D>(
    state: &mut rustls::unbuffered::WriteTraffic<'_, D>,
    out: &mut [u8],
) -> Result<usize, usize> {
    match state.encrypt(&[], out) {
        Err(rustls::unbuffered::EncryptError::InsufficientSize(short)) => Err(short.required_size),
        written => Ok(written.unwrap()),
    }
}

/// Appends the output of `encode`, after trying buffers that are too short: an empty one, and one
/// that lacks a byte.
fn encode_after_short_tries(
    outgoing: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, usize>,
) {
    let required = encode(&mut []).unwrap_err();
    let mut out = vec![0xa5; required];
    assert_eq!(encode(&mut out[..required - 1]), Err(required));
    assert!(
        out.iter().all(|&byte| byte == 0xa5),
        "wrote to a short buffer"
    );
    assert_eq!(encode(&mut out), Ok(required));
    outgoing.extend_from_slice(&out);
}
