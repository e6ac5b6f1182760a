//! The interface of certificate verifiers for both sides, and the proofs that they return.
//!
//! The implementations are in [`crate::config::webpki`], or in the application.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
#[cfg(feature = "std")]
use core::panic::AssertUnwindSafe;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_core::operation::BoxFuture;

pub use crate::certificates::VerifierRules;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// Proof that a handshake signature was verified.
#[derive(Debug)]
pub struct HandshakeSignatureValid(());

impl HandshakeSignatureValid {
    /// Asserts that the signature is valid. Only a verifier should call this.
    pub fn assertion() -> Self {
        Self(())
    }
}

/// Proof that a client's certificate chain was verified.
pub struct ClientCertVerified(pub(crate) Proof);

impl ClientCertVerified {
    /// Asserts that the chain is valid. Only a [`ClientCertVerifier`] should call this.
    pub fn assertion() -> Self {
        Self(Proof::default())
    }

    /// Asserts that the chain is valid now, and that all verifiers with these `rules` accept it at
    /// any time from now until `until`, exclusive. Only a [`ClientCertVerifier`] should call this.
    ///
    /// Later handshakes then need not verify the chain again, as
    /// [`rules`](ClientCertVerifier::rules) describes. `until` is the first time at which the
    /// verdict may change. A time that is not in the future asserts nothing beyond this handshake.
    pub fn assertion_until(rules: VerifierRules, until: UnixTime) -> Self {
        Self(Proof::new(Some(rules), until))
    }

    /// Replaces the rules, for a verifier that wraps another verifier and adds its own rules. The
    /// time until which the proof holds does not change. Has no effect if the proof has no rules.
    pub fn with_rules(self, rules: VerifierRules) -> Self {
        Self(self.0.with_rules(rules))
    }
}

impl Debug for ClientCertVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientCertVerified").field(&()).finish()
    }
}

/// Proof that a server's certificate chain was verified.
pub struct ServerCertVerified(pub(crate) Proof);

impl ServerCertVerified {
    /// Asserts that the chain is valid. Only a [`ServerCertVerifier`] should call this.
    pub fn assertion() -> Self {
        Self(Proof::default())
    }

    /// Asserts that the chain is valid now, and that all verifiers with these `rules` accept it at
    /// any time from now until `until`, exclusive, for the names that the certificate is valid for.
    /// Only a [`ServerCertVerifier`] should call this.
    ///
    /// Later handshakes then need not verify the chain again, as
    /// [`rules`](ServerCertVerifier::rules) describes, and sessions with the server end at `until`
    /// at the latest. `until` is the first time at which the verdict may change. A time that is not
    /// in the future asserts nothing beyond this handshake.
    pub fn assertion_until(rules: VerifierRules, until: UnixTime) -> Self {
        Self(Proof::new(Some(rules), until))
    }

    /// Replaces the rules, for a verifier that wraps another verifier and adds its own rules. The
    /// time until which the proof holds does not change. Has no effect if the proof has no rules.
    pub fn with_rules(self, rules: VerifierRules) -> Self {
        Self(self.0.with_rules(rules))
    }
}

impl Debug for ServerCertVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerCertVerified").field(&()).finish()
    }
}

/// The part of a verdict that outlives the handshake.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// The rules under which the chain was accepted, if the verifier states any.
    rules: Option<StatedRules>,
    /// The first time when the verdict may change, if the verifier knows it.
    pub(crate) until: Option<UnixTime>,
}

/// The rules in a [`Proof`], as its verifier stated them.
#[derive(Debug)]
enum StatedRules {
    Digest(VerifierRules),
    /// The rules of a verifier of this crate, which may not be digested yet. They are not needed if
    /// a wrapper without rules returns the proof.
    #[cfg(feature = "std")]
    Lazy(AssertUnwindSafe<Arc<dyn DigestsRules>>),
}

/// Rules that are digested when they are first needed, because hashing their inputs is slow.
#[cfg(feature = "std")]
pub(crate) trait DigestsRules: Debug + Send + Sync {
    /// Returns the digest, which is computed on the first call. Returns `None` if the crypto
    /// provider has no SHA-2 hash function, or one that returns wrong results.
    fn digest(&self) -> Option<VerifierRules>;
}

impl Proof {
    pub(crate) fn new(rules: Option<VerifierRules>, until: UnixTime) -> Self {
        Self {
            rules: rules.map(StatedRules::Digest),
            until: Some(until),
        }
    }

