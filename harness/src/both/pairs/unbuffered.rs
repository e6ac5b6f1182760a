//! The unbuffered API: `process_tls_records` and the states that it returns, over the caller's
//! memory.

use std::hint::black_box;
use std::ops::DerefMut;

use super::tls::client::{ClientConnectionData, UnbufferedClientConnection};
use super::tls::server::{ServerConnectionData, UnbufferedServerConnection};
use super::tls::unbuffered::{
    AppDataRecord, ConnectionState, EncodeError, EncodeTlsData, ReadEarlyData, TransmitTlsData,
    UnbufferedConnectionCommon, UnbufferedStatus,
};
use super::{Configs, server_name};
use crate::peers::pairs::{Error, Result, check_received};

/// A client and a server that are connected to each other.
pub struct Pair {
    pub client: Box<UnbufferedClientConnection>,
    pub server: Box<UnbufferedServerConnection>,
}

impl Pair {
    /// Creates a pair that has completed the handshake and has nothing left to exchange.
    pub fn connect(configs: &Configs) -> Result<Self> {
        Self::connect_through(configs, &mut Vec::new(), &mut Vec::new())
    }

    /// Like [`Self::connect`], through the caller's buffers, one for each direction.
    pub fn connect_through(
        configs: &Configs,
        to_server: &mut Vec<u8>,
        to_client: &mut Vec<u8>,
    ) -> Result<Self> {
        let mut client = Box::new(UnbufferedClientConnection::new(
            configs.client.clone(),
            server_name(),
        )?);
        let mut server = Box::new(UnbufferedServerConnection::new(configs.server.clone())?);
        to_server.clear();
        to_client.clear();
        loop {
            advance(&mut *client, to_client, to_server)?;
            if to_server.is_empty() {
                break;
            }
            advance(&mut *server, to_server, to_client)?;
        }
        if client.is_handshaking() || server.is_handshaking() {
            return Err("the handshake stalled".into());
        }
        Ok(Self { client, server })
    }

    /// Sends `plaintext` in each direction, through `wire`, which must be long enough for its
    /// records.
    pub fn exchange(&mut self, plaintext: &[u8], wire: &mut [u8]) -> Result<()> {
        let sealed = send(&mut *self.client, plaintext, wire)?;
        let received = receive(&mut *self.server, &mut wire[..sealed])?;
        check_received(received, plaintext.len())?;
        let sealed = send(&mut *self.server, plaintext, wire)?;
        let received = receive(&mut *self.client, &mut wire[..sealed])?;
        check_received(received, plaintext.len())
    }
}

/// Client and server connections, and conversions of the states that only one of them has.
pub trait Unbuffered: DerefMut<Target = UnbufferedConnectionCommon<Self::Data>> {
    type Data;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    fn of_client<'s, 'c>(
        state: &'s mut TransmitTlsData<'c, Self::Data>,
    ) -> Option<&'s mut TransmitTlsData<'c, ClientConnectionData>>;

    fn of_server<'c, 'i>(
        state: ReadEarlyData<'c, 'i, Self::Data>,
    ) -> ReadEarlyData<'c, 'i, ServerConnectionData>;

    /// Appends `early_data` as records to `outgoing`. Returns false if it cannot be sent now.
    fn encrypt_early_data(
        state: &mut TransmitTlsData<'_, Self::Data>,
        early_data: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> bool {
        let state = Self::of_client(state);
        let Some(mut writer) = state.and_then(|state| state.may_encrypt_early_data()) else {
            return false;
        };
        let mut records = vec![0; early_data.len() + early_data.len() / 16 + 100];
        let len = writer.encrypt(early_data, &mut records).unwrap();
        outgoing.extend_from_slice(&records[..len]);
        true
    }

    /// Appends early data to `plaintext`. Returns the number of additional bytes processed.
    fn read_early_data(
        state: ReadEarlyData<'_, '_, Self::Data>,
        plaintext: &mut Vec<u8>,
    ) -> std::result::Result<usize, super::tls::Error> {
        let (mut state, mut discard) = (Self::of_server(state), 0);
        while let Some(record) = state.next_record() {
            let record = record?;
            plaintext.extend_from_slice(record.payload);
            discard += record.discard;
        }
        Ok(discard)
    }
}

impl Unbuffered for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn of_client<'s, 'c>(
        state: &'s mut TransmitTlsData<'c, Self::Data>,
    ) -> Option<&'s mut TransmitTlsData<'c, ClientConnectionData>> {
        Some(state)
    }

