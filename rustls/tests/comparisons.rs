//! The same wrong bytes, and the same calls, to this crate and rustls 0.23: errors, alerts, texts
//! and log lines.

mod diagnostics;
mod differential;
mod tampering;
mod texts;
