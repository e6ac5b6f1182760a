//! The connection types of a client.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use pki_types::ServerName;

#[cfg(feature = "std")]
use super::WriteEarlyData;
use super::{ClientConfig, ClientConnectionData};
#[cfg(feature = "std")]
use crate::conn::ConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::kernel::KernelConnection;
use crate::conn::side_data::SideData;
#[cfg(feature = "std")]
use crate::conn::split::split;
use crate::conn::split::{IntoSplitError, Receiver, Sender};
use crate::conn::tolerance::Tolerance;
use crate::conn::unbuffered::UnbufferedConnectionCommon;
use crate::ech::EchStatus;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::Context;
use crate::handshake::client::ClientHandshake;
use crate::suites::ExtractedSecrets;

impl SideData for ClientConnectionData {}

/// Starts a handshake on a new connection: the ClientHello waits to be sent.
pub(crate) fn start(
    mut common: CommonState,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    alpn_protocols: Vec<Vec<u8>>,
) -> Result<Driver<ClientConnectionData>, Error> {
    common
        .records
        .sender
        .set_max_fragment_size(config.max_fragment_size)?;
    common.is_extractable = config.enable_secret_extraction;
    #[cfg(feature = "std")]
    {
        common.is_fips = config.fips();
    }
    let mut data = ClientConnectionData::default();
    let (transport, negotiated, established) = common.parts();
    let mut cx = Context {
        transport,
        negotiated,
        established,
        tolerance: &mut Tolerance::default(),
        data: &mut data,
    };
    let handshake = ClientHandshake::start(config, name, alpn_protocols, &mut cx)?;
    Ok(Driver::new(Box::new(handshake), data, common))
}

/// A buffered client connection.
///
/// Send and receive TLS with [`ConnectionCommon::write_tls`], [`ConnectionCommon::read_tls`] and
/// [`ConnectionCommon::process_new_packets`], plaintext with [`ConnectionCommon::writer`] and
/// [`ConnectionCommon::reader`]; or put [`Stream`](crate::Stream) on top.
#[cfg(feature = "std")]
pub struct ClientConnection {
    inner: ConnectionCommon<ClientConnectionData>,
}

#[cfg(feature = "std")]
impl ClientConnection {
    /// A new connection to the server called `name`, which its certificate must be valid for.
    ///
    /// # Errors
    ///
    /// [`Error::BadMaxFragmentSize`], [`Error::FailedToGetRandomBytes`], and any other error that keeps
    /// `config` from making a ClientHello.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, name, alpn_protocols)
    }

    /// As [`Self::new`], offering `alpn_protocols` instead of those of `config`.
    ///
    /// # Errors
    ///
    /// As for [`Self::new`].
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

    /// A way to send early data (0-RTT, RFC 9846 §2.3), behind the ClientHello.
    ///
    /// `None` unless [`ClientConfig::enable_early_data`] is set, a session with this server is offered that allows
    /// early data, and the server has neither refused it nor completed the handshake.
    ///
    /// Early data has no forward secrecy, and an attacker can replay it.
    pub fn early_data(&mut self) -> Option<WriteEarlyData<'_>> {
        WriteEarlyData::new(&mut self.inner.driver.common)
    }

    /// True once the server has accepted early data.
    ///
    /// If it is false when the handshake is complete, what was sent as early data is lost, and may be sent again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.driver.data.early_data_accepted
    }

    /// How many session tickets the server has sent.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.inner.driver.data.tickets_received
    }

    /// What has become of Encrypted ClientHello (RFC 9849).
    pub fn ech_status(&self) -> EchStatus {
        self.inner.driver.data.ech_status
    }
}

