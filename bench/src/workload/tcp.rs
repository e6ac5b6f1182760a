//! A connection over TCP and its two applications.

use harness::peers::pairs::Result;

/// An established connection over TCP and its two applications.
pub(crate) trait Transfer {
    /// Lets one application write `writes` times and the other read all of it.
    fn run(&mut self, writes: usize) -> Result<Cost>;
}

/// The cost of one [`Transfer::run`], both ends together.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// System calls on the two sockets.
    pub(crate) calls: u64,
}

/// The bytes that the two applications write and ask for at a time.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) write: usize,
    pub(crate) read: usize,
}
