//! The calls into the application's code that a handshake waits for, and the records that may be
//! opened meanwhile.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};

/// Describes the callback that the handshake is waiting for, and which records may be opened in the
/// meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) call: Call,
    pub(crate) opens: Opens,
}

/// Defines the calls, each with its text.
macro_rules! calls {
    ($($(#[$doc:meta])* $call:ident = $text:literal;)+) => {
        /// A call into the application's code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Call { $($(#[$doc])* $call,)+ }

        impl Call {
            /// All calls. The position of each is its number.
            const ALL: &'static [Self] = &[$(Self::$call,)+];
        }

        impl fmt::Display for Call {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$call => $text,)+ })
            }
        }
    };
}

calls! {
    /// The choice of this side's certificate.
    Certificate = "certificate";
    /// An access to the session storage.
    Session = "session";
    /// The verification of the peer's certificates or signature.
    Verification = "verification";
    Signature = "signature";
    /// The encryption or decryption of a ticket.
    Ticket = "ticket";
}

/// The records that may be opened while a handshake is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// Alerts, and change_cipher_specs that TLS 1.3 drops. The peer's Finished has not arrived yet.
    /// It will be protected by the current key or a later one.
    Alerts,
    /// None. The peer has sent its Finished, so its next records belong to the completed
    /// connection.
    Nothing,
}

/// The pending call in an operation that makes several calls.
pub(crate) struct CurrentCall(AtomicU8);

impl Wait {
    /// Returns a wait for `call` before the peer's Finished.
    pub(crate) const fn before_finished(call: Call) -> Self {
        Self {
            call,
            opens: Opens::Alerts,
        }
    }

    /// Returns a wait for `call` after the peer's Finished.
    pub(crate) const fn after_finished(call: Call) -> Self {
        Self {
            call,
            opens: Opens::Nothing,
        }
    }
}

impl CurrentCall {
    pub(crate) fn new(first: Call) -> Arc<Self> {
        Arc::new(Self(AtomicU8::new(first as u8)))
    }

    pub(crate) fn set(&self, call: Call) {
        self.0.store(call as u8, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<Call> {
        let current = self.0.load(Ordering::Relaxed);
        Call::ALL.get(usize::from(current)).copied()
    }
}
