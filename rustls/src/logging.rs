//! What the library tells the [`log`] crate, where feature `logging` is on; otherwise nothing.
//!
//! `trace`: each message that is sent or received, by its type, and records that are dropped. `debug`: what was
//! negotiated, resumed and rejected, and alerts sent. `warn`: alerts received that are passed over, messages that must
//! not come where they do, certificates and files that cannot be used. Never a secret, nor the content of a message,
//! and nothing whose length a peer chooses.

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
