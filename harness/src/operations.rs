//! Application callbacks that take time: keys, verifiers, resolvers, storages and tickets that
//! return futures.
//!
//! A [`Slow`] object returns the results of the object that it wraps. Its [`Plan`] decides which
//! operations are futures, and when these are ready. With the environment variable
//! `HARNESS_OPERATIONS=futures`, all configurations and connections that this package creates for
//! this crate use such objects, so that any test runs with operations that take time.

pub mod ends;
pub mod kinds;
pub mod schedules;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::{fmt, thread};

use pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier, VerifierRules,
};
use rustls::operation::BoxFuture;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    ClientHello, ProducesTickets, ResolvesServerCert, ServerSessionValue, StoresServerSessions,
};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, SignatureAlgorithm, SignatureScheme,
};

/// The time at which a future is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// There is no future: the operation is synchronous.
    NoFuture,
    /// At the first poll.
    Ready,
    /// After this number of polls, each of which wakes the task.
    After(usize),
    /// Never, and the task is never woken.
    Never,
    /// Once another thread has woken the task.
    FromThread,
    /// The first poll panics.
    Panics,
    /// At the next time in [`Plan::scheduled`].
    Scheduled,
}

/// A call to an operation, as a [`Plan`] notes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedCall {
    pub operation: &'static str,
    /// True if the call returned a future.
    pub is_future: bool,
}

/// The operations of some objects, and the times at which their results are ready.
pub struct Plan {
    when: When,
    /// The only operation that is a future. `None` for all.
    only: Option<&'static str>,
    /// The operation that fails once [`Self::begin_to_fail`] has been called, asynchronous or not.
    fails: Option<&'static str>,
    has_begun: AtomicBool,
    futures: Mutex<BTreeSet<&'static str>>,
    calls: Mutex<Vec<NotedCall>>,
    dropped: AtomicUsize,
    /// The times of the next results.
    schedule: Mutex<Vec<When>>,
}

impl Plan {
    pub fn new(when: When) -> Self {
        Self {
            when,
            only: None,
            fails: None,
            has_begun: AtomicBool::new(false),
            futures: Mutex::default(),
            calls: Mutex::default(),
            dropped: AtomicUsize::new(0),
            schedule: Mutex::default(),
        }
    }

    /// Creates a plan with a time for each result, in reverse order. Later calls are synchronous.
    pub fn scheduled(schedule: Vec<When>) -> Self {
        Self {
            schedule: Mutex::new(schedule),
            ..Self::new(When::Scheduled)
        }
    }

    #[must_use]
    pub fn only(self, operation: &'static str) -> Self {
        Self {
            only: Some(operation),
            ..self
        }
    }

    #[must_use]
    pub fn failing(self, operation: &'static str) -> Self {
        Self {
            fails: Some(operation),
            ..self
        }
    }

    /// True if one of these operations may be a future.
    fn may_wait(&self, operations: &[&str]) -> bool {
        self.only.is_none_or(|only| operations.contains(&only))
    }

