//! Where lists come from, and how the cache handles it.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use std::path::{self, PathBuf};

use super::error::CrlError;
use super::read::{self, Lists};
use crate::certificates::FileError;
use crate::certificates::files::FileVersion;
use crate::certificates::loading::Source;
use crate::logging::warn;
use crate::time_provider::TimeProvider;

/// How many problems of a source the log is told of at each reading.
const MAX_LOGGED: usize = 10;

/// Where certificate revocation lists come from.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CrlSource {
    /// A file of up to 256 MiB: one list in DER, or any number in PEM (`X509 CRL`). Whatever else is in PEM is
    /// passed over.
    ///
    /// A relative path starts from the directory that is the current one at each call. Replace files that are in use
    /// by renaming others over them.
    File(PathBuf),

    /// All files in a directory, 256 MiB together. Links are followed, directories in it are not. A file in PEM
    /// without a list is passed over, so that certificates may be there, too. One that is empty, or is named as lists
    /// are (`.crl`, or `.r0` as by `openssl rehash`), is not: there was to be a list.
    Directory(PathBuf),
}

impl CrlSource {
    /// What changes when its files do.
    pub(crate) fn version(&self) -> FileVersion {
        match self {
            Self::File(path) => FileVersion::of_file(path),
            Self::Directory(path) => FileVersion::of_directory(path),
        }
    }

    /// Reads the lists, of which `held` are in use. Those that are of the future are recognized by `clock`.
    ///
    /// # Errors
    ///
    /// When nothing can be read; without `held`, also when not everything can be used.
    pub(crate) fn load(
        &self,
        held: Option<&Arc<Lists>>,
        clock: Arc<dyn TimeProvider>,
    ) -> Result<Arc<Lists>, CrlError> {
        let source = self.clone();
        TimedSource { source, clock }.load(held)
    }

    /// The same source wherever the current directory is.
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

/// A source, and the clock by which its lists are judged.
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
            // told to the caller
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
