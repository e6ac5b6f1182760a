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
//! | `debug` | negotiated parameters, resumption, rejections, and alerts sent |
//! | `warn` | errors of connections, ignored warning alerts, unusable certificates and files |
//!
//! No message contains a secret or the content of a protocol message. `trace` is too much for
//! production; `debug` writes a few lines per handshake, and nothing per record.
//!
//! # A look into the traffic
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
//! | error | usual cause | what to do |
//! |---|---|---|
//! | `InvalidCertificate(UnknownIssuer)` | the root is not trusted, or the server does not send its intermediate certificates | add the root to the [`RootCertStore`](crate::RootCertStore); have the server send its full chain |
//! | `InvalidCertificate(NotValidForName…)` | the name that the client asks for is not in the certificate | connect by a name that it lists; the error shows both |
//! | `InvalidCertificate(Expired…)`, `NotValidYet…` | an old certificate or a wrong clock | the error shows both times |
//! | `InvalidCertificate(UnknownRevocationStatus)`, `ExpiredRevocationList…` | no list, or no current one, from this issuer | supply the issuer's list; see [`certificates`](super::certificates) |
//! | `InvalidCertificate(BadSignature)` | a certificate of another authority with the same name, or the wrong private key | compare the chain with its root |
//! | `InvalidCertificate(UnsupportedSignatureAlgorithm…)` | a certificate with SHA-1, or of a type that the provider cannot verify | issue another certificate, or use another provider |
//! | `NoCertificatesPresented` | a client has no certificate for a server that requires one | configure the client |
//! | `NoApplicationProtocol` | the ALPN lists have nothing in common | compare `alpn_protocols` of both sides |
//! | `PeerIncompatible(…)` | versions, suites, groups or signature schemes have nothing in common | the variant names the missing part; compare the two providers |
//! | `PeerIncompatible(ServerRejectedEncryptedClientHello)` | the server has new ECH keys | retry once; see [`encrypted_client_hello`](super::encrypted_client_hello) |
//! | `InvalidMessage(InvalidContentType)` | the peer does not speak TLS: plain HTTP, or STARTTLS before its time | check the port and the proxy |
//! | `InvalidMessage(…)`, `PeerMisbehaved(…)` | a defect of the peer, a middlebox, or an attack | record the traffic with a key log; report it to the peer's authors |
//! | `DecryptError` | bytes were lost or changed between the two sides, often by an application that mixes two writers | check that one task writes each connection, in order |
//! | `AlertReceived(HandshakeFailure)` | the peer found nothing in common | see `PeerIncompatible` |
//! | `AlertReceived(ProtocolVersion)` | the peer is limited to other versions | enable TLS 1.2, or upgrade the peer |
//! | `AlertReceived(UnknownCA)`, `BadCertificate`, `CertificateUnknown`, `CertificateExpired` | the peer rejects your certificate | check your chain and the peer's roots |
//! | `AlertReceived(CertificateRequired)` | the server requires a client certificate | configure one |
//! | `AlertReceived(UnrecognisedName)` | the server does not know the requested name | check the name in the request |
//! | `InconsistentKeys(KeyMismatch)` | the private key does not belong to the certificate | check the order and content of the files |
//! | `BadMaxFragmentSize` | `max_fragment_size` is outside 32 to 16389 | correct it |
//! | `HandshakeNotComplete` | a call needs a complete handshake | wait until `is_handshaking` is false |
//! | `FailedToGetCurrentTime`, `FailedToGetRandomBytes` | the platform | check the clock, or the entropy source of the sandbox |
//!
//! From I/O:
//!
//! | error or result | cause | what to do |
//! |---|---|---|
//! | `UnexpectedEof` from a reader | the peer closed TCP without close_notify | treat the data as possibly truncated, unless the protocol has its own end |
//! | `Ok(0)` from a reader | the peer's close_notify | the end of data, authenticated |
//! | `WouldBlock` from a reader | no plaintext is available yet | call `read_tls` and `process_new_packets` |
//! | `WouldBlock` from a stream's `write` | the non-blocking socket is full | wait until it is writable |
//! | `ConnectionAborted`, `ConnectionReset` in the handshake | the peer or a middlebox dropped the connection without an alert | look at the peer's log; try without a large key share (feature `prefer-post-quantum`) |
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
