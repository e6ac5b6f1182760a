//! Where roots come from, and how the cache handles it.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::discriminant;
use std::path::{self, PathBuf};

use super::error::RootsError;
use super::read::{self, Roots};
use crate::certificates::FileError;
use crate::certificates::files::FileVersion;
use crate::certificates::loading::Source;
use crate::logging::warn;

/// Where root certificates come from.
///
/// Two sources are the same when they are of one kind and name the same path, or hold the same bytes.
#[derive(Clone)]
#[non_exhaustive]
pub enum RootSource {
    /// A file of certificates in PEM, of up to 16 MiB. Whatever else is in it is passed over.
    ///
    /// A relative path starts from the directory that is the current one at each call. Replace files that are in use
    /// by renaming others over them.
    PemFile(PathBuf),

    /// Certificates in PEM, in memory: `RootSource::Pem(bytes.into())`.
    ///
    /// It is cheapest to make one and to clone it: two that share their bytes need not be compared.
    Pem(Arc<[u8]>),

    /// All files in a directory, each of up to 16 MiB, and 64 MiB together: of certificates in PEM, or of one in
    /// DER. Links are followed, directories in it are not. A certificate that comes more than once, as by the links
    /// of `openssl rehash`, counts once.
    Directory(PathBuf),

    /// The certificates that the platform trusts, as the crate `rustls-native-certs` finds them.
    #[cfg(feature = "native-certs")]
    Platform,

    /// The certificates that Mozilla trusts, as they were when the crate `webpki-roots` was published.
    #[cfg(feature = "webpki-roots")]
    WebPki,
}

impl RootSource {
    /// The same source wherever the current directory is.
    pub(super) fn absolute(&self) -> Result<Cow<'_, Self>, FileError> {
        let absolute = |path| path::absolute(path).map_err(|error| FileError::io(path, error));
        Ok(match self {
            Self::PemFile(path) if path.is_relative() => Cow::Owned(Self::PemFile(absolute(path)?)),
            Self::Directory(path) if path.is_relative() => {
                Cow::Owned(Self::Directory(absolute(path)?))
            }
            _ => Cow::Borrowed(self),
        })
    }
}

impl RootSource {
    /// The first few by name: a damaged file may have any number.
    fn warn_of_ignored(&self, roots: &Roots) {
        const NAMED: usize = 10;
        let mut ignored = roots
            .ignored
            .iter()
            .filter(|ignored| ignored.is_unexpected());
        for ignored in ignored.by_ref().take(NAMED) {
            warn!("root certificates: ignored {ignored}");
        }
        if ignored.next().is_some() {
            warn!(
                "root certificates: of {self:?} {} were ignored in all",
                roots.ignored_count
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
    /// Of PEM in memory only samples are hashed: it may be long, and what has the same hash is compared byte by
    /// byte.
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

/// Sixteen pieces of `bytes`, evenly spaced; all of it if it is short.
fn samples(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LENGTH: usize = 32;
    const COUNT: usize = 16;
    bytes
        .chunks(bytes.len().div_ceil(COUNT).max(1))
        .map(|piece| &piece[piece.len().saturating_sub(LENGTH)..])
}

impl fmt::Debug for RootSource {
    /// Prints how long PEM in memory is, not what it is.
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
    type Value = Roots;
    type Error = RootsError;
    type Version = FileVersion;

    fn load(&self, held: Option<&Arc<Roots>>) -> Result<Arc<Roots>, RootsError> {
        read::read(self, held.map(|held| &held.store)).map(Arc::new)
    }

    fn log(&self, outcome: Result<&Roots, &RootsError>, kept: bool) {
        match outcome {
            Ok(roots) => self.warn_of_ignored(roots),
            Err(error) if kept => {
                warn!("root certificates: keeping the old ones of {self:?}: {error}");
            }
            // told to the caller
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

    fn bytes(&self, roots: &Roots) -> usize {
        let key = match self {
            Self::Pem(pem) => pem.len(),
            _ => 0,
        };
        key + roots.bytes()
    }
}
