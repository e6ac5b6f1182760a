//! TLS 1.2 and 1.3: a drop-in replacement for rustls 0.23 whose records need no allocation.
//!
//! The public API follows that of rustls 0.23.46; `docs/differences.md` in the repository lists the
//! exceptions. The implementation is new. Its core is a record layer that writes each record
//! directly into a buffer owned by the caller or the connection, and opens each record where it
//! arrived, or directly into the reader's buffer.
//!
//! # A client
//!
//! A connection turns the application's bytes into bytes for the network, and back. The application
//! does the I/O. A configuration says whom to trust:
//!
#![cfg_attr(all(feature = "aws_lc_rs", feature = "std"), doc = "```")]
#![cfg_attr(not(all(feature = "aws_lc_rs", feature = "std")), doc = "```ignore")]
//! use std::sync::Arc;
//!
//! use rustls::{ClientConfig, RootCertStore};
//! # use rustls::pki_types::CertificateDer;
//!
//! # fn config(certificate_of_an_authority: CertificateDer<'_>) -> Result<(), rustls::Error> {
//! let mut roots = RootCertStore::empty();
//! roots.add(certificate_of_an_authority)?;
//!
//! let provider = rustls::crypto::aws_lc_rs::default_provider();
//! let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
//!     .with_safe_default_protocol_versions()?
//!     .with_root_certificates(roots)
//!     .with_no_client_auth();
//! config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
//! # Ok(()) }
//! ```
//!
//! # Where to look
//!
//! - [`ClientConfig`] and [`ServerConfig`]: the configuration; [`ConfigBuilder`] creates it.
//! - [`client`], [`server`]: certificate verification, certificate resolvers, session storage.
//! - [`unbuffered`], [`split`], [`kernel`]: the alternatives to buffered connections.
//! - `relay`: proxies.
//! - [`quic`]: the handshake of QUIC.
//! - [`observer`]: metrics and traces of connections.
//! - [`client::EchConfig`]: Encrypted ClientHello of clients.
//! - [`certificates`]: certificates parsed once and shared.
//! - [`crypto`]: crypto providers, and how to write one.
//! - [`Error`]: the errors of connections and configurations.
//! - `rustls::manual`: chapters on choosing an API, certificates, sessions, debugging and other
//!   subjects.
//!
//! # Features
//!
//! - `aws_lc_rs`, also spelled `aws-lc-rs` (default): the crypto provider over aws-lc-rs.
//! - `ring`: the crypto provider over ring.
//! - `fastest`: both of these, and the provider made of their [fastest](crypto::fastest) parts.
//! - `custom-provider`: no provider of this crate becomes the process-wide default automatically.
//! - `prefer-post-quantum` (default): aws-lc-rs prefers a hybrid post-quantum key exchange.
//! - `fips`: the FIPS-validated build of aws-lc-rs.
//! - `tls12` (default): TLS 1.2.
//! - `brotli`, `zlib`: [certificate compression](compress) with these algorithms.
//! - `logging`, also spelled `log` (default): log messages through the `log` crate.
//! - `hashbrown`: session caches without `std`, behind [locks](lock) of the application.
//! - `read_buf`: [`Reader`] and [`Stream`] read into uninitialized memory, on nightly compilers
//!   with the unstable `Read::read_buf`.
//! - `x509`: properties of [certificates], with the crate x509-cert.
//! - `std` (default): buffered connections, I/O, the clock, in-memory session caches. Without it,
//!   `alloc` is needed.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)
)]
#![warn(missing_docs)]
#![cfg_attr(read_buf, feature(read_buf, core_io_borrowed_buf))]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(any(feature = "std", feature = "hashbrown"))]
mod bounded_map;
mod callbacks;
mod config;
mod conn;
#[cfg(feature = "std")]
mod either;
mod failure;
mod handshake;
mod keys;
mod logging;
mod msgs;
mod providers;

pub mod certificates;
pub mod client;
pub mod crypto;
#[cfg(all(
    any(doc, doctest),
    feature = "aws_lc_rs",
    feature = "std",
    feature = "tls12"
))]
pub mod manual;
pub mod quic;
pub mod server;

