//! Tests of shared caches of roots and revocation lists: each source is loaded and parsed once,
//! replaced when due, and no handshake uses outdated data.

mod kit;
mod platform;
mod revocation;
mod revocation_changes;
mod revocation_used;
mod roots;
mod roots_changes;
mod roots_ignored;