    /// Creates a proof with `rules`, which are digested when they are first needed.
    #[cfg(feature = "std")]
    pub(crate) fn by(rules: Arc<dyn DigestsRules>, until: UnixTime) -> Self {
        Self {
            rules: Some(StatedRules::Lazy(AssertUnwindSafe(rules))),
            until: Some(until),
        }
    }

    /// Returns the rules under which the chain was accepted. Returns `None` if the verifier states
    /// none, or cannot digest them.
    pub(crate) fn rules(&self) -> Option<VerifierRules> {
        match self.rules.as_ref()? {
            StatedRules::Digest(rules) => Some(*rules),
            #[cfg(feature = "std")]
            StatedRules::Lazy(rules) => rules.digest(),
        }
    }

    /// Replaces the rules, if the proof has any.
    fn with_rules(self, rules: VerifierRules) -> Self {
        Self {
            rules: self.rules().map(|_| StatedRules::Digest(rules)),
            ..self
        }
    }

    /// Returns the time until which the proof is valid; `None` if the proof has no rules.
    #[cfg(test)]
    pub(crate) fn until(&self) -> Option<UnixTime> {
        self.rules().and(self.until)
    }
}

/// Decides whether a client accepts the certificate of a server.
///
/// The security of TLS rests on this decision. [`WebPkiServerVerifier`] makes it for servers with
/// certificates of public or private authorities. A custom implementation needs the same care.
///
/// Any error ends the connection with an alert. [`Error::InvalidCertificate`] selects the alert by
/// its content.
///
/// [`WebPkiServerVerifier`]: crate::client::WebPkiServerVerifier
pub trait ServerCertVerifier: Debug + Send + Sync {
    /// Returns the verifier for a handshake that starts now. Verifiers whose rules can be replaced
    /// at run time override this. The default, `None`, selects this verifier itself.
    ///
    /// A handshake calls this once, before any other method. It uses the returned verifier until it
    /// ends, even if the rules are replaced in the meantime. It does not call `current_verifier` on
    /// the returned verifier.
    ///
    /// A resumption verifies no certificate, so a session is resumed only by handshakes with the
    /// same verifier object. Return clones of one `Arc` until a rule changes, and a new object
    /// after that.
    ///
    /// A verifier that wraps another verifier and adds rules must also wrap the verifier returned
    /// here.
    fn current_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        None
    }

    /// Returns a digest of everything that the verdict of
    /// [`verify_server_cert`](Self::verify_server_cert) depends on, apart from its arguments. With
    /// `None`, the default, every chain is verified in every full handshake.
    ///
    /// **Return `None`** if the verdict depends on anything that may change while this object
    /// exists: the platform's trust store, a file, or a request to another service. Let
    /// [`current_verifier`](Self::current_verifier) return a new object with different rules
    /// instead.
    ///
    /// If rules are returned, the handshake verifies the peer's signature first. It then relies on
    /// an earlier acceptance of the same chain, if that acceptance was returned as
    /// [`ServerCertVerified::assertion_until`] with equal rules, its time has not passed, and
    /// [`recheck_server_cert`](Self::recheck_server_cert) returns true.
    /// [`ClientConfig::verified_chains`](crate::ClientConfig::verified_chains) holds acceptances.
    /// If it is disabled, the chain is verified first and in full.
    ///
    /// An implementation that returns rules must ensure that:
    ///
    /// - Verifiers with equal rules accept the same chains.
    /// - Times passed to `assertion_until` take into account everything that expires, such as a
    ///   stapled OCSP response that the verdict depends on.
    /// - The signature methods do not need an earlier call of `verify_server_cert`.
    ///
    /// A verifier that wraps another verifier may keep the default of `rules`, of
    /// `recheck_server_cert`, or of both. Each chain is then verified in full. If it forwards both,
    /// its own verdict must not depend on anything else. If it adds its own rules, it returns a
    /// digest of the inner rules and its own, and passes it to [`ServerCertVerified::with_rules`].
    fn rules(&self) -> Option<VerifierRules> {
        None
    }

    /// Returns the schemes offered to the server, most preferred first.
    ///
    /// These are the schemes that `verify_tls12_signature` and `verify_tls13_signature` together
    /// can verify.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme>;

    /// Returns the names of the authorities offered to the server in `certificate_authorities` (RFC
    /// 9846 §4.3.4). `None`, the default, omits the extension.
    ///
    /// Few servers select their certificate by these names.
    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        None
    }

    /// True if servers authenticate with a raw public key instead of a certificate (RFC 7250).
    /// False by default.
    ///
    /// If true, the `end_entity` passed to [`verify_server_cert`](Self::verify_server_cert) and to
    /// the signature methods is a DER-encoded `SubjectPublicKeyInfo`, without intermediates.
    /// Servers without a raw public key are rejected, and so are TLS 1.2 servers.
    /// [`verify_tls13_signature_with_raw_key`](crate::crypto::verify_tls13_signature_with_raw_key)
    /// verifies signatures.
    fn requires_raw_public_keys(&self) -> bool {
        false
    }

    /// Verifies that `end_entity` belongs to the server `server_name` at the time `now`.
    ///
    /// Sessions with the server are resumed without another call, until the time of
    /// [`ServerCertVerified::assertion_until`], and for a week at most. If the proof has no such
    /// time, or has a past time under rules that this verifier does not state, sessions end when
    /// `end_entity` expires. If a verifier accepts an expired `end_entity`, its expiry does not
    /// limit sessions.
    ///
    /// `intermediates` are the other certificates that the server sent, in its order, which may not
    /// be the order of a chain. `ocsp_response` is empty if the server stapled none. The
    /// certificates and the response are unparsed bytes from the peer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidCertificate`] with the reason for the rejection. For a certificate
    /// that cannot be parsed, use
    /// [`CertificateError::BadEncoding`](crate::CertificateError::BadEncoding).
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error>;

    /// Returns true if the verifier accepts this chain for the server `server_name`, provided that
    /// it has accepted it before under the same [`rules`](Self::rules), possibly for another name.
    /// Checks everything else that depends on the arguments of this handshake, which are those of
    /// [`verify_server_cert`](Self::verify_server_cert). The handshake also calls this method for
    /// unknown chains, whose bytes may be malformed.
    ///
    /// If this returns false, the default, the handshake calls `verify_server_cert` and uses its
    /// verdict. This method cannot return an error, so that a rejection takes as long as for an
    /// unknown chain.
    fn recheck_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> bool {
        let _ = (end_entity, intermediates, server_name, ocsp_response, now);
        false
    }

    /// Verifies `signature` over `message` with the public key of the certificate `signer`,
    /// according to TLS 1.3 (RFC 9846 §4.5.2).
    ///
    /// `message` is the content to be signed with its context string, not yet hashed.
    /// Implementations can call [`verify_tls13_signature`](crate::crypto::verify_tls13_signature).
    ///
    /// # Errors
    ///
    /// Returns an error if the signature is invalid, or its scheme is not in
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// Verifies `signature` over `message` with the public key of the certificate `signer`,
    /// according to TLS 1.2, where an ECDSA scheme does not fix the curve.
    ///
    /// Implementations can call [`verify_tls12_signature`](crate::crypto::verify_tls12_signature).
    ///
    /// # Errors
    ///
    /// Returns an error if the signature is invalid, or its scheme is not in
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// The asynchronous counterpart of [`verify_server_cert`](Self::verify_server_cert), for
    /// verifiers that call the platform or another service. Return `None` (the default) to fall
    /// back to `verify_server_cert`.
    ///
    /// Called only on connections that the application polls. The future must check everything that
    /// `verify_server_cert` checks. A wrapper that adds checks to that method must add them here,
    /// too. If the future calls another service, [`rules`](Self::rules) must be `None`, because
    /// handshakes with known chains would skip that call.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_server_cert`.
    fn verify_server_cert_async(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Option<BoxFuture<Result<ServerCertVerified, Error>>> {
        let _ = (end_entity, intermediates, server_name, ocsp_response, now);
        None
    }

    /// The asynchronous counterpart of [`verify_tls13_signature`](Self::verify_tls13_signature).
    /// Return `None` (the default) to fall back to `verify_tls13_signature`.
    ///
    /// Called only on connections that the application polls. A wrapper that adds checks to the
    /// synchronous method must add them here, too.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_tls13_signature`.
    fn verify_tls13_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        let _ = (message, signer, signature);
        None
    }

    /// The asynchronous counterpart of [`verify_tls12_signature`](Self::verify_tls12_signature).
    /// Return `None` (the default) to fall back to `verify_tls12_signature`.
    ///
    /// Called only on connections that the application polls. A wrapper that adds checks to the
    /// synchronous method must add them here, too.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_tls12_signature`.
    fn verify_tls12_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        let _ = (message, signer, signature);
        None
    }
}

