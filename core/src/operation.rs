//! Asynchronous operations, as futures.
//!
//! A private key in a hardware module, or a session storage over the network, takes milliseconds
//! for each call. Extension points have a second method for these, which returns a future. Only
//! connections whose owner polls them call it.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

/// A future that a handshake waits for. It owns everything that it needs.
///
/// The connection polls it when its owner calls `poll_operation`, and drops it if the connection
/// fails or is dropped.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
