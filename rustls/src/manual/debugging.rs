//! Debugging: logs, key logs, and errors with what to do about them.
//!
//! # Logs
//!
//! With the feature `logging` (on by default), messages go to the `log` crate, with a target that
//! starts with `rustls`. `RUST_LOG=rustls=debug` shows them in programs that use `env_logger` or
//! `tracing-subscriber` with its `log` bridge.
//!
//! | level | content |
//! |---|---|
//! | `trace` | the type of each message sent or received, and dropped records |
//! | `debug` | negotiated parameters, resumption and early data, close_notify, failed connections |
//! | `warn` | messages out of order, ignored alerts, worn keys, key log errors, missing polls |
//!
//! Each failed connection writes one line, unless the application's code has panicked. The level is
//! `warn` for a message out of order, as in rustls 0.23, and `debug` for all other failures: the
//! application gets the error, and knows best how to report it. The line has the error, the alert
//! for the peer, and on a server the name that the client requested:
//!
//! ```text
//! connection failed: peer is incompatible: …; alert HandshakeFailure; server name example.com
//! ```
//!
//! If clients resume less than you expect, look for the reasons on the server: `a ticket cannot be
//! opened`, `the session of a ticket is not in the storage`, `a session is not resumed: …` and `the
//! client's early data is not accepted: …`. The first two usually mean that machines do not share
//! their tickets or their storage.
//!
//! No message contains a secret or the content of a protocol message. `trace` is too much for
//! production; `debug` writes a few lines per handshake, and nothing per record.
//!
//! # Inspecting the traffic
//!
//! Packet analysers such as Wireshark decrypt traffic with a key log (RFC 9850). Set it on either
//! side:
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::{ClientConfig, KeyLogFile};
//!
//! /// Writes secrets to the file named by the environment variable SSLKEYLOGFILE, if it is set.
//! fn enable_key_log(config: &mut ClientConfig) {
//!     config.key_log = Arc::new(KeyLogFile::new());
//! }
//! # harness::manual::enables_key_log(enable_key_log);
//! ```
//!
//! **Anyone who reads that file can decrypt these connections.** Do not build this into production
//! programs without a switch. In Wireshark, the preference is *Protocols → TLS →
//! (Pre)-Master-Secret log filename*.
//!
//! # The state of a connection
//!
//! Log these once the handshake is complete:
//! [`protocol_version`](crate::CommonState::protocol_version),
//! [`negotiated_cipher_suite`](crate::CommonState::negotiated_cipher_suite),
//! [`negotiated_key_exchange_group`](crate::CommonState::negotiated_key_exchange_group),
//! [`alpn_protocol`](crate::CommonState::alpn_protocol) and
//! [`handshake_kind`](crate::CommonState::handshake_kind). They explain most surprises about speed.
//!
//! # Errors
//!
//! `process_new_packets` returns an [`Error`](crate::Error). Streams and tokio-rustls wrap it in an
//! [`io::Error`](std::io::Error) of the kind `InvalidData`; `get_ref` and
//! `downcast_ref::<rustls::Error>()` find it. First send the alert: call `write_tls` once more, or
//! the peer never learns the reason.
//!
//! An error names the side that saw the problem. `AlertReceived` means that **the peer** rejected
//! something, so look at the peer's log. Any other error means that **this side** did.
//!
//! [`Error::InvalidCertificate`](crate::Error::InvalidCertificate):
//!
//! - `UnknownIssuer`: the root is not trusted, or the server does not send its intermediate
//!   certificates. Add the root to the [`RootCertStore`](crate::RootCertStore), or have the server
//!   send its full chain.
//! - `NotValidForName…`: the certificate does not contain the requested name. Connect by a name
//!   that it lists; the error shows both.
//! - `Expired…`, `NotValidYet…`: an old certificate or a wrong clock. The error shows both times.
//! - `UnknownRevocationStatus`, `ExpiredRevocationList…`: there is no current list from this
//!   issuer. Supply one; see [`certificates`](super::certificates).
//! - `BadSignature`: a certificate of another authority with the same name, or the wrong private
//!   key. Compare the chain with its root.
//! - `UnsupportedSignatureAlgorithm…`: a certificate with SHA-1, or of a type that the provider
//!   cannot verify. Issue another certificate, or use another provider.
//!
//! `AlertReceived`, from the peer:
//!
//! - `HandshakeFailure`: the peer found nothing in common. See `PeerIncompatible` below.
//! - `ProtocolVersion`: the peer supports only other versions. Enable TLS 1.2, or upgrade the peer.
//! - `UnknownCA`, `BadCertificate`, `CertificateUnknown`, `CertificateExpired`: the peer rejects
//!   your certificate. Check your chain and the peer's roots.
//! - `CertificateRequired`: the server requires a client certificate. Configure one.
//! - `UnrecognisedName`: the server does not know the requested name. Check the name.
//!
//! Other errors:
//!
//! - `NoCertificatesPresented`: a client has no certificate for a server that requires one.
//!   Configure the client.
//! - `NoApplicationProtocol`: the ALPN lists have nothing in common. Compare `alpn_protocols` of
//!   both sides.
//! - `PeerIncompatible(…)`: versions, suites, groups or signature schemes have nothing in common.
//!   The variant names the missing part; compare the two providers.
//! - `PeerIncompatible(ServerRejectedEncryptedClientHello)`: the server has new ECH keys. Retry
//!   once; see [`encrypted_client_hello`](super::encrypted_client_hello).
//! - `InvalidMessage(InvalidContentType)`: the peer does not speak TLS. It speaks plain HTTP, or
//!   TLS began before STARTTLS. Check the port and the proxy.
//! - `InvalidMessage(…)`, `PeerMisbehaved(…)`: a defect of the peer, a middlebox, or an attack.
//!   Record the traffic with a key log, and report it to the peer's authors.
//! - `DecryptError`: bytes were lost or changed between the two sides, often because two tasks
//!   write to one socket. Check that one task writes each connection, in order.
//! - `InconsistentKeys(KeyMismatch)`: the private key does not belong to the certificate. Check the
//!   order and content of the files.
//! - `BadMaxFragmentSize`: `max_fragment_size` is outside 32 to 16389. Correct it.
//! - `HandshakeNotComplete`: a call needs a complete handshake. Wait until `is_handshaking` is
//!   false.
//! - `FailedToGetCurrentTime`, `FailedToGetRandomBytes`: the platform failed. Check the clock, or
//!   the entropy source of the sandbox.
//!
//! From I/O:
//!
//! - `UnexpectedEof` from a reader: the peer closed TCP without close_notify. The data may be
//!   truncated, unless the protocol marks its own end.
//! - `Ok(0)` from a reader: the peer's close_notify, the authenticated end of the data.
//! - `WouldBlock` from a reader: no plaintext is available yet. Call `read_tls` and
//!   `process_new_packets`.
//! - `WouldBlock` from a stream's `write`: the non-blocking socket is full. Wait until it is
//!   writable.
//! - `ConnectionAborted`, `ConnectionReset` in the handshake: the peer or a middlebox dropped the
//!   connection without an alert. Look at the peer's log, and try without a large key share
//!   (feature `prefer-post-quantum`).
//!
//! A panic that begins "Could not automatically determine the process-level CryptoProvider" means
//! that both providers are enabled, or none. See [`features`](super::features).
//!
//! # Nothing happens
//!
//! - A handshake hangs: one side does not call `write_tls` after `process_new_packets`. Check
//!   `wants_write` after each call.
//! - The last bytes never arrive: the program drops the connection before `write_tls` has sent
//!   them, or does not flush the stream.
//! - Reading stops: plaintext is waiting, so `wants_read` is false. Read it.
