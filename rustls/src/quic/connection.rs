//! The connection types: what an implementation of QUIC holds of the handshake.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use pki_types::ServerName;

use super::{DirectionalKeys, KeyChange, Version};
use crate::client::{ClientConfig, ClientConnectionData};
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::quic::Quic;
use crate::conn::side_data::SideData;
use crate::conn::transport::Transport;
use crate::enums::{AlertDescription, Side};
use crate::error::Error;
use crate::server::{EarlyData, ServerConfig, ServerConnectionData};
use crate::{client, server};

/// What client and server connections have in common.
///
/// Facts about the handshake are those of [`CommonState`], to which it dereferences. [`quic`](crate::quic) has an
/// example.
pub struct ConnectionCommon<Data> {
    driver: Driver<Data>,
}

impl<Data: SideData> ConnectionCommon<Data> {
    /// The peer's transport parameters (RFC 9000 §18), encoded.
    ///
    /// A server has them as soon as it has answered a ClientHello, a client when it has read EncryptedExtensions.
    /// While a client may send early data, until then, they are those of the connection that the session was
    /// made on (RFC 9000 §7.4.1). Nobody has authenticated them before the handshake is complete.
    pub fn quic_transport_parameters(&self) -> Option<&[u8]> {
        self.quic.as_deref()?.peer_parameters()
    }

    /// The keys of 0-RTT packets, with which a client sends and a server receives.
    ///
    /// A client has them from the start if [`ClientConfig::enable_early_data`] is set and a session is
    /// offered that allows early data; a server from the ClientHello on, if it accepts early data. They are gone when
    /// the server has rejected early data, and when the handshake is complete.
    pub fn zero_rtt_keys(&self) -> Option<DirectionalKeys> {
        self.quic.as_deref()?.zero_rtt_keys()
    }

    /// Takes the next bytes of the handshake: those of CRYPTO frames, in order.
    ///
    /// They may be cut anywhere, but bytes of different packet number spaces must come in separate calls, with
    /// [`write_hs`](Self::write_hs) in between. `plaintext` was decrypted, and authenticated where the space has keys that
    /// are secret.
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection: [`alert`](Self::alert) says what to tell the peer, no keys are handed out any
    /// more, and each further call returns the same error.
    pub fn read_hs(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        self.driver.process_crypto(plaintext)
    }

    /// Appends the bytes that are to be sent next to `buf`, for the CRYPTO frames of the present packets: Initial ones at
    /// first. Returns the keys of the next kind of packets, once there are any: what later calls append is for
    /// those.
    ///
    /// Call it at the start (clients), and after each [`read_hs`](Self::read_hs), until it appends and returns
    /// nothing.
    pub fn write_hs(&mut self, buf: &mut Vec<u8>) -> Option<KeyChange> {
        self.write_crypto(buf)
    }

    /// The TLS alert to tell the peer in a CONNECTION_CLOSE frame, as an error code of 0x0100 and more (RFC 9001 §4.8).
    ///
    /// `None` while nothing has failed; and when [`read_hs`](Self::read_hs) has failed for something that is no
    /// error of TLS but a PROTOCOL_VIOLATION of QUIC (RFC 9000 §20.1).
    pub fn alert(&self) -> Option<AlertDescription> {
        self.quic.as_deref()?.alert
    }
}

impl<Data> ConnectionCommon<Data> {
    fn new(driver: Driver<Data>) -> Self {
        Self { driver }
    }
}

impl<Data> Deref for ConnectionCommon<Data> {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        &self.driver.common
    }
}

impl<Data> DerefMut for ConnectionCommon<Data> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.driver.common
    }
}

/// A client's side of a QUIC connection.
pub struct ClientConnection {
    inner: ConnectionCommon<ClientConnectionData>,
}

impl ClientConnection {
    /// A new connection to the server called `name`, which its certificate must be valid for. `params` are this
    /// side's transport parameters (RFC 9000 §18), encoded.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `config` has no TLS 1.3 or no cipher suite that supports QUIC, or when `params` are too
    /// long; and those of [`ClientConnection::new`](crate::ClientConnection::new).
    pub fn new(
        config: Arc<ClientConfig>,
        quic_version: Version,
        name: ServerName<'static>,
        params: Vec<u8>,
    ) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, quic_version, name, params, alpn_protocols)
    }

    /// As [`Self::new`], offering `alpn_protocols` instead of those of `config`.
    ///
    /// # Errors
    ///
    /// As for [`Self::new`].
    pub fn new_with_alpn(
        config: Arc<ClientConfig>,
        quic_version: Version,
        name: ServerName<'static>,
        params: Vec<u8>,
        alpn_protocols: Vec<Vec<u8>>,
    ) -> Result<Self, Error> {
        let quic = Quic::new(quic_version, params);
        let suites = &config.provider.cipher_suites;
        quic.carrier().check_config(config.versions, suites)?;
        let common = CommonState::over_quic(Side::Client, quic);
        let driver = client::start(common, config, name, alpn_protocols)?;
        Ok(Self {
            inner: ConnectionCommon::new(driver),
        })
    }

    /// True once the server has accepted early data.
    ///
    /// If it is false when the handshake is complete, what was sent in 0-RTT packets is lost, and may be sent again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.driver.data.early_data_accepted
    }

    /// How many session tickets the server has sent.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.inner.driver.data.tickets_received
    }
}

