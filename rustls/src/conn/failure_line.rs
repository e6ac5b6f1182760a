//! The log message for a failed connection.

use alloc::string::String;
use core::fmt::{self, Write};

use crate::enums::AlertDescription;
use crate::error::Error;
use crate::logging::{debug, is_deceptive, warn};

/// The maximum length of the error's text in bytes. Some errors list the names in the peer's
/// certificate.
const MAX_LEN: usize = 512;

/// Logs the failure of a connection: its error, the alert for the peer, and the name that the
/// client requested. A message out of order is a warning, as in rustls 0.23, because it is rare and
/// hard to diagnose from one side alone. Other errors are logged at level `debug`, because the
/// application reports them.
#[cold]
pub(super) fn log_failure(
    error: &Error,
    alert: Option<AlertDescription>,
    server_name: Option<&str>,
) {
    let context = FailureContext { alert, server_name };
    match error {
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            warn!("{error}{context}");
        }
        _ => debug!("connection failed: {}{context}", Bounded(error)),
    }
}

/// An error on one line of limited length.
struct Bounded<'a>(&'a Error);

impl fmt::Display for Bounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Prefix(String::new());
        // fails once the text is too long
        let is_whole = write!(text, "{}", self.0).is_ok();
        f.write_str(&text.0)?;
        f.write_str(if is_whole { "" } else { " …" })
    }
}

/// The beginning of a text, without control characters and other characters that could fake a log
/// line.
struct Prefix(String);

impl Write for Prefix {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if self.0.len() + char.len_utf8() > MAX_LEN {
                return Err(fmt::Error);
            }
            self.0.push(if is_deceptive(char) { ' ' } else { char });
        }
        Ok(())
    }
}

/// The alert and the server name, if known.
struct FailureContext<'a> {
    alert: Option<AlertDescription>,
    server_name: Option<&'a str>,
}

impl fmt::Display for FailureContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(alert) = self.alert {
            write!(f, "; alert {alert:?}")?;
        }
        if let Some(server_name) = self.server_name {
            write!(f, "; server name {server_name}")?;
        }
        Ok(())
    }
}
