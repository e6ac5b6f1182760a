//! Signatures on other threads, and waiting for them, which only this library has.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rustls::operation::{Job, Offload};
use rustls::sign::SigningKey;
use rustls::{Error, ServerConnection};

use crate::jobs::offload::Pool;

/// Lets `pool` make the signatures of `key`.
pub(super) fn offloaded(key: Arc<dyn SigningKey>, pool: &Pool) -> Arc<dyn SigningKey> {
    let pool = pool.clone();
    Arc::new(Offload::new(key, move |job: Job| pool.spawn(job)))
}

/// Lets `connection` wait for signatures without its thread.
pub(super) fn set_async(connection: &mut ServerConnection, is_async: bool) {
    connection.set_async(is_async);
}

/// Continues the handshake if the operation that it waits for is over.
pub(super) fn poll_operation(
    connection: &mut ServerConnection,
    waker: &Waker,
) -> Result<(), Error> {
    match connection.poll_operation(&mut Context::from_waker(waker)) {
        Poll::Ready(result) => result,
        Poll::Pending => Ok(()),
    }
}