impl Deref for ClientConnection {
    type Target = ConnectionCommon<ClientConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for ClientConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("quic::ClientConnection").finish()
    }
}

/// A server's side of a QUIC connection.
pub struct ServerConnection {
    inner: ConnectionCommon<ServerConnectionData>,
}

impl ServerConnection {
    /// A new connection that waits for a client. `params` are this side's transport parameters (RFC 9000 §18),
    /// encoded.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `config` has no TLS 1.3 or no cipher suite that supports QUIC, or when its
    /// [`max_early_data_size`](ServerConfig::max_early_data_size) is neither 0 nor 2³² - 1 (RFC 9001 §4.6.1);
    /// and those of [`ServerConnection::new`](crate::ServerConnection::new).
    pub fn new(
        config: Arc<ServerConfig>,
        quic_version: Version,
        params: Vec<u8>,
    ) -> Result<Self, Error> {
        let quic = Quic::new(quic_version, params);
        let suites = &config.provider.cipher_suites;
        quic.carrier().check_config(config.versions, suites)?;
        if !matches!(config.max_early_data_size, 0 | u32::MAX) {
            return Err(Error::General(
                "QUIC sessions must set a max early data of 0 or 2^32-1".into(),
            ));
        }
        let common = CommonState::over_quic(Side::Server, quic);
        Ok(Self {
            inner: ConnectionCommon::new(server::start(common, config)?),
        })
    }

    /// Accepts no early data.
    ///
    /// Call it before the ClientHello is read: then the client is told. Later, the keys of 0-RTT packets are
    /// gone.
    ///
    /// # Panics
    ///
    /// When the handshake is complete.
    pub fn reject_early_data(&mut self) {
        assert!(
            self.inner.is_handshaking(),
            "early data cannot be rejected after the handshake"
        );
        let driver = &mut self.inner.driver;
        driver.data.early_data = EarlyData::Rejected;
        if let Some(quic) = &mut driver.common.quic {
            quic.end_early_data();
        }
    }

    /// The server name that the client asked for (SNI, RFC 6066 §3), once its ClientHello was read; `None` when it
    /// sent none.
    pub fn server_name(&self) -> Option<&str> {
        self.inner.driver.data.server_name()
    }
}

impl Deref for ServerConnection {
    type Target = ConnectionCommon<ServerConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for ServerConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("quic::ServerConnection").finish()
    }
}

/// A QUIC connection of either side.
#[derive(Debug)]
pub enum Connection {
    /// A client's.
    Client(ClientConnection),
    /// A server's.
    Server(ServerConnection),
}

impl Connection {
    /// See [`ConnectionCommon::quic_transport_parameters`].
    pub fn quic_transport_parameters(&self) -> Option<&[u8]> {
        self.quic.as_deref()?.peer_parameters()
    }

    /// See [`ConnectionCommon::zero_rtt_keys`].
    pub fn zero_rtt_keys(&self) -> Option<DirectionalKeys> {
        self.quic.as_deref()?.zero_rtt_keys()
    }

    /// See [`ConnectionCommon::read_hs`].
    ///
    /// # Errors
    ///
    /// Those of that method.
    pub fn read_hs(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        match self {
            Self::Client(conn) => conn.read_hs(plaintext),
            Self::Server(conn) => conn.read_hs(plaintext),
        }
    }

    /// See [`ConnectionCommon::write_hs`].
    pub fn write_hs(&mut self, buf: &mut Vec<u8>) -> Option<KeyChange> {
        self.write_crypto(buf)
    }

    /// See [`ConnectionCommon::alert`].
    pub fn alert(&self) -> Option<AlertDescription> {
        self.quic.as_deref()?.alert
    }

    /// Derives keying material from the connection (RFC 9846 §7.5) and returns it in `output`.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete; [`Error::General`] when `output` is empty or
    /// too long; the error that ended the connection.
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        (**self).export_keying_material(output, label, context)
    }
}

impl Deref for Connection {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Client(conn) => conn,
            Self::Server(conn) => conn,
        }
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Client(conn) => conn,
            Self::Server(conn) => conn,
        }
    }
}

impl From<ClientConnection> for Connection {
    fn from(conn: ClientConnection) -> Self {
        Self::Client(conn)
    }
}

impl From<ServerConnection> for Connection {
    fn from(conn: ServerConnection) -> Self {
        Self::Server(conn)
    }
}
