//! Connection behaviour other than completing a handshake, by topic, compared with the same calls
//! on upstream rustls.
//!
//! Most tests have a body in a macro that is compiled against both crates, and compare the two
//! logs.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod advisories;
mod alpn_sni;
mod buffering;
mod client_auth;
mod closing;
mod compared;
mod connected;
mod counted;
mod documents;
mod failing;
mod fleet;
mod floods;
mod forwarding;
mod forwarding_handshakes;
mod forwarding_limits;
mod fragmentation;
mod in_place;
mod key_log_and_exporters;
mod key_update;
mod key_update_io;
mod misuse;
mod next_record;
mod opening_into;
mod operations;
mod relaying;
mod room_left;
mod server_certificate;
mod session_calls;
mod shared_buffers;
mod stream_io;
mod stream_reads;
mod tickets;
mod too_long;
mod transparent;
mod unbuffered_operations;
