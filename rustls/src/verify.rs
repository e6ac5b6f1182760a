//! The interface of certificate verifiers, for both sides, and the tokens by which they say yes.
//!
//! The verifiers themselves are in [`crate::webpki`], or the application's.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Debug};

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// Says that the signature over a handshake was verified.
#[derive(Debug)]
pub struct HandshakeSignatureValid(());

impl HandshakeSignatureValid {
    /// Asserts that the signature is good. Only a verifier has a reason to.
    pub fn assertion() -> Self {
        Self(())
    }
}

/// Proof that a client's certificate chain was verified.
#[derive(Debug)]
pub struct ClientCertVerified(());

impl ClientCertVerified {
    /// Asserts that the chain is good. Only a [`ClientCertVerifier`] has a reason to.
    pub fn assertion() -> Self {
        Self(())
    }
}

/// Proof that a server's certificate chain was verified.
pub struct ServerCertVerified {
    /// The end of the certificate that expires first, of those on the path that was verified.
    not_after: Option<UnixTime>,
}

impl ServerCertVerified {
    /// Asserts that the chain is good. Only a [`ServerCertVerifier`] has a reason to.
    pub fn assertion() -> Self {
        Self { not_after: None }
    }

    /// Asserts that the chain is good until `not_after`, where that is known.
    pub(crate) fn until(not_after: Option<UnixTime>) -> Self {
        Self { not_after }
    }

    pub(crate) fn not_after(&self) -> Option<UnixTime> {
        self.not_after
    }
}

impl Debug for ServerCertVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerCertVerified").field(&()).finish()
    }
}

/// Decides whether a client accepts the certificate of a server.
///
/// Everything that TLS promises stands on this decision. [`WebPkiServerVerifier`] makes it for
/// servers with certificates of public or private authorities; an implementation of your own needs
/// just as much care.
///
/// Any error ends the connection. The server is told why by an alert: for
/// [`Error::InvalidCertificate`] the one that its content maps to.
///
/// [`WebPkiServerVerifier`]: crate::client::WebPkiServerVerifier
pub trait ServerCertVerifier: Debug + Send + Sync {
    /// The verifier that a handshake which starts now goes by, for one whose rules are replaced while it is in use.
    /// `None`, which is what this returns unless overridden, means this verifier itself.
    ///
    /// A handshake asks once, before anything else. What it gets answers all other questions to the end of that
    /// handshake, whatever is replaced meanwhile, and is itself not asked for another.
    ///
    /// Sessions are resumed only by handshakes that get the same object, since a resumed session verifies no
    /// certificate. So return clones of one `Arc` while nothing changes, and another object once anything
    /// does.
    ///
    /// A verifier that wraps another one, and adds to its rules, must wrap what that one returns here, too.
    fn current_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        None
    }

    /// The schemes that are offered to the server, most preferred first.
    ///
    /// This is what `verify_tls12_signature` and `verify_tls13_signature` together can verify.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme>;

    /// The names of the authorities to offer to the server, in `certificate_authorities` (RFC 9846
    /// §4.3.4). `None` leaves the extension out, and is what this returns unless overridden.
    ///
    /// Few servers choose their certificate by it.
    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        None
    }

    /// True when servers authenticate by a raw public key instead of a certificate (RFC 7250). False
    /// unless overridden.
    ///
    /// The `end_entity` that [`verify_server_cert`](Self::verify_server_cert) and the signature methods get
    /// is then a DER-encoded `SubjectPublicKeyInfo`, without intermediates, and servers that have none are
    /// refused. [`verify_tls13_signature_with_raw_key`](crate::crypto::verify_tls13_signature_with_raw_key)
    /// verifies signatures.
    fn requires_raw_public_keys(&self) -> bool {
        false
    }

    /// Verifies that `end_entity` belongs to the server `server_name` at the time `now`.
    ///
    /// Sessions with the server are resumed without asking again, but not after `end_entity` has expired. The
    /// verifiers of this library know the whole path: there no certificate on it may have expired. A verifier that
    /// accepts an `end_entity` which has expired already sets no such end.
    ///
    /// `intermediates` are the other certificates that the server sent, in its order, which need not
    /// be that of a chain. `ocsp_response` is empty when the server stapled none. None of these has
    /// been parsed before.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCertificate`] with the reason why not. A certificate that cannot be parsed is a
    /// [`CertificateError::BadEncoding`](crate::CertificateError::BadEncoding).
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error>;

    /// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS
    /// 1.3 (RFC 9846 §4.5.2).
    ///
    /// `message` is the content to be signed with its context string, not hashed yet.
    /// [`verify_tls13_signature`](crate::crypto::verify_tls13_signature) does the rest.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or its scheme not one of
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS
    /// 1.2: an ECDSA scheme is not tied to one curve.
    ///
    /// [`verify_tls12_signature`](crate::crypto::verify_tls12_signature) does that.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or its scheme not one of
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;
}

