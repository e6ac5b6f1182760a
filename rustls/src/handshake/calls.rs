//! Calls into the application's code that may be asynchronous.
//!
//! Each callback has a synchronous method, which also exists in rustls 0.23, and one that may
//! return a future. The methods here call the asynchronous one only on a connection that may wait,
//! and fall back to the synchronous one if there is no future.
//!
//! The callback that gets a view of the ClientHello is in `server/certificate.rs`, because the view
//! must not be held while the call is pending.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_core::ticketer::ProducesTickets;

use super::peer_auth::{HandshakeSignature, SchemeRules};
use crate::callbacks::Callbacks;
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
use crate::msgs::certificate_verify::DigitallySignedStruct;

impl Callbacks {
    pub(crate) async fn sign(
        self,
        signer: &dyn Signer,
        message: &[u8],
    ) -> Result<DigitallySignedStruct, Error> {
        let signature = self
            .call(|| signer.sign_async(message), || signer.sign(message))
            .await?;
        Ok(DigitallySignedStruct::new(signer.scheme(), signature))
    }

    pub(crate) async fn resolve_client_cert(
        self,
        resolver: &dyn ResolvesClientCert,
        authorities: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.call(
            || resolver.resolve_async(authorities, schemes),
            || resolver.resolve(authorities, schemes),
        )
        .await
    }

    pub(crate) async fn verify_server_cert(
        self,
        verifier: &dyn ServerCertVerifier,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
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
        .await
    }

    pub(crate) async fn verify_client_cert(
        self,
        verifier: &dyn ClientCertVerifier,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.call(
            || verifier.verify_client_cert_async(end_entity, intermediates, now),
            || verifier.verify_client_cert(end_entity, intermediates, now),
        )
        .await
    }

    pub(crate) async fn verify_server_signature(
        self,
        verifier: &dyn ServerCertVerifier,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
    ) -> Result<HandshakeSignatureValid, Error> {
        let (content, signed) = (signature.content, signature.signed);
        match signature.rules {
            SchemeRules::Tls13 => {
                self.call(
                    || verifier.verify_tls13_signature_async(content, end_entity, signed),
                    || verifier.verify_tls13_signature(content, end_entity, signed),
                )
                .await
            }
            #[cfg(feature = "tls12")]
            SchemeRules::Tls12 { .. } => {
                self.call(
                    || verifier.verify_tls12_signature_async(content, end_entity, signed),
                    || verifier.verify_tls12_signature(content, end_entity, signed),
                )
                .await
            }
        }
    }

    pub(crate) async fn verify_client_signature(
        self,
        verifier: &dyn ClientCertVerifier,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
    ) -> Result<HandshakeSignatureValid, Error> {
        let (content, signed) = (signature.content, signature.signed);
        match signature.rules {
            SchemeRules::Tls13 => {
                self.call(
                    || verifier.verify_tls13_signature_async(content, end_entity, signed),
                    || verifier.verify_tls13_signature(content, end_entity, signed),
                )
                .await
            }
            #[cfg(feature = "tls12")]
            SchemeRules::Tls12 { .. } => {
                self.call(
                    || verifier.verify_tls12_signature_async(content, end_entity, signed),
                    || verifier.verify_tls12_signature(content, end_entity, signed),
                )
                .await
            }
        }
    }

    #[cfg(feature = "tls12")]
    pub(crate) async fn encrypt_ticket(
        self,
        ticketer: &dyn ProducesTickets,
        session: &[u8],
    ) -> Option<Vec<u8>> {
        self.call(
            || ticketer.encrypt_async(session),
            || ticketer.encrypt(session),
        )
        .await
    }

    pub(crate) async fn decrypt_ticket(
        self,
        ticketer: &dyn ProducesTickets,
        ticket: &[u8],
    ) -> Option<Vec<u8>> {
        self.call(
            || ticketer.decrypt_async(ticket),
            || ticketer.decrypt(ticket),
        )
        .await
    }

    pub(crate) async fn get_session(
        self,
        storage: &dyn StoresServerSessions,
        key: &[u8],
    ) -> Option<ServerSessionValue> {
        self.call(|| storage.get_async(key), || storage.get_session(key))
            .await
    }

    /// Removes the session from the storage.
    pub(crate) async fn take_session(
        self,
        storage: &dyn StoresServerSessions,
        key: &[u8],
    ) -> Option<ServerSessionValue> {
        self.call(|| storage.take_async(key), || storage.take_session(key))
            .await
    }
}
