//! Verifiers and resolvers that call a hook and then delegate to another one.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ContentType, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// A hook. It is called with `trait::method`, and may panic.
pub trait Hook: fmt::Debug + Send + Sync {
    /// Returns true to make the verifier fail: with an error, without schemes, or with a request
    /// for raw public keys.
    fn called(&self, name: &'static str) -> bool;

    /// Called before a payload of this type is sealed; returns true to make that fail.
    fn seals(&self, name: &'static str, _: ContentType) -> bool {
        self.called(name)
    }

    /// Like [`Self::called`], but returns an error.
    fn fails(&self, name: &'static str) -> Result<(), Error> {
        if self.called(name) {
            Err(Error::General("as told".into()))
        } else {
            Ok(())
        }
    }
}

/// A verifier with a hook.
#[derive(Debug)]
pub struct Hooked<V: ?Sized, H> {
    pub inner: Arc<V>,
    pub hook: H,
}

impl<V: ?Sized, H> Hooked<V, H> {
    pub fn new(inner: Arc<V>, hook: H) -> Arc<Self> {
        Arc::new(Self { inner, hook })
    }
}

macro_rules! signature {
    ($name:literal, $method:ident) => {
        fn $method(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.hook.fails(concat!($name, "::", stringify!($method)))?;
            self.inner.$method(message, cert, signature)
        }
    };
}

macro_rules! forwarded {
    ($name:literal) => {
        signature!($name, verify_tls12_signature);
        signature!($name, verify_tls13_signature);

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            let is_wrong = self
                .hook
                .called(concat!($name, "::supported_verify_schemes"));
            let schemes = self.inner.supported_verify_schemes();
            if is_wrong { Vec::new() } else { schemes }
        }

        fn requires_raw_public_keys(&self) -> bool {
            let is_wrong = self
                .hook
                .called(concat!($name, "::requires_raw_public_keys"));
            is_wrong || self.inner.requires_raw_public_keys()
        }
    };
}

impl<V: ServerCertVerifier + ?Sized, H: Hook> ServerCertVerifier for Hooked<V, H> {
    forwarded!("ServerCertVerifier");

    /// Returns `None`, since another verifier would bypass the hook.
    fn current_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        self.hook.called("ServerCertVerifier::current_verifier");
        None
    }

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.hook.fails("ServerCertVerifier::verify_server_cert")?;
        self.inner
            .verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.hook.called("ServerCertVerifier::root_hint_subjects");
        self.inner.root_hint_subjects()
    }
}

impl<V: ClientCertVerifier + ?Sized, H: Hook> ClientCertVerifier for Hooked<V, H> {
    forwarded!("ClientCertVerifier");

    /// Returns `None`, as for servers.
    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        self.hook.called("ClientCertVerifier::current_verifier");
        None
    }

    fn offer_client_auth(&self) -> bool {
        self.hook.called("ClientCertVerifier::offer_client_auth");
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.hook
            .called("ClientCertVerifier::client_auth_mandatory");
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.hook.called("ClientCertVerifier::root_hint_subjects");
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.hook.fails("ClientCertVerifier::verify_client_cert")?;
        self.inner
            .verify_client_cert(end_entity, intermediates, now)
    }
}

impl<R: ResolvesClientCert + ?Sized, H: Hook> ResolvesClientCert for Hooked<R, H> {
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let is_refused = self.hook.called("ResolvesClientCert::resolve");
        let key = self.inner.resolve(root_hint_subjects, sigschemes);
        key.filter(|_| !is_refused)
    }

    fn only_raw_public_keys(&self) -> bool {
        let is_wrong = self.hook.called("ResolvesClientCert::only_raw_public_keys");
        is_wrong || self.inner.only_raw_public_keys()
    }

    fn has_certs(&self) -> bool {
        !self.hook.called("ResolvesClientCert::has_certs") && self.inner.has_certs()
    }
}