/// Types for certificates, keys, names and times, which other crates use too.
pub use pki_types;
pub use rustls_core::enums::{
    AlertDescription, CertificateCompressionAlgorithm, CipherSuite, ContentType, HandshakeType,
    NamedGroup, ProtocolVersion, Side, SignatureAlgorithm, SignatureScheme,
};
pub use rustls_core::error::{
    CertRevocationListError, CertificateError, EncryptedClientHelloError, Error,
    ExtendedKeyPurpose, InconsistentKeys, InvalidMessage, OtherError, PeerIncompatible,
    PeerMisbehaved,
};
pub use rustls_core::ffdhe_groups;
pub use rustls_core::record::sender::InPlaceRoom;
pub use rustls_core::suites::{
    CipherSuiteCommon, ConnectionTrafficSecrets, ExtractedSecrets, SupportedCipherSuite,
    Tls12CipherSuite, Tls13CipherSuite,
};
#[cfg(feature = "std")]
pub use rustls_core::ticketer::TicketRotator;
pub use rustls_core::ticketer::TicketSwitcher;

#[cfg(feature = "std")]
pub use crate::client::ClientConnection;
pub use crate::config::builder::{ConfigBuilder, ConfigSide, WantsVerifier, WantsVersions};
pub use crate::config::client::ClientConfig;
pub use crate::config::handshake_kind::HandshakeKind;
pub use crate::config::key_log::{KeyLog, NoKeyLog};
#[cfg(feature = "std")]
pub use crate::config::key_log_file::KeyLogFile;
pub use crate::config::server::ServerConfig;
pub use crate::config::versions::{ALL_VERSIONS, DEFAULT_VERSIONS, SupportedProtocolVersion};
pub use crate::config::webpki::RootCertStore;
pub use crate::config::{compress, sign};
pub use crate::conn::CommonState;
pub use crate::conn::in_place_error::InPlaceError;
#[cfg(feature = "std")]
pub use crate::conn::{ConnectionCommon, IoState, Reader, Stream, StreamOwned, Writer};
#[cfg(feature = "std")]
pub use crate::either::Connection;
pub use crate::handshake::side_data::SideData;
pub use crate::msgs::certificate_request::DistinguishedName;
pub use crate::msgs::certificate_verify::DigitallySignedStruct;
#[cfg(feature = "std")]
pub use crate::server::ServerConnection;

/// The protocol versions that a configuration can enable.
pub mod version {
    #[cfg(feature = "tls12")]
    pub use crate::config::versions::TLS12;
    pub use crate::config::versions::TLS13;
}

/// Connections whose records are processed outside this library, for example by the kernel.
///
/// The TLS handshake runs through an unbuffered connection until nothing is left to send or read.
/// Then `dangerous_into_kernel_connection` ([for a
/// client](crate::client::UnbufferedClientConnection::dangerous_into_kernel_connection), [for a
/// server](crate::server::UnbufferedServerConnection::dangerous_into_kernel_connection)) takes the
/// connection apart: the caller gets the traffic keys, and a
/// [`KernelConnection`](crate::kernel::KernelConnection) for the records that do not hold
/// application data:
///
/// | record | what to do |
/// |---|---|
/// | KeyUpdate | `update_rx_secret`; if it requests one: send a KeyUpdate and `update_tx_secret` |
/// | NewSessionTicket | `handle_new_session_ticket` (clients only) |
/// | any other handshake message | end the connection with an unexpected_message alert |
/// | close_notify, other alerts | see RFC 9846 §6 |
///
/// The application must count the records protected with each key. A key may protect at most
/// [`confidentiality_limit`](crate::CipherSuiteCommon::confidentiality_limit) records. Before that
/// limit, TLS 1.3 needs a KeyUpdate, and a TLS 1.2 connection must end.
///
/// The chapter `kernel_tls` of the manual describes the hand-over to Linux, and its limits.
pub mod kernel {
    pub use crate::conn::kernel::KernelConnection;
}

/// Locks for data that connections share.
///
/// Without `std`, the application supplies the locks.
pub mod lock {
    #[cfg(not(feature = "std"))]
    pub use rustls_core::lock::{Lock, MakeMutex, Poisoned};
    pub use rustls_core::lock::{Mutex, MutexGuard};
}

