//! Gives the same invalid bytes and the same calls to this crate and to rustls 0.23, and compares
//! errors, alerts, texts and log lines.

mod diagnostics;
mod differential;
mod tampering;
mod texts;