    /// Returns the operations for which futures were created.
    pub fn futures(&self) -> BTreeSet<&'static str> {
        self.futures.lock().unwrap().clone()
    }

    /// Returns all calls since [`Self::begin_to_fail`], in order.
    pub fn calls(&self) -> Vec<NotedCall> {
        self.calls.lock().unwrap().clone()
    }

    /// Returns the number of futures that were dropped before they were ready.
    pub fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Makes the operation chosen with [`Self::failing`] fail from now on.
    pub fn begin_to_fail(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
    }

    fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::SeqCst)
    }

    fn note(&self, operation: &'static str, is_future: bool) {
        if self.has_begun() {
            self.calls.lock().unwrap().push(NotedCall {
                operation,
                is_future,
            });
        }
    }

    /// Returns the result of `right`, or the result of `wrong` if the operation is to fail.
    fn result<T>(
        &self,
        operation: &'static str,
        wrong: impl FnOnce() -> T,
        right: impl FnOnce() -> T,
    ) -> T {
        if self.fails == Some(operation) && self.has_begun() {
            return wrong();
        }
        right()
    }

    /// Calls the operation synchronously.
    fn call<T>(
        &self,
        operation: &'static str,
        wrong: impl FnOnce() -> T,
        right: impl FnOnce() -> T,
    ) -> T {
        self.note(operation, false);
        self.result(operation, wrong, right)
    }

    /// Returns a future for the operation, if it is asynchronous.
    fn start<T: Send + 'static>(
        self: &Arc<Self>,
        operation: &'static str,
        wrong: impl FnOnce() -> T,
        right: impl FnOnce() -> T,
    ) -> Option<BoxFuture<T>> {
        let is_chosen = self.only.is_none_or(|only| only == operation);
        let when = match self.when {
            When::Scheduled => self
                .schedule
                .lock()
                .unwrap()
                .pop()
                .unwrap_or(When::NoFuture),
            when => when,
        };
        if when == When::NoFuture || !is_chosen {
            return None;
        }
        self.futures.lock().unwrap().insert(operation);
        self.note(operation, true);
        Some(Box::pin(PendingResult {
            result: Some(self.result(operation, wrong, right)),
            when,
            plan: self.clone(),
            polls: 0,
            woken: None,
        }))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("when", &self.when)
            .field("only", &self.only)
            .field("fails", &self.fails)
            .finish_non_exhaustive()
    }
}

struct PendingResult<T> {
    result: Option<T>,
    when: When,
    plan: Arc<Plan>,
    polls: usize,
    /// Set by the thread that wakes the task.
    woken: Option<Arc<AtomicBool>>,
}

// the result is moved out, and never pinned
impl<T> Unpin for PendingResult<T> {}

impl<T: Send> Future for PendingResult<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        self.polls += 1;
        let is_ready = match self.when {
            When::NoFuture | When::Scheduled => unreachable!("there is no future"),
            When::Ready => true,
            When::After(polls) if self.polls > polls => true,
            When::After(_) => {
                task.waker().wake_by_ref();
                false
            }
            When::Never => false,
            When::FromThread => match &self.woken {
                Some(woken) => woken.load(Ordering::SeqCst),
                None => {
                    let woken = Arc::new(AtomicBool::new(false));
                    self.woken = Some(woken.clone());
                    let waker = task.waker().clone();
                    thread::spawn(move || {
                        woken.store(true, Ordering::SeqCst);
                        waker.wake();
                    });
                    false
                }
            },
            When::Panics => panic!("this future panics on purpose"),
        };
        if !is_ready {
            return Poll::Pending;
        }
        Poll::Ready(self.result.take().expect("polled after it was ready"))
    }
}

impl<T> Drop for PendingResult<T> {
    fn drop(&mut self) {
        if self.result.is_some() {
            self.plan.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Polls until ready. Waits for the task to be woken before each further poll.
pub fn finish<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(alarm.clone());
    let mut task = Context::from_waker(&waker);
    loop {
        match poll(&mut task) {
            Poll::Ready(result) => return result,
            Poll::Pending => alarm.wait(),
        }
    }
}

/// A task that waits to be woken.
#[derive(Default)]
struct Alarm {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    fn wait(&self) {
        let mut is_woken = self.is_woken.lock().unwrap();
        while !*is_woken {
            is_woken = self.changed.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.changed.notify_one();
    }
}

/// An object whose operations are futures, according to its plan.
pub struct Slow<T: ?Sized> {
    inner: Arc<T>,
    plan: Arc<Plan>,
}

impl<T: ?Sized> Slow<T> {
    pub fn new(inner: Arc<T>, plan: &Arc<Plan>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            plan: plan.clone(),
        })
    }
}

impl<T: ?Sized> fmt::Debug for Slow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slow")
    }
}

fn planned_failure() -> Error {
    Error::General("a planned failure".into())
}

