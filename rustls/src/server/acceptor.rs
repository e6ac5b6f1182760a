//! Reads a ClientHello before a configuration is chosen.
//!
//! The connection exists from the first byte. The ClientHello stays in the buffer in which it was
//! assembled until there is a configuration. The handshake then starts and processes the same
//! bytes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use std::io;

use pki_types::DnsName;

use super::connection::configure;
use super::{ServerConfig, ServerConnection, ServerConnectionData};
use crate::config::observer::Observer;
use crate::config::resolver::client_hello::on_demand::{KeptLists, OnDemand};
use crate::config::resolver::client_hello::{ClientHello, Lists};
use crate::conn::ConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::write_outgoing::write_outgoing;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::machine::server::{ServerHandshake, read_client_hello};
use crate::msgs::{HANDSHAKE_HEADER_LEN, HandshakeMessage};
use crate::record::buffer::OutgoingBuffer;
use crate::record::traffic::Traffic;

/// Reads a ClientHello, for servers that choose their configuration depending on it.
///
/// ```text
///   read_tls ──► accept ──► Accepted ──► client_hello() ──► into_connection(config)
///       ▲          │                    choose a config            │
///       └── None ──┘                                               ▼
///                                                           ServerConnection
/// ```
///
/// ```no_run
/// # fn choose_config(_: rustls::server::ClientHello<'_>) -> std::sync::Arc<rustls::ServerConfig> {
/// #     unimplemented!()
/// # }
/// use rustls::server::Acceptor;
///
/// fn accept(
///     socket: &mut std::net::TcpStream,
/// ) -> Result<rustls::ServerConnection, Box<dyn std::error::Error>> {
///     let mut acceptor = Acceptor::default();
///     let result = loop {
///         if acceptor.read_tls(socket)? == 0 {
///             return Err("the client has gone".into());
///         }
///         if let Some(result) = acceptor.accept().transpose() {
///             break result;
///         }
///     };
///     result
///         .and_then(|accepted| {
///             let config = choose_config(accepted.client_hello());
///             accepted.into_connection(config)
///         })
///         .or_else(|(error, mut alert)| {
///             alert.write_all(socket)?;
///             Err(error.into())
///         })
/// }
/// ```
pub struct Acceptor {
    /// The connection so far; `None` once it was returned or has failed.
    connection: Option<ConnectionCommon<ServerConnectionData>>,
    /// The traffic of the ClientHello, counted in case the configuration has an observer.
    received: Traffic,
}

impl Default for Acceptor {
    /// Creates an acceptor that is waiting for a client.
    fn default() -> Self {
        let driver = Driver::new(
            Box::new(ServerHandshake::Unconfigured),
            ServerConnectionData::default(),
            CommonState::new(Side::Server),
        );
        Self {
            connection: Some(ConnectionCommon::new(driver)),
            received: Traffic::default(),
        }
    }
}

impl Acceptor {
    /// Lets the handshake wait for application operations. See [`CommonState::set_async`]. Call
    /// this before [`Self::accept`]; the connection inherits the setting.
    pub fn set_async(&mut self, is_async: bool) {
        if let Some(connection) = &mut self.connection {
            connection.set_async(is_async);
        }
    }

    /// Sets the observer of the connection until the connection gets a configuration with its own
    /// observer.
    ///
    /// This way, `observer` also sees peers that send no ClientHello, and connections that are
    /// dropped without a call to [`Accepted::into_connection`]. If the configuration has its own
    /// observer, `observer` is not called for a connection that continues. Call this before
    /// [`Self::read_tls`].
    pub fn set_observer(&mut self, observer: Arc<dyn Observer>) {
        if let Some(connection) = &mut self.connection {
            connection.driver.common.observe_accepting(&observer);
        }
    }

    /// Sets the application's number for the connection, for its observer. See
    /// [`CommonState::set_observer_context`].
    pub fn set_observer_context(&mut self, context: u64) {
        if let Some(connection) = &mut self.connection {
            connection.driver.common.keep_observer_context(context);
        }
    }

    /// Reads TLS bytes with at most one call to `rd.read`. Returns the number of bytes read, which
    /// is 0 at the end of the stream. Call [`Self::accept`] next.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ConnectionCommon::read_tls`], and [`io::ErrorKind::Other`] once
    /// [`Self::accept`] has returned an [`Accepted`] or an error.
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        match &mut self.connection {
            Some(connection) => connection.read_tls(rd),
            None => Err(io::Error::other(
                "acceptor cannot read after successful acceptance",
            )),
        }
    }

    /// Returns the connection once the whole ClientHello has been read. If it returns `None`, read
    /// more and call it again.
    ///
    /// # Errors
    ///
    /// - Any error in the records or the ClientHello that does not depend on a configuration, with
    ///   the alert for the client, if any;
    /// - [`Error::InappropriateMessage`] without an alert if the client sent application data or a
    ///   change_cipher_spec before its ClientHello;
    /// - [`Error::General`] without an alert if an earlier call returned an [`Accepted`] or an
    ///   error.
    pub fn accept(&mut self) -> Result<Option<Accepted>, (Error, AcceptedAlert)> {
        let Some(mut connection) = self.connection.take() else {
            let error = Error::General("Acceptor polled after completion".into());
            return Err((error, AcceptedAlert::none()));
        };
        let read = |message: HandshakeMessage<'_>| Ok(read_client_hello(&message)?.1);
        match connection.driver.first_message(&mut self.received, read) {
            Ok(Some(server_name)) => {
                let name = server_name.as_ref().map(AsRef::as_ref);
                connection.driver.common.observe_client_hello(name);
                Ok(Some(Accepted {
                    connection,
                    received: self.received,
                    server_name,
                    lists: KeptLists::default(),
                }))
            }
            Ok(None) => {
                self.connection = Some(connection);
                Ok(None)
            }
            // no alert for a peer that does not even start a handshake
            Err(error @ Error::InappropriateMessage { .. }) => Err((error, AcceptedAlert::none())),
            Err(error) => Err((error, connection.into())),
        }
    }
}

