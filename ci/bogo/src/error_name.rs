//! One name for each error of the crate: that of its variant, and of the variant inside it.
//!
//! `config.json` says which of them each of the runner's errors may be. Nothing else about an error is in its name:
//! neither what was expected nor what test is running.

use std::fmt::Debug;

use rustls::Error;

/// The name of `error`.
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
        // the variant says nothing, so its text has to
        Error::General(message) => format!("General: {message}"),
        Error::Other(cause) => format!("Other: {cause}"),
        plain => variant(plain),
    }
}

fn inside(outer: &str, cause: &impl Debug) -> String {
    format!("{outer}::{}", variant(cause))
}

/// The name of a variant, without its fields.
fn variant(value: &impl Debug) -> String {
    format!("{value:?}")
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
        .into()
}
