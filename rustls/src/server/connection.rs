//! The server's connection types.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::ops::{Deref, DerefMut};

#[cfg(feature = "std")]
use super::ReadEarlyData;
use super::{ServerConfig, ServerConnectionData};
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
use crate::handshake::Machine;
use crate::handshake::machine::server::ServerHandshake;
#[cfg(feature = "std")]
use crate::handshake::server::connection_data::EarlyDataDecision;
use crate::handshake::side_data::SideData;
use crate::suites::ExtractedSecrets;

impl SideData for ServerConnectionData {}

/// Creates a connection that is waiting for a ClientHello.
pub(crate) fn start(
    mut common: CommonState,
    config: Arc<ServerConfig>,
) -> Result<Driver<ServerConnectionData>, Error> {
    let configured = configure(config, &mut common);
    let handshake = common.report_configured(configured)?;
    Ok(Driver::new(
        handshake,
        ServerConnectionData::default(),
        common,
    ))
}

/// Applies `config` to a connection whose handshake has not begun, and returns its handshake.
pub(super) fn configure(
    config: Arc<ServerConfig>,
    common: &mut CommonState,
) -> Result<Box<dyn Machine<ServerConnectionData>>, Error> {
    // first, so that the observer receives errors
    common.observe(config.observer.as_ref());
    let carrier = common.carrier();
    carrier.check_config(config.versions, &config.provider.cipher_suites)?;
    carrier.check_max_early_data_size(config.max_early_data_size)?;
    ServerConfig::check_client_cert_verifier(&*config.configured_verifier)?;
    common.configure(
        config.max_fragment_size,
        config.enable_secret_extraction,
        config.fips(),
    )?;
    Ok(Box::new(ServerHandshake::start(config)))
}

/// A buffered server connection.
///
/// Exchange TLS bytes through [`ConnectionCommon::write_tls`], [`ConnectionCommon::read_tls`] and
/// [`ConnectionCommon::process_new_packets`], and plaintext through [`ConnectionCommon::writer`]
/// and [`ConnectionCommon::reader`]. Or put a [`Stream`](crate::Stream) on top.
#[cfg(feature = "std")]
pub struct ServerConnection {
    pub(super) inner: ConnectionCommon<ServerConnectionData>,
}

#[cfg(feature = "std")]
impl ServerConnection {
    /// Creates a connection that is waiting for a client.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`], or [`Error::General`] if the verifier's authority
    /// names do not fit into a CertificateRequest or one of them is empty.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: ConnectionCommon::new(start(CommonState::new(Side::Server), config)?),
        })
    }

    /// Returns the server name that the client requested (SNI, RFC 6066 §3), once its ClientHello
    /// has been processed. Returns `None` if the client sent no host name.
    pub fn server_name(&self) -> Option<&str> {
        self.inner.driver.data.server_name()
    }

    /// Returns the data that [`set_resumption_data`] stored in the resumed session, once the
    /// ClientHello has been processed; empty if it stored none. Returns `None` if the client does
    /// not resume a session.
    ///
    /// Only this server, or one that shares its ticket keys or its session storage, can have
    /// written the data. But until the handshake is complete, the client may be an attacker who
    /// recorded the session's ticket.
    ///
    /// [`set_resumption_data`]: Self::set_resumption_data
    pub fn received_resumption_data(&self) -> Option<&[u8]> {
        self.inner.driver.data.received_resumption_data()
    }

    /// Stores `data` in the sessions that this connection creates. By default, sessions contain no
    /// such data.
    ///
    /// Call it before the handshake is complete: it does not change sessions whose tickets have
    /// already been sent. The client cannot see `data`, unless the
    /// [ticketer](ServerConfig::ticketer) reveals it.
    ///
    /// # Panics
    ///
    /// Panics if `data` has 2¹⁵ bytes or more, because it does not fit into a session.
    pub fn set_resumption_data(&mut self, data: &[u8]) {
        assert!(data.len() < 1 << 15, "resumption data has too many bytes");
        self.inner.driver.data.set_resumption_data(data);
    }

    /// Returns a reader for early data (0-RTT, RFC 9846 §2.3), if the client sent any and it was
    /// accepted. The data remains available after the handshake.
    ///
    /// Returns `None` before the ClientHello has been processed, and if early data is not accepted.
    /// Early data is accepted only if all of these conditions hold:
    ///
    /// - [`ServerConfig::max_early_data_size`] allows it;
    /// - the client resumes the first session that it offers, a TLS 1.3 session from the [session
    ///   storage](ServerConfig::session_storage), for the first time and without delay;
    /// - the cipher suite and the application protocol are those of the session;
    /// - no HelloRetryRequest is needed, and [`reject_early_data`](Self::reject_early_data) was not
    ///   called.
    pub fn early_data(&mut self) -> Option<ReadEarlyData<'_>> {
        match self.inner.driver.data.early_data {
            EarlyDataDecision::Accepted => Some(ReadEarlyData::new(&mut self.inner.driver.common)),
            EarlyDataDecision::Undecided | EarlyDataDecision::Rejected => None,
        }
    }

    /// Rejects early data.
    ///
    /// Call it before the ClientHello is processed, so that the client learns of the rejection. If
    /// early data has already been accepted, the unread part is dropped, and any further early data
    /// ends the connection.
    ///
    /// # Panics
    ///
    /// Panics if the handshake is complete.
    pub fn reject_early_data(&mut self) {
        assert!(
            self.inner.is_handshaking(),
            "early data cannot be rejected after the handshake"
        );
        self.inner.driver.data.early_data = EarlyDataDecision::Rejected;
        self.inner.driver.common.records.drop_early_data();
    }
}

#[cfg(feature = "std")]
impl ServerConnection {
    /// Splits the connection into a sending and a receiving half, like
    /// [`ClientConnection::into_split`](crate::ClientConnection::into_split), which has an example.
    ///
    /// # Errors
    ///
    /// Returns [`IntoSplitError`], which holds the connection, if the handshake is incomplete or
    /// the connection has failed.
    pub fn into_split(
        self,
    ) -> Result<(Sender, Receiver<ServerConnectionData>), IntoSplitError<Self>> {
        match self.inner.driver.common.check_splittable() {
            Ok(()) => Ok(split(self.inner.driver)),
            Err(error) => Err(IntoSplitError::new(self, error)),
        }
    }

    /// True if the connection runs in FIPS-approved mode; see [`ServerConfig::fips`].
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

/// A server connection whose buffers belong to the caller; see [`unbuffered`](crate::unbuffered).
pub struct UnbufferedServerConnection {
    inner: UnbufferedConnectionCommon<ServerConnectionData>,
}

impl UnbufferedServerConnection {
    /// Creates a connection that is waiting for a client.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`], or [`Error::General`] if the verifier's authority
    /// names do not fit into a CertificateRequest or one of them is empty.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: UnbufferedConnectionCommon::new(start(CommonState::new(Side::Server), config)?),
        })
    }
}

impl UnbufferedServerConnection {
    /// Splits the connection like
    /// [`ServerConnection::into_split`](crate::ServerConnection::into_split).
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
    /// Returns the errors of that method.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.inner.dangerous_extract_secrets()
    }

    /// Returns the keys for both directions, for an external record layer, and a connection that
    /// updates the keys.
    ///
    /// This is dangerous; see [`UnbufferedConnectionCommon::dangerous_extract_secrets`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnbufferedConnectionCommon::dangerous_extract_secrets`].
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
