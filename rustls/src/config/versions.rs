//! The protocol versions, and the set that a configuration enables.
//!
//! The versions are defined in `core`; the handshakes act on the enabled set.

use core::fmt;

#[cfg(feature = "tls12")]
pub use rustls_core::versions::TLS12;
pub use rustls_core::versions::{SupportedProtocolVersion, TLS13};

use crate::enums::ProtocolVersion;

/// All protocol versions that this library supports, most preferred first.
pub static ALL_VERSIONS: &[&SupportedProtocolVersion] = &[
    &TLS13,
    #[cfg(feature = "tls12")]
    &TLS12,
];

/// The default protocol versions, most preferred first.
pub static DEFAULT_VERSIONS: &[&SupportedProtocolVersion] = ALL_VERSIONS;

/// The protocol versions of one configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnabledVersions {
    tls13: bool,
    #[cfg(feature = "tls12")]
    tls12: bool,
}

impl EnabledVersions {
    /// Enables the `requested` versions.
    pub(crate) fn new(requested: &[&'static SupportedProtocolVersion]) -> Self {
        let has = |wanted| requested.iter().any(|version| version.version == wanted);
        Self {
            tls13: has(ProtocolVersion::TLSv1_3),
            #[cfg(feature = "tls12")]
            tls12: has(ProtocolVersion::TLSv1_2),
        }
    }

    /// Returns the versions for which `keep` is true.
    pub(crate) fn only(self, keep: impl Fn(ProtocolVersion) -> bool) -> Self {
        Self {
            tls13: self.tls13 && keep(ProtocolVersion::TLSv1_3),
            #[cfg(feature = "tls12")]
            tls12: self.tls12 && keep(ProtocolVersion::TLSv1_2),
        }
    }

    pub(crate) fn contains(self, version: ProtocolVersion) -> bool {
        self.iter().any(|enabled| enabled == version)
    }

    /// Iterates over the enabled versions, most preferred first.
    pub(crate) fn iter(self) -> impl Iterator<Item = ProtocolVersion> {
        [
            self.tls13.then_some(ProtocolVersion::TLSv1_3),
            #[cfg(feature = "tls12")]
            self.tls12.then_some(ProtocolVersion::TLSv1_2),
        ]
        .into_iter()
        .flatten()
    }
}

impl fmt::Debug for EnabledVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
