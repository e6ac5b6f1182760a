//! What a cache tells about itself.

/// What a cache holds, and what became of the questions it was asked.
///
/// One type for all caches of this module; a number that a cache has no use for stays 0. The counts start with
/// the cache, and grow for as long as it lives.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct CacheStats {
    /// How many entries are held now.
    pub entries: usize,
    /// How many bytes they take, where the cache counts them.
    pub bytes: Option<usize>,
    /// Questions that were answered by what was held.
    pub hits: u64,
    /// Questions for which something had to be loaded or parsed.
    pub misses: u64,
    /// Entries that made room for others.
    pub evictions: u64,
    /// Entries that were loaded again, because they were too old or had changed, and replaced.
    pub reloads: u64,
    /// Loads that failed, the first ones and later ones.
    pub failures: u64,
}
