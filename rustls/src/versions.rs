//! Which protocol versions exist, and which of them a configuration enables.
//!
//! The versions themselves are defined in `core`; the handshakes decide what to do with an enabled version.

use core::fmt;

#[cfg(feature = "tls12")]
pub use rustls_core::versions::TLS12;
pub use rustls_core::versions::{SupportedProtocolVersion, TLS13};

use crate::enums::ProtocolVersion;
use crate::error::Error;

/// Every protocol version that this library can name, most preferred first.
pub static ALL_VERSIONS: &[&SupportedProtocolVersion] = &[
    &TLS13,
    #[cfg(feature = "tls12")]
    &TLS12,
];

/// The protocol versions of a configuration that names none, most preferred first.
///
/// A version whose handshake is not there yet is passed over, silently, as long as another one
/// remains: at present that leaves TLS 1.3.
pub static DEFAULT_VERSIONS: &[&SupportedProtocolVersion] = ALL_VERSIONS;

/// The protocol versions of one configuration: those that were asked for and have a handshake.
///
/// There is at least one.
#[derive(Clone, Copy)]
pub(crate) struct EnabledVersions {
    tls13: &'static SupportedProtocolVersion,
}

impl EnabledVersions {
    /// # Errors
    ///
    /// [`Error::General`] when `asked` is empty, or names only versions without a handshake.
    pub(crate) fn new(asked: &[&'static SupportedProtocolVersion]) -> Result<Self, Error> {
        if asked.is_empty() {
            return Err(Error::General("no protocol version is enabled".into()));
        }
        match asked
            .iter()
            .find(|version| version.version == ProtocolVersion::TLSv1_3)
        {
            Some(tls13) => Ok(Self { tls13 }),
            None => Err(Error::General(
                "TLS 1.2 connections are not supported yet: enable TLS 1.3".into(),
            )),
        }
    }

    pub(crate) fn contains(self, version: ProtocolVersion) -> bool {
        self.iter().any(|enabled| enabled == version)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = ProtocolVersion> {
        [self.tls13.version].into_iter()
    }
}

impl fmt::Debug for EnabledVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
