//! Many connections that hold data.

use harness::peers::pairs::Result;

/// Many connected pairs.
pub(crate) trait Pairs {
    /// Sends `data` to every connection, which does not hand it out yet.
    fn hold(&mut self, data: Data) -> Result<()>;

    /// Delivers the rest to every connection and reads all of `data`.
    fn read(&mut self, data: Data) -> Result<()>;

    /// Drops all connections; returns the heap bytes freed by clients and by servers.
    fn give_back(&mut self) -> [i64; 2];
}

/// The data sent to each connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) len: usize,
    /// True if the last [`REST`] bytes of the record arrive later. Otherwise the whole record
    /// arrives at once and waits to be read.
    pub(crate) is_part: bool,
}

/// The number of bytes of a record that arrive later.
pub(crate) const REST: usize = 16;

impl Data {
    pub(crate) const fn new(len: usize, is_part: bool) -> Self {
        Self { len, is_part }
    }
}
