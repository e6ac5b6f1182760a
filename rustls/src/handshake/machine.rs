//! The handshake of each side: one enum with a variant per version, from the ClientHello to the
//! states of the version that is chosen.
//!
//! ```text
//!                      Hello ── version ──► Tls13(State) or Tls12(State)
//!                        │                       │
//!                        └──── an error ─────────┴──► Failed
//! ```
//!
//! Only this module imports both `tls13` and `tls12`. They do not import each other.

pub(crate) mod client;
pub(crate) mod server;

/// The negotiated version of a handshake.
#[derive(Clone, Copy)]
enum Version {
    Tls13,
    #[cfg(feature = "tls12")]
    Tls12,
}
