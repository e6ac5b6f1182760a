//! One interface to the verifiers of both sides, and the rules about signature schemes.

use alloc::vec::Vec;

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::callbacks::{Callbacks, Called};
use crate::certificates::VerifierRules;
use crate::config::verify::{
    ClientCertVerified, ClientCertVerifier, HandshakeSignatureValid, Proof, ServerCertVerified,
    ServerCertVerifier,
};
#[cfg(feature = "tls12")]
use crate::config::webpki::is_supported_in_tls12;
use crate::enums::{Side, SignatureScheme};
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// A verifier with the arguments of one handshake, apart from the chain.
pub(crate) trait PeerVerifier: Sync {
    const PEER: Side;

    fn rules(&self) -> Option<VerifierRules>;

    fn supported_schemes(&self) -> Vec<SignatureScheme>;

    /// Verifies the chain in full.
    fn verify_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        callbacks: Callbacks,
    ) -> Called<Result<Proof, Error>>;

    /// Checks what an acceptance of the chain does not prove. If this returns false, the chain must
    /// be verified in full.
    fn recheck_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool;

    /// Verifies a signature whose scheme is allowed. Only `ChainCheck::verify_signature` calls it.
    fn verify_allowed_signature(
        &self,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
        callbacks: Callbacks,
    ) -> Called<Result<HandshakeSignatureValid, Error>>;
}

/// A peer's signature in the handshake.
pub(crate) struct HandshakeSignature<'a> {
    pub(crate) signed: &'a DigitallySignedStruct,
    /// The signed bytes, not yet hashed.
    pub(crate) content: &'a [u8],
    pub(crate) rules: SchemeRules,
}

/// A protocol version's rules about signature schemes.
#[derive(Clone, Copy)]
pub(crate) enum SchemeRules {
    Tls13,
    #[cfg(feature = "tls12")]
    Tls12 {
        /// The schemes that the cipher suite allows, if the peer is a server.
        of_suite: Option<&'static [SignatureScheme]>,
    },
}

impl HandshakeSignature<'_> {
    /// Checks that the version and, for a TLS 1.2 server, the cipher suite allow the scheme, and
    /// that this side has announced it. `announced` returns the announced schemes.
    pub(super) fn check_scheme(
        &self,
        announced: impl FnOnce() -> Vec<SignatureScheme>,
    ) -> Result<(), PeerMisbehaved> {
        let scheme = self.signed.scheme;
        let is_allowed = match self.rules {
            // RFC 9846 §4.5.2: SHA-1 and RSASSA-PKCS1-v1_5 are forbidden
            SchemeRules::Tls13 => scheme.supported_in_tls13(),
            #[cfg(feature = "tls12")]
            SchemeRules::Tls12 { of_suite } => {
                // RFC 5246 §7.4.3: the scheme must fit the suite's key type
                let fits = |of_suite: &[SignatureScheme]| {
                    let mut of_suite = of_suite.iter();
                    of_suite.any(|it| it.algorithm() == scheme.algorithm())
                };
                if !of_suite.is_none_or(fits) {
                    return Err(PeerMisbehaved::SignedKxWithWrongAlgorithm);
                }
                is_supported_in_tls12(scheme)
            }
        };
        // RFC 9846 §4.5.2, RFC 5246 §7.4.3, §7.4.8: the scheme must have been announced
        if is_allowed && announced().contains(&scheme) {
            Ok(())
        } else {
            Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)
        }
    }
}

/// A client's verifier of servers, with the arguments for one server.
pub(crate) struct ServerVerifier<'a> {
    pub(crate) verifier: &'a dyn ServerCertVerifier,
    pub(crate) server_name: &'a ServerName<'a>,
    /// The stapled OCSP response; empty if the server stapled none.
    pub(crate) ocsp_response: &'a [u8],
}

/// A server's verifier of clients.
pub(crate) struct ClientVerifier<'a>(pub(crate) &'a dyn ClientCertVerifier);

impl PeerVerifier for ServerVerifier<'_> {
    const PEER: Side = Side::Server;

    fn rules(&self) -> Option<VerifierRules> {
        self.verifier.rules()
    }

    fn supported_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn verify_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        callbacks: Callbacks,
    ) -> Called<Result<Proof, Error>> {
        callbacks
            .verify_server_cert(
                self.verifier,
                end_entity,
                intermediates,
                self.server_name,
                self.ocsp_response,
                now,
            )
            .map(|verified| verified.map(|ServerCertVerified(proof)| proof))
    }

    fn recheck_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        self.verifier.recheck_server_cert(
            end_entity,
            intermediates,
            self.server_name,
            self.ocsp_response,
            now,
        )
    }

    fn verify_allowed_signature(
        &self,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
        callbacks: Callbacks,
    ) -> Called<Result<HandshakeSignatureValid, Error>> {
        callbacks.verify_server_signature(self.verifier, signature, end_entity)
    }
}

impl PeerVerifier for ClientVerifier<'_> {
    const PEER: Side = Side::Client;

    fn rules(&self) -> Option<VerifierRules> {
        self.0.rules()
    }

    fn supported_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }

    fn verify_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        callbacks: Callbacks,
    ) -> Called<Result<Proof, Error>> {
        callbacks
            .verify_client_cert(self.0, end_entity, intermediates, now)
            .map(|verified| verified.map(|ClientCertVerified(proof)| proof))
    }

    fn recheck_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        self.0.recheck_client_cert(end_entity, intermediates, now)
    }

    fn verify_allowed_signature(
        &self,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
        callbacks: Callbacks,
    ) -> Called<Result<HandshakeSignatureValid, Error>> {
        callbacks.verify_client_signature(self.0, signature, end_entity)
    }
}
