//! Raw public keys (RFC 7250) for both crates: keys without certificates, and verifiers that trust
//! one of them.

use std::sync::Arc;

use crate::configs::{Identity, Provider};

// The methods that the verifiers of both sides share.
macro_rules! signatures_by_raw_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            unreachable!("raw public keys in TLS 1.2")
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let key = SubjectPublicKeyInfoDer::from(cert.as_ref());
            verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

// A macro, because the types of the two crates have the same names, but are distinct.
macro_rules! raw_keys {
    ($module:ident, $tls:ident) => {
        /// The verifier and keys of one crate.
        pub mod $module {
            use pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
            use $tls::client::danger::{
                HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
            };
            use $tls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
            use $tls::server::danger::{ClientCertVerified, ClientCertVerifier};
            use $tls::sign::CertifiedKey;
            use $tls::{
                CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
            };

            use super::*;

            /// A verifier that trusts one raw public key.
            #[derive(Debug)]
            pub struct RawKeyVerifier {
                pub trusted: Vec<u8>,
                pub algorithms: WebPkiSupportedAlgorithms,
                pub optional: bool,
            }

            impl RawKeyVerifier {
                fn check(&self, key: &[u8], others: &[CertificateDer<'_>]) -> Result<(), Error> {
                    assert!(others.is_empty());
                    if key == self.trusted {
                        Ok(())
                    } else {
                        Err(CertificateError::UnknownIssuer.into())
                    }
                }
            }

            impl ServerCertVerifier for RawKeyVerifier {
                fn verify_server_cert(
                    &self,
                    end_entity: &CertificateDer<'_>,
                    intermediates: &[CertificateDer<'_>],
                    _server_name: &ServerName<'_>,
                    _ocsp_response: &[u8],
                    _now: UnixTime,
                ) -> Result<ServerCertVerified, Error> {
                    self.check(end_entity, intermediates)?;
                    Ok(ServerCertVerified::assertion())
                }

                signatures_by_raw_keys!();
            }

            impl ClientCertVerifier for RawKeyVerifier {
                fn client_auth_mandatory(&self) -> bool {
                    !self.optional
                }

                fn root_hint_subjects(&self) -> &[DistinguishedName] {
                    &[]
                }

                fn verify_client_cert(
                    &self,
                    end_entity: &CertificateDer<'_>,
                    intermediates: &[CertificateDer<'_>],
                    _now: UnixTime,
                ) -> Result<ClientCertVerified, Error> {
                    self.check(end_entity, intermediates)?;
                    Ok(ClientCertVerified::assertion())
                }

                signatures_by_raw_keys!();
            }

            /// The key of `identity` without its certificate.
            pub fn raw_key(identity: &Identity, provider: Provider) -> Arc<CertifiedKey> {
                let loader = provider.$module().key_provider;
                let key = loader.load_private_key(identity.key()).unwrap();
                let spki = key.public_key().unwrap().to_vec();
                Arc::new(CertifiedKey::new(vec![spki.into()], key))
            }

            pub fn verifier(identity: &Identity, provider: Provider) -> RawKeyVerifier {
                RawKeyVerifier {
                    trusted: raw_key(identity, provider).cert[0].to_vec(),
                    algorithms: provider.$module().signature_verification_algorithms,
                    optional: false,
                }
            }
        }
    };
}

raw_keys!(this, rustls);
raw_keys!(upstream, rustls_upstream);
