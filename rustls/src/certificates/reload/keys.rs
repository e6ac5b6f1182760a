//! Certificates and keys of one's own, replaced while configurations with them are in use.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::OnceLock;

use pki_types::DnsName;

use super::ocsp::Currency;
use super::pair::{CertifiedKeyFiles, FileVersions, Found};
use super::slot::{Loaded, Slot};
use super::{Reload, ReloadError, ReloadStatus};
use crate::client::ResolvesClientCert;
use crate::crypto::CryptoProvider;
use crate::enums::SignatureScheme;
use crate::server::{ClientHello, ResolvesServerCert};
use crate::sign::{CertifiedKey, SingleCertAndKey};
use crate::time_provider::{DefaultTimeProvider, TimeProvider};

/// Certificates and keys from files, which [`reload`](Self::reload) reads again: for servers, by name or for all
/// names, and for clients.
///
/// It reads nothing by itself. When to do so is up to the application: when told by a signal, or every minute by
/// [`reload_if_changed`](Self::reload_if_changed), in a thread or a task of its own, since files may be slow.
///
/// New files come into force only when they were found to be good: the key belongs to the certificate, each
/// certificate of the chain is within its validity, the first is for all names that it is to be found by, and the
/// OCSP response is about it. Otherwise the old ones stay, and [`status`](Self::status) tells why.
///
/// An OCSP response is about a certificate if its CertID has the serial number and the issuer's name. The issuer's key
/// is compared, too, where the chain has the issuer's certificate. A response whose `nextUpdate` has passed by the
/// clock is not stapled any more; clients then get none until a reload finds a newer one.
///
/// Connections are not disturbed. A handshake goes on with the certificate that it chose. A client resumes a session
/// only while the certificate that it was made with is in force.
///
/// If you wrap this as a client's resolver, pass on [`current_resolver`](ResolvesClientCert::current_resolver).
/// Without it, new handshakes have the newest certificate, but sessions made with an earlier one are resumed.
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```no_run")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use rustls::ServerConfig;
/// use rustls::certificates::{CertifiedKeyFiles, ReloadingCertifiedKeys};
///
/// let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
/// let files = CertifiedKeyFiles::new("fullchain.pem", "privkey.pem");
/// let keys = ReloadingCertifiedKeys::new(files, provider)?;
/// let config = ServerConfig::builder()
///     .with_no_client_auth()
///     .with_cert_resolver(keys.clone());
///
/// std::thread::spawn(move || {
///     loop {
///         std::thread::sleep(Duration::from_secs(60));
///         if let Err(error) = keys.reload_if_changed() {
///             eprintln!("still the old certificate: {error}");
///         }
///     }
/// });
/// # Ok::<(), Arc<rustls::certificates::ReloadError>>(())
/// ```
pub struct ReloadingCertifiedKeys {
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn TimeProvider>,
    /// For clients that ask for no name, or for one that is not known; and for clients.
    default: Option<Arc<Pair>>,
    /// By names in lower case.
    by_name: BTreeMap<String, Arc<Pair>>,
    /// Each once.
    pairs: Vec<Arc<Pair>>,
}

impl ReloadingCertifiedKeys {
    /// Reads `files`, for all names.
    ///
    /// # Errors
    ///
    /// Those of [`ReloadingCertifiedKeysBuilder::build`].
    pub fn new(
        files: CertifiedKeyFiles,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<Self>, Arc<ReloadError>> {
        Self::builder(provider).with_default(files).build()
    }

    /// Starts to say which files there are. `provider` loads the keys.
    pub fn builder(provider: Arc<CryptoProvider>) -> ReloadingCertifiedKeysBuilder {
        ReloadingCertifiedKeysBuilder {
            provider,
            clock: Arc::new(DefaultTimeProvider),
            default: None,
            named: Vec::new(),
        }
    }

    /// Reads all files again. Each pair is checked and replaced by itself.
    ///
    /// # Errors
    ///
    /// Why one of the pairs, or [several](ReloadError::Several), keep what they had.
    pub fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.reload_each(|pair| {
            pair.slot
                .reload(|| pair.files.versions(), |held| self.load(pair, held))
        })
    }

    /// The same, but only for pairs one of whose files has changed (its size, its date or, where the system tells, which
    /// file it is), and for those that could not be replaced the last time.
    ///
    /// # Errors
    ///
    /// As for [`reload`](Self::reload).
    pub fn reload_if_changed(&self) -> Result<Reload, Arc<ReloadError>> {
        self.reload_each(|pair| {
            pair.slot
                .reload_if_changed(|| pair.files.versions(), |held| self.load(pair, held))
        })
    }