/// A connection whose ClientHello has been read, and which is waiting for a configuration.
pub struct Accepted {
    connection: ConnectionCommon<ServerConnectionData>,
    received: Traffic,
    server_name: Option<DnsName<'static>>,
    lists: KeptLists,
}

impl Accepted {
    /// Returns the parts of the ClientHello that may determine the choice of a configuration.
    ///
    /// Each list is decoded when first requested, and kept until the connection continues. The
    /// application protocols are not copied.
    ///
    /// If the server then sends a HelloRetryRequest, the second ClientHello determines the
    /// connection's parameters. It has the same server name, but its other offers may differ. So
    /// check the values that the connection reports, such as the application protocol.
    pub fn client_hello(&self) -> ClientHello<'_> {
        let message = self.connection.driver.common.records.joiner.peek();
        let body = message.and_then(|message| message.get(HANDSHAKE_HEADER_LEN..));
        ClientHello {
            server_name: self.server_name.as_ref().map(AsRef::as_ref),
            lists: Lists::OnDemand(OnDemand::new(body.unwrap_or_default(), &self.lists)),
        }
    }

    /// Lets the handshake wait for application operations. See [`CommonState::set_async`].
    pub fn set_async(&mut self, is_async: bool) {
        self.connection.set_async(is_async);
    }

    /// Sets the application's number for the connection, for its observer. See
    /// [`CommonState::set_observer_context`].
    pub fn set_observer_context(&mut self, context: u64) {
        self.connection.driver.common.keep_observer_context(context);
    }

    /// Continues the handshake with `config`.
    ///
    /// Call [`ConnectionCommon::write_tls`] next to send the server's messages. With
    /// [`Self::set_async`], the connection may already be [waiting](CommonState::is_waiting). If
    /// bytes after the ClientHello may have been read, also call
    /// [`ConnectionCommon::process_new_packets`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ServerConnection::new`], without an alert, and any [`Error`] that
    /// the handshake with `config` returns for the ClientHello, with the alert for the client.
    pub fn into_connection(
        mut self,
        config: Arc<ServerConfig>,
    ) -> Result<ServerConnection, (Error, AcceptedAlert)> {
        let driver = &mut self.connection.driver;
        let is_observed = driver.common.is_observed();
        let configured = configure(config, &mut driver.common);
        if !is_observed {
            let receiver = &mut driver.common.records.receiver;
            receiver.count_others(self.received);
        }
        let handshake = match driver.common.report_configured(configured) {
            Ok(handshake) => handshake,
            Err(error) => return Err((error, AcceptedAlert::none())),
        };
        match driver.start_handshake(handshake) {
            Ok(()) => Ok(ServerConnection {
                inner: self.connection,
            }),
            Err(error) => Err((error, self.connection.into())),
        }
    }
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").finish_non_exhaustive()
    }
}

/// The alert that tells a client why its ClientHello was rejected, ready to send.
pub struct AcceptedAlert(Box<OutgoingBuffer>);

impl AcceptedAlert {
    /// Creates an empty value, for errors without an alert.
    fn none() -> Self {
        Self(Box::default())
    }

    /// Writes the alert with one call to `wr.write_vectored`. Returns the number of bytes written.
    /// Call it until it returns 0: then nothing is left, or `wr` accepts no bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ConnectionCommon::write_tls`]; the unwritten bytes can be written
    /// later.
    pub fn write(&mut self, wr: &mut dyn io::Write) -> Result<usize, io::Error> {
        write_outgoing(&mut self.0, wr)
    }

    /// Writes all of the alert to `wr`.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::WriteZero`] if `wr` accepts no bytes, and the errors of
    /// [`Self::write`]; [`io::ErrorKind::Interrupted`] is retried. The unwritten bytes can be
    /// written later.
    pub fn write_all(&mut self, wr: &mut dyn io::Write) -> Result<(), io::Error> {
        while !self.0.is_empty() {
            match self.write(wr) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl From<ConnectionCommon<ServerConnectionData>> for AcceptedAlert {
    /// Takes the queued output of `connection`.
    fn from(mut connection: ConnectionCommon<ServerConnectionData>) -> Self {
        Self(Box::new(core::mem::take(
            &mut connection.driver.common.records.outgoing,
        )))
    }
}

impl fmt::Debug for AcceptedAlert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptedAlert").finish_non_exhaustive()
    }
}
