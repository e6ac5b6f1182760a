//! QUIC connections, for one crate.

use std::cell::OnceCell;
use std::sync::Arc;

use super::tls;
use super::tls::quic::{
    ClientConnection, Connection, DirectionalKeys, HeaderProtectionKey, KeyChange, Keys, PacketKey,
    PacketKeySet, Secrets, ServerConnection,
};
use super::tls::{ClientConfig, ServerConfig, Side};
use crate::peers::configs::server_name;
use crate::quic::{Crypto, Level, QuicEndpoint, Use, Version};

/// The Destination Connection ID of a client's first packet, from which the keys for Initial
/// packets are derived.
const CONNECTION_ID: &[u8] = b"connection";

/// Returns the header before the packet number. Its highest bit distinguishes a long header.
const fn header(level: Level) -> [u8; 2] {
    match level {
        Level::OneRtt => [0x43, 0],
        _ => [0xc3, level as u8],
    }
}

const HEADER_LEN: usize = 2;
const NUMBER_LEN: usize = 4;
const PAYLOAD_AT: usize = HEADER_LEN + NUMBER_LEN;

/// A connection, and the keys that it returned.
pub struct End {
    pub conn: Connection,
    initial: Keys,
    early: OnceCell<DirectionalKeys>,
    handshake: Option<Keys>,
    one_rtt: Option<(Keys, Secrets)>,
    /// The keys after key updates.
    updated: Vec<PacketKeySet>,
}

/// Creates a client that connects to [`server_name`].
pub fn client(config: &Arc<ClientConfig>, v: Version, parameters: &[u8]) -> Result<End, String> {
    let parameters = parameters.to_vec();
    ClientConnection::new(config.clone(), version(v), server_name(), parameters)
        .map(|conn| End::new(conn.into(), v, Side::Client))
        .map_err(|error| format!("{error:?}"))
}

pub fn server(config: &Arc<ServerConfig>, v: Version, parameters: &[u8]) -> Result<End, String> {
    ServerConnection::new(config.clone(), version(v), parameters.to_vec())
        .map(|conn| End::new(conn.into(), v, Side::Server))
        .map_err(|error| format!("{error:?}"))
}

