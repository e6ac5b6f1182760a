//! Checks on a ClientHello for TLS 1.2 that do not depend on what is negotiated.

use crate::enums::{AlertDescription, Compression, ECPointFormat};
use crate::error::{InvalidMessage, PeerIncompatible};
use crate::handshake::Failure;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::server::ServerConfig;

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
    // RFC 5246 §7.4.1.4.1: a client that does not send it means SHA-1, which nothing here signs with. The alert
    // of TLS 1.3 is unknown here
    if extensions.signature_algorithms.is_none() {
        return Err(Failure::new(
            PeerIncompatible::SignatureAlgorithmsExtensionRequired,
            AlertDescription::HandshakeFailure,
        ));
    }
    // RFC 8422 §5.1.2: uncompressed points must be among the formats, and no other is used
    match &extensions.ec_point_formats {
        Some(formats) if !formats.contains(&ECPointFormat::Uncompressed) => {
            Err(PeerIncompatible::UncompressedEcPointsRequired.into())
        }
        _ => Ok(()),
    }
}
