//! The client's connection types.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use pki_types::ServerName;

#[cfg(feature = "std")]
use super::WriteEarlyData;
use super::{ClientConfig, ClientConnectionData};
use crate::callbacks::Callbacks;
use crate::config::ech::EchStatus;
#[cfg(feature = "std")]
use crate::conn::ConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::kernel::KernelConnection;
#[cfg(feature = "std")]
use crate::conn::split::split;
use crate::conn::split::{IntoSplitError, Receiver, Sender};
use crate::conn::unbuffered::UnbufferedConnectionCommon;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::Context;
use crate::handshake::machine::client::ClientHandshake;
use crate::handshake::side_data::SideData;
use crate::handshake::tolerance::Tolerance;
use crate::suites::ExtractedSecrets;

impl SideData for ClientConnectionData {}

/// Starts a handshake on a new connection and queues the ClientHello.
pub(crate) fn start(
    mut common: CommonState,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    alpn_protocols: Vec<Vec<u8>>,
) -> Result<Driver<ClientConnectionData>, Error> {
    // first, so that the observer receives errors
    common.observe(config.observer.as_ref());
    common.observe_client(&name);
    let configured = configure(&config, &mut common);
    common.report_configured(configured)?;
    let mut data = ClientConnectionData::default();
    #[cfg(feature = "tls12")]
    let mut session = None;
    let (transport, negotiated, established, recorder) = common.parts();
    let mut cx = Context {
        transport,
        negotiated,
        established,
        tolerance: &mut Tolerance::default(),
        #[cfg(feature = "tls12")]
        session: &mut session,
        data: &mut data,
        callbacks: Callbacks::Sync,
        recorder,
    };
    let started = ClientHandshake::start(config, name, alpn_protocols, &mut cx);
    let handshake = common.report_start(started)?;
    let driver = Driver::new(Box::new(handshake), data, common);
    #[cfg(feature = "tls12")]
    let driver = driver.with_session(session);
    Ok(driver)
}

/// Applies `config` to a connection whose handshake has not begun.
fn configure(config: &ClientConfig, common: &mut CommonState) -> Result<(), Error> {
    let carrier = common.carrier();
    carrier.check_config(config.versions, &config.provider.cipher_suites)?;
    common.configure(
        config.max_fragment_size,
        config.enable_secret_extraction,
        config.fips(),
    )
}

/// A buffered client connection.
///
/// Exchange TLS bytes through [`ConnectionCommon::write_tls`], [`ConnectionCommon::read_tls`] and
/// [`ConnectionCommon::process_new_packets`], and plaintext through [`ConnectionCommon::writer`]
/// and [`ConnectionCommon::reader`]. Or put a [`Stream`](crate::Stream) on top.
#[cfg(feature = "std")]
pub struct ClientConnection {
    inner: ConnectionCommon<ClientConnectionData>,
}

#[cfg(feature = "std")]
impl ClientConnection {
    /// Creates a connection to the server `name`. The server's certificate must be valid for
    /// this name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`], [`Error::FailedToGetRandomBytes`], or another error
    /// if `config` cannot produce a ClientHello.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, name, alpn_protocols)
    }

    /// Creates a connection like [`Self::new`], but offers `alpn_protocols` instead of those in
    /// `config`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`].
    pub fn new_with_alpn(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        alpn_protocols: Vec<Vec<u8>>,
    ) -> Result<Self, Error> {
        Ok(Self {
            inner: ConnectionCommon::new(start(
                CommonState::new(Side::Client),
                config,
                name,
                alpn_protocols,
            )?),
        })
    }

    /// Returns a writer for early data (0-RTT, RFC 9846 §2.3), which is sent after the ClientHello.
    ///
    /// Returns `None` unless [`ClientConfig::enable_early_data`] is set and the client offers a
    /// session whose ticket allows early data. Also returns `None` once the server has rejected
    /// early data or sent its Finished, and after a close_notify or a failure.
    ///
    /// Early data has no forward secrecy, and an attacker can replay it.
    pub fn early_data(&mut self) -> Option<WriteEarlyData<'_>> {
        WriteEarlyData::new(self.inner.driver.write_access())
    }

    /// True if the server has accepted early data.
    ///
    /// If this is false when the handshake is complete, any early data was lost and may be sent
    /// again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.negotiated.facts.is_early_data_accepted()
    }

    /// Returns the number of TLS 1.3 session tickets received from the server.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.inner.driver.data.tickets_received
    }

    /// Returns the state of Encrypted ClientHello (RFC 9849).
    pub fn ech_status(&self) -> EchStatus {
        self.inner.negotiated.facts.ech_status()
    }
}

