//! The statistics of a cache.

/// The size of a cache, and the numbers of hits and other events.
///
/// Caches in this crate and in `rustls-trust` report them. A number that does not apply to a given
/// cache stays 0. Counters start at 0.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct CacheStats {
    /// The current number of entries.
    pub entries: usize,
    /// The size of the entries in bytes, if the cache counts it.
    pub bytes: Option<usize>,
    /// The number of lookups served from the cache.
    pub hits: u64,
    /// The number of lookups that the cache could not serve.
    pub misses: u64,
    /// The number of entries evicted to make room for others.
    pub evictions: u64,
    /// The number of successful reloads of entries.
    pub reloads: u64,
    /// The number of failed loads, including reloads.
    pub failures: u64,
}
