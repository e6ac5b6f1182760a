//! The basis of the tests, the bench and the fuzz targets of rustls-inplace.
//!
//! ```text
//!   peers ─────── connections of this crate and of upstream, each API, behind one trait, and what
//!     ▲           they are made of: certificates, configurations, sockets, servers
//!     │
//!   scripted ──── peers with the right keys that send what a test specifies; in `ech` a server of
//!                 Encrypted Client Hello that only accepts what the rules allow; in `recorded`
//!                 flights to change and replay
//!
//!   comparison ── the same wrong bytes to both crates, a judge of the errors, and its table of
//!                 intended differences
//!   quic ──────── both crates over QUIC: CRYPTO bytes level by level, and packets under their keys
//!   verifiers ─── one that accepts, rejects or observes; hooks around others; raw public keys
//!   providers ─── crypto providers whose keys wear out soon, whose ciphers call a hook, that have
//!                 finite-field groups, or that neither encrypt nor draw random numbers; ticketers
//!   manual ────── real endpoints for the programs of the manual
//!   operations ── keys, verifiers, resolvers, storages and tickets whose calls take time
//!   wire ──────── vectors, messages, ClientHellos and records byte by byte; records sealed with
//!                 the bare AEAD and extracted keys; reproducible noise
//!
//!   both ──────── code of the others that exists once for each crate; their modules `this` and
//!                 `upstream` lead to it
//! ```
//!
//! This crate uses the library through its public interface, like any program. The scripted peers
//! have their own key schedule and record protection, so that the same mistake on both sides cannot
//! hide a defect of the library.

// `both` is compiled twice on purpose, once for each crate
#![allow(clippy::duplicate_mod)]
#![allow(
    clippy::new_without_default,
    reason = "no test needs a default, and `new` says what it makes"
)]
#![allow(
    missing_docs,
    reason = "only this workspace reads it; the names are the RFC's"
)]

/// Defines an enum with a constant `ALL` that lists its values.
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

/// Makes an array of cases: a description and the values of each, as in `"what": value, value;`.
#[macro_export]
macro_rules! table {
    ($($what:literal: $($value:expr),+;)*) => {
        [$(($what, $($value),+)),*]
    };
}

/// Prints a `ClientHello` of either crate, in the order of its methods.
#[macro_export]
macro_rules! describe_hello {
    ($hello:expr) => {{
        let hello = $hello;
        let authorities = hello.certificate_authorities();
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            hello.server_name(),
            hello.signature_schemes(),
            hello.alpn().map(|names| names.collect::<Vec<_>>()),
            hello.cipher_suites(),
            hello.server_cert_types(),
            hello.client_cert_types(),
            authorities.map(|names| names
                .iter()
                .map(|n| n.as_ref().to_vec())
                .collect::<Vec<_>>()),
            hello.named_groups(),
        )
    }};
}

/// Evaluates a body for the connection of either side.
#[macro_export]
macro_rules! either {
    ($tls:ident: $conn:expr, $it:pat => $body:expr) => {
        match $conn {
            $tls::Connection::Client($it) => $body,
            $tls::Connection::Server($it) => $body,
        }
    };
}

pub mod comparison;
pub mod manual;
pub mod operations;
pub mod peers;
pub mod providers;
pub mod quic;
pub mod scripted;
mod this;
mod upstream;
pub mod verifiers;
pub mod wire;
