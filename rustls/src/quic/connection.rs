//! Connection types for QUIC implementations.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::task::{self, Poll};

use pki_types::ServerName;

use super::{DirectionalKeys, KeyChange, Version};
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::quic::Quic;
use crate::conn::unwinding::fail_on_panic;
use crate::enums::{AlertDescription, Side};
use crate::error::Error;
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::server::connection_data::{EarlyDataDecision, ServerConnectionData};
use crate::handshake::side_data::SideData;
use crate::handshake::transport::Transport;
use crate::{client, server};

/// Methods that client and server connections share.
///
/// This type dereferences to [`CommonState`], which has the results of the handshake.
/// [`quic`](crate::quic) has an example.
pub struct ConnectionCommon<Data> {
    driver: Driver<Data>,
}

impl<Data: SideData> ConnectionCommon<Data> {
    /// Returns the peer's encoded transport parameters (RFC 9000 §18).
    ///
    /// They are available to a server once it has accepted a ClientHello, and to a client once it
    /// has read EncryptedExtensions. Before that, a client that offers a session gets the
    /// parameters from the connection that created the session (RFC 9000 §7.4.1), or no bytes if
    /// that was not a QUIC connection. No parameters are authenticated until the handshake is
    /// complete.
    pub fn quic_transport_parameters(&self) -> Option<&[u8]> {
        self.quic.as_deref()?.peer_parameters()
    }

    /// Returns the keys for 0-RTT packets. A client sends with them, and a server receives with
    /// them.
    ///
    /// A client has them from the start if [`ClientConfig::enable_early_data`] is set and the
    /// offered session allows early data. A server that accepts early data has them once it has
    /// read the ClientHello. They are removed when the server rejects early data, at the end of the
    /// handshake, and after a failure.
    pub fn zero_rtt_keys(&self) -> Option<DirectionalKeys> {
        self.quic.as_deref()?.zero_rtt_keys()
    }

    /// Processes the next handshake bytes from CRYPTO frames, in order.
    ///
    /// The bytes may be split anywhere, but pass bytes from different packet number spaces in
    /// separate calls, with [`write_hs`](Self::write_hs) in between. `plaintext` must be decrypted,
    /// and authenticated if the keys for its space are secret.
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection. [`alert`](Self::alert) then returns the alert for the
    /// peer, if any, no more keys are returned, and each later call returns the same error.
    pub fn read_hs(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        fail_on_panic(&mut self.driver, |driver| driver.process_crypto(plaintext))
    }

    /// Polls the operation that the handshake is waiting for, and continues the handshake with its
    /// result. Returns `Ready` if the handshake is not waiting for an operation. Otherwise, the
    /// task of `cx` is woken when it is worth polling again.
    ///
    /// Call it while [`is_waiting`](CommonState::is_waiting) is true, which only happens with
    /// [`set_async`](CommonState::set_async). Until it is ready, bytes passed to
    /// [`read_hs`](Self::read_hs) are buffered. Afterwards, call [`write_hs`](Self::write_hs).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read_hs`](Self::read_hs), which end the connection in the same way.
    pub fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        fail_on_panic(&mut self.driver, |driver| driver.poll_operation(cx))
    }

    /// Appends the next bytes to send to `buf`, for CRYPTO frames in packets of the current kind,
    /// Initial packets at first. Returns the keys for the next kind of packets once they are
    /// available. Later calls append bytes for those packets.
    ///
    /// Call it at the start (clients), after each [`read_hs`](Self::read_hs), and when
    /// [`poll_operation`](Self::poll_operation) is ready, until it neither appends nor returns
    /// anything.
    pub fn write_hs(&mut self, buf: &mut Vec<u8>) -> Option<KeyChange> {
        fail_on_panic(&mut self.driver.common, |common| common.write_crypto(buf))
    }

    /// Returns the TLS alert to send in a CONNECTION_CLOSE frame, as error code 0x0100 plus the
    /// alert (RFC 9001 §4.8).
    ///
    /// This is close_notify after [`send_close_notify`](CommonState::send_close_notify), until the
    /// connection fails. Otherwise, returns `None` if nothing has failed, or if the error is
    /// reported as a QUIC PROTOCOL_VIOLATION rather than a TLS alert (RFC 9000 §20.1).
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

/// The client side of a QUIC connection.
pub struct ClientConnection {
    inner: ConnectionCommon<ClientConnectionData>,
}

