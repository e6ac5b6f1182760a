//! What the two providers have in common: everything that aws-lc-rs and ring spell alike.
//!
//! Each provider compiles these files into itself: they lie in the one, and the other has a link to
//! them. The library to stand on, and all that the libraries do *not* have in common, each provider
//! brings in its module [`crate::backend`].
//!
//! ```text
//!   provider-aws-lc/src/                       provider-ring/src/
//!     lib.rs      public paths, lists            lib.rs      public paths, lists
//!     backend.rs  aws_lc_rs, and its ways        backend.rs  ring, and its ways
//!     kx/         post-quantum key exchange
//!     shared/     this  ◄────────────────────────shared      link
//! ```
//!
//! A change here changes both providers; the tests here run in both.

pub(crate) mod aead;
pub mod cipher_suite;
pub(crate) mod hash;
pub(crate) mod hmac;
pub(crate) mod kx;
pub(crate) mod provider;
pub(crate) mod quic;
pub mod sign;
#[cfg(feature = "std")]
pub(crate) mod ticketer;
#[cfg(test)]
pub(crate) mod vectors;
pub(crate) mod verify;