/// Decides whether a server asks clients for a certificate, and accepts what they send.
///
/// Any error ends the connection. The client is told why by an alert: for
/// [`Error::InvalidCertificate`] the one that its content maps to.
pub trait ClientCertVerifier: Debug + Send + Sync {
    /// The verifier that a handshake which starts now goes by, for one whose rules are replaced while it is in use.
    /// `None`, which is what this returns unless overridden, means this verifier itself.
    ///
    /// A handshake asks once, before anything else. What it gets answers all other questions to the end of that
    /// handshake, whatever is replaced meanwhile, and is itself not asked for another. To resume a session is a
    /// handshake, too: the client's certificate is verified again, by what is in force then.
    ///
    /// A verifier that wraps another one, and adds to its rules, must wrap what that one returns here, too.
    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        None
    }

    /// Whether clients are asked for a certificate. True unless overridden.
    fn offer_client_auth(&self) -> bool {
        true
    }

    /// Whether a client that has none is refused. The same as
    /// [`offer_client_auth`](Self::offer_client_auth) unless overridden.
    fn client_auth_mandatory(&self) -> bool {
        self.offer_client_auth()
    }

    /// The schemes that are offered to the client, most preferred first.
    ///
    /// This is what `verify_tls12_signature` and `verify_tls13_signature` together can verify.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme>;

    /// The names of the authorities that a client's certificate may come from, in
    /// `certificate_authorities` (RFC 9846 §4.3.4); empty for no hint.
    ///
    /// Clients with more than one certificate choose by it.
    fn root_hint_subjects(&self) -> &[DistinguishedName];

    /// True when clients authenticate by a raw public key instead of a certificate (RFC 7250). False
    /// unless overridden.
    ///
    /// The `end_entity` that [`verify_client_cert`](Self::verify_client_cert) and the signature methods get
    /// is then a DER-encoded `SubjectPublicKeyInfo`, without intermediates, and clients that have none are
    /// refused. [`verify_tls13_signature_with_raw_key`](crate::crypto::verify_tls13_signature_with_raw_key)
    /// verifies signatures.
    fn requires_raw_public_keys(&self) -> bool {
        false
    }

    /// Verifies that `end_entity` is acceptable at the time `now`.
    ///
    /// `intermediates` are the other certificates that the client sent, in its order, which need not
    /// be that of a chain. None of these has been parsed before.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCertificate`] with the reason why not. A certificate that cannot be parsed is a
    /// [`CertificateError::BadEncoding`](crate::CertificateError::BadEncoding).
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error>;

    /// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS
    /// 1.3 (RFC 9846 §4.5.2).
    ///
    /// `message` is the content to be signed with its context string, not hashed yet.
    /// [`verify_tls13_signature`](crate::crypto::verify_tls13_signature) does the rest.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or its scheme not one of
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS
    /// 1.2: an ECDSA scheme is not tied to one curve.
    ///
    /// [`verify_tls12_signature`](crate::crypto::verify_tls12_signature) does that.
    ///
    /// # Errors
    ///
    /// The signature is wrong, or its scheme not one of
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;
}

/// The [`ClientCertVerifier`] of a server that asks no client for a certificate.
#[derive(Debug)]
pub struct NoClientAuth;

impl ClientCertVerifier for NoClientAuth {
    fn offer_client_auth(&self) -> bool {
        false
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        Vec::new()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    /// An error: a client that was not asked must not send a certificate.
    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Err(not_asked())
    }

    /// An error: a client that was not asked must not send a signature.
    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _signer: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_asked())
    }

    /// An error: a client that was not asked must not send a signature.
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _signer: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_asked())
    }
}

fn not_asked() -> Error {
    Error::General("this server does not ask clients for a certificate".into())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// A server that asks for no certificate believes none that it gets.
    #[test]
    fn who_was_not_asked_is_not_verified() {
        let cert = CertificateDer::from(vec![0x30, 0]);
        let signature = DigitallySignedStruct::new(SignatureScheme::ED25519, vec![7; 64]);
        let now = UnixTime::since_unix_epoch(core::time::Duration::from_secs(1 << 30));
        let verifier = NoClientAuth;
        assert!(!verifier.offer_client_auth() && !verifier.client_auth_mandatory());
        assert!(verifier.supported_verify_schemes().is_empty());
        assert!(verifier.root_hint_subjects().is_empty());
        assert!(verifier.verify_client_cert(&cert, &[], now).is_err());
        for verify in [
            NoClientAuth::verify_tls12_signature,
            NoClientAuth::verify_tls13_signature,
        ] {
            assert!(verify(&verifier, b"message", &cert, &signature).is_err());
        }
    }
}
