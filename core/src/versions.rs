//! The protocol versions that can be enabled.

use core::fmt;

use crate::enums::ProtocolVersion;

/// A protocol version that this library supports. The only values are [`TLS12`] and [`TLS13`].
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub struct SupportedProtocolVersion {
    /// The version's code point.
    pub version: ProtocolVersion,
}

/// TLS 1.2 (RFC 5246).
pub static TLS12: SupportedProtocolVersion = SupportedProtocolVersion {
    version: ProtocolVersion::TLSv1_2,
};

/// TLS 1.3 (RFC 9846).
pub static TLS13: SupportedProtocolVersion = SupportedProtocolVersion {
    version: ProtocolVersion::TLSv1_3,
};

impl fmt::Debug for SupportedProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.version, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_and_print_their_names() {
        assert_eq!(alloc::format!("{TLS12:?} {TLS13:?}"), "TLSv1_2 TLSv1_3");
        assert_eq!(TLS13, TLS13);
        assert_ne!(TLS12, TLS13);
    }
}