/// Implements an operation and its future. `wrong` is the result of a failing operation.
macro_rules! operation {
    (
        $(fn $name:ident, $start:ident($($arg:ident: $type:ty),*) -> $out:ty, wrong $wrong:expr;)*
    ) => {
        $(fn $name(&self, $($arg: $type),*) -> $out {
            let right = || self.inner.$name($($arg),*);
            self.plan.call(stringify!($name), || $wrong, right)
        }

        fn $start(&self, $($arg: $type),*) -> Option<BoxFuture<$out>> {
            let right = || self.inner.$name($($arg),*);
            self.plan.start(stringify!($name), || $wrong, right)
        })*
    };
}

macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> $out {
            self.inner.$name($($arg),*)
        })*
    };
}

impl SigningKey for Slow<dyn SigningKey> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Slow::<dyn Signer> {
            inner: self.inner.choose_scheme(offered)?.into(),
            plan: self.plan.clone(),
        }))
    }

    forward! {
        fn public_key() -> Option<SubjectPublicKeyInfoDer<'_>>;
        fn algorithm() -> SignatureAlgorithm;
    }
}

impl Signer for Slow<dyn Signer> {
    operation! {
        fn sign, sign_async(message: &[u8]) -> Result<Vec<u8>, Error>, wrong Err(planned_failure());
    }
    forward! { fn scheme() -> SignatureScheme; }
}

impl Slow<dyn SigningKey> {
    fn with_slow_key(key: Arc<CertifiedKey>, plan: &Arc<Plan>) -> Arc<CertifiedKey> {
        Arc::new(CertifiedKey {
            key: Self::new(key.key.clone(), plan),
            ..(*key).clone()
        })
    }
}

impl Slow<dyn ResolvesServerCert> {
    fn certified(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let key = self.inner.resolve(hello)?;
        Some(Slow::with_slow_key(key, &self.plan))
    }
}

impl ResolvesServerCert for Slow<dyn ResolvesServerCert> {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.plan.call("resolve", || None, || self.certified(hello))
    }

    fn resolve_async(
        &self,
        hello: ClientHello<'_>,
    ) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
        let right = || self.certified(hello);
        self.plan.start("resolve", || None, right)
    }

    forward! { fn only_raw_public_keys() -> bool; }
}

impl Slow<dyn ResolvesClientCert> {
    fn certified(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let key = self.inner.resolve(root_hint_subjects, sigschemes)?;
        Some(Slow::with_slow_key(key, &self.plan))
    }
}

impl ResolvesClientCert for Slow<dyn ResolvesClientCert> {
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        let current = self.inner.current_resolver()?;
        Some(Slow::new(current, &self.plan))
    }

    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let right = || self.certified(root_hint_subjects, sigschemes);
        self.plan.call("resolve", || None, right)
    }

    fn resolve_async(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
        let right = || self.certified(root_hint_subjects, sigschemes);
        self.plan.start("resolve", || None, right)
    }

    forward! {
        fn only_raw_public_keys() -> bool;
        fn has_certs() -> bool;
    }
}

/// Implements the methods that the verifiers of both sides share.
macro_rules! verifier {
    () => {
        operation! {
            fn verify_tls12_signature, verify_tls12_signature_async(
                message: &[u8],
                signer: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(planned_failure());
            fn verify_tls13_signature, verify_tls13_signature_async(
                message: &[u8],
                signer: &CertificateDer<'_>,
                signature: &DigitallySignedStruct
            ) -> Result<HandshakeSignatureValid, Error>, wrong Err(planned_failure());
        }

        forward! {
            fn rules() -> Option<VerifierRules>;
            fn supported_verify_schemes() -> Vec<SignatureScheme>;
            fn requires_raw_public_keys() -> bool;
        }
    };
}

impl ServerCertVerifier for Slow<dyn ServerCertVerifier> {
    verifier!();

    fn current_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        let current = self.inner.current_verifier()?;
        Some(Slow::new(current, &self.plan))
    }

    operation! {
        fn verify_server_cert, verify_server_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            server_name: &ServerName<'_>,
            ocsp_response: &[u8],
            now: UnixTime
        ) -> Result<ServerCertVerified, Error>, wrong Err(planned_failure());
    }
    forward! {
        fn root_hint_subjects() -> Option<&[DistinguishedName]>;
        fn recheck_server_cert(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            server_name: &ServerName<'_>,
            ocsp_response: &[u8],
            now: UnixTime
        ) -> bool;
    }
}

