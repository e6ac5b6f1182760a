//! Log messages through the [`log`] crate with feature `logging`; no-ops without it.
//!
//! These are, for example:
//!
//! - `trace`: the types of messages sent and received, dropped records, sessions of another
//!   configuration;
//! - `debug`: negotiated parameters, resumptions, the reasons for not resuming a session or
//!   rejecting early data, waits for operations, sent warnings such as close_notify, and the
//!   failure of a connection, unless `warn` has it;
//! - `warn`: ignored alerts, connections that failed because of a message out of order, a sending
//!   key that has reached its limit, an unusable key log file, operations that are not polled,
//!   defects of the crypto provider.
//!
//! Secrets are never logged. Text from a peer is logged only if it is short or truncated.

#[cfg(feature = "log")]
pub(crate) use log::{debug, trace, warn};

#[cfg(not(feature = "log"))]
mod without {
    macro_rules! nothing {
        ($($argument:tt)*) => {{
            let _ = || {
                let _ = core::format_args!($($argument)*);
            };
        }};
    }

    pub(crate) use nothing as debug;
    pub(crate) use nothing as trace;
    pub(crate) use nothing as warn;
}

#[cfg(not(feature = "log"))]
pub(crate) use without::{debug, trace, warn};

/// True for characters that could disguise a log line: controls, line ends, invisible characters,
/// and those that change the direction of text.
pub(crate) fn is_deceptive(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}
