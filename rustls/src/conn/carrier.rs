//! What carries a handshake, as far as its messages differ for that: records over a stream (RFC 9846 §5), or QUIC
//! (RFC 9001).
//!
//! A handshake asks here. Where its bytes and keys go is [`transport`](super::transport)'s.

use crate::enums::{ExtensionType, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::Failure;
use crate::msgs::client_hello::SessionId;
use crate::quic::Version;
use crate::suites::SupportedCipherSuite;
use crate::versions::EnabledVersions;

/// What carries a handshake. It is the same from the first message to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Records,
    Quic(QuicVersion),
}

/// A [`Version`] of QUIC, as far as it matters to the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuicVersion {
    V1Draft,
    V1,
    V2,
}

impl From<Version> for QuicVersion {
    fn from(version: Version) -> Self {
        match version {
            Version::V1Draft => Self::V1Draft,
            Version::V2 => Self::V2,
            _ => Self::V1,
        }
    }
}

impl Carrier {
    /// Those of the `enabled` versions that it can carry.
    pub(crate) fn versions(self, enabled: EnabledVersions) -> EnabledVersions {
        match self {
            Self::Records => enabled,
            // RFC 9001 §4.2: no version older than TLS 1.3
            Self::Quic(_) => enabled.only(|version| version == ProtocolVersion::TLSv1_3),
        }
    }

    /// What is wrong with a ClientHello that offers no TLS 1.3, if that is the only version here.
    pub(crate) fn missing_tls13(self) -> PeerIncompatible {
        match self {
            Self::Records => PeerIncompatible::SupportedVersionsExtensionRequired,
            Self::Quic(_) => PeerIncompatible::Tls13RequiredForQuic,
        }
    }

    /// Whether it can be protected with `suite`.
    pub(crate) fn can_use(self, suite: &SupportedCipherSuite) -> bool {
        match self {
            Self::Records => true,
            Self::Quic(_) => suite.tls13().is_some_and(|suite| suite.quic.is_some()),
        }
    }

    /// Whether there are middleboxes to look like TLS 1.2 for: RFC 9846 §E.4, and RFC 9001 §8.4, which forbids it.
    pub(crate) fn has_compatibility_mode(self) -> bool {
        self == Self::Records
    }

    /// Whether EndOfEarlyData separates early data from the handshake, so that the keys for a client's handshake
    /// messages wait for it. RFC 9001 §8.3: packets say what they are, and the message must not be sent.
    pub(crate) fn has_end_of_early_data(self) -> bool {
        self == Self::Records
    }

    /// Whether keys are replaced by KeyUpdate. RFC 9001 §6: packets say so, and the message is an
    /// unexpected_message.
    pub(crate) fn has_key_update(self) -> bool {
        self == Self::Records
    }

    /// The failure of a CertificateRequest that came after the handshake, as `unexpected`.
    pub(crate) fn refuse_late_request(self, unexpected: Failure) -> Failure {
        match self {
            Self::Records => unexpected,
            // RFC 9001 §4.4: a PROTOCOL_VIOLATION
            Self::Quic(_) => Failure::without_alert(unexpected.error),
        }
    }

    /// Whether a handshake may go on without an application protocol, when one side names some and the other does
    /// not.
    pub(crate) fn goes_without_protocol(self, client_names: bool, server_names: bool) -> bool {
        match self {
            Self::Records => !client_names || !server_names,
            // RFC 9001 §8.1: without one it is a no_application_protocol. If neither side uses ALPN, they have
            // another mechanism to agree on one
            Self::Quic(_) => !client_names && !server_names,
        }
    }

    /// The extension that has transport parameters, if there are any.
    pub(crate) fn parameters_extension(self) -> Option<ExtensionType> {
        match self {
            Self::Records => None,
            Self::Quic(QuicVersion::V1Draft) => Some(ExtensionType::QuicTransportParametersDraft),
            // RFC 9001 §8.2; RFC 9369 §3 changes nothing about it
            Self::Quic(_) => Some(ExtensionType::QuicTransportParameters),
        }
    }

    /// Whether a session that was made on a connection over `other` may be resumed.
    pub(crate) fn goes_with_session_of(self, other: Self) -> bool {
        match (self, other) {
            // RFC 9369 §5: a ticket belongs to the version of QUIC that it came by, on both sides
            (Self::Quic(version), Self::Quic(other)) => version == other,
            _ => true,
        }
    }

    /// As a session names it.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Records => 0,
            Self::Quic(QuicVersion::V1) => 1,
            Self::Quic(QuicVersion::V2) => 2,
            Self::Quic(QuicVersion::V1Draft) => 29,
        }
    }

    /// Which one [`Self::to_byte`] has named.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Records),
            1 => Some(Self::Quic(QuicVersion::V1)),
            2 => Some(Self::Quic(QuicVersion::V2)),
            29 => Some(Self::Quic(QuicVersion::V1Draft)),
            _ => None,
        }
    }

    /// Whether early data may go with a session that was made on a connection over `other`.
    pub(crate) fn allows_early_data_of(self, other: Self) -> bool {
        // RFC 9000 §7.4.1, RFC 9001 §4.6.1: over QUIC it goes by transport parameters that are remembered, and by a
        // ticket that says so in a way of its own; sessions made over records have neither
        self == other
    }

    /// Checks how many bytes of early data a server says it allows with a ticket.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::InvalidMaxEarlyDataSize`].
    pub(crate) fn check_early_data_size(self, size: u32) -> Result<(), Failure> {
        match (self, size) {
            (Self::Records, _) | (Self::Quic(_), u32::MAX) => Ok(()),
            // RFC 9001 §4.6.1: QUIC limits early data by itself. Anything else is a PROTOCOL_VIOLATION
            _ => Err(Failure::without_alert(
                PeerMisbehaved::InvalidMaxEarlyDataSize,
            )),
        }
    }

    /// Checks the legacy_session_id of a ClientHello.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when there must be none.
    pub(crate) fn check_session_id(self, session_id: SessionId) -> Result<(), Failure> {
        if self.has_compatibility_mode() || session_id.is_empty() {
            return Ok(());
        }
        // RFC 9001 §8.4: a PROTOCOL_VIOLATION. 0.23 does not look at it, and has no error for it
        Err(Failure::without_alert(Error::General(
            "a ClientHello over QUIC has a legacy_session_id".into(),
        )))
    }

    /// Checks that a configuration with these versions and cipher suites can be used.
    ///
    /// # Errors
    ///
    /// [`Error::General`].
    pub(crate) fn check_config(
        self,
        versions: EnabledVersions,
        suites: &[SupportedCipherSuite],
    ) -> Result<(), Error> {
        if self == Self::Records {
            // whoever built the configuration has checked it
            return Ok(());
        }
        if !versions.contains(ProtocolVersion::TLSv1_3) {
            return Err(Error::General(
                "TLS 1.3 support is required for QUIC".into(),
            ));
        }
        if !suites.iter().any(|suite| self.can_use(suite)) {
            return Err(Error::General(
                "at least one ciphersuite must support QUIC".into(),
            ));
        }
        Ok(())
    }
}
