//! The parts that all contenders share: the scenarios, the pipe between two sides, the work and its
//! measurement. It uses no TLS library and no cryptography, so that a contender's process has only
//! its own.
//!
//! ```text
//!   peers (the driver) ──► contenders/*: one process for each library, scenario and round
//!        └─────────► kit ◄────┘
//! ```

mod process;
mod scenario;
mod side;
mod wire;
mod work;

pub use process::{UNSUPPORTED, Unsupported, run};
pub use scenario::{Certificate, Cipher, Group, Scenario, Version, Work};
pub use side::{Contender, Negotiated, RECORD_LEN, Setup, Side};
pub use wire::Wire;

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of an operation that may fail in any way.
pub type Result<T> = std::result::Result<T, Error>;
