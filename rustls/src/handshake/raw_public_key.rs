//! Raw public keys (RFC 7250) instead of certificates.
//!
//! A resolver or a verifier is either for raw public keys or for X.509, never for both. So a client
//! offers only one certificate type for each side, and each side agrees only to the type it is
//! configured for.
//!
//! Raw public keys need TLS 1.3. TLS 1.2 would need a Certificate message in a different format
//! (RFC 7250 §3), and no verifier of this crate checks TLS 1.2 signatures made with raw public
//! keys.

use pki_types::CertificateDer;

use crate::config::settings::ServerSettings;
use crate::config::sign::CertifiedKey;
use crate::enums::{AlertDescription, CertificateType};
use crate::error::{Error, PeerIncompatible};
use crate::failure::Failure;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::encrypted_extensions::EncryptedExtensions;

/// The certificate types that a server selects from a client's offer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CertificateTypes {
    pub(crate) client: Option<CertificateType>,
    pub(crate) server: Option<CertificateType>,
}

impl CertificateTypes {
    /// Selects the types for the server's configuration.
    ///
    /// # Errors
    ///
    /// Returns [`PeerIncompatible::IncorrectCertificateTypeExtension`] if the client does not offer
    /// the type that the server is configured for.
    pub(crate) fn select(
        offered: &ClientExtensions<'_>,
        config: &ServerSettings,
    ) -> Result<Self, PeerIncompatible> {
        let verifier = config.verifier();
        let client = if verifier.offer_client_auth() {
            let offered = offered.client_certificate_type.as_deref();
            select(offered, verifier.requires_raw_public_keys())?
        } else {
            // RFC 7250 §4.2: a server that requests no certificate omits it
            None
        };
        Ok(Self {
            client,
            server: select(
                offered.server_certificate_type.as_deref(),
                config.cert_resolver.only_raw_public_keys(),
            )?,
        })
    }

    /// Checks a server's reply. Returns true if the selected type of the client's certificate is
    /// the one that the client is configured for.
    ///
    /// # Errors
    ///
    /// Returns [`PeerIncompatible::IncorrectCertificateTypeExtension`] if the server selects a type
    /// that the client is not configured for.
    pub(crate) fn check_answer(
        answer: &EncryptedExtensions<'_>,
        client_is_raw: bool,
        server_is_raw: bool,
    ) -> Result<bool, PeerIncompatible> {
        // RFC 9846 §4.5.1: without negotiation the type is X.509
        let is_raw = |selected| selected == Some(CertificateType::RawPublicKey);
        let client = answer.client_certificate_type;
        let client_agrees = is_raw(client) == client_is_raw;
        // RFC 7250 §4.2: a server that requests no certificate omits the client's type
        if is_raw(answer.server_certificate_type) == server_is_raw
            && (client_agrees || client.is_none())
        {
            Ok(client_agrees)
        } else {
            Err(PeerIncompatible::IncorrectCertificateTypeExtension)
        }
    }
}

/// Rejects TLS 1.2 for a server that has or requests raw public keys.
#[cfg(feature = "tls12")]
pub(crate) fn check_tls12_config(config: &ServerSettings) -> Result<(), PeerIncompatible> {
    if config.verifier().requires_raw_public_keys() || config.cert_resolver.only_raw_public_keys() {
        return Err(PeerIncompatible::IncorrectCertificateTypeExtension);
    }
    Ok(())
}

fn select(
    offered: Option<&[CertificateType]>,
    is_raw: bool,
) -> Result<Option<CertificateType>, PeerIncompatible> {
    use CertificateType::{RawPublicKey, X509};

    match (offered, is_raw) {
        (Some(offered), true) if offered.contains(&RawPublicKey) => Ok(Some(RawPublicKey)),
        (Some(offered), false) if offered.contains(&X509) => Ok(Some(X509)),
        // RFC 9846 §4.5.1: X.509 is the default without the extension
        (None, false) => Ok(None),
        // RFC 7250 §4.2: no common type is an unsupported_certificate, even if all offered types
        // are unknown
        _ => Err(PeerIncompatible::IncorrectCertificateTypeExtension),
    }
}

/// Returns the entries of the Certificate to send: a raw public key or the whole chain.
pub(crate) fn sent_chain(certified_key: &CertifiedKey, is_raw: bool) -> &[CertificateDer<'static>] {
    match certified_key.cert.as_slice() {
        // RFC 9846 §4.5.1: a raw public key is the only entry
        [key, ..] if is_raw => core::slice::from_ref(key),
        chain => chain,
    }
}

/// Checks the number of entries in a received Certificate. `is_raw` is true if a raw public key is
/// expected.
pub(crate) fn check_received(
    certificate: &CertificateMsg<'_>,
    is_raw: bool,
) -> Result<(), Failure> {
    // RFC 9846 §4.5.1: a raw public key is the only entry
    if is_raw && certificate.entries.len() > 1 {
        return Err(Failure::new(
            Error::General("a raw public key is followed by more certificates".into()),
            AlertDescription::IllegalParameter,
        ));
    }
    Ok(())
}