    fn reload_each(
        &self,
        reload: impl Fn(&Pair) -> Result<Reload, Arc<ReloadError>>,
    ) -> Result<Reload, Arc<ReloadError>> {
        let mut errors = Vec::new();
        let mut all = Reload::Unchanged;
        for pair in &self.pairs {
            match reload(pair) {
                Ok(Reload::Unchanged) => {}
                Ok(one) if all == Reload::Replaced || one == Reload::Overtaken => {
                    all = if all == Reload::Replaced { all } else { one };
                }
                Ok(one) => all = one,
                Err(error) => errors.push(Arc::unwrap_or_clone(error)),
            }
        }
        ReloadError::of(errors).map_or(Ok(all), |error| Err(Arc::new(error)))
    }

    fn load(&self, pair: &Pair, held: &Arc<InForce>) -> Loaded<InForce> {
        let value = match pair.load(&self.provider, &*self.clock) {
            Ok(found) if found.certified_key.is_same_as(&held.certified_key) => held.clone(),
            Ok(found) => Arc::new(InForce::new(found)),
            Err(error) => return Loaded::failed(held, error),
        };
        Loaded {
            value,
            problem: None,
        }
    }

    /// How reloading has gone, all pairs together: the numbers are their sums, the failure that of the first pair that
    /// has one, the time the latest.
    pub fn status(&self) -> ReloadStatus {
        let mut all = ReloadStatus::default();
        for pair in &self.pairs {
            let one = pair.slot.status();
            all.reloads += one.reloads;
            all.unchanged += one.unchanged;
            all.failures += one.failures;
            all.in_force_since = all.in_force_since.max(one.in_force_since);
            all.failing = all.failing.or(one.failing);
        }
        all
    }

    /// How reloading has gone for the files that were added for `name`, or with `None` for the default ones. `None` when
    /// there are none.
    pub fn status_of(&self, name: Option<&str>) -> Option<ReloadStatus> {
        let pair = match name {
            None => self.default.as_ref(),
            Some(name) => self.by_name.get(&as_key(name)),
        };
        pair.map(|pair| pair.slot.status())
    }

    /// The key in force for the server `name`: the one added for it, or else the default. It has no OCSP response if that
    /// is out of date.
    pub fn current(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let pair = name.and_then(|name| self.by_name.get(&as_key(name)));
        let pair = pair.or(self.default.as_ref())?;
        Some(pair.slot.current().certified_key(&*self.clock))
    }
}

impl ResolvesServerCert for ReloadingCertifiedKeys {
    /// What was added for the name that the client asks for, or else the default.
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current(client_hello.server_name())
    }
}

impl ResolvesClientCert for ReloadingCertifiedKeys {
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        let pair = self.default.as_ref()?;
        Some(pair.slot.current().resolver.clone())
    }

    /// The default.
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.current(None)
    }

    /// Whether there is a default.
    fn has_certs(&self) -> bool {
        self.default.is_some()
    }
}

impl fmt::Debug for ReloadingCertifiedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingCertifiedKeys")
            .field("default", &self.default.as_ref().map(|pair| &pair.files))
            .field("names", &self.by_name.keys())
            .finish_non_exhaustive()
    }
}

/// Says which files [`ReloadingCertifiedKeys`] reads.
#[derive(Clone, Debug)]
pub struct ReloadingCertifiedKeysBuilder {
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn TimeProvider>,
    default: Option<CertifiedKeyFiles>,
    named: Vec<(Vec<String>, CertifiedKeyFiles)>,
}

impl ReloadingCertifiedKeysBuilder {
    /// On a server, `files` are for clients that ask for no name or for one that was not added; without them, such
    /// clients get no certificate and no connection. On a client, they are what it authenticates with.
    pub fn with_default(mut self, files: CertifiedKeyFiles) -> Self {
        self.default = Some(files);
        self
    }

