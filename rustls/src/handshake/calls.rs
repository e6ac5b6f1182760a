//! Calls into the application's code that may be asynchronous.
//!
//! Each callback has a synchronous method, and one that may return a future. The methods here call
//! the asynchronous one only on a connection that may wait, and fall back to the synchronous one if
//! there is no future.
//!
//! Some callbacks are called elsewhere, such as the server's resolver (`server/certificate.rs`),
//! and those that create TLS 1.3 tickets or store sessions.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_core::ticketer::ProducesTickets;

use super::peer_auth::{HandshakeSignature, SchemeRules};
use crate::callbacks::{Callbacks, Called};
use crate::config::resolver::client::ResolvesClientCert;
use crate::config::session::server::StoresServerSessions;
use crate::config::session::stored::ServerSessionValue;
use crate::config::sign::{CertifiedKey, Signer};
use crate::config::verify::{
    ClientCertVerified, ClientCertVerifier, HandshakeSignatureValid, ServerCertVerified,
    ServerCertVerifier,
};
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// Returns the wire form of the `signature` that `signer` made, or the error if it made none.
pub(crate) fn signed(
    signer: &dyn Signer,
    signature: Result<Vec<u8>, Error>,
) -> Result<DigitallySignedStruct, Error> {
    signature.map(|signature| DigitallySignedStruct::new(signer.scheme(), signature))
}

/// Defines the method that verifies a peer's signature. This is a macro, because the verifiers of
/// the two sides are different traits with the same methods for signatures.
macro_rules! verify_signature {
    ($name:ident, $verifier:ident) => {
        pub(crate) fn $name(
            self,
            verifier: &dyn $verifier,
            signature: &HandshakeSignature<'_>,
            end_entity: &CertificateDer<'_>,
        ) -> Called<Result<HandshakeSignatureValid, Error>> {
            let (content, signed) = (signature.content, signature.signed);
            match signature.rules {
                SchemeRules::Tls13 => self.call(
                    || verifier.verify_tls13_signature_async(content, end_entity, signed),
                    || verifier.verify_tls13_signature(content, end_entity, signed),
                ),
                #[cfg(feature = "tls12")]
                SchemeRules::Tls12 { .. } => self.call(
                    || verifier.verify_tls12_signature_async(content, end_entity, signed),
                    || verifier.verify_tls12_signature(content, end_entity, signed),
                ),
            }
        }
    };
}

impl Callbacks {
    pub(crate) fn sign(
        self,
        signer: &dyn Signer,
        message: &[u8],
    ) -> Called<Result<Vec<u8>, Error>> {
        self.call(|| signer.sign_async(message), || signer.sign(message))
    }

    pub(crate) fn resolve_client_cert(
        self,
        resolver: &dyn ResolvesClientCert,
        authorities: &[DistinguishedName],
        schemes: &[SignatureScheme],
    ) -> Called<Option<Arc<CertifiedKey>>> {
        let authorities: Vec<&[u8]> = authorities.iter().map(AsRef::as_ref).collect();
        let authorities = &*authorities;
        self.call(
            || resolver.resolve_async(authorities, schemes),
            || resolver.resolve(authorities, schemes),
        )
    }

    pub(crate) fn verify_server_cert(
        self,
        verifier: &dyn ServerCertVerifier,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Called<Result<ServerCertVerified, Error>> {
        self.call(
            || {
                verifier.verify_server_cert_async(
                    end_entity,
                    intermediates,
                    server_name,
                    ocsp_response,
                    now,
                )
            },
            || {
                verifier.verify_server_cert(
                    end_entity,
                    intermediates,
                    server_name,
                    ocsp_response,
                    now,
                )
            },
        )
    }

    pub(crate) fn verify_client_cert(
        self,
        verifier: &dyn ClientCertVerifier,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Called<Result<ClientCertVerified, Error>> {
        self.call(
            || verifier.verify_client_cert_async(end_entity, intermediates, now),
            || verifier.verify_client_cert(end_entity, intermediates, now),
        )
    }

    verify_signature!(verify_server_signature, ServerCertVerifier);

    verify_signature!(verify_client_signature, ClientCertVerifier);

    #[cfg(feature = "tls12")]
    pub(crate) fn encrypt_ticket(
        self,
        ticketer: &dyn ProducesTickets,
        session: &[u8],
    ) -> Called<Option<Vec<u8>>> {
        let callbacks = self.of(|| ticketer.may_wait());
        callbacks.call(
            || ticketer.encrypt_async(session),
            || ticketer.encrypt(session),
        )
    }

    pub(crate) fn decrypt_ticket(
        self,
        ticketer: &dyn ProducesTickets,
        ticket: &[u8],
    ) -> Called<Option<Vec<u8>>> {
        self.call(
            || ticketer.decrypt_async(ticket),
            || ticketer.decrypt(ticket),
        )
    }

    pub(crate) fn get_session(
        self,
        storage: &dyn StoresServerSessions,
        key: &[u8],
    ) -> Called<Option<ServerSessionValue>> {
        self.call(|| storage.get_async(key), || storage.get_session(key))
    }

    /// Removes the session with this key from the storage, and returns it.
    pub(crate) fn take_session(
        self,
        storage: &dyn StoresServerSessions,
        key: &[u8],
    ) -> Called<Option<ServerSessionValue>> {
        self.call(|| storage.take_async(key), || storage.take_session(key))
    }
}
