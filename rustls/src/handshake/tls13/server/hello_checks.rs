//! Checks of a TLS 1.3 ClientHello that do not depend on negotiation.

use alloc::vec::Vec;

use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::tls13::certificate_compression::check_offer;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::extensions::KeyShareEntry;

/// Checks the legacy_version, whose value is fixed in TLS 1.3.
pub(super) fn check_legacy_version(hello: &ClientHello<'_>) -> Result<(), PeerIncompatible> {
    // RFC 9846 §4.2.2: any other legacy_version is a protocol_version alert
    match hello.legacy_version {
        ProtocolVersion::TLSv1_2 => Ok(()),
        _ => Err(PeerIncompatible::Tls12NotOffered),
    }
}

/// Runs the checks that follow the selection of the suite, so that a rejected connection reports
/// the suite, as in rustls 0.23.
pub(super) fn check_hello(hello: &ClientHello<'_>) -> Result<(), Error> {
    // RFC 9846 §4.2.2: only null compression, or illegal_parameter. The null method is there
    if hello.compression_methods.len() != 1 {
        return Err(PeerMisbehaved::OfferedIncorrectCompressions.into());
    }
    check_key_shares(&hello.extensions)?;
    check_pre_shared_keys(&hello.extensions)?;
    check_offer(hello.extensions.compress_certificate.as_deref())?;
    Ok(())
}

/// Checks key_share. It is mandatory here, because PSKs without a key exchange are not supported.
fn check_key_shares(extensions: &ClientExtensions<'_>) -> Result<(), Error> {
    match &extensions.key_shares {
        None => Err(PeerIncompatible::KeyShareExtensionRequired.into()),
        // RFC 9846 §4.3.8: one share for each group. The server chooses from supported_groups, so
        // it does not check that the shares match that list
        Some(shares) if has_duplicate_group(shares) => {
            Err(PeerMisbehaved::OfferedDuplicateKeyShares.into())
        }
        Some(_) => Ok(()),
    }
}

fn has_duplicate_group(shares: &[KeyShareEntry<'_>]) -> bool {
    // clients send few shares, but a hostile list of thousands must not be compared pairwise
    if shares.len() <= 8 {
        return shares
            .iter()
            .enumerate()
            .any(|(i, share)| shares[..i].iter().any(|other| other.group == share.group));
    }
    let mut groups: Vec<_> = shares.iter().map(|share| u16::from(share.group)).collect();
    groups.sort_unstable();
    groups.windows(2).any(|pair| pair[0] == pair[1])
}

/// Checks pre_shared_key, even if no session is resumed. Decoding has checked that it comes last.
fn check_pre_shared_keys(extensions: &ClientExtensions<'_>) -> Result<(), PeerMisbehaved> {
    let Some(offered) = &extensions.pre_shared_key else {
        return Ok(());
    };
    // RFC 9846 §4.3.9: pre_shared_key without psk_key_exchange_modes aborts the handshake
    if extensions.psk_key_exchange_modes.is_none() {
        return Err(PeerMisbehaved::MissingPskModesExtension);
    }
    // RFC 9846 §4.3.11: one binder for each identity
    if offered.identities.len() != offered.binders.len() {
        return Err(PeerMisbehaved::PskExtensionWithMismatchedIdsAndBinders);
    }
    Ok(())
}
