//! # Operations that take time
//!
//! A signature by an HSM or a cloud service takes milliseconds. So does a verifier that asks
//! another service, a session storage over the network, or a certificate that is issued when its
//! name is first requested. By default a handshake blocks its thread in these calls, as in rustls
//! 0.23. One slow signature then delays everything else that the thread serves. The code that
//! drives the connection must support waiting. tokio-rustls 0.26, quinn and other code for rustls
//! 0.23 do not, so never call `set_async` under them.
//!
//! A connection can wait instead, without a thread. This takes three steps.
//!
//! ## 1. Return a future
//!
//! Each of these traits has a second method for the same purpose. It returns a
//! [`BoxFuture`](crate::operation::BoxFuture). If it returns `None`, the first method is called:
//!
//! | trait | synchronous | asynchronous |
//! |---|---|---|
//! | [`Signer`] | `sign` | `sign_async` |
//! | [`ServerCertVerifier`] | `verify_server_cert`, `verify_tls1…_signature` | with `_async` |
//! | [`ClientCertVerifier`] | `verify_client_cert`, `verify_tls1…_signature` | with `_async` |
//! | [`ResolvesServerCert`], [`ResolvesClientCert`] | `resolve` | `resolve_async` |
//! | [`StoresServerSessions`] | `put`, `get`, `take` | with `_async` |
//! | [`ProducesTickets`] | `encrypt`, `decrypt` | with `_async` |
//!
//! A future owns what it needs: copy the arguments. It is `Send`, and need not be `Sync`. Nothing
//! here depends on a runtime; a future that needs one is first polled by the code that polls the
//! connection.
//!
//! Implement both methods. Connections that do not wait only call the first one. If you have no
//! synchronous implementation, return an error from it, or `None`; a verifier must never accept
//! there.
//!
//! A wrapper that adds checks to the first method must add them to the second one, too.
//!
//! For a private key in memory whose signatures take long, such as RSA with 4096 bits,
//! [`Offload`](crate::operation::Offload) does this: it signs on a pool of threads.
//!
//! Three examples are complete servers: `remote_key` has its key in another process, `pkcs11_key`
//! in a hardware module, and `redis_sessions` its sessions in Redis. The second is a package of its
//! own, in the folder `rustls/examples/pkcs11_key`.
//!
//! ## 2. Let the connection wait
//!
//! Call [`set_async(true)`](crate::CommonState::set_async) on a new connection, or on an
//! [`Acceptor`](crate::server::Acceptor). Connections without this never call the second methods
//! and never wait. So programs and libraries written for rustls 0.23 are not affected.
//!
//! ## 3. Poll it
//!
//! | API | it waits if | then call |
//! |---|---|---|
//! | buffered | [`IoState::is_waiting`] | [`ConnectionCommon::poll_operation`] |
//! | unbuffered | [`WaitingForOperation`] is returned | [`unbuffered::…::poll_operation`] |
//! | QUIC | [`is_waiting`] | [`quic::ConnectionCommon::poll_operation`] |
//! | [`Stream`], `complete_io` | | nothing: they park the thread |
//!
//! An event loop does this for a buffered connection:
//!
//! ```
//! use std::task::{Context, Poll};
//!
//! use rustls::{Connection, Error, IoState};
//!
//! /// Continues after `read_tls`. Pending if the connection waits for an operation.
//! fn advance(conn: &mut Connection, task: &mut Context<'_>) -> Poll<Result<IoState, Error>> {
//!     let state = conn.process_new_packets()?;
//!     if !state.is_waiting() {
//!         return Poll::Ready(Ok(state));
//!     }
//!     // `task` is woken when the operation is over; until then, the loop serves others
//!     match conn.poll_operation(task)? {
//!         Poll::Ready(()) => Poll::Ready(conn.process_new_packets()),
//!         Poll::Pending => Poll::Pending,
//!     }
//! }
//! # harness::manual::advances(advance);
//! ```
//!
//! A connection from [`Accepted`](crate::server::Accepted) may wait from the start: poll it before
//! you wait for the socket.
//!
//! While it waits, go on writing. Go on reading while `wants_read` is true: that is until one more
//! record has arrived.
//!
//! The `Debug` output of a waiting connection, and the log, name the pending call: a certificate, a
//! session, a verification, a signature or a ticket.
//!
//! A connection that is driven but never polled hangs, without an error. It logs one warning: after
//! sixteen calls without a poll since the wait began, or when it fails or is dropped after at least
//! one such call. Code that polls never causes this warning.
//!
//! ## While a connection waits
//!
//! - **Records** wait in the buffers, within their usual limits, apart from alerts. A fatal alert
//!   ends the connection and drops the future. An alert is seen later if records are before it, if
//!   its key is not installed yet, if it follows the peer's Finished, or if it is padded. The end
//!   of the stream is seen unless a record is before it.
//! - **QUIC** handshake bytes are buffered up to 128 KiB; more are an error.
//! - **close_notify**: one that this side sends follows the handshake.
//! - **Dropping** the connection, or a failure of it, drops the future. Put the cancellation of a
//!   request into its `Drop`.
//! - **Time** is not limited here. A future should end itself, with an error, after a time-out; an
//!   application should limit the time of the whole handshake, as without operations.
//! - **Errors** of a future are those of the synchronous method, and cause the same alert.
//! - **A panic** of a future ends the connection, and passes through `poll_operation`.
//! - **Memory**: a waiting connection holds its handshake state, the ClientHello until it is
//!   answered, the received bytes, and the future. An [`Accepted`](crate::server::Accepted) whose
//!   configuration is fetched holds the ClientHello, at most 64 KiB, and bytes received after it.
//!
//! ## Order of calls
//!
//! A handshake makes one call at a time, in the order of rustls 0.23. Only the tickets of a TLS 1.3
//! connection, up to four, are created at the same time. The handshake is complete when all tickets
//! are: an unreachable session storage delays it by the storage's time-out, so keep that short.
//!
//! The clock is read once for each ClientHello, however long its calls take.
//!
//! ## Sessions of TLS 1.2 connections that fail
//!
//! A TLS 1.2 session must not be resumed after a fatal alert (RFC 5246 §7.2.2). A server whose
//! connection fails therefore removes the session from its storage. It calls `take`, even if the
//! connection waits for operations and the storage has `take_async`: the owner drops a connection
//! that has failed, and a future that nobody polls removes nothing. The call blocks the thread for
//! as long as `take` does.
//!
//! A storage over the network should start the removal in `take`, in a task or a thread of its own,
//! and return `None`. The example `redis_sessions` does so. Connections that do not wait call
//! `take` as well, and then resume no TLS 1.3 session. A session in a ticket cannot be removed.
//!
//! [`Signer`]: crate::sign::Signer
//! [`ServerCertVerifier`]: crate::client::danger::ServerCertVerifier
//! [`ClientCertVerifier`]: crate::server::danger::ClientCertVerifier
//! [`ResolvesServerCert`]: crate::server::ResolvesServerCert
//! [`ResolvesClientCert`]: crate::client::ResolvesClientCert
//! [`StoresServerSessions`]: crate::server::StoresServerSessions
//! [`ProducesTickets`]: crate::server::ProducesTickets
//! [`IoState::is_waiting`]: crate::IoState::is_waiting
//! [`ConnectionCommon::poll_operation`]: crate::ConnectionCommon::poll_operation
//! [`WaitingForOperation`]: crate::unbuffered::ConnectionState::WaitingForOperation
//! [`unbuffered::…::poll_operation`]:
//!     crate::unbuffered::UnbufferedConnectionCommon::poll_operation
//! [`is_waiting`]: crate::CommonState::is_waiting
//! [`quic::ConnectionCommon::poll_operation`]: crate::quic::ConnectionCommon::poll_operation
//! [`Stream`]: crate::Stream