impl ClientConnection {
    /// Creates a connection to the server `name`. The server's certificate must be valid for
    /// this name. `params` are this side's encoded transport parameters (RFC 9000 §18).
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `config` does not enable TLS 1.3 or has no cipher suite that
    /// supports QUIC, or if `params` is too long. Also returns the errors of
    /// [`ClientConnection::new`](crate::ClientConnection::new).
    pub fn new(
        config: Arc<ClientConfig>,
        quic_version: Version,
        name: ServerName<'static>,
        params: Vec<u8>,
    ) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, quic_version, name, params, alpn_protocols)
    }

    /// Creates a connection like [`Self::new`], but offers `alpn_protocols` instead of those in
    /// `config`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`].
    pub fn new_with_alpn(
        config: Arc<ClientConfig>,
        quic_version: Version,
        name: ServerName<'static>,
        params: Vec<u8>,
        alpn_protocols: Vec<Vec<u8>>,
    ) -> Result<Self, Error> {
        let common = CommonState::over_quic(Side::Client, Quic::new(quic_version, params));
        let driver = client::start(common, config, name, alpn_protocols)?;
        Ok(Self {
            inner: ConnectionCommon::new(driver),
        })
    }

    /// True if the server has accepted early data.
    ///
    /// If this is false when the handshake is complete, any data in 0-RTT packets was lost and may
    /// be sent again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.negotiated.facts.is_early_data_accepted()
    }

    /// Returns the number of TLS 1.3 session tickets received from the server.
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

/// The server side of a QUIC connection.
pub struct ServerConnection {
    inner: ConnectionCommon<ServerConnectionData>,
}

impl ServerConnection {
    /// Creates a connection that is waiting for a client. `params` are this side's encoded
    /// transport parameters (RFC 9000 §18).
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `config` does not enable TLS 1.3 or has no cipher suite that
    /// supports QUIC, or if its [`max_early_data_size`](ServerConfig::max_early_data_size) is
    /// neither 0 nor 2³² - 1 (RFC 9001 §4.6.1). Also returns the errors of
    /// [`ServerConnection::new`](crate::ServerConnection::new).
    pub fn new(
        config: Arc<ServerConfig>,
        quic_version: Version,
        params: Vec<u8>,
    ) -> Result<Self, Error> {
        let common = CommonState::over_quic(Side::Server, Quic::new(quic_version, params));
        Ok(Self {
            inner: ConnectionCommon::new(server::start(common, config)?),
        })
    }

    /// Rejects early data.
    ///
    /// Call it before the ClientHello is read, so that the client learns of the rejection. A later
    /// call removes the keys for 0-RTT packets.
    ///
    /// # Panics
    ///
    /// Panics if the handshake is complete.
    pub fn reject_early_data(&mut self) {
        assert!(
            self.inner.is_handshaking(),
            "early data cannot be rejected after the handshake"
        );
        let driver = &mut self.inner.driver;
        driver.data.early_data = EarlyDataDecision::Rejected;
        if let Some(quic) = &mut driver.common.quic {
            quic.end_early_data();
        }
    }

    /// Returns the server name that the client requested (SNI, RFC 6066 §3), once its ClientHello
    /// has been read. Returns `None` if the client sent no host name.
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

/// A QUIC connection on either side.
#[derive(Debug)]
pub enum Connection {
    /// A client connection.
    Client(ClientConnection),
    /// A server connection.
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
    /// Returns the errors of that method.
    pub fn read_hs(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        match self {
            Self::Client(conn) => conn.read_hs(plaintext),
            Self::Server(conn) => conn.read_hs(plaintext),
        }
    }

    /// See [`ConnectionCommon::poll_operation`].
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        match self {
            Self::Client(conn) => conn.poll_operation(cx),
            Self::Server(conn) => conn.poll_operation(cx),
        }
    }

    /// See [`ConnectionCommon::write_hs`].
    pub fn write_hs(&mut self, buf: &mut Vec<u8>) -> Option<KeyChange> {
        match self {
            Self::Client(conn) => conn.write_hs(buf),
            Self::Server(conn) => conn.write_hs(buf),
        }
    }

    /// See [`ConnectionCommon::alert`].
    pub fn alert(&self) -> Option<AlertDescription> {
        self.quic.as_deref()?.alert
    }

    /// Derives keying material from the connection (RFC 9846 §7.5) and returns it in `output`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, [`Error::General`]
    /// if `output` is empty or too long or `label` is longer than 249 bytes, and the error that
    /// ended the connection if it has failed.
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
