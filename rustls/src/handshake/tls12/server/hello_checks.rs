//! Checks of a TLS 1.2 ClientHello that do not depend on negotiation.

use crate::config::server::ServerConfig;
use crate::enums::{AlertDescription, ECPointFormat};
use crate::error::{InvalidMessage, PeerIncompatible};
use crate::failure::Failure;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;

/// Runs the TLS 1.2 checks that precede parameter selection.
pub(super) fn check_hello(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<(), Failure> {
    let extensions = &hello.extensions;
    if config.require_ems && !extensions.extended_master_secret {
        return Err(PeerIncompatible::ExtendedMasterSecretExtensionRequired.into());
    }
    check_renegotiation_info(extensions)
}

fn check_renegotiation_info(extensions: &ClientExtensions<'_>) -> Result<(), Failure> {
    match extensions.renegotiation_info {
        None | Some([]) => Ok(()),
        // RFC 5746 §3.6: in an initial handshake it must be empty, or handshake_failure
        Some(_) => Err(Failure::new(
            InvalidMessage::TrailingData("RenegotiationInfo"),
            AlertDescription::HandshakeFailure,
        )),
    }
}

/// Checks ec_point_formats. Called after the suite is selected, so that a rejected connection
/// reports the suite, as in rustls 0.23.
pub(super) fn check_point_formats(
    extensions: &ClientExtensions<'_>,
) -> Result<(), PeerIncompatible> {
    // RFC 8422 §5.1.2: uncompressed points must be supported, and no other format is used
    match &extensions.ec_point_formats {
        Some(formats) if !formats.contains(&ECPointFormat::Uncompressed) => {
            Err(PeerIncompatible::UncompressedEcPointsRequired)
        }
        _ => Ok(()),
    }
}
