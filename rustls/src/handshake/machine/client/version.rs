//! Checks the version that a ServerHello selects (RFC 9846 §4.2.3, §4.3.1).

use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::client::sent_hello::SentHello;
use crate::handshake::machine::Version;
use crate::handshake::tls13::client::server_hello::check_legacy_version;
use crate::msgs::client_hello::Random;
use crate::msgs::server_hello::ServerHello;

/// Returns the version that the server selects from those in `sent`. RFC 9846 §4.3.1:
/// supported_versions takes precedence over everything else.
pub(super) fn select_version(sent: &SentHello, hello: &ServerHello<'_>) -> Result<Version, Error> {
    let enabled = sent.offer.config.versions;
    match hello.extensions.supported_version {
        // RFC 9846 §4.3: a ClientHello without TLS 1.3 has no supported_versions
        Some(_) if !enabled.contains(ProtocolVersion::TLSv1_3) => {
            Err(PeerMisbehaved::UnsolicitedServerHelloExtension.into())
        }
        Some(ProtocolVersion::TLSv1_3) => {
            check_legacy_version(hello.legacy_version)?;
            Ok(Version::Tls13)
        }
        // RFC 9846 §4.3.1: this extension must not select an older version
        Some(ProtocolVersion::TLSv1_2) => {
            Err(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension.into())
        }
        // RFC 9846 §4.3.1: nor a version that was not offered. The RFC names the alert
        // illegal_parameter, but this error implies protocol_version
        Some(_) => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
        None => select_older_version(sent, hello),
    }
}

/// Returns the version of a server that did not use supported_versions.
fn select_older_version(sent: &SentHello, hello: &ServerHello<'_>) -> Result<Version, Error> {
    let enabled = sent.offer.config.versions;
    // RFC 9846 §4.2.3: the marker shows that a server with TLS 1.3 was downgraded
    if enabled.contains(ProtocolVersion::TLSv1_3) && is_downgrade_marker(&hello.random) {
        return Err(PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into());
    }
    match hello.legacy_version {
        #[cfg(feature = "tls12")]
        ProtocolVersion::TLSv1_2 if enabled.contains(ProtocolVersion::TLSv1_2) => {
            // RFC 9846 §4.2.4: the version of the HelloRetryRequest must not change
            if sent.is_retried() {
                return Err(PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into());
            }
            // RFC 9846 §E.3: a client that offered early data must not continue with an older
            // version
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

/// True if a server's random has a downgrade marker (RFC 9846 §4.2.3), for TLS 1.2 or older
/// versions.
fn is_downgrade_marker(random: &Random) -> bool {
    random.0.ends_with(b"DOWNGRD\x01") || random.0.ends_with(b"DOWNGRD\x00")
}
