//! The basis of the tests, the bench and the fuzz targets of rustls-inplace.
//!
//! ```text
//!   peers ─────── connections of this crate and of upstream, each API, behind one trait, and what
//!     ▲           they are made of: certificates, configurations, sockets, servers
//!     │
//!   scripted ──── peers with the right keys that send whatever a test wants; in `ech` a server of
//!                 Encrypted Client Hello that only accepts what the rules allow; in `recorded`
//!                 flights to change and replay
//!
//!   quic ──────── both crates over QUIC: CRYPTO bytes level by level, and packets under their keys
//!   verifiers ─── one that accepts, rejects or observes; hooks around others; raw public keys
//!   providers ─── crypto providers whose keys wear out soon, whose ciphers call a hook, that have
//!                 finite-field groups, or that neither encrypt nor draw random numbers; ticketers
//!   wire ──────── vectors, messages, ClientHellos and records byte by byte; records sealed with
//!                 the bare AEAD and extracted keys; reproducible noise
//! ```
//!
//! It uses the library through its public interface, like any program. The scripted peers have
//! their own key schedule and record protection, so that one mistake in both ends cannot hide a
//! defect of the library.

// `pairs` is compiled twice on purpose, once for each implementation
#![allow(clippy::duplicate_mod)]
#![allow(
    clippy::new_without_default,
    reason = "no test needs a default, and `new` says what it makes"
)]
#![allow(
    missing_docs,
    reason = "only this workspace reads it; the names are the RFC's"
)]

/// The accessors that endpoints of either crate share. A macro, because the types of the two crates
/// have the same names, but are distinct.
macro_rules! accessors {
    () => {
        fn is_handshaking(&self) -> bool {
            self.conn.is_handshaking()
        }

        fn negotiated(&self) -> String {
            let conn = &self.conn;
            format!(
                "{:?} {:?} {:?} {:?} {:?}",
                conn.protocol_version(),
                conn.negotiated_cipher_suite(),
                conn.negotiated_key_exchange_group().map(|it| it.name()),
                conn.alpn_protocol(),
                conn.handshake_kind(),
            )
        }

        fn peer_certificates(&self) -> Vec<Vec<u8>> {
            let chain = self.conn.peer_certificates().unwrap_or_default();
            chain.iter().map(|cert| cert.to_vec()).collect()
        }
    };
}

/// Defines an enum whose `ALL` lists its values.
#[macro_export]
macro_rules! listed {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $value:ident,)*
        }
    ) => {
        $(#[$attribute])*
        $vis enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            $vis const ALL: &[Self] = &[$(Self::$value),*];
        }
    };
}

pub mod peers;
pub mod providers;
pub mod quic;
pub mod scripted;
pub mod verifiers;
pub mod wire;
