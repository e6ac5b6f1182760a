//! Unbuffered connections, for one crate, driven as its documentation describes.

use std::sync::Arc;

use pki_types::ServerName;

use super::pairs::unbuffered::Unbuffered;
use super::tls::client::UnbufferedClientConnection;
use super::tls::server::UnbufferedServerConnection;
use super::tls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic,
};
use super::{exported, tls};
use crate::peers::configs::server_name;
use crate::peers::endpoints::Endpoint;
use crate::peers::endpoints::unbuffered::encode_after_short_tries;

/// An unbuffered connection plus the buffers that an application would own.
pub struct UnbufferedEndpoint<C: Unbuffered> {
    pub conn: C,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    received: Vec<u8>,
    received_early: Vec<u8>,
    to_send: ToSend,
    peer_has_closed: bool,
    pub(crate) encrypt: Encrypt<C::Data>,
}

/// Turns plaintext into records.
type Encrypt<D> = fn(WriteTraffic<'_, D>, &[u8], &mut Vec<u8>);

fn encrypt<D>(mut state: WriteTraffic<'_, D>, plaintext: &[u8], outgoing: &mut Vec<u8>) {
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

/// The operations that are waiting for a state in which they are possible. For early data, this is
/// [`ConnectionState::TransmitTlsData`], otherwise [`ConnectionState::WriteTraffic`].
#[derive(Default)]
struct ToSend {
    early: Vec<u8>,
    plaintext: Vec<u8>,
    close: bool,
    refresh: bool,
}

impl<C: Unbuffered> UnbufferedEndpoint<C> {
    pub fn new(mut conn: C) -> Self {
        super::prepare_unbuffered(&mut *conn);
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

    /// Creates an endpoint with earlier output, `outgoing`.
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
            let mut waits = false;
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
                    blocked = !self.to_send.send(state, &mut self.outgoing, self.encrypt);
                }
                Ok(ConnectionState::PeerClosed) => self.peer_has_closed = true,
                Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => blocked = true,
                Ok(_) => waits = true,
                Err(error) => {
                    self.incoming.drain(..discard);
                    return Err(format!("{error:?}"));
                }
            }
            self.incoming.drain(..discard);
            if waits {
                let finished = super::finish_unbuffered(&mut *self.conn);
                assert!(finished.map_err(|error| format!("{error:?}"))?);
            }
            if blocked {
                return Ok(());
            }
        }
    }
}

impl UnbufferedEndpoint<UnbufferedClientConnection> {
    /// Creates a client for the server in [`configs`](crate::peers::configs).
    pub fn client(config: impl Into<Arc<tls::ClientConfig>>) -> Self {
        Self::client_of(server_name(), config)
    }

    pub fn client_of(
        server: ServerName<'static>,
        config: impl Into<Arc<tls::ClientConfig>>,
    ) -> Self {
        Self::new(UnbufferedClientConnection::new(config.into(), server).unwrap())
    }
}

impl UnbufferedEndpoint<UnbufferedServerConnection> {
    pub fn server(config: impl Into<Arc<tls::ServerConfig>>) -> Self {
        Self::new(UnbufferedServerConnection::new(config.into()).unwrap())
    }
}

impl ToSend {
    /// Performs the next waiting operation. Returns false if there is none.
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

impl<C: Unbuffered> Endpoint for UnbufferedEndpoint<C> {
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
        exported(&self.conn)
    }

    fn refresh_traffic_keys(&mut self) {
        self.to_send.refresh = true;
    }
}
