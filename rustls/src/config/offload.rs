//! Private keys that sign on other threads.
//!
//! [`Offload`] wraps a key. On connections that may wait, its signer makes each signature in a job
//! on a pool, and returns a future for the result:
//!
//! ```text
//!   handshake ── sign_async ──► Signature ── poll: pending
//!                                 ▲
//!                               slot: the waker, then the result
//!                                 ▲
//!   pool      ── job ──► sign ── Promise ── wakes the task
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::{fmt, mem};
use std::panic::catch_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pki_types::SubjectPublicKeyInfoDer;
use rustls_core::operation::BoxFuture;

use super::sign::{Signer, SigningKey};
use crate::enums::{SignatureAlgorithm, SignatureScheme};
use crate::error::Error;

/// A job for a pool thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads.
///
/// Closures that take a [`Job`] implement it.
///
/// If the pool shares its processors with an event loop, give its threads a lower priority than the
/// event loop's threads. Otherwise the operating system may let the loop wait for a whole
/// signature.
pub trait Spawn: Send + Sync {
    /// Runs `job` on a thread of the pool, and returns without waiting for it.
    ///
    /// A pool that cannot run the job drops it, which fails the operation.
    fn spawn(&self, job: Job);
}

impl<F: Fn(Job) + Send + Sync> Spawn for F {
    fn spawn(&self, job: Job) {
        self(job);
    }
}

/// A private key whose signatures are made on a pool of threads.
///
/// A signature with a long RSA key takes more than a millisecond. A thread that serves many
/// connections should not spend it on one of them. With this key, such a thread continues with
/// other connections until the signature is ready.
///
/// Only connections with [`set_async`](crate::CommonState::set_async) use the pool. Other
/// connections sign synchronously, on the calling thread. Do not run blocking streams with that
/// setting on the threads of the pool: if all of them wait, no thread is left to sign.
///
/// # Errors of signatures
///
/// A handshake fails with [`Error::General`] if the key panics on the pool, or the pool drops the
/// job. If the key returns an error, the handshake fails with it. If a connection is dropped while
/// its job is queued, the job does nothing.
///
/// # Examples
///
/// A pool of two threads:
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// use std::sync::{Arc, Mutex, mpsc};
/// use std::thread;
///
/// use rustls::operation::{Job, Offload};
/// use rustls::pki_types::PrivateKeyDer;
/// use rustls::sign::SigningKey;
///
/// fn load(key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
///     let provider = rustls::crypto::aws_lc_rs::default_provider();
///     let key = provider.key_provider.load_private_key(key)?;
///
///     let (queue, jobs) = mpsc::channel::<Job>();
///     let jobs = Arc::new(Mutex::new(jobs));
///     for _ in 0..2 {
///         let jobs = jobs.clone();
///         thread::spawn(move || {
///             let next = || jobs.lock().ok()?.recv().ok();
///             while let Some(job) = next() {
///                 job();
///             }
///         });
///     }
///     Ok(Arc::new(Offload::new(key, move |job| {
///         // after an error, the job is dropped
///         let _ = queue.send(job);
///     })))
/// }
/// # let key = rcgen::KeyPair::generate().unwrap().serialize_der();
/// # assert!(load(PrivateKeyDer::Pkcs8(key.into())).is_ok());
/// ```
///
/// On the blocking threads of tokio, if tasks of its runtime poll the connections:
///
/// ```ignore
/// Offload::new(key, |job: Job| drop(tokio::task::spawn_blocking(job)))
/// ```
///
/// On the threads of rayon:
///
/// ```ignore
/// Offload::new(key, |job: Job| rayon::spawn(job))
/// ```
pub struct Offload<S> {
    key: S,
    pool: Arc<dyn Spawn>,
}

impl<S: SigningKey> Offload<S> {
    /// Creates a key that signs with `key` on `pool`. The key may be an `Arc<dyn SigningKey>`.
    pub fn new(key: S, pool: impl Spawn + 'static) -> Self {
        Self {
            key,
            pool: Arc::new(pool),
        }
    }
}