    /// On a server, `files` are for clients that ask for one of `names`, in place of files added for that name before.
    /// The certificate must be for all of `names`.
    pub fn with_names<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        files: CertifiedKeyFiles,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.named.push((names, files));
        self
    }

    /// Takes the time from `clock` instead of the operating system.
    pub fn with_time_provider(mut self, clock: Arc<dyn TimeProvider>) -> Self {
        self.clock = clock;
        self
    }

    /// Reads all files for the first time.
    ///
    /// # Errors
    ///
    /// - [`ReloadError::Nothing`] when there are none;
    /// - [`ReloadError::Name`] when a name is no DNS name;
    /// - all others, when a pair is not good, as for a reload.
    pub fn build(self) -> Result<Arc<ReloadingCertifiedKeys>, Arc<ReloadError>> {
        let mut keys = ReloadingCertifiedKeys {
            provider: self.provider,
            clock: self.clock,
            default: None,
            by_name: BTreeMap::new(),
            pairs: Vec::new(),
        };
        for (names, files) in self.named {
            let names = names
                .into_iter()
                .map(|name| DnsName::try_from(as_key(&name)).map_err(|_| ReloadError::Name(name)))
                .collect::<Result<Vec<_>, _>>()?;
            let pair = keys.add(files, names)?;
            for name in &pair.names {
                keys.by_name.insert(name.as_ref().to_owned(), pair.clone());
            }
        }
        if let Some(files) = self.default {
            keys.default = Some(keys.add(files, Vec::new())?);
        }
        // a pair all of whose names were given to others is not read any more
        let is_used = |pair: &Arc<Pair>| {
            let mut used = keys.by_name.values().chain(&keys.default);
            used.any(|other| Arc::ptr_eq(other, pair))
        };
        keys.pairs = keys
            .pairs
            .iter()
            .filter(|pair| is_used(pair))
            .cloned()
            .collect();
        if keys.pairs.is_empty() {
            return Err(Arc::new(ReloadError::Nothing));
        }
        Ok(Arc::new(keys))
    }
}

/// How clients spell a server's name, which is without the dot that may end it (RFC 6066 §3), in lower case.
fn as_key(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl ReloadingCertifiedKeys {
    fn add(
        &mut self,
        files: CertifiedKeyFiles,
        names: Vec<DnsName<'static>>,
    ) -> Result<Arc<Pair>, ReloadError> {
        let versions = files.versions();
        let now = self.clock.current_time().ok_or(ReloadError::NoTime)?;
        let first = InForce::new(files.load(&self.provider, &names, now)?);
        let slot = Slot::new(
            files.description(),
            self.clock.clone(),
            Arc::new(first),
            versions,
        );
        let pair = Arc::new(Pair { files, names, slot });
        self.pairs.push(pair.clone());
        Ok(pair)
    }
}

/// One certificate chain with its key, and where it comes from.
struct Pair {
    files: CertifiedKeyFiles,
    /// In lower case; the certificate is for all of them.
    names: Vec<DnsName<'static>>,
    slot: Slot<InForce, FileVersions>,
}

impl Pair {
    fn load(
        &self,
        provider: &CryptoProvider,
        clock: &dyn TimeProvider,
    ) -> Result<Found, ReloadError> {
        let now = clock.current_time().ok_or(ReloadError::NoTime)?;
        self.files.load(provider, &self.names, now)
    }
}

/// What a pair has at present.
struct InForce {
    certified_key: Arc<CertifiedKey>,
    /// The time in which the OCSP response of `certified_key` may be stapled; `None` if it always may.
    ocsp_currency: Option<Currency>,
    /// The same key and chain without the OCSP response, made when that is out of date.
    without_ocsp: OnceLock<Arc<CertifiedKey>>,
    /// Resolves to it; a client's sessions are bound to this object.
    resolver: Arc<SingleCertAndKey>,
}

impl InForce {
    fn new(found: Found) -> Self {
        let certified_key = Arc::new(found.certified_key);
        Self {
            resolver: Arc::new(SingleCertAndKey::from(certified_key.clone())),
            ocsp_currency: found
                .ocsp_currency
                .filter(|currency| !currency.is_endless()),
            without_ocsp: OnceLock::new(),
            certified_key,
        }
    }

    /// Returns the key, with the OCSP response if that is good now.
    fn certified_key(&self, clock: &dyn TimeProvider) -> Arc<CertifiedKey> {
        let is_out_of_date = |currency: Currency| !currency.includes(clock.current_time());
        if !self.ocsp_currency.is_some_and(is_out_of_date) {
            return self.certified_key.clone();
        }
        let without_ocsp = self.without_ocsp.get_or_init(|| {
            let CertifiedKey { cert, key, .. } = &*self.certified_key;
            Arc::new(CertifiedKey::new(cert.clone(), key.clone()))
        });
        without_ocsp.clone()
    }
}

impl CertifiedKey {
    /// Whether nothing has changed. A key that does not tell its public key may always have.
    fn is_same_as(&self, other: &Self) -> bool {
        self.cert == other.cert
            && self.ocsp == other.ocsp
            && self
                .key
                .public_key()
                .is_some_and(|key| Some(key) == other.key.public_key())
    }
}
