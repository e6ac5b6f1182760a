//! The sources of revocation lists, and their interface to the cache.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::path::{self, PathBuf};
use std::sync::Arc;

use rustls::time_provider::TimeProvider;

use super::error::CrlError;
use super::read::{self, Lists};
use crate::FileError;
use crate::files::FileVersion;
use crate::loading::Source;
use crate::logging::warn;

/// The maximum number of problems logged per reading of a source.
const MAX_LOGGED: usize = 10;

/// A source of certificate revocation lists.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CrlSource {
    /// A file of up to 256 MiB: one list in DER, or any number in PEM (`X509 CRL`). Other content
    /// of a PEM file is skipped.
    ///
    /// A relative path is resolved against the current directory of each call. Replace files in use
    /// by renaming.
    File(PathBuf),

    /// All files in a directory, up to 256 MiB in total. Links are followed, subdirectories are
    /// not. PEM files without a list are skipped, so certificates may be there too. An empty file,
    /// or one named like a list (`.crl`, or `.r0` of `openssl rehash`) without a list in it, is a
    /// problem.
    Directory(PathBuf),
}

impl CrlSource {
    /// Returns the version of the files.
    pub(crate) fn version(&self) -> FileVersion {
        match self {
            Self::File(path) => FileVersion::of_file(path),
            Self::Directory(path) => FileVersion::of_directory(path),
        }
    }

    /// Reads the lists, while the lists of `held` are in use. `clock` detects lists dated in the
    /// future.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing can be read. Without `held`, also if something is unusable.
    pub(crate) fn load(
        &self,
        held: Option<&Arc<Lists>>,
        clock: Arc<dyn TimeProvider>,
    ) -> Result<Arc<Lists>, CrlError> {
        let source = self.clone();
        TimedSource { source, clock }.load(held)
    }

    /// Returns the same source with an absolute path.
    pub(super) fn absolute(&self) -> Result<Cow<'_, Self>, FileError> {
        let (Self::File(path) | Self::Directory(path)) = self;
        if path.is_absolute() {
            return Ok(Cow::Borrowed(self));
        }
        let absolute = path::absolute(path).map_err(|error| FileError::io(path, error))?;
        Ok(Cow::Owned(match self {
            Self::File(_) => Self::File(absolute),
            Self::Directory(_) => Self::Directory(absolute),
        }))
    }
}

/// A source with the clock that its lists are checked by.
#[derive(Clone, Debug)]
pub(super) struct TimedSource {
    pub(super) source: CrlSource,
    pub(super) clock: Arc<dyn TimeProvider>,
}

impl PartialEq for TimedSource {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for TimedSource {}

impl Hash for TimedSource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl Source for TimedSource {
    type Value = Lists;
    type Error = CrlError;
    type Version = FileVersion;

    fn load(&self, held: Option<&Arc<Lists>>) -> Result<Arc<Lists>, CrlError> {
        read::read(&self.source, held, self.clock.current_time())
    }

    fn log(&self, outcome: Result<&Lists, &CrlError>, kept: bool) {
        match outcome {
            Ok(lists) => {
                for problem in lists.problems.iter().take(MAX_LOGGED) {
                    warn!("revocation lists: {problem}");
                }
                if let Some(more @ 1..) = lists.problems.len().checked_sub(MAX_LOGGED) {
                    warn!(
                        "revocation lists: {more} more problems with {:?}",
                        self.source
                    );
                }
            }
            Err(error) if kept => {
                warn!(
                    "revocation lists: keeping the old ones of {:?}: {error}",
                    self.source
                );
            }
            // the caller gets the error
            Err(_) => (),
        }
    }

    fn version(&self) -> Option<FileVersion> {
        Some(self.source.version())
    }

    fn can_change(&self) -> bool {
        true
    }

    fn bytes(&self, lists: &Lists) -> usize {
        lists.bytes()
    }
}
