//! Asynchronous operations, as futures.
//!
//! A private key in a hardware module, or a session storage over the network, takes milliseconds
//! for each call. So extension points have a second method, which returns a future. It is only
//! called for connections whose owner polls them.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

/// A future that a handshake waits for. It owns all its data.
///
/// The connection polls it when its owner calls `poll_operation`, and drops it if the connection
/// fails or is dropped.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
