//! Log messages through the [`log`] crate with feature `logging`; no-ops without it.
//!
//! `debug`: results of reloads. `warn`: unusable certificates, lists and files, flaws of active
//! certificates, and failed reloads. No private key is logged.

#[cfg(feature = "log")]
pub(crate) use log::{debug, warn};

#[cfg(not(feature = "log"))]
mod without {
    macro_rules! nothing {
        ($($argument:tt)*) => {{
            let _ = || {
                let _ = format_args!($($argument)*);
            };
        }};
    }

    pub(crate) use nothing as debug;
    pub(crate) use nothing as warn;
}

#[cfg(not(feature = "log"))]
pub(crate) use without::{debug, warn};
