//! Checks of a TLS 1.2 ClientHello that do not depend on the negotiation.

use crate::config::server::ServerConfig;
use crate::enums::{AlertDescription, Compression, ECPointFormat};
use crate::error::{InvalidMessage, PeerIncompatible};
use crate::failure::Failure;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;

/// Runs all checks.
pub(super) fn check_hello(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<(), Failure> {
    let extensions = &hello.extensions;
    // RFC 5246 §7.4.1.2: the null method must be offered; no other is supported
    if !hello.compression_methods.contains(&Compression::Null) {
        return Err(PeerIncompatible::NullCompressionRequired.into());
    }
    if config.require_ems && !extensions.extended_master_secret {
        return Err(PeerIncompatible::ExtendedMasterSecretExtensionRequired.into());
    }
    check_renegotiation_info(extensions)?;
    check_key_exchange(extensions)
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

fn check_key_exchange(extensions: &ClientExtensions<'_>) -> Result<(), Failure> {
    // RFC 5246 §7.4.1.4.1: without the extension, the client only supports SHA-1, which is not used
    // here. TLS 1.2 does not have the alert missing_extension
    if extensions.signature_algorithms.is_none() {
        return Err(Failure::new(
            PeerIncompatible::SignatureAlgorithmsExtensionRequired,
            AlertDescription::HandshakeFailure,
        ));
    }
    // RFC 8422 §5.1.2: uncompressed points must be supported, and no other format is used
    match &extensions.ec_point_formats {
        Some(formats) if !formats.contains(&ECPointFormat::Uncompressed) => {
            Err(PeerIncompatible::UncompressedEcPointsRequired.into())
        }
        _ => Ok(()),
    }
}