/// Returns the keys for Initial packets (RFC 9001 §5.2).
pub fn initial_keys(v: Version, connection_id: &[u8], side: Side) -> Keys {
    let all = super::ring().cipher_suites;
    let mut suites = all.iter().filter_map(|suite| suite.tls13());
    let aes_128 =
        suites.find(|suite| suite.common.suite == tls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let suite = aes_128.unwrap().quic_suite().unwrap();
    suite.keys(connection_id, side, version(v))
}

pub fn version(version: Version) -> tls::quic::Version {
    match version {
        Version::V1Draft => tls::quic::Version::V1Draft,
        Version::V1 => tls::quic::Version::V1,
        Version::V2 => tls::quic::Version::V2,
    }
}

impl End {
    pub fn new(mut conn: Connection, version: Version, side: Side) -> Self {
        super::prepare_connection(&mut conn);
        Self {
            conn,
            initial: initial_keys(version, CONNECTION_ID, side),
            early: OnceCell::new(),
            handshake: None,
            one_rtt: None,
            updated: Vec::new(),
        }
    }

    /// Returns the 0-RTT keys, which exist for one direction only, and which the connection returns
    /// once.
    fn early(&self) -> Option<&DirectionalKeys> {
        if self.early.get().is_none()
            && let Some(keys) = self.conn.zero_rtt_keys()
        {
            let _ = self.early.set(keys);
        }
        self.early.get()
    }

    /// Returns the keys to send with, or to receive with.
    fn keys(&self, level: Level, sends: bool) -> Option<&DirectionalKeys> {
        let is_client = matches!(self.conn, Connection::Client(_));
        let keys = match level {
            Level::EarlyData => return self.early().filter(|_| is_client == sends),
            Level::Initial => Some(&self.initial),
            Level::Handshake => self.handshake.as_ref(),
            Level::OneRtt => self.one_rtt.as_ref().map(|(keys, _)| keys),
        };
        keys.map(|keys| if sends { &keys.local } else { &keys.remote })
    }
}

impl QuicEndpoint for End {
    fn take_crypto(&mut self) -> Vec<Crypto> {
        let mut taken = Vec::new();
        loop {
            let level = match (&self.handshake, &self.one_rtt) {
                (None, _) => Level::Initial,
                (_, None) => Level::Handshake,
                _ => Level::OneRtt,
            };
            let mut bytes = Vec::new();
            let change = self.conn.write_hs(&mut bytes);
            let is_done = change.is_none() && bytes.is_empty();
            if !bytes.is_empty() {
                taken.push(Crypto { level, bytes });
            }
            match change {
                None if is_done => return taken,
                None => {}
                Some(KeyChange::Handshake { keys }) => {
                    assert!(self.handshake.replace(keys).is_none());
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    assert!(self.handshake.is_some());
                    assert!(self.one_rtt.replace((keys, next)).is_none());
                }
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        let read = self.conn.read_hs(bytes);
        let finished = read.and_then(|()| super::finish_quic(&mut self.conn));
        finished.map_err(|error| format!("{error:?}"))
    }

    fn read_level(&self) -> Level {
        match &self.handshake {
            _ if !self.conn.is_handshaking() => Level::OneRtt,
            Some(_) => Level::Handshake,
            None => Level::Initial,
        }
    }

    fn alert(&self) -> Option<u8> {
        self.conn.alert().map(u8::from)
    }

    fn has_keys(&self, level: Level) -> [bool; 2] {
        [true, false].map(|sends| self.keys(level, sends).is_some())
    }

    fn seal(&self, level: Level, which: Use, number: u32, payload: &[u8]) -> Vec<u8> {
        let keys = self.keys(level, true).expect("keys of this level exist");
        let (packet, path) = match which {
            Use::First => (&keys.packet, None),
            Use::Path(path) => (&keys.packet, Some(path)),
            Use::Updated(times) => (&self.updated[times - 1].local, None),
        };
        seal(&*keys.header, &**packet, path, level, number, payload)
    }

    fn open(&self, level: Level, which: Use, sealed: &[u8]) -> Result<(u32, Vec<u8>), String> {
        let keys = self.keys(level, false).expect("keys of this level exist");
        let (packet, path) = match which {
            Use::First => (&keys.packet, None),
            Use::Path(path) => (&keys.packet, Some(path)),
            Use::Updated(times) => (&self.updated[times - 1].remote, None),
        };
        open(&*keys.header, &**packet, path, sealed)
    }

    fn update_keys(&mut self) {
        let (_, secrets) = self.one_rtt.as_mut().expect("1-RTT keys exist");
        self.updated.push(secrets.next_packet_keys());
    }

    fn peer_parameters(&self) -> Option<Vec<u8>> {
        self.conn.quic_transport_parameters().map(<[u8]>::to_vec)
    }

    accessors!();

    fn exported(&self) -> Result<[u8; 32], String> {
        self.conn
            .export_keying_material([0; 32], b"label", Some(b"context"))
            .map_err(|error| format!("{error:?}"))
    }

    fn server_name(&self) -> Option<String> {
        match &self.conn {
            Connection::Client(_) => None,
            Connection::Server(conn) => conn.server_name().map(str::to_owned),
        }
    }

    fn is_early_data_accepted(&self) -> bool {
        match &self.conn {
            Connection::Client(conn) => conn.is_early_data_accepted(),
            Connection::Server(_) => panic!("only a client knows this"),
        }
    }

    fn reject_early_data(&mut self) {
        match &mut self.conn {
            Connection::Client(_) => panic!("only a server does this"),
            Connection::Server(conn) => conn.reject_early_data(),
        }
    }

    fn tickets_received(&self) -> u32 {
        match &self.conn {
            Connection::Client(conn) => conn.tls13_tickets_received(),
            Connection::Server(_) => panic!("only a client knows this"),
        }
    }
}

/// Seals a packet with a short fixed header and a four-byte packet number. The payload
/// must have at least four bytes, so that there is a sample (RFC 9001 §5.4.2).
pub fn seal(
    header_key: &dyn HeaderProtectionKey,
    key: &dyn PacketKey,
    path: Option<u32>,
    level: Level,
    number: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = header(level).to_vec();
    packet.extend(number.to_be_bytes());
    packet.extend(payload);
    let (head, body) = packet.split_at_mut(PAYLOAD_AT);
    let tag = match path {
        None => key.encrypt_in_place(number.into(), head, body),
        Some(path) => key.encrypt_in_place_for_path(path, number.into(), head, body),
    };
    packet.extend(tag.unwrap().as_ref());
    let (head, sample) = packet.split_at_mut(PAYLOAD_AT);
    let (first, rest) = head.split_first_mut().unwrap();
    let sample = &sample[..header_key.sample_len()];
    header_key
        .encrypt_in_place(sample, first, &mut rest[HEADER_LEN - 1..])
        .unwrap();
    packet
}

/// Returns the number and payload of a packet from [`seal`].
pub fn open(
    header_key: &dyn HeaderProtectionKey,
    key: &dyn PacketKey,
    path: Option<u32>,
    packet: &[u8],
) -> Result<(u32, Vec<u8>), String> {
    let mut packet = packet.to_vec();
    let (head, body) = packet.split_at_mut(PAYLOAD_AT);
    let (first, rest) = head.split_first_mut().unwrap();
    let sample = &body[..header_key.sample_len()];
    header_key
        .decrypt_in_place(sample, first, &mut rest[HEADER_LEN - 1..])
        .map_err(|error| format!("{error:?}"))?;
    let number = u32::from_be_bytes(*head.last_chunk().unwrap());
    let opened = match path {
        None => key.decrypt_in_place(number.into(), head, body),
        Some(path) => key.decrypt_in_place_for_path(path, number.into(), head, body),
    };
    match opened {
        Ok(payload) => Ok((number, payload.to_vec())),
        Err(error) => Err(format!("{error:?}")),
    }
}
