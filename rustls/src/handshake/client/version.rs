//! Which version a ServerHello selects (RFC 9846 §4.2.3, §4.3.1).

use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::msgs::client_hello::Random;
use crate::msgs::server_hello::ServerHello;

/// A version that this client offers.
pub(super) enum Version {
    Tls13,
}

/// RFC 9846 §4.3.1: supported_versions decides the version, before anything else is looked at.
pub(super) fn select_version(hello: &ServerHello<'_>) -> Result<Version, Error> {
    match hello.extensions.supported_version {
        Some(ProtocolVersion::TLSv1_3) => {
            check_legacy_version(hello.legacy_version)?;
            Ok(Version::Tls13)
        }
        // RFC 9846 §4.3.1: no older version is selected this way
        Some(ProtocolVersion::TLSv1_2) => {
            Err(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension.into())
        }
        // RFC 9846 §4.3.1: nor one that was not offered. The alert is 0.23's
        Some(_) => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
        None => Err(older_version(hello)),
    }
}

/// The legacy_version of a server that has selected TLS 1.3.
pub(crate) fn check_legacy_version(version: ProtocolVersion) -> Result<(), Error> {
    // RFC 9846 §4.2.3: anything but 0x0303 is a protocol_version
    match version {
        ProtocolVersion::TLSv1_2 => Ok(()),
        _ => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
    }
}

/// The server chose a version before TLS 1.3, none of which was offered.
fn older_version(hello: &ServerHello<'_>) -> Error {
    // RFC 9846 §4.2.3: a server that knows TLS 1.3 must not be downgraded
    if is_downgrade_marker(&hello.random) {
        return PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into();
    }
    match hello.legacy_version {
        ProtocolVersion::TLSv1_2 => PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into(),
        _ => PeerIncompatible::ServerDoesNotSupportTls12Or13.into(),
    }
}

/// Whether a server's random ends as RFC 9846 §4.2.3 says for TLS 1.2, or for older versions.
fn is_downgrade_marker(random: &Random) -> bool {
    random.0.ends_with(b"DOWNGRD\x01") || random.0.ends_with(b"DOWNGRD\x00")
}
