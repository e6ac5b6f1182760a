//! Raw public keys (RFC 7250) in the place of certificates.
//!
//! A resolver or a verifier is for raw public keys or for X.509, and never takes one for the other. So a
//! client offers one kind at a time, and what is agreed on is what each side is configured for.
//!
//! They are for TLS 1.3. In TLS 1.2 they would stand in a Certificate of another form (RFC 7250 §3), and no
//! verifier of this crate reads signatures by them there.

use pki_types::CertificateDer;

use crate::enums::{AlertDescription, CertificateType};
use crate::error::{Error, PeerIncompatible};
use crate::handshake::Failure;
use crate::handshake::settings::ServerSettings;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::sign::CertifiedKey;

/// What a server answers to the kinds that a client offers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CertificateTypes {
    pub(crate) client: Option<CertificateType>,
    pub(crate) server: Option<CertificateType>,
}

impl CertificateTypes {
    /// # Errors
    ///
    /// [`PeerIncompatible::IncorrectCertificateTypeExtension`] when the client does not offer the kind that
    /// the server is configured for.
    pub(crate) fn select(
        offered: &ClientExtensions<'_>,
        config: &ServerSettings,
    ) -> Result<Self, PeerIncompatible> {
        let verifier = config.verifier();
        let client = if verifier.offer_client_auth() {
            let offered = offered.client_certificate_type.as_deref();
            select(offered, verifier.requires_raw_public_keys())?
        } else {
            // RFC 7250 §4.2: left out by a server that asks for no certificate
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

    /// Checks a server's answer. Returns whether the client has the kind of certificate that it may be asked for.
    ///
    /// # Errors
    ///
    /// [`PeerIncompatible::IncorrectCertificateTypeExtension`] when it is not what the client is configured for.
    pub(crate) fn check_answer(
        answer: &EncryptedExtensions<'_>,
        client_is_raw: bool,
        server_is_raw: bool,
    ) -> Result<bool, PeerIncompatible> {
        // RFC 9846 §4.5.1: a kind that is not negotiated is X.509
        let is_raw = |selected| selected == Some(CertificateType::RawPublicKey);
        let client = answer.client_certificate_type;
        let client_agrees = is_raw(client) == client_is_raw;
        // RFC 7250 §4.2: a server that asks for no certificate leaves the client's kind out
        if is_raw(answer.server_certificate_type) == server_is_raw
            && (client_agrees || client.is_none())
        {
            Ok(client_agrees)
        } else {
            Err(PeerIncompatible::IncorrectCertificateTypeExtension)
        }
    }
}

/// Refuses TLS 1.2 for a server that has, or asks for, raw public keys, and for a client that takes nothing
/// else.
#[cfg(feature = "tls12")]
pub(crate) fn check_tls12_offer(
    offered: &ClientExtensions<'_>,
    config: &ServerSettings,
) -> Result<(), PeerIncompatible> {
    if config.verifier().requires_raw_public_keys() || config.cert_resolver.only_raw_public_keys() {
        return Err(PeerIncompatible::IncorrectCertificateTypeExtension);
    }
    // what is selected is X.509, which needs no answer
    CertificateTypes::select(offered, config).map(|_| ())
}

fn select(
    offered: Option<&[CertificateType]>,
    is_raw: bool,
) -> Result<Option<CertificateType>, PeerIncompatible> {
    use CertificateType::{RawPublicKey, X509};

    match (offered, is_raw) {
        (Some(offered), true) if offered.contains(&RawPublicKey) => Ok(Some(RawPublicKey)),
        (Some(offered), false) if offered.contains(&X509) => Ok(Some(X509)),
        // RFC 9846 §4.5.1: X.509 is what counts without the extension
        (None, false) => Ok(None),
        // RFC 7250 §4.2: no kind in common is an unsupported_certificate, also where none is known
        _ => Err(PeerIncompatible::IncorrectCertificateTypeExtension),
    }
}

/// What a side that sends raw public keys, or certificates, puts into its Certificate.
pub(crate) fn sent_chain(certified_key: &CertifiedKey, is_raw: bool) -> &[CertificateDer<'static>] {
    match certified_key.cert.as_slice() {
        // RFC 9846 §4.5.1: a raw public key is the only entry
        [key, ..] if is_raw => core::slice::from_ref(key),
        chain => chain,
    }
}

/// Checks the form of a Certificate in which a raw public key, or a chain, is expected.
pub(crate) fn check_received(
    certificate: &CertificateMsg<'_>,
    is_raw: bool,
) -> Result<(), Failure> {
    // RFC 9846 §4.5.1: a raw public key is the only entry. 0.23 has no error for it
    if is_raw && certificate.entries.len() > 1 {
        return Err(Failure::new(
            Error::General("a raw public key is followed by more certificates".into()),
            AlertDescription::IllegalParameter,
        ));
    }
    Ok(())
}
