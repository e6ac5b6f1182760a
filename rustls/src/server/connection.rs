//! The connection types of a server.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::{ServerConfig, ServerConnectionData};
#[cfg(feature = "std")]
use crate::conn::ConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::driver::Driver;
use crate::conn::side_data::{Sealed, SideData};
use crate::conn::unbuffered::UnbufferedConnectionCommon;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::Machine;
use crate::handshake::server::ServerHandshake;

impl Sealed for ServerConnectionData {}
impl SideData for ServerConnectionData {}

/// A connection that waits for a ClientHello.
fn start(config: Arc<ServerConfig>) -> Result<Driver<ServerConnectionData>, Error> {
    let mut common = CommonState::new(Side::Server);
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
    config.check()?;
    common
        .records
        .sender
        .set_max_fragment_size(config.max_fragment_size)?;
    Ok(Box::new(ServerHandshake::start(config)?))
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
    /// [`Error::BadMaxFragmentSize`]; [`Error::General`] when the configuration relies on raw public keys,
    /// or names more authorities for client certificates than a CertificateRequest has room for.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: ConnectionCommon::new(start(config)?),
        })
    }

    /// The server name that the client asked for (SNI, RFC 6066 §3), once its ClientHello was
    /// processed; `None` when it sent none.
    pub fn server_name(&self) -> Option<&str> {
        self.inner.driver.data.server_name()
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
    /// [`Error::BadMaxFragmentSize`]; [`Error::General`] when the configuration relies on raw public keys,
    /// or names more authorities for client certificates than a CertificateRequest has room for.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            inner: UnbufferedConnectionCommon::new(start(config)?),
        })
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