impl<S: SigningKey> SigningKey for Offload<S> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(OffloadedSigner {
            signer: self.key.choose_scheme(offered)?.into(),
            pool: self.pool.clone(),
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.key.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}

impl<S: fmt::Debug> fmt::Debug for Offload<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Offload").field(&self.key).finish()
    }
}

struct OffloadedSigner {
    signer: Arc<dyn Signer>,
    pool: Arc<dyn Spawn>,
}

impl Signer for OffloadedSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.signer.sign(message)
    }

    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let (signer, pool) = (self.signer.clone(), self.pool.clone());
        let message = message.to_vec();
        Some(Box::pin(async move {
            let (signature, promise) = channel();
            pool.spawn(Box::new(move || {
                if promise.is_awaited() {
                    promise.keep(sign(&*signer, &message));
                }
            }));
            signature.await
        }))
    }

    fn scheme(&self) -> SignatureScheme {
        self.signer.scheme()
    }
}

impl fmt::Debug for OffloadedSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OffloadedSigner")
            .field(&self.signer)
            .finish()
    }
}

/// Signs, and turns a panic into an error: it must not end a thread of the pool.
fn sign(signer: &dyn Signer, message: &[u8]) -> Result<Vec<u8>, Error> {
    // after a panic, other connections continue to use the key, as they do without a pool
    catch_unwind(AssertUnwindSafe(|| signer.sign(message)))
        .unwrap_or_else(|_| Err(Error::General("the signing key panicked".into())))
}

/// Creates a future, and the promise through which it gets its result.
fn channel() -> (Signature, Promise) {
    let slot = Arc::new(Slot(Mutex::new(Content::Awaited(None))));
    (Signature(slot.clone()), Promise(slot))
}

/// The future for a signature. Once it is dropped, a job that has not begun does not sign.
struct Signature(Arc<Slot>);

/// The producing end of a [`Signature`]. If it is dropped without a result, the future returns an
/// error.
struct Promise(Arc<Slot>);

/// The memory that the future and its producer share.
struct Slot(Mutex<Content>);

enum Content {
    /// The task is waiting for the result. The waker is set once the task has polled.
    Awaited(Option<Waker>),
    Ready(Result<Vec<u8>, Error>),
    /// The result was taken, or the future was dropped.
    Over,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Promise {
    /// True if the future still needs a result.
    fn is_awaited(&self) -> bool {
        matches!(*self.0.lock(), Content::Awaited(_))
    }

    fn keep(self, result: Result<Vec<u8>, Error>) {
        self.fill(result);
    }

    /// Stores the result and wakes the task, if it is still waiting.
    fn fill(&self, result: Result<Vec<u8>, Error>) {
        let mut content = self.0.lock();
        if let Content::Awaited(waker) = &mut *content {
            let waker = waker.take();
            *content = Content::Ready(result);
            // a waker runs the application's code, which may take this lock
            drop(content);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.is_awaited() {
            let error = "the thread pool dropped the job of a signature";
            self.fill(Err(Error::General(error.into())));
        }
    }
}

impl Future for Signature {
    type Output = Result<Vec<u8>, Error>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let new = Content::Awaited(Some(task.waker().clone()));
        let mut content = self.0.lock();
        let old = match &*content {
            Content::Awaited(_) => mem::replace(&mut *content, new),
            _ => mem::replace(&mut *content, Content::Over),
        };
        // wakers run the application's code, even when they are dropped
        drop(content);
        match old {
            Content::Awaited(_) => Poll::Pending,
            Content::Ready(result) => Poll::Ready(result),
            Content::Over => Poll::Ready(Err(Error::General(
                "a signature was polled after its end".into(),
            ))),
        }
    }
}

impl Drop for Signature {
    fn drop(&mut self) {
        let content = mem::replace(&mut *self.0.lock(), Content::Over);
        drop(content);
    }
}

#[cfg(test)]
mod tests;