/// Decides whether a server asks clients for a certificate, and whether it accepts that
/// certificate.
///
/// In a full handshake, any error ends the connection with an alert. [`Error::InvalidCertificate`]
/// selects the alert by its content. If a session is to be resumed, an error causes a full
/// handshake instead.
pub trait ClientCertVerifier: Debug + Send + Sync {
    /// Returns the verifier for a handshake that starts now. Verifiers whose rules can be replaced
    /// at run time override this. The default, `None`, selects this verifier itself.
    ///
    /// A handshake calls this when a ClientHello arrives, and uses the returned verifier until it
    /// ends, even if the rules are replaced in the meantime. Only a second ClientHello, after a
    /// HelloRetryRequest, causes another call. The handshake does not call `current_verifier` on
    /// the returned verifier. A resumption counts as a handshake: it verifies the client's
    /// certificate again, unless the session proves that a verifier with the same
    /// [`rules`](Self::rules) accepted it.
    ///
    /// When a connection is created, it calls [`offer_client_auth`](Self::offer_client_auth) of the
    /// configured verifier and, if that returns true,
    /// [`root_hint_subjects`](Self::root_hint_subjects).
    ///
    /// A verifier that wraps another verifier and adds rules must also wrap the verifier returned
    /// here.
    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        None
    }

    /// True if the server asks clients for a certificate. True by default.
    fn offer_client_auth(&self) -> bool {
        true
    }

    /// True if a client without a certificate is rejected. By default the same as
    /// [`offer_client_auth`](Self::offer_client_auth).
    fn client_auth_mandatory(&self) -> bool {
        self.offer_client_auth()
    }

    /// Returns a digest of everything that the verdict of
    /// [`verify_client_cert`](Self::verify_client_cert) depends on, apart from its arguments.
    /// With `None`, the default, every chain is verified in every handshake.
    ///
    /// **Return `None`** if the verdict depends on anything that may change while this object
    /// exists: the platform's trust store, a file, or a request to another service. Let
    /// [`current_verifier`](Self::current_verifier) return a new object with different rules
    /// instead.
    ///
    /// If rules are returned, the handshake verifies the peer's signature first. It then relies on
    /// an earlier acceptance of the same chain, if that acceptance was returned as
    /// [`ClientCertVerified::assertion_until`] with equal rules, its time has not passed, and
    /// [`recheck_client_cert`](Self::recheck_client_cert) returns true.
    /// [`ServerConfig::verified_chains`](crate::ServerConfig::verified_chains) holds acceptances
    /// for half a day, and sessions hold them for a day. If it is disabled, or the chain takes more
    /// than 16 KiB, the chain is verified first and in full. Otherwise `verify_client_cert` is not
    /// called in each handshake. So authorize and audit clients after the handshake, by their
    /// [`peer_identity`](crate::CommonState::peer_identity).
    ///
    /// An implementation that returns rules must ensure that:
    ///
    /// - Verifiers with equal rules accept the same chains.
    /// - Times passed to `assertion_until` take into account everything that expires.
    /// - The signature methods do not need an earlier call of `verify_client_cert`.
    ///
    /// A verifier that wraps another verifier may keep the default of `rules`, of
    /// `recheck_client_cert`, or of both. Each chain is then verified in full. If it forwards both,
    /// its own verdict must not depend on anything else. If it adds its own rules, it returns a
    /// digest of the inner rules and its own, and passes it to [`ClientCertVerified::with_rules`].
    fn rules(&self) -> Option<VerifierRules> {
        None
    }

    /// Returns the schemes offered to the client, most preferred first.
    ///
    /// These are the schemes that `verify_tls12_signature` and `verify_tls13_signature` together
    /// can verify.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme>;

    /// Returns the names of the authorities offered to the client in `certificate_authorities` (RFC
    /// 9846 §4.3.4). An empty list gives no hint.
    ///
    /// Clients with several certificates can select one by these names.
    fn root_hint_subjects(&self) -> &[DistinguishedName];

    /// True if clients authenticate with a raw public key instead of a certificate (RFC 7250).
    /// False by default.
    ///
    /// If true, the `end_entity` passed to [`verify_client_cert`](Self::verify_client_cert) and to
    /// the signature methods is a DER-encoded `SubjectPublicKeyInfo`, without intermediates.
    /// Clients that do not offer a raw public key are rejected, even if
    /// [`client_auth_mandatory`](Self::client_auth_mandatory) returns false. So are TLS 1.2
    /// clients.
    /// [`verify_tls13_signature_with_raw_key`](crate::crypto::verify_tls13_signature_with_raw_key)
    /// verifies signatures.
    fn requires_raw_public_keys(&self) -> bool {
        false
    }

    /// Verifies that `end_entity` is acceptable at the time `now`.
    ///
    /// `intermediates` are the other certificates that the client sent, in its order, which may not
    /// be the order of a chain. All certificates are unparsed bytes from the peer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidCertificate`] with the reason for the rejection. For a certificate
    /// that cannot be parsed, use
    /// [`CertificateError::BadEncoding`](crate::CertificateError::BadEncoding).
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error>;

    /// Returns true if the verifier accepts this chain, provided that it has accepted it before
    /// under the same [`rules`](Self::rules). The arguments are those of
    /// [`verify_client_cert`](Self::verify_client_cert). The handshake also calls this method for
    /// unknown chains, whose bytes may be malformed.
    ///
    /// If this returns false, the default, the handshake calls `verify_client_cert` and uses its
    /// verdict.
    fn recheck_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        let _ = (end_entity, intermediates, now);
        false
    }

    /// Verifies `signature` over `message` with the public key of the certificate `signer`,
    /// according to TLS 1.3 (RFC 9846 §4.5.2).
    ///
    /// `message` is the content to be signed with its context string, not yet hashed.
    /// Implementations can call [`verify_tls13_signature`](crate::crypto::verify_tls13_signature).
    ///
    /// # Errors
    ///
    /// Returns an error if the signature is invalid, or its scheme is not in
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// Verifies `signature` over `message` with the public key of the certificate `signer`,
    /// according to TLS 1.2, where an ECDSA scheme does not fix the curve.
    ///
    /// Implementations can call [`verify_tls12_signature`](crate::crypto::verify_tls12_signature).
    ///
    /// # Errors
    ///
    /// Returns an error if the signature is invalid, or its scheme is not in
    /// [`supported_verify_schemes`](Self::supported_verify_schemes).
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error>;

    /// The asynchronous counterpart of [`verify_client_cert`](Self::verify_client_cert), for
    /// verifiers that call another service. Return `None` (the default) to fall back to
    /// `verify_client_cert`.
    ///
    /// Called only on connections that the application polls. The future must check everything that
    /// `verify_client_cert` checks. A wrapper that adds checks to that method must add them here,
    /// too. If the future calls another service, [`rules`](Self::rules) must be `None`, because
    /// handshakes with known chains would skip that call.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_client_cert`.
    fn verify_client_cert_async(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Option<BoxFuture<Result<ClientCertVerified, Error>>> {
        let _ = (end_entity, intermediates, now);
        None
    }

    /// The asynchronous counterpart of [`verify_tls13_signature`](Self::verify_tls13_signature).
    /// Return `None` (the default) to fall back to `verify_tls13_signature`.
    ///
    /// Called only on connections that the application polls. A wrapper that adds checks to the
    /// synchronous method must add them here, too.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_tls13_signature`.
    fn verify_tls13_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        let _ = (message, signer, signature);
        None
    }

    /// The asynchronous counterpart of [`verify_tls12_signature`](Self::verify_tls12_signature).
    /// Return `None` (the default) to fall back to `verify_tls12_signature`.
    ///
    /// Called only on connections that the application polls. A wrapper that adds checks to the
    /// synchronous method must add them here, too.
    ///
    /// # Errors
    ///
    /// The future returns the errors of `verify_tls12_signature`.
    fn verify_tls12_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        let _ = (message, signer, signature);
        None
    }

    /// False if the methods ending in `_async` always return `None`. True by default, which is
    /// always safe. False may save a server the copy of a ClientHello: see
    /// [`set_async`](crate::CommonState::set_async).
    ///
    /// A wrapper returns the value of the wrapped object, or true if it has its own futures. If a
    /// wrapper returns false by mistake, slow calls block the thread.
    fn may_wait(&self) -> bool {
        true
    }
}

/// The [`ClientCertVerifier`] of a server that does not request client certificates.
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

    /// Always returns an error, because the client was not asked for a certificate.
    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Err(not_requested())
    }

    /// Always returns an error, because the client was not asked for a signature.
    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _signer: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_requested())
    }

    /// Always returns an error, because the client was not asked for a signature.
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _signer: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(not_requested())
    }

    fn may_wait(&self) -> bool {
        false
    }
}

fn not_requested() -> Error {
    Error::General("this server does not ask clients for a certificate".into())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// A server that does not request a certificate rejects any that a client sends.
    #[test]
    fn an_unsolicited_client_certificate_is_rejected() {
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
