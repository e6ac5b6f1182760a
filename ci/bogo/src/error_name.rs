//! The name of each error of the crate: its variant, and the variant inside it.
//!
//! `config.json` maps each of the runner's errors to these names. A name contains nothing else
//! about the error: neither what was expected nor the test.

use std::fmt::Debug;

use rustls::Error;

/// Returns the name of `error`.
pub(crate) fn of(error: &Error) -> String {
    match error {
        Error::InvalidMessage(cause) => inside("InvalidMessage", cause),
        Error::PeerIncompatible(cause) => inside("PeerIncompatible", cause),
        Error::PeerMisbehaved(cause) => inside("PeerMisbehaved", cause),
        Error::AlertReceived(alert) => inside("AlertReceived", alert),
        Error::InvalidCertificate(cause) => inside("InvalidCertificate", cause),
        Error::InvalidCertRevocationList(cause) => inside("InvalidCertRevocationList", cause),
        Error::InvalidEncryptedClientHello(cause) => inside("InvalidEncryptedClientHello", cause),
        Error::InconsistentKeys(cause) => inside("InconsistentKeys", cause),
        // the text distinguishes these errors
        Error::General(message) => format!("General: {message}"),
        Error::Other(cause) => format!("Other: {cause}"),
        plain => variant(plain),
    }
}

fn inside(outer: &str, cause: &impl Debug) -> String {
    format!("{outer}::{}", variant(cause))
}

/// Returns the name of a variant, without its fields.
fn variant(value: &impl Debug) -> String {
    format!("{value:?}")
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
        .into()
}
