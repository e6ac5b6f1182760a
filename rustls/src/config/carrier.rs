//! The carrier of a handshake: records over a stream (RFC 9846 §5), or QUIC (RFC 9001).
//!
//! It determines how the handshake differs between the two. `handshake::transport` carries the
//! bytes and installs the keys.

use rustls_core::quic::Version;

use crate::config::versions::EnabledVersions;
use crate::enums::{AlertDescription, ExtensionType, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::failure::Failure;
use crate::msgs::client_hello::SessionId;
use crate::msgs::transport_parameters::TransportParameters;
use crate::suites::SupportedCipherSuite;

/// The carrier of a handshake, the same from the first message to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeCarrier {
    Records,
    Quic(QuicVersion),
}

/// An exhaustive form of the QUIC [`Version`].
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

impl HandshakeCarrier {
    /// Returns the `enabled` versions that the carrier supports.
    pub(crate) fn versions(self, enabled: EnabledVersions) -> EnabledVersions {
        match self {
            Self::Records => enabled,
            // RFC 9001 §4.2: no version older than TLS 1.3
            Self::Quic(_) => enabled.only(|version| version == ProtocolVersion::TLSv1_3),
        }
    }

    /// Returns the error for a ClientHello without supported_versions, if the server supports only
    /// TLS 1.3 over this carrier.
    pub(crate) fn missing_tls13(self) -> PeerIncompatible {
        match self {
            Self::Records => PeerIncompatible::SupportedVersionsExtensionRequired,
            Self::Quic(_) => PeerIncompatible::Tls13RequiredForQuic,
        }
    }

    /// True if `suite` can be used over this carrier.
    pub(crate) fn can_use(self, suite: &SupportedCipherSuite) -> bool {
        match self {
            Self::Records => true,
            Self::Quic(_) => suite.tls13().is_some_and(|suite| suite.quic.is_some()),
        }
    }

    /// True if the handshake imitates TLS 1.2 for middleboxes (RFC 9846 §E.4), which RFC 9001 §8.4
    /// forbids in QUIC.
    pub(crate) fn has_compatibility_mode(self) -> bool {
        self == Self::Records
    }

    /// True if EndOfEarlyData separates early data from the handshake, so that the keys for the
    /// client's handshake messages are installed only after it. In QUIC, the packet type separates
    /// them, and the message is forbidden (RFC 9001 §8.3).
    pub(crate) fn has_end_of_early_data(self) -> bool {
        self == Self::Records
    }

    /// True if KeyUpdate replaces keys. QUIC replaces its keys itself, and answers a KeyUpdate with
    /// unexpected_message (RFC 9001 §6).
    pub(crate) fn has_key_update(self) -> bool {
        self == Self::Records
    }

    /// Returns the failure for a CertificateRequest after the handshake: `unexpected`, without an
    /// alert in QUIC.
    pub(crate) fn refuse_late_request(self, unexpected: Failure) -> Failure {
        match self {
            Self::Records => unexpected,
            // RFC 9001 §4.4: a PROTOCOL_VIOLATION
            Self::Quic(_) => Failure::without_alert(unexpected.error),
        }
    }

    /// True if a handshake may continue without an application protocol.
    pub(crate) fn allows_no_protocol(self, client_names: bool, server_names: bool) -> bool {
        match self {
            Self::Records => !client_names || !server_names,
            // RFC 9001 §8.1: a missing protocol is a no_application_protocol. If neither side uses
            // ALPN, they must agree on a protocol by other means
            Self::Quic(_) => !client_names && !server_names,
        }
    }

    /// Returns the extension that carries transport parameters, if there is one.
    pub(crate) fn parameters_extension(self) -> Option<ExtensionType> {
        match self {
            Self::Records => None,
            Self::Quic(QuicVersion::V1Draft) => Some(ExtensionType::QuicTransportParametersDraft),
            // RFC 9001 §8.2; unchanged by RFC 9369 §3
            Self::Quic(_) => Some(ExtensionType::QuicTransportParameters),
        }
    }