impl ClientCertVerifier for Slow<dyn ClientCertVerifier> {
    verifier!();

    fn may_wait(&self) -> bool {
        self.plan.may_wait(&[
            "verify_client_cert",
            "verify_tls12_signature",
            "verify_tls13_signature",
        ])
    }

    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        let current = self.inner.current_verifier()?;
        Some(Slow::new(current, &self.plan))
    }

    operation! {
        fn verify_client_cert, verify_client_cert_async(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            now: UnixTime
        ) -> Result<ClientCertVerified, Error>, wrong Err(planned_failure());
    }
    forward! {
        fn offer_client_auth() -> bool;
        fn client_auth_mandatory() -> bool;
        fn root_hint_subjects() -> &[DistinguishedName];
        fn recheck_client_cert(
            end_entity: &CertificateDer<'_>,
            intermediates: &[CertificateDer<'_>],
            now: UnixTime
        ) -> bool;
    }
}

impl StoresServerSessions for Slow<dyn StoresServerSessions> {
    forward! { fn can_cache() -> bool; }

    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.plan
            .call("put", || false, || self.inner.put(key, value))
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.plan.call("get", || None, || self.inner.get(key))
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.plan.call("take", || None, || self.inner.take(key))
    }

    fn put_async(&self, key: &[u8], session: &ServerSessionValue) -> Option<BoxFuture<bool>> {
        let right = || self.inner.put(key.to_vec(), session.clone().into_vec());
        self.plan.start("put", || false, right)
    }

    fn get_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        let right = || self.inner.get(key).map(ServerSessionValue::from);
        self.plan.start("get", || None, right)
    }

    fn take_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        let right = || self.inner.take(key).map(ServerSessionValue::from);
        self.plan.start("take", || None, right)
    }

    fn may_wait(&self) -> bool {
        self.plan.may_wait(&["get", "put", "take"])
    }
}

impl ProducesTickets for Slow<dyn ProducesTickets> {
    operation! {
        fn encrypt, encrypt_async(plain: &[u8]) -> Option<Vec<u8>>, wrong None;
        fn decrypt, decrypt_async(cipher: &[u8]) -> Option<Vec<u8>>, wrong None;
    }

    fn may_wait(&self) -> bool {
        self.plan.may_wait(&["decrypt", "encrypt"])
    }

    forward! {
        fn enabled() -> bool;
        fn lifetime() -> u32;
        fn clock_tolerance() -> u32;
    }
}

/// Wraps a client's callbacks in [`Slow`]. `verifier` replaces the verifier that the builder got.
pub fn slow_client(
    config: &mut rustls::ClientConfig,
    verifier: Arc<dyn ServerCertVerifier>,
    plan: &Arc<Plan>,
) {
    let verifier = Slow::new(verifier, plan);
    config.dangerous().set_certificate_verifier(verifier);
    let resolver = config.client_auth_cert_resolver.clone();
    config.client_auth_cert_resolver = Slow::new(resolver, plan);
}

/// Wraps a server's callbacks in [`Slow`], except its verifier, which is passed to a builder.
pub fn slow_server(config: &mut rustls::ServerConfig, plan: &Arc<Plan>) {
    config.cert_resolver = Slow::new(config.cert_resolver.clone(), plan);
    config.session_storage = Slow::new(config.session_storage.clone(), plan);
    config.ticketer = Slow::new(config.ticketer.clone(), plan);
}

/// Returns the plan for all objects of this process, if their operations should be futures.
pub fn plan_of_process() -> Option<&'static Arc<Plan>> {
    static PLAN: OnceLock<Option<Arc<Plan>>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| {
        let wanted = std::env::var("HARNESS_OPERATIONS").ok()?;
        assert_eq!(wanted, "futures");
        Some(Arc::new(Plan::new(When::After(1))))
    });
    plan.as_ref()
}
