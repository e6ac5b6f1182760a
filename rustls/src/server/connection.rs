//! The connection types of a server.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::ops::{Deref, DerefMut};

#[cfg(feature = "std")]
use super::{EarlyData, ReadEarlyData};
use super::{ServerConfig, ServerConnectionData};
#[cfg(feature = "std")]
use crate::conn::ConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::kernel::KernelConnection;
use crate::conn::side_data::SideData;
#[cfg(feature = "std")]
use crate::conn::split::split;
use crate::conn::split::{IntoSplitError, Receiver, Sender};
use crate::conn::unbuffered::UnbufferedConnectionCommon;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::Machine;
use crate::handshake::server::ServerHandshake;
use crate::suites::ExtractedSecrets;

impl SideData for ServerConnectionData {}

/// Has a new connection wait for a ClientHello.
pub(crate) fn start(
    mut common: CommonState,
    config: Arc<ServerConfig>,
) -> Result<Driver<ServerConnectionData>, Error> {
    let handshake = configure(config, &mut common)?;
    Ok(Driver::new(
        handshake,
        ServerConnectionData::default(),
        common,
    ))
}

/// Applies `config` to a connection that has not begun its handshake, and returns that handshake.
pub(super) fn configure(
    config: Arc<ServerConfig>,
    common: &mut CommonState,
) -> Result<Box<dyn Machine<ServerConnectionData>>, Error> {
    ServerConfig::check(&*config.configured_verifier)?;
    common
        .records
        .sender
        .set_max_fragment_size(config.max_fragment_size)?;
    common.is_extractable = config.enable_secret_extraction;
    #[cfg(feature = "std")]
    {
        common.is_fips = config.fips();
    }
    Ok(Box::new(ServerHandshake::start(config)))
}

/// A buffered server connection.
///
/// Send and receive TLS with [`ConnectionCommon::write_tls`], [`ConnectionCommon::read_tls`] and
/// [`ConnectionCommon::process_new_packets`], plaintext with [`ConnectionCommon::writer`] and
/// [`ConnectionCommon::reader`]; or put [`Stream`](crate::Stream) on top.
#[cfg(feature = "std")]
pub struct ServerConnection {
    pub(super) inner: ConnectionCommon<ServerConnectionData>,
}

#[cfg(feature = "std")]
impl ServerConnection {
    /// A new connection that waits for a client.
    ///
    /// # Errors
    ///
    /// [`Error::BadMaxFragmentSize`]; [`Error::General`] when the configuration names more authorities for
    /// client certificates than a CertificateRequest has room for.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: ConnectionCommon::new(start(CommonState::new(Side::Server), config)?),
        })
    }

    /// The server name that the client asked for (SNI, RFC 6066 §3), once its ClientHello was
    /// processed; `None` when it sent none.
    pub fn server_name(&self) -> Option<&str> {
        self.inner.driver.data.server_name()
    }

    /// What the session that the client resumes was told to say by [`set_resumption_data`], once its
    /// ClientHello was processed; `None` when it resumes none.
    ///
    /// Nobody else can have written it. But the client may be somebody else, who has recorded the session's ticket, until
    /// the handshake is complete.
    ///
    /// [`set_resumption_data`]: Self::set_resumption_data
    pub fn received_resumption_data(&self) -> Option<&[u8]> {
        self.inner.driver.data.received_resumption_data()
    }

    /// Has the sessions of this connection say `data`; nothing unless it is set.
    ///
    /// Call it before the handshake is complete: it has no effect on sessions that the client was sent
    /// already. The client does not see `data`, unless the [ticketer](ServerConfig::ticketer) shows it.
    ///
    /// # Panics
    ///
    /// When `data` has 2¹⁵ bytes or more, for which there is no room.
    pub fn set_resumption_data(&mut self, data: &[u8]) {
        assert!(data.len() < 1 << 15, "resumption data has too many bytes");
        self.inner.driver.data.set_resumption_data(data);
    }

    /// An object to read early data from (0-RTT data, RFC 9846 §2.3), if the client has sent any and it was
    /// accepted, even after the handshake is complete.
    ///
    /// `None` before the ClientHello was processed, and whenever early data is not accepted. It is accepted if
    /// [`ServerConfig::max_early_data_size`] allows any and the client resumes a session of TLS 1.3
    /// from the [session storage](ServerConfig::session_storage), for the first time, under the same cipher
    /// suite and application protocol, without delay.
    pub fn early_data(&mut self) -> Option<ReadEarlyData<'_>> {
        match self.inner.driver.data.early_data {
            EarlyData::Accepted => Some(ReadEarlyData::new(&mut self.inner.driver.common)),
            EarlyData::Undecided | EarlyData::Rejected => None,
        }
    }

    /// Accepts no early data.
    ///
    /// Call it before the ClientHello is processed: then the client is told. Once it was told that its early
    /// data is accepted, what of it was not read is dropped, and more of it ends the connection.
    ///
    /// # Panics
    ///
    /// When the handshake is complete.
    pub fn reject_early_data(&mut self) {
        assert!(
            self.inner.is_handshaking(),
            "early data cannot be rejected after the handshake"
        );
        self.inner.driver.data.early_data = EarlyData::Rejected;
        self.inner.driver.common.records.drop_early_data();
    }
}