    /// Checks that the peer has sent transport parameters over QUIC, and none over records. Over
    /// records, those of QUIC drafts are ignored.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::MissingQuicTransportParameters`] if there are none over QUIC (RFC
    /// 9001 §8.2), and [`Error::General`] if there are any over records.
    pub(crate) fn check_peer_parameters(
        self,
        received: &TransportParameters<'_>,
    ) -> Result<(), Failure> {
        match self.parameters_extension() {
            Some(typ) if received.get(typ).is_some() => Ok(()),
            // RFC 9001 §8.2: a missing_extension
            Some(_) => Err(PeerMisbehaved::MissingQuicTransportParameters.into()),
            // only this code point is reserved for QUIC. The one used by QUIC drafts is unassigned,
            // so it is ignored like any unknown extension
            None if received
                .get(ExtensionType::QuicTransportParameters)
                .is_none() =>
            {
                Ok(())
            }
            // RFC 9001 §8.2: an unsupported_extension. `PeerMisbehaved` has no variant for it
            None => Err(Failure::new(
                Error::General("QUIC's transport parameters came over TLS records".into()),
                AlertDescription::UnsupportedExtension,
            )),
        }
    }

    /// True if a session that was created over `other` may be resumed.
    pub(crate) fn accepts_session_over(self, other: Self) -> bool {
        match (self, other) {
            // RFC 9369 §5: a ticket is only valid for the QUIC version that it was received in
            (Self::Quic(version), Self::Quic(other)) => version == other,
            _ => true,
        }
    }

    /// Returns the value that is stored in sessions.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Records => 0,
            Self::Quic(QuicVersion::V1) => 1,
            Self::Quic(QuicVersion::V2) => 2,
            Self::Quic(QuicVersion::V1Draft) => 29,
        }
    }

    /// Returns the carrier for a value of [`Self::to_byte`].
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Records),
            1 => Some(Self::Quic(QuicVersion::V1)),
            2 => Some(Self::Quic(QuicVersion::V2)),
            29 => Some(Self::Quic(QuicVersion::V1Draft)),
            _ => None,
        }
    }

    /// True if a session that was created over `other` allows early data.
    pub(crate) fn allows_early_data_of(self, other: Self) -> bool {
        // RFC 9000 §7.4.1, RFC 9001 §4.6.1: QUIC limits early data by remembered transport
        // parameters, and marks tickets in its own way; sessions created over records have neither
        self == other
    }

    /// Checks the number of early data bytes that a server's configuration allows.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] over QUIC for values other than 0 and 2³² - 1.
    pub(crate) fn check_max_early_data_size(self, size: u32) -> Result<(), Error> {
        match (self, size) {
            (Self::Records, _) | (Self::Quic(_), 0 | u32::MAX) => Ok(()),
            // RFC 9001 §4.6.1: QUIC limits early data itself
            _ => Err(Error::General(
                "QUIC sessions must set a max early data of 0 or 2^32-1".into(),
            )),
        }
    }

    /// Checks the number of early data bytes that a server's ticket allows.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::InvalidMaxEarlyDataSize`] over QUIC for values other than 2³² - 1.
    pub(crate) fn check_early_data_size(self, size: u32) -> Result<(), Failure> {
        match (self, size) {
            (Self::Records, _) | (Self::Quic(_), u32::MAX) => Ok(()),
            // RFC 9001 §4.6.1: QUIC limits early data itself. Other values are a PROTOCOL_VIOLATION
            _ => Err(Failure::without_alert(
                PeerMisbehaved::InvalidMaxEarlyDataSize,
            )),
        }
    }

    /// Checks the legacy_session_id of a ClientHello.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if it must be empty and is not.
    pub(crate) fn check_session_id(self, session_id: SessionId) -> Result<(), Failure> {
        if self.has_compatibility_mode() || session_id.is_empty() {
            return Ok(());
        }
        // RFC 9001 §8.4: a PROTOCOL_VIOLATION. `PeerMisbehaved` has no variant for it
        Err(Failure::without_alert(Error::General(
            "a ClientHello over QUIC has a legacy_session_id".into(),
        )))
    }

    /// Checks that the carrier supports a configuration with these versions and cipher suites.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] over QUIC without TLS 1.3, or without a suite for QUIC.
    pub(crate) fn check_config(
        self,
        versions: EnabledVersions,
        suites: &[SupportedCipherSuite],
    ) -> Result<(), Error> {
        if self == Self::Records {
            // the builder has already checked it
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
