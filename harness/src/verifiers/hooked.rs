//! Verifiers and resolvers that call a hook and then delegate to another one.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::operation::BoxFuture;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ContentType, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// A hook. It is called with `trait::method`, and may panic.
pub trait Hook: fmt::Debug + Send + Sync {
    /// Returns true to make the verifier fail: with an error, without schemes, or with a request
    /// for raw public keys.
    fn called(&self, name: &'static str) -> bool;

    /// Called before a payload of this type is sealed. Returns true to make that fail.
    fn seals(&self, name: &'static str, _: ContentType) -> bool {
        self.called(name)
    }

    /// Called after a record was sealed or opened, or that failed.
    fn returns(&self, _: &'static str) {}
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

/// Implements a trait by calling the hook and then the inner object. If the hook returns true, the
/// result is `wrong` instead, if given. If `start` of the inner object returns a future, the hook
/// is called then, too.
macro_rules! hooked {
    (
        $of:ident:
        $(fn $name:ident $(, $start:ident)? ($($arg:ident: $type:ty),*) -> $out:ty
            $(, wrong $wrong:expr)?;)*
    ) => {
        $(
            fn $name(&self, $($arg: $type),*) -> $out {
                let _is_wrong = self.hook.called(concat!(stringify!($of), "::", stringify!($name)));
                $(if _is_wrong {
                    return $wrong;
                })?
                self.inner.$name($($arg),*)
            }
            hooked! { @start $of $name $($start)? ($($arg: $type),*) $out $(, $wrong)? }
        )*
    };
    (@start $of:ident $name:ident $start:ident ($($arg:ident: $type:ty),*) $out:ty, $wrong:expr) => {
        fn $start(&self, $($arg: $type),*) -> Option<BoxFuture<$out>> {
            let started = self.inner.$start($($arg),*)?;
            let is_wrong = self.hook.called(concat!(stringify!($of), "::", stringify!($name)));
            Some(if is_wrong {
                Box::pin(async { $wrong })
            } else {
                started
            })
        }
    };
    (@start $($_:tt)*) => {};
}

// The methods that verifiers of both sides share.
macro_rules! verifier {
    ($of:ident) => {
        hooked! {
            $of:
            fn verify_tls12_signature, verify_tls12_signature_async(
                message: &[u8],
                cert: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(as_told());
            fn verify_tls13_signature, verify_tls13_signature_async(
                message: &[u8],
                cert: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(as_told());
            fn supported_verify_schemes() -> Vec<SignatureScheme>, wrong Vec::new();
            fn requires_raw_public_keys() -> bool, wrong true;
        }

        /// Returns `None`, since another verifier would bypass the hook.
        fn current_verifier(&self) -> Option<Arc<dyn $of>> {
            self.hook
                .called(concat!(stringify!($of), "::current_verifier"));
            None
        }
    };
}

impl<V: ServerCertVerifier + ?Sized, H: Hook> ServerCertVerifier for Hooked<V, H> {
    verifier!(ServerCertVerifier);

    hooked! {
        ServerCertVerifier:
        fn verify_server_cert, verify_server_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            name: &ServerName<'_>,
            ocsp: &[u8],
            now: UnixTime
        ) -> Result<ServerCertVerified, Error>, wrong Err(as_told());
        fn root_hint_subjects() -> Option<&[DistinguishedName]>;
    }
}

impl<V: ClientCertVerifier + ?Sized, H: Hook> ClientCertVerifier for Hooked<V, H> {
    verifier!(ClientCertVerifier);

    hooked! {
        ClientCertVerifier:
        fn offer_client_auth() -> bool;
        fn client_auth_mandatory() -> bool;
        fn root_hint_subjects() -> &[DistinguishedName];
        fn verify_client_cert, verify_client_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            now: UnixTime
        ) -> Result<ClientCertVerified, Error>, wrong Err(as_told());
    }
}

impl<R: ResolvesClientCert + ?Sized, H: Hook> ResolvesClientCert for Hooked<R, H> {
    hooked! {
        ResolvesClientCert:
        fn resolve, resolve_async(
            root_hint_subjects: &[&[u8]],
            sigschemes: &[SignatureScheme]
        ) -> Option<Arc<CertifiedKey>>, wrong None;
        fn only_raw_public_keys() -> bool, wrong true;
        fn has_certs() -> bool, wrong false;
    }
}

fn as_told() -> Error {
    Error::General("as told".into())
}