#[cfg(feature = "std")]
impl ClientConnection {
    /// Takes the connection apart into the half that sends and the half that receives, for two threads that need no
    /// lock between them, once the handshake is complete.
    ///
    /// Nothing is lost: what waits to be sent goes with the [`Sender`], what was received and not read goes with the
    /// [`Receiver`], and a KeyUpdate that is owed or awaited, with both.
    ///
    /// ```no_run
    /// use std::io::{Read, Write};
    /// use std::net::TcpStream;
    /// use std::thread;
    ///
    /// # fn example(conn: rustls::ClientConnection, socket: TcpStream) -> Result<(), Box<dyn std::error::Error>> {
    /// let (mut sender, mut receiver) = conn.into_split()?;
    /// let mut incoming = socket.try_clone()?;
    /// let mut outgoing = socket;
    ///
    /// let reading = thread::spawn(move || -> std::io::Result<Vec<u8>> {
    ///     let mut data = Vec::new();
    ///     while !receiver.peer_has_closed() && receiver.read_tls(&mut incoming)? != 0 {
    ///         receiver.process_new_packets().map_err(std::io::Error::other)?;
    ///         // ends where nothing more has come
    ///         match receiver.reader().read_to_end(&mut data) {
    ///             Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error),
    ///             _ => {}
    ///         }
    ///     }
    ///     Ok(data)
    /// });
    /// for _ in 0..1000 {
    ///     sender.writer().write_all(b"both directions at once")?;
    ///     sender.write_tls(&mut outgoing)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// What one half meets that is the other's to do is handed over without a lock, and done at the other's next call:
    ///
    /// | what happens | in the other half |
    /// |---|---|
    /// | the peer requests a KeyUpdate (RFC 9846 §4.7.3) | the sender answers ahead of the next application data |
    /// | the peer asks to renegotiate (TLS 1.2) | the sender refuses with a no_renegotiation warning |
    /// | what was received is an error | the sender sends the alert, drops its keys, and returns the error |
    /// | a fatal alert was received | the sender drops its keys, and returns the error |
    /// | a write has failed, and its alert waits in the sender | the receiver drops its keys, and returns the error |
    /// | the peer's close_notify was received | nothing: the sender goes on |
    /// | [`Sender::send_close_notify`] | nothing: the receiver goes on |
    ///
    /// [`Receiver::sender_wants_write`] tells when the thread that has the sender is to be woken for that.
    ///
    /// # Errors
    ///
    /// [`IntoSplitError`], which gives the connection back, before the handshake is complete and after a failure.
    pub fn into_split(
        self,
    ) -> Result<(Sender, Receiver<ClientConnectionData>), IntoSplitError<Self>> {
        match self.inner.driver.common.check_splittable() {
            Ok(()) => Ok(split(self.inner.driver)),
            Err(error) => Err(IntoSplitError::new(self, error)),
        }
    }

    /// True when the connection runs in FIPS-approved mode, as its configuration says:
    /// [`ClientConfig::fips`].
    pub fn fips(&self) -> bool {
        self.inner.driver.common.is_fips
    }

    /// See [`ConnectionCommon::dangerous_extract_secrets`].
    ///
    /// # Errors
    ///
    /// Those of that method.
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

/// A client connection that leaves all buffers to its user; see [`unbuffered`](crate::unbuffered).
pub struct UnbufferedClientConnection {
    inner: UnbufferedConnectionCommon<ClientConnectionData>,
}

impl UnbufferedClientConnection {
    /// A new connection to the server called `name`, which its certificate must be valid for.
    ///
    /// # Errors
    ///
    /// [`Error::BadMaxFragmentSize`], [`Error::FailedToGetRandomBytes`], and any other error that keeps
    /// `config` from making a ClientHello.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let alpn_protocols = config.alpn_protocols.clone();
        Self::new_with_alpn(config, name, alpn_protocols)
    }

    /// As [`Self::new`], offering `alpn_protocols` instead of those of `config`.
    ///
    /// # Errors
    ///
    /// As for [`Self::new`].
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

    /// True once the server has accepted early data.
    ///
    /// If it is false when the handshake is complete, what was sent as early data is lost, and may be sent again.
    pub fn is_early_data_accepted(&self) -> bool {
        self.inner.data().early_data_accepted
    }

    /// How many session tickets the server has sent.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.inner.data().tickets_received
    }

    /// What has become of Encrypted ClientHello (RFC 9849).
    pub fn ech_status(&self) -> EchStatus {
        self.inner.data().ech_status
    }
}

impl UnbufferedClientConnection {
    /// Takes the connection apart, as [`ClientConnection::into_split`](crate::ClientConnection::into_split) does.
    ///
    /// Bytes that [`UnbufferedStatus::discard`](crate::unbuffered::UnbufferedStatus::discard) has not told to discard
    /// yet are the first for [`Receiver::open_in_place`].
    ///
    /// # Errors
    ///
    /// [`IntoSplitError`], which gives the connection back, before the handshake is complete and after a failure.
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
    /// Those of that method.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.inner.dangerous_extract_secrets()
    }

    /// The keys of both directions, to be used by another record layer, and what replaces them later, and stores session
    /// tickets.
    ///
    /// [`UnbufferedConnectionCommon::dangerous_extract_secrets`] says why this is dangerous.
    ///
    /// # Errors
    ///
    /// Those of that method.
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
