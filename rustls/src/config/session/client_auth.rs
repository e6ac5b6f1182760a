//! Binds a server's sessions to its client authentication settings.
//!
//! A resumed session skips the client's certificate. So it is resumed only if the server has the
//! same requirements ([`ClientAuthId`]) and its verifier still accepts the certificate. Both checks
//! also work between processes and machines that share tickets or a storage.

use alloc::sync::Arc;

use rustls_core::provider::CryptoProvider;

use super::digests::{DIGEST_LEN, Digest, SessionDigests, hash, truncated};
use crate::certificates::Acceptance;
use crate::config::verify::ClientCertVerifier;

/// A digest of a configuration's requirements for clients: whether they must authenticate, how, and
/// which authorities are named to them.
///
/// Under the same hash function, equal settings have equal digests. The digest cannot distinguish
/// verifiers that have the same settings but different rules, so a resumption also needs the
/// verifier's acceptance of the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientAuthId(pub(crate) Digest);

impl ClientAuthId {
    /// Hashes the settings of `verifier`. The digest is zero if no client certificates are
    /// requested, or if the provider has no cipher suites.
    pub(crate) fn of(
        verifier: &Arc<dyn ClientCertVerifier>,
        digests: &SessionDigests,
        provider: &CryptoProvider,
    ) -> Self {
        let none = Self([0; DIGEST_LEN]);
        if !verifier.offer_client_auth() {
            return none;
        }
        let Some(hash) = hash(provider) else {
            return none;
        };
        let mut hash = hash.start();
        hash.update(&[
            verifier.client_auth_mandatory().into(),
            verifier.requires_raw_public_keys().into(),
        ]);
        let schemes = verifier.supported_verify_schemes();
        hash.update(&(schemes.len() as u64).to_be_bytes());
        for scheme in schemes {
            hash.update(&u16::from(scheme).to_be_bytes());
        }
        let names = verifier.root_hint_subjects();
        // the list may be long, so the digest is cached
        hash.update(&(names.len() as u64).to_be_bytes());
        hash.update(&digests.of_authorities(verifier, names, provider));
        Self(truncated(&hash.finish()))
    }
}

/// A client whose session may be resumed.
#[derive(Clone, Copy)]
pub(crate) struct AcceptedClient {
    /// The acceptance of the client's certificates, if any, for the next session.
    pub(crate) acceptance: Option<Acceptance>,
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
pub(crate) mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use pki_types::{CertificateDer, UnixTime};

    use super::*;
    use crate::ServerConfig;
    use crate::config::verify::{ClientCertVerified, HandshakeSignatureValid};
    use crate::enums::SignatureScheme;
    use crate::error::Error;
    use crate::msgs::certificate_request::DistinguishedName;
    use crate::msgs::certificate_verify::DigitallySignedStruct;
    use crate::providers::any_provider;
    use crate::server::ResolvesServerCertUsingSni;

    /// A verifier with arbitrary settings, which accepts nothing.
    #[derive(Clone, Debug)]
    pub(crate) struct Settings {
        pub(crate) offers: bool,
        pub(crate) is_mandatory: bool,
        pub(crate) is_raw: bool,
        pub(crate) schemes: Vec<SignatureScheme>,
        pub(crate) names: Vec<DistinguishedName>,
    }

    impl ClientCertVerifier for Settings {
        fn offer_client_auth(&self) -> bool {
            self.offers
        }

        fn client_auth_mandatory(&self) -> bool {
            self.is_mandatory
        }

        fn requires_raw_public_keys(&self) -> bool {
            self.is_raw
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.schemes.clone()
        }

        fn root_hint_subjects(&self) -> &[DistinguishedName] {
            &self.names
        }

        fn verify_client_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: UnixTime,
        ) -> Result<ClientCertVerified, Error> {
            Err(Error::DecryptError)
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::DecryptError)
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::DecryptError)
        }
    }

    pub(crate) fn settings() -> Settings {
        Settings {
            offers: true,
            is_mandatory: true,
            is_raw: false,
            schemes: vec![SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256],
            names: vec![DistinguishedName::in_sequence(b"one")],
        }
    }

    pub(crate) fn config(verifier: Arc<dyn ClientCertVerifier>) -> ServerConfig {
        ServerConfig::builder_with_provider(any_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()))
    }

    /// Returns the digest in a separate configuration, as on another machine.
    fn id(settings: &Settings) -> ClientAuthId {
        let verifier: Arc<dyn ClientCertVerifier> = Arc::new(settings.clone());
        let config = config(verifier.clone());
        ClientAuthId::of(&verifier, &config.session_digests, &config.provider)
    }

    #[test]
    fn equal_settings_have_equal_digests() {
        let changes: [fn(&mut Settings); 9] = [
            |_| {},
            |settings| settings.is_mandatory = false,
            |settings| settings.is_raw = true,
            |settings| settings.schemes.reverse(),
            |settings| settings.schemes.truncate(1),
            |settings| settings.schemes[0] = SignatureScheme::ED448,
            |settings| settings.names = vec![DistinguishedName::in_sequence(b"two")],
            |settings| settings.names.clear(),
            |settings| settings.names.push(DistinguishedName::in_sequence(b"two")),
        ];
        let ids = changes.map(|change| {
            let mut settings = settings();
            change(&mut settings);
            assert_eq!(id(&settings), id(&settings));
            id(&settings)
        });
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id), "change {at}");
            assert_ne!(id.0, [0; DIGEST_LEN]);
        }
        // nothing else matters if clients are not asked for a certificate
        for is_mandatory in [false, true] {
            let without_auth = Settings {
                offers: false,
                is_mandatory,
                ..settings()
            };
            assert_eq!(id(&without_auth).0, [0; DIGEST_LEN]);
        }
    }
}
