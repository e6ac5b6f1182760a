//! Sources of revocation lists, and their interface to the cache.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pki_types::UnixTime;

use super::error::CrlError;
use super::read::{self, Lists};
use crate::files::FileVersion;
use crate::loading::{Previous, Source};
use crate::logging::warn;

/// The maximum number of problems logged per reading of a source.
const MAX_LOGGED: usize = 10;

/// A source of certificate revocation lists.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CrlSource {
    /// A file of up to 256 MiB: one list in DER, or lists in PEM (`X509 CRL`). Other content in a
    /// PEM file is skipped.
    ///
    /// A relative path is resolved against the current directory at the time of each call. Replace
    /// files in use by renaming.
    File(PathBuf),

    /// All files in a directory, up to 256 MiB in total. Links are followed, subdirectories are
    /// not. PEM files without a list are skipped, so the directory may also contain certificates in
    /// PEM. An empty file, a file of zeros, and a file named like a list (`.crl`, or `.r0` as
    /// created by `openssl rehash`) without a list are problems. So is a certificate in DER.
    Directory(PathBuf),
}

impl CrlSource {
    /// Returns the path of the file or directory.
    pub(super) fn path(&self) -> &Path {
        let (Self::File(path) | Self::Directory(path)) = self;
        path
    }
}

impl Source for CrlSource {
    type Value = Lists;
    type Error = CrlError;
    type Version = FileVersion;

    fn load(
        &self,
        held: Option<&Arc<Lists>>,
        now: Option<UnixTime>,
    ) -> Result<Arc<Lists>, CrlError> {
        read::read(self, held, now)
    }

    fn log(&self, outcome: Result<&Lists, &CrlError>, kept: bool, previous: &Previous<Self>) {
        let texts = |lists: &Lists| {
            let texts = lists.problems.iter().map(ToString::to_string);
            texts.collect::<Vec<_>>()
        };
        match outcome {
            Ok(lists) if previous.value.as_deref().map(texts) == Some(texts(lists)) => {}
            Ok(lists) => {
                for problem in lists.problems.iter().take(MAX_LOGGED) {
                    warn!("revocation lists: {problem}");
                }
                if let Some(more @ 1..) = lists.problems.len().checked_sub(MAX_LOGGED) {
                    warn!("revocation lists: {more} more problems with {self:?}");
                }
            }
            Err(error) if kept && previous.failed_with(error) => {}
            Err(error) if kept => {
                warn!("revocation lists: keeping the old ones of {self:?}: {error}");
            }
            // the caller gets the error
            Err(_) => (),
        }
    }

    fn version(&self) -> Option<FileVersion> {
        Some(match self {
            Self::File(path) => FileVersion::of_file(path),
            Self::Directory(path) => FileVersion::of_directory(path),
        })
    }

    fn can_change(&self) -> bool {
        true
    }

    fn bytes(&self, lists: &Lists) -> usize {
        lists.bytes()
    }
}