/// The clock of a configuration, for certificates and the age of sessions.
pub mod time_provider {
    #[cfg(feature = "std")]
    pub use rustls_core::time_provider::DefaultTimeProvider;
    pub use rustls_core::time_provider::TimeProvider;
}

/// Application operations that take time, as futures.
///
/// Signing in a hardware module, calling a remote service to verify a certificate, or accessing a
/// session storage over the network takes milliseconds. By default, a connection calls synchronous
/// methods, which block its thread. A connection with [`set_async`](crate::CommonState::set_async)
/// first calls methods that may return a [`BoxFuture`](crate::operation::BoxFuture). The owner of
/// the connection polls the future, and need not block a thread for it.
///
/// [`Offload`](crate::operation::Offload) turns any private key into one that signs asynchronously,
/// on a pool of threads. The examples `remote_key` (a key in another process), `pkcs11_key` (a key
/// in a hardware module, in a separate package, `rustls/examples/pkcs11_key`) and `redis_sessions`
/// are complete servers.
pub mod operation {
    pub use rustls_core::operation::BoxFuture;

    #[cfg(feature = "std")]
    pub use crate::config::offload::{Job, Offload, Spawn};
}

/// The encryption of session tickets, and the rotation of the keys.
pub mod ticketer {
    #[cfg(feature = "std")]
    pub use rustls_core::ticketer::TicketRotator;
    pub use rustls_core::ticketer::TicketSwitcher;
}

/// Connections whose buffers belong to the caller.
pub mod unbuffered {
    pub use rustls_core::crypto::cipher::InsufficientSizeError;
    pub use rustls_core::record::receiver::WaitingRecord;
    pub use rustls_core::record::sender::InPlaceRoom;

    pub use crate::conn::in_place_error::InPlaceError;
    pub use crate::conn::unbuffered::{
        AppDataRecord, ConnectionState, EncodeError, EncodeTlsData, EncryptError, ReadEarlyData,
        ReadTraffic, TransmitTlsData, UnbufferedConnectionCommon, UnbufferedStatus, WriteTraffic,
    };
}

/// Proxies: forwarding data from one connection to another, or between a connection and a plain
/// socket.
#[cfg(feature = "std")]
pub mod relay {
    pub use crate::conn::forward::{Forwarded, Plain, Sink, Source, forward};
}

/// Observers: metrics and traces of connections, for any metrics framework.
///
/// Set one as [`ClientConfig::observer`](crate::ClientConfig::observer) or
/// [`ServerConfig::observer`](crate::ServerConfig::observer).
///
/// Most enums in an event have a method `label`, which returns a short, stable name for metrics,
/// and a constant `LABELS` with all names, for example to create counters in advance. An [`Error`]
/// has only the method. Versions, cipher suites, groups and signature schemes have neither, because
/// their registries are long; their method `as_str` returns a name if there is one. Later versions
/// may add labels, but never change or remove one.
/// `docs/observer-labels.txt` and `docs/error-labels.txt` in the repository list them.
pub mod observer {
    pub use rustls_core::record::traffic::Traffic;

    pub use crate::config::observer::events::{
        Alert, ConnectionClosed, ConnectionFailed, Direction, End, Fault, KeysUpdated,
        SessionEvent, TicketAction, TicketEvent,
    };
    pub use crate::config::observer::handshake::{
        ClientCertificate, Durations, EarlyData, EarlyDataRejected, HandshakeFacts, NotResumed,
        PeerChainCheck, SessionSource,
    };
    pub use crate::config::observer::{Carrier, Observed, Observer};
}

/// The two halves of an established connection, for use on two threads without a lock.
///
/// The connection's `into_split` creates them. The documentation of
/// [`ClientConnection::into_split`](crate::ClientConnection::into_split) has an example and
/// describes the work that each half does for the other.
pub mod split {
    #[cfg(feature = "std")]
    pub use crate::conn::split::Writer;
    pub use crate::conn::split::{Facts, IntoSplitError, Receiver, ReceiverState, Sender};
}

use rustls_core::{enums, error, record, suites};
