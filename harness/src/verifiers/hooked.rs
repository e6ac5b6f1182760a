//! Verifiers and resolvers that call a hook and then delegate to an inner object.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier, VerifierRules,
};
use rustls::operation::BoxFuture;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ContentType, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// A hook. It is called with `trait::method`, and may panic.
pub trait Hook: fmt::Debug + Send + Sync {
    /// Returns true to make the call fail. A verifier then returns an error, no schemes, or a
    /// request for raw public keys; a resolver returns no key, and a cipher an error.
    fn called(&self, name: &'static str) -> bool;

    /// Called before a payload of this type is sealed. Returns true to make that fail.
    fn seals(&self, name: &'static str, _: ContentType) -> bool {
        self.called(name)
    }

    /// Called after an attempt to seal or open a record, whether it succeeded or not.
    fn returns(&self, _: &'static str) {}

    /// Returns the rules of the verifier. If it has any, its acceptances never end.
    fn rules(&self) -> Option<VerifierRules> {
        None
    }

    /// Returns the verifier that connections use instead of this one. By default, connections use
    /// this verifier, because any other would bypass the hook.
    fn current_server_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        None
    }

    /// Returns the same for a verifier of clients.
    fn current_client_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        None
    }

    /// Returns the same for a resolver.
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        None
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

/// Implements a trait by calling the hook and then the inner object. If the hook returns true, the
/// result is `wrong` instead, if given; otherwise `then` receives the result and the rules, and
/// returns the final one. If `start` of the inner object returns a future, the hook is also called
/// for the future.
macro_rules! hooked {
    (
        $of:ident:
        $(fn $name:ident $(, $start:ident)? ($($arg:ident: $type:ty),*) -> $out:ty
            $(, wrong $wrong:expr)? $(, then $then:expr)?;)*
    ) => {
        $(
            fn $name(&self, $($arg: $type),*) -> $out {
                let _is_wrong = self.hook.called(concat!(stringify!($of), "::", stringify!($name)));
                $(if _is_wrong {
                    return $wrong;
                })?
                let result = self.inner.$name($($arg),*);
                $(let result = $then(result, self.hook.rules());)?
                result
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

// The methods that exist in verifiers for both sides.
macro_rules! verifier {
    ($of:ident, $current:ident) => {
        hooked! {
            $of:
            fn verify_tls12_signature, verify_tls12_signature_async(
                message: &[u8],
                cert: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(planned_failure());
            fn verify_tls13_signature, verify_tls13_signature_async(
                message: &[u8],
                cert: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(planned_failure());
            fn supported_verify_schemes() -> Vec<SignatureScheme>, wrong Vec::new();
            fn requires_raw_public_keys() -> bool, wrong true;
        }

        fn rules(&self) -> Option<VerifierRules> {
            self.hook.rules()
        }

        fn current_verifier(&self) -> Option<Arc<dyn $of>> {
            self.hook
                .called(concat!(stringify!($of), "::current_verifier"));
            self.hook.$current()
        }
    };
}

impl<V: ServerCertVerifier + ?Sized, H: Hook> ServerCertVerifier for Hooked<V, H> {
    verifier!(ServerCertVerifier, current_server_verifier);

    hooked! {
        ServerCertVerifier:
        fn verify_server_cert, verify_server_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            name: &ServerName<'_>,
            ocsp: &[u8],
            now: UnixTime
        ) -> Result<ServerCertVerified, Error>, wrong Err(planned_failure()), then server_for_ever;
        fn root_hint_subjects() -> Option<&[DistinguishedName]>;
    }

    fn recheck_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> bool {
        self.hook.rules().is_some()
    }
}

impl<V: ClientCertVerifier + ?Sized, H: Hook> ClientCertVerifier for Hooked<V, H> {
    verifier!(ClientCertVerifier, current_client_verifier);

    hooked! {
        ClientCertVerifier:
        fn offer_client_auth() -> bool;
        fn client_auth_mandatory() -> bool;
        fn root_hint_subjects() -> &[DistinguishedName];
        fn verify_client_cert, verify_client_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            now: UnixTime
        ) -> Result<ClientCertVerified, Error>, wrong Err(planned_failure()), then client_for_ever;
    }

    fn recheck_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> bool {
        self.hook.rules().is_some()
    }
}

macro_rules! for_ever {
    ($($name:ident: $verified:ident;)*) => {$(
        fn $name(
            verified: Result<$verified, Error>,
            rules: Option<VerifierRules>,
        ) -> Result<$verified, Error> {
            const NEVER: UnixTime = UnixTime::since_unix_epoch(Duration::MAX);
            let verified = verified?;
            Ok(rules.map_or(verified, |rules| $verified::assertion_until(rules, NEVER)))
        }
    )*};
}

for_ever! {
    server_for_ever: ServerCertVerified;
    client_for_ever: ClientCertVerified;
}

impl<R: ResolvesClientCert + ?Sized, H: Hook> ResolvesClientCert for Hooked<R, H> {
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        self.hook.current_resolver()
    }

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

fn planned_failure() -> Error {
    Error::General("a planned failure".into())
}
