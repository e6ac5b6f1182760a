//! Log messages through the [`log`] crate with feature `logging`; no-ops without it.
//!
//! `trace`: the type of each message sent or received, and dropped records. `debug`: negotiated
//! parameters, resumptions, the reasons for not using a session or early data, waits for
//! operations, sent warnings such as close_notify, and one line for each failed connection. `warn`:
//! ignored alerts, messages out of order, worn keys, an unusable key log file, operations that are
//! never polled, defects of the crypto provider. Secrets, message contents and text whose length a
//! peer chooses are never logged.

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

/// True for characters that could disguise a log line: controls, line ends, and characters that
/// change the direction of text.
pub(crate) fn is_deceptive(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}
