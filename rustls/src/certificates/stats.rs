//! What a cache tells about itself.

/// What a cache holds, and how much it has helped.
///
/// One type for all caches of this module; a number that a cache has no use for stays 0. The counts start at 0 with
/// the cache, and only grow.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct CacheStats {
    /// How many entries are held now.
    pub entries: usize,
    /// How many bytes they take, where the cache counts them.
    pub bytes: Option<usize>,
    /// Look-ups that were answered by what was held.
    pub hits: u64,
    /// Look-ups for which something had to be loaded or parsed.
    pub misses: u64,
    /// Entries that made room for others.
    pub evictions: u64,
    /// Entries that were loaded again, because they were too old or had changed, and replaced.
    pub reloads: u64,
    /// Loads that failed, the first ones and later ones.
    pub failures: u64,
}