    fn of_server<'c, 'i>(
        _: ReadEarlyData<'c, 'i, Self::Data>,
    ) -> ReadEarlyData<'c, 'i, ServerConnectionData> {
        unreachable!("no server sends early data")
    }
}

impl Unbuffered for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn of_client<'s, 'c>(
        _: &'s mut TransmitTlsData<'c, Self::Data>,
    ) -> Option<&'s mut TransmitTlsData<'c, ClientConnectionData>> {
        None
    }

    fn of_server<'c, 'i>(
        state: ReadEarlyData<'c, 'i, Self::Data>,
    ) -> ReadEarlyData<'c, 'i, ServerConnectionData> {
        state
    }
}

/// Seals `plaintext` into `out`, after pending output. Returns the number of bytes written.
pub fn send(side: &mut impl Unbuffered, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
    let mut used = 0;
    loop {
        match side.process(&mut []).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                return Ok(used + traffic.encrypt(plaintext, &mut out[used..])?);
            }
            ConnectionState::EncodeTlsData(mut data) => used += data.encode(&mut out[used..])?,
            ConnectionState::TransmitTlsData(data) => data.done(),
            other => return Err(unexpected(&other)),
        }
    }
}

/// Opens all records in `incoming`. Returns the length of their application data.
pub fn receive(side: &mut impl Unbuffered, incoming: &mut [u8]) -> Result<usize> {
    let (mut start, mut received) = (0, 0);
    while start < incoming.len() {
        let UnbufferedStatus { discard, state, .. } = side.process(&mut incoming[start..]);
        start += discard;
        match state? {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let AppDataRecord {
                        discard, payload, ..
                    } = record?;
                    start += discard;
                    received += black_box(payload).len();
                }
            }
            ConnectionState::WriteTraffic(_) => {}
            // dropped, since this side sends nothing after it
            ConnectionState::EncodeTlsData(mut data) => {
                data.encode(&mut [0; 1024])?;
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            other => return Err(unexpected(&other)),
        }
    }
    Ok(received)
}

/// Shows the beginning of a record to `side`, which must have nothing to send.
pub fn look(side: &mut impl Unbuffered, incoming: &mut [u8]) -> Result<()> {
    let UnbufferedStatus { discard, state, .. } = side.process(incoming);
    check_received(discard, 0)?;
    match state? {
        ConnectionState::WriteTraffic(_) => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// Lets `side` process `incoming` and append its output to `outgoing`, until it needs more.
fn advance<S: Unbuffered>(
    side: &mut S,
    incoming: &mut Vec<u8>,
    outgoing: &mut Vec<u8>,
) -> Result<()> {
    loop {
        let UnbufferedStatus { discard, state, .. } = side.process(incoming);
        let is_waiting = match state? {
            ConnectionState::EncodeTlsData(data) => {
                encode(data, outgoing)?;
                false
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                false
            }
            ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => true,
            other => return Err(unexpected(&other)),
        };
        incoming.drain(..discard);
        if is_waiting {
            return Ok(());
        }
    }
}

fn encode<Data>(mut data: EncodeTlsData<'_, Data>, outgoing: &mut Vec<u8>) -> Result<()> {
    let used = outgoing.len();
    let required_size = match data.encode(&mut []) {
        Ok(_) => return Ok(()),
        Err(EncodeError::InsufficientSize(error)) => error.required_size,
        Err(error) => return Err(error.into()),
    };
    outgoing.resize(used + required_size, 0);
    let written = data.encode(&mut outgoing[used..])?;
    outgoing.truncate(used + written);
    Ok(())
}

/// Returns the error for a state that an established connection cannot have.
pub fn unexpected<Data>(state: &ConnectionState<'_, '_, Data>) -> Error {
    format!("the connection is in an unexpected state: {state:?}").into()
}
