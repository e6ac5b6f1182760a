//! Asynchronous operations, as futures.
//!
//! A private key in a hardware module, or a session storage over the network, takes milliseconds
//! for each call. So some extension points have a second method that returns a future, for
//! connections that the application polls.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

/// A future that a handshake is waiting for. It owns all its data.
///
/// The connection polls it when the application calls `poll_operation`, and drops it if the
/// connection fails or is dropped.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