#[cfg(feature = "std")]
impl ServerConnection {
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
    /// # fn example(conn: rustls::ServerConnection, socket: TcpStream) -> Result<(), Box<dyn std::error::Error>> {
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
    ) -> Result<(Sender, Receiver<ServerConnectionData>), IntoSplitError<Self>> {
        match self.inner.driver.common.check_splittable() {
            Ok(()) => Ok(split(self.inner.driver)),
            Err(error) => Err(IntoSplitError::new(self, error)),
        }
    }

    /// True when the connection runs in FIPS-approved mode, as its configuration says:
    /// [`ServerConfig::fips`].
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
impl Deref for ServerConnection {
    type Target = ConnectionCommon<ServerConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

#[cfg(feature = "std")]
impl DerefMut for ServerConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection").finish_non_exhaustive()
    }
}

/// A server connection that leaves all buffers to its user; see [`unbuffered`](crate::unbuffered).
pub struct UnbufferedServerConnection {
    inner: UnbufferedConnectionCommon<ServerConnectionData>,
}

impl UnbufferedServerConnection {
    /// A new connection that waits for a client.
    ///
    /// # Errors
    ///
    /// [`Error::BadMaxFragmentSize`]; [`Error::General`] when the configuration names more authorities for
    /// client certificates than a CertificateRequest has room for.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: UnbufferedConnectionCommon::new(start(CommonState::new(Side::Server), config)?),
        })
    }
}

impl UnbufferedServerConnection {
    /// Takes the connection apart, as [`ServerConnection::into_split`](crate::ServerConnection::into_split) does.
    ///
    /// Bytes that [`UnbufferedStatus::discard`](crate::unbuffered::UnbufferedStatus::discard) has not told to discard
    /// yet are the first for [`Receiver::open_in_place`].
    ///
    /// # Errors
    ///
    /// [`IntoSplitError`], which gives the connection back, before the handshake is complete and after a failure.
    pub fn into_split(
        self,
    ) -> Result<(Sender, Receiver<ServerConnectionData>), IntoSplitError<Self>> {
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

    /// The keys of both directions, to be used by another record layer, and what replaces them later.
    ///
    /// [`UnbufferedConnectionCommon::dangerous_extract_secrets`] says why this is dangerous.
    ///
    /// # Errors
    ///
    /// Those of that method.
    pub fn dangerous_into_kernel_connection(
        self,
    ) -> Result<(ExtractedSecrets, KernelConnection<ServerConnectionData>), Error> {
        self.inner.into_kernel_connection()
    }
}

impl Deref for UnbufferedServerConnection {
    type Target = UnbufferedConnectionCommon<ServerConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for UnbufferedServerConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl fmt::Debug for UnbufferedServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnbufferedServerConnection")
            .finish_non_exhaustive()
    }
}