#[cfg(feature = "std")]
impl ClientConnection {
    /// Splits the connection into a sending and a receiving half, which two threads can use without
    /// a lock between them. The handshake must be complete.
    ///
    /// Nothing is lost. Queued output moves to the [`Sender`], and received data that was not read
    /// yet moves to the [`Receiver`]. Both halves keep track of pending KeyUpdates.
    ///
    /// ```no_run
    /// use std::io::{Read, Write};
    /// use std::net::TcpStream;
    /// use std::thread;
    ///
    /// # fn example(conn: rustls::ClientConnection, socket: TcpStream)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let (mut sender, mut receiver) = conn.into_split()?;
    /// let mut incoming = socket.try_clone()?;
    /// let mut outgoing = socket;
    ///
    /// let reading = thread::spawn(move || -> std::io::Result<Vec<u8>> {
    ///     let mut data = Vec::new();
    ///     while !receiver.peer_has_closed() {
    ///         receiver.read_tls(&mut incoming)?;
    ///         receiver.process_new_packets().map_err(std::io::Error::other)?;
    ///         // `WouldBlock` once all received data has been read, and `UnexpectedEof` if the
    ///         // stream ended without a close_notify
    ///         match receiver.reader().read_to_end(&mut data) {
    ///             Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
    ///             Err(error) => return Err(error),
    ///             Ok(_) => {}
    ///         }
    ///     }
    ///     Ok(data)
    /// });
    /// for _ in 0..1000 {
    ///     sender.writer().write_all(b"both directions at once")?;
    ///     while sender.wants_write() {
    ///         sender.write_tls(&mut outgoing)?;
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// The halves pass work to each other without a lock. The other half does that work at its next
    /// call that sends or processes data:
    ///
    /// | event | effect on the other half |
    /// |---|---|
    /// | the peer requests a KeyUpdate | the sender sends one before its next data |
    /// | the peer wants to renegotiate (TLS 1.2) | the sender sends a no_renegotiation warning |
    /// | a received record is invalid | the sender sends the alert, drops its keys and fails |
    /// | a fatal alert was received | the sender drops its keys and returns the error |
    /// | the sender has failed | the receiver drops its keys and fails |
    /// | the peer's close_notify was received | none: the sender continues |
    /// | [`Sender::send_close_notify`] was called | none: the receiver continues |
    ///
    /// [`Receiver::sender_wants_write`] reports when to wake the sender's thread for such work.
    ///
    /// # Errors
    ///
    /// Returns [`IntoSplitError`], which holds the connection, if the handshake is incomplete or
    /// the connection has failed.
    pub fn into_split(
        self,
    ) -> Result<(Sender, Receiver<ClientConnectionData>), IntoSplitError<Self>> {
        match self.inner.driver.common.check_splittable() {
            Ok(()) => Ok(split(self.inner.driver)),
            Err(error) => Err(IntoSplitError::new(self, error)),
        }
    }

    /// True if the connection runs in FIPS-approved mode; see [`ClientConfig::fips`].
    pub fn fips(&self) -> bool {
        self.inner.driver.common.is_fips
    }

    /// See [`ConnectionCommon::dangerous_extract_secrets`].
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.inner.dangerous_extract_secrets()
    }
}

#[cfg(feature = "std")]
impl Deref for ClientConnection {
    type Target = ConnectionCommon<ClientConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

#[cfg(feature = "std")]
impl DerefMut for ClientConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConnection").finish_non_exhaustive()
    }
}

/// A client connection whose buffers belong to the caller; see [`unbuffered`](crate::unbuffered).
pub struct UnbufferedClientConnection {
    inner: UnbufferedConnectionCommon<ClientConnectionData>,
}

impl UnbufferedClientConnection {
    /// Creates a connection to the server `name`. The server's certificate must be valid for
    /// this name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`], [`Error::FailedToGetRandomBytes`], or another error
    /// if `config` cannot produce a ClientHello.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, name, alpn_protocols)
    }

    /// Creates a connection like [`Self::new`], but offers `alpn_protocols` instead of those in
    /// `config`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`].
    pub fn new_with_alpn(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        alpn_protocols: Vec<Vec<u8>>,
    ) -> Result<Self, Error> {
        Ok(Self {
            inner: UnbufferedConnectionCommon::new(start(
                CommonState::new(Side::Client),
                config,
                name,
                alpn_protocols,
            )?),
        })
    }

    /// True if the server has accepted early data.
    ///
    /// If this is false when the handshake is complete, any early data was lost and may be sent
    /// again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.negotiated.facts.is_early_data_accepted()
    }

    /// Returns the number of TLS 1.3 session tickets received from the server.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.inner.data().tickets_received
    }

    /// Returns the state of Encrypted ClientHello (RFC 9849).
    pub fn ech_status(&self) -> EchStatus {
        self.inner.negotiated.facts.ech_status()
    }
}

impl UnbufferedClientConnection {
    /// Splits the connection like
    /// [`ClientConnection::into_split`](crate::ClientConnection::into_split).
    ///
    /// Pass input that [`UnbufferedStatus::discard`](crate::unbuffered::UnbufferedStatus::discard)
    /// has not covered yet to [`Receiver::open_in_place`] first.
    ///
    /// # Errors
    ///
    /// Returns [`IntoSplitError`], which holds the connection, if the handshake is incomplete, the
    /// connection has failed, or received data was not taken.
    pub fn into_split(
        self,
    ) -> Result<(Sender, Receiver<ClientConnectionData>), IntoSplitError<Self>> {
        match self.inner.check_splittable() {
            Ok(()) => Ok(self.inner.split()),
            Err(error) => Err(IntoSplitError::new(self, error)),
        }
    }

    /// See [`UnbufferedConnectionCommon::dangerous_extract_secrets`].
    ///
    /// # Errors
    ///
    /// Returns the errors of that method.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.inner.dangerous_extract_secrets()
    }

    /// Returns the keys for both directions, for an external record layer, and a connection that
    /// updates the keys and stores session tickets.
    ///
    /// This is dangerous; see [`UnbufferedConnectionCommon::dangerous_extract_secrets`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnbufferedConnectionCommon::dangerous_extract_secrets`].
    pub fn dangerous_into_kernel_connection(
        self,
    ) -> Result<(ExtractedSecrets, KernelConnection<ClientConnectionData>), Error> {
        self.inner.into_kernel_connection()
    }
}

impl Deref for UnbufferedClientConnection {
    type Target = UnbufferedConnectionCommon<ClientConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for UnbufferedClientConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl fmt::Debug for UnbufferedClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnbufferedClientConnection")
            .finish_non_exhaustive()
    }
}
