//! Which version a ServerHello selects (RFC 9846 §4.2.3, §4.3.1).

use super::sent_hello::SentHello;
use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::msgs::client_hello::Random;
use crate::msgs::server_hello::ServerHello;

/// The version of a handshake.
pub(super) enum Version {
    Tls13,
    #[cfg(feature = "tls12")]
    Tls12,
}

/// Which of the versions that `sent` offers the server selects. RFC 9846 §4.3.1: supported_versions decides,
/// before anything else is looked at.
pub(super) fn select_version(sent: &SentHello, hello: &ServerHello<'_>) -> Result<Version, Error> {
    let enabled = sent.offer.config.versions;
    match hello.extensions.supported_version {
        // RFC 9846 §4.3: a ClientHello without TLS 1.3 does not have the extension
        Some(_) if !enabled.contains(ProtocolVersion::TLSv1_3) => {
            Err(PeerMisbehaved::UnsolicitedServerHelloExtension.into())
        }
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
        None => select_older_version(sent, hello),
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

/// The server chose a version before TLS 1.3.
fn select_older_version(sent: &SentHello, hello: &ServerHello<'_>) -> Result<Version, Error> {
    let enabled = sent.offer.config.versions;
    // RFC 9846 §4.2.3: a server that knows TLS 1.3 must not be downgraded
    if enabled.contains(ProtocolVersion::TLSv1_3) && is_downgrade_marker(&hello.random) {
        return Err(PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into());
    }
    match hello.legacy_version {
        #[cfg(feature = "tls12")]
        ProtocolVersion::TLSv1_2 if enabled.contains(ProtocolVersion::TLSv1_2) => {
            // RFC 9846 §4.2.4: the version of the HelloRetryRequest stands
            if sent.is_retried() {
                return Err(PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into());
            }
            // RFC 9846 §E.3: early data ends a connection with an older server
            if sent.session.as_ref().is_some_and(|it| it.with_early_data) {
                return Err(PeerMisbehaved::OfferedEarlyDataWithOldProtocolVersion.into());
            }
            Ok(Version::Tls12)
        }
        ProtocolVersion::TLSv1_2 => {
            Err(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into())
        }
        _ => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
    }
}

/// Whether a server's random ends as RFC 9846 §4.2.3 says for TLS 1.2, or for older versions.
fn is_downgrade_marker(random: &Random) -> bool {
    random.0.ends_with(b"DOWNGRD\x01") || random.0.ends_with(b"DOWNGRD\x00")
}
