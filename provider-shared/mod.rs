//! What the two providers have in common: everything that aws-lc-rs and ring spell alike.
//!
//! These files belong to no package. Each provider compiles them into itself as its module `shared`,
//! and gives them the library to stand on as its own module [`crate::backend`]. That module is also
//! the place of all that the libraries do *not* have in common:
//!
//! ```text
//!   provider-aws-lc/src/                          provider-ring/src/
//!     lib.rs       public paths, lists              lib.rs       public paths, lists
//!     backend.rs   aws_lc_rs, and its ways          backend.rs   ring, and its ways
//!     kx/          post-quantum key exchange
//!          └───────────────────┐            ┌────────────┘
//!                            provider-shared/  (as `mod shared`)
//!                                     │
//!                                rustls-core
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
pub(crate) mod verify;
