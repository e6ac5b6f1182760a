//! Sources of roots, and their interface to the cache.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::Arc;

use pki_types::UnixTime;

use super::error::RootsError;
use super::read::{self, CachedRoots};
use crate::files::FileVersion;
use crate::loading::{Previous, Source};
use crate::logging::warn;

/// A source of root certificates.
///
/// Two sources are equal if they are of the same kind and have the same path or bytes.
#[derive(Clone)]
#[non_exhaustive]
pub enum RootSource {
    /// A file of PEM certificates, up to 16 MiB. Other content is skipped.
    ///
    /// A relative path is resolved against the current directory at the time of each call. Replace
    /// files in use by renaming.
    PemFile(PathBuf),

    /// PEM certificates in memory: `RootSource::Pem(bytes.into())`.
    ///
    /// Prefer clones of one source: they share their bytes, so comparisons are cheap.
    Pem(Arc<[u8]>),

    /// All files in a directory: PEM certificates, or one certificate in DER per file. Files may
    /// have 16 MiB each and 64 MiB in total. Links are followed, subdirectories are not. Duplicate
    /// certificates, for example through links created by `openssl rehash`, are added once.
    Directory(PathBuf),

    /// The certificates that the platform trusts, as found by the crate `rustls-native-certs`.
    #[cfg(feature = "native-certs")]
    Platform,

    /// The certificates that Mozilla trusted when the crate `webpki-roots` was published.
    #[cfg(feature = "webpki-roots")]
    WebPki,
}

impl RootSource {
    /// Logs the unexpected ones among the skipped items. Names only the first, because a damaged
    /// file may have any number of them.
    fn warn_of_ignored(&self, roots: &CachedRoots) {
        const NAMED: usize = 10;
        let mut ignored = roots
            .faults
            .ignored
            .iter()
            .filter(|ignored| ignored.is_unexpected());
        for ignored in ignored.by_ref().take(NAMED) {
            warn!("root certificates: ignored {ignored}");
        }
        if ignored.next().is_some() {
            warn!(
                "root certificates: of {self:?} {} were ignored in all",
                roots.faults.count
            );
        }
    }
}

impl PartialEq for RootSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::PemFile(a), Self::PemFile(b)) | (Self::Directory(a), Self::Directory(b)) => {
                a == b
            }
            (Self::Pem(a), Self::Pem(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => discriminant(self) == discriminant(other),
        }
    }
}

impl Eq for RootSource {}

impl Hash for RootSource {
    /// Hashes only samples of PEM in memory, because it may be long. Equality compares all bytes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(self).hash(state);
        match self {
            Self::PemFile(path) | Self::Directory(path) => path.hash(state),
            Self::Pem(pem) => {
                pem.len().hash(state);
                for sample in samples(pem) {
                    state.write(sample);
                }
            }
            #[cfg(feature = "native-certs")]
            Self::Platform => (),
            #[cfg(feature = "webpki-roots")]
            Self::WebPki => (),
        }
    }
}

/// Returns up to 16 evenly spaced pieces of `bytes`. If it is short, they cover all of it.
fn samples(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LENGTH: usize = 32;
    const COUNT: usize = 16;
    bytes
        .chunks(bytes.len().div_ceil(COUNT).max(1))
        .map(|piece| &piece[piece.len().saturating_sub(LENGTH)..])
}

impl fmt::Debug for RootSource {
    /// Prints the length of PEM in memory, not the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PemFile(path) => f.debug_tuple("PemFile").field(path).finish(),
            Self::Pem(pem) => write!(f, "Pem([ {} bytes ])", pem.len()),
            Self::Directory(path) => f.debug_tuple("Directory").field(path).finish(),
            #[cfg(feature = "native-certs")]
            Self::Platform => f.write_str("Platform"),
            #[cfg(feature = "webpki-roots")]
            Self::WebPki => f.write_str("WebPki"),
        }
    }
}

impl Source for RootSource {
    type Value = CachedRoots;
    type Error = RootsError;
    type Version = FileVersion;

    fn load(
        &self,
        held: Option<&Arc<CachedRoots>>,
        _now: Option<UnixTime>,
    ) -> Result<Arc<CachedRoots>, RootsError> {
        read::read(self, held.map(|held| &**held)).map(Arc::new)
    }

    fn log(
        &self,
        outcome: Result<&CachedRoots, &RootsError>,
        kept: bool,
        previous: &Previous<Self>,
    ) {
        match outcome {
            Ok(roots) => {
                let texts = |roots: &CachedRoots| {
                    let texts = roots.faults.ignored.iter().map(ToString::to_string);
                    texts.collect::<Vec<_>>()
                };
                let known = previous.value.as_deref().map(texts);
                if known.as_ref() != Some(&texts(roots)) {
                    self.warn_of_ignored(roots);
                }
            }
            Err(error) if kept => {
                if !previous.failed_with(error) {
                    warn!("root certificates: keeping the old ones of {self:?}: {error}");
                }
            }
            // the caller gets the error
            Err(_) => (),
        }
    }

    fn version(&self) -> Option<FileVersion> {
        match self {
            Self::PemFile(path) => Some(FileVersion::of_file(path)),
            Self::Directory(path) => Some(FileVersion::of_directory(path)),
            _ => None,
        }
    }

    fn can_change(&self) -> bool {
        match self {
            Self::Pem(_) => false,
            Self::PemFile(_) | Self::Directory(_) => true,
            #[cfg(feature = "native-certs")]
            Self::Platform => true,
            #[cfg(feature = "webpki-roots")]
            Self::WebPki => false,
        }
    }

    fn bytes(&self, roots: &CachedRoots) -> usize {
        let key = match self {
            Self::Pem(pem) => pem.len(),
            _ => 0,
        };
        key + roots.bytes()
    }
}
