//! Certificates and private keys that can be replaced while configurations use them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::{fmt, mem};

use pki_types::{DnsName, UnixTime};
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

use super::ocsp::Currency;
use super::pair::{CertifiedKeyFiles, FileVersions, LoadedPair};
use super::slot::{Replacement, Slot};
use super::{Reload, ReloadError, ReloadStatus};

/// Certificates and private keys from files, which [`reload`](Self::reload) rereads. This is a
/// certificate resolver for a server (by name or for all names) or for a client.
///
/// It never reloads on its own. Call [`reload_if_changed`](Self::reload_if_changed), for example on
/// a signal or every minute. Use a separate thread or task, because files may be slow.
///
/// New files become active only after all checks succeed. The key must belong to the first
/// certificate, which must be valid now and cover all configured names. A key that cannot return
/// its public key is not compared. If a check fails, the current certificate and key stay active,
/// and [`status`](Self::status) returns the reason.
///
/// Some defects do not prevent a certificate from becoming active. `status` returns them as
/// [`flaws`](ReloadStatus::flaws):
///
/// - **An OCSP response** that is missing, unusable, or about another certificate is not stapled.
///   If the current response is about the same certificate, it stays in use until its `nextUpdate`.
///   If an OCSP file is set, a certificate that requires a response ("must-staple", RFC 7633) does
///   not become active without one.
/// - **Other certificates in the chain** may have expired, or not be valid yet. They are sent as
///   they are in the file.
/// - **A wrong clock** returns no time, or a time before the first certificate becomes valid. The
///   certificate becomes active. In the second case, it does not if the current certificate is
///   valid at that time: the clock is then assumed to be right.
///
/// An OCSP response matches if its CertID has the serial number and the issuer's name. The issuer's
/// key is also compared if the issuer's certificate is next in the chain. A response is not stapled
/// after its `nextUpdate`; clients then get no response until a reload finds a newer one. While the
/// clock returns no time, a response with a `nextUpdate` is not stapled either.
///
/// Open connections are not disturbed. A handshake keeps the certificate that it selected. A client
/// resumes a session only while that session's certificate is still active.
///
/// If you wrap this as a client's resolver, forward
/// [`current_resolver`](ResolvesClientCert::current_resolver). Otherwise, new handshakes use the
/// newest certificate, but sessions with an older one are still resumed.
///
/// ```no_run
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use rustls::ServerConfig;
/// use rustls_trust::{CertifiedKeyFiles, ReloadingCertifiedKeys};
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
/// # Ok::<(), Arc<rustls_trust::ReloadError>>(())
/// ```
pub struct ReloadingCertifiedKeys {
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn TimeProvider>,
    /// On a server, the pair for clients without SNI or with an unknown name. On a client, the
    /// client's pair.
    default: Option<Arc<Pair>>,
    /// The pairs by lower-case name.
    by_name: BTreeMap<String, Arc<Pair>>,
    /// All pairs without duplicates.
    pairs: Vec<Arc<Pair>>,
}

impl ReloadingCertifiedKeys {
    /// Reads `files`, which apply to all names.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ReloadingCertifiedKeysBuilder::build`].
    pub fn new(
        files: CertifiedKeyFiles,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<Self>, Arc<ReloadError>> {
        Self::builder(provider).with_default(files).build()
    }

    /// Starts building a resolver. `provider` loads the private keys.
    pub fn builder(provider: Arc<CryptoProvider>) -> ReloadingCertifiedKeysBuilder {
        ReloadingCertifiedKeysBuilder {
            provider,
            clock: Arc::new(DefaultTimeProvider),
            default: None,
            named: Vec::new(),
        }
    }

    /// Rereads all files. Each pair is checked and replaced independently.
    ///
    /// # Errors
    ///
    /// Returns the reason why one pair, or [several](ReloadError::Several), could not be replaced.
    pub fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.reload_each(|pair| {
            pair.slot
                .reload(|| pair.files.versions(), |held| self.load(pair, held))
        })
    }

    /// Reloads only pairs whose files have changed, and pairs whose last reload failed or found
    /// [flaws](ReloadStatus::flaws). A change means a different size, a different modification time
    /// or, on Unix, another inode or a change of its metadata. Files that were modified within two
    /// seconds of the last reading are also reread, because a later change may have the same date.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reload`](Self::reload).
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

    fn load(&self, pair: &Pair, held: &Arc<ActiveKeys>) -> Replacement<ActiveKeys> {
        let now = self.clock.current_time();
        let active = Some(&*held.certified_key);
        let mut found = match pair.files.load(&self.provider, &pair.names, now, active) {
            Ok(found) => found,
            Err(error) => return Replacement::failed(held, error),
        };
        let flaws = mem::take(&mut found.flaws);
        let value = match are_the_same(&found.certified_key, &held.certified_key) {
            true => held.clone(),
            false => Arc::new(ActiveKeys::new(found)),
        };
        Replacement {
            value,
            problem: None,
            flaws,
        }
    }

    /// Returns the results of reloads so far, for all pairs together: the sums of the counters, the
    /// failure of the first failing pair, the flaws of all pairs, and the latest time.
    pub fn status(&self) -> ReloadStatus {
        let mut all = ReloadStatus::default();
        for pair in &self.pairs {
            let one = pair.status(&*self.clock);
            all.reloads += one.reloads;
            all.unchanged += one.unchanged;
            all.failures += one.failures;
            all.in_force_since = all.in_force_since.max(one.in_force_since);
            all.failing = all.failing.or(one.failing);
            all.flaws.extend(one.flaws);
        }
        all
    }

    /// Returns the reload results so far for the files added for `name`, or for the default files
    /// if `name` is `None`. Returns `None` if there are no such files.
    pub fn status_of(&self, name: Option<&str>) -> Option<ReloadStatus> {
        let pair = match name {
            None => self.default.as_ref(),
            Some(name) => self.by_name.get(&as_key(name)),
        };
        pair.map(|pair| pair.status(&*self.clock))
    }

    /// Returns the current key for the server `name`: the one added for it, or the default. The
    /// OCSP response is left out if it has expired, or if it can expire and the time is unknown.
    pub fn current(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let pair = name.and_then(|name| self.by_name.get(&as_key(name)));
        let pair = pair.or(self.default.as_ref())?;
        Some(pair.slot.current().certified_key(&*self.clock))
    }
}

impl ResolvesServerCert for ReloadingCertifiedKeys {
    /// Returns the key for the client's SNI, or the default key.
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current(client_hello.server_name())
    }
}

impl ResolvesClientCert for ReloadingCertifiedKeys {
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        let pair = self.default.as_ref()?;
        Some(pair.slot.current().resolver.clone())
    }

    /// Returns the default key.
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.current(None)
    }

    /// True if there is a default key.
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

/// Builds a [`ReloadingCertifiedKeys`].
#[derive(Clone, Debug)]
pub struct ReloadingCertifiedKeysBuilder {
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn TimeProvider>,
    default: Option<CertifiedKeyFiles>,
    named: Vec<(Vec<String>, CertifiedKeyFiles)>,
}

impl ReloadingCertifiedKeysBuilder {
    /// Sets the default files. A server uses them for clients without SNI or with an unknown name,
    /// which are otherwise rejected. A client authenticates with them.
    pub fn with_default(mut self, files: CertifiedKeyFiles) -> Self {
        self.default = Some(files);
        self
    }

    /// Adds files for clients whose SNI is one of `names`, on a server. These files replace earlier
    /// files for the same name. The certificate must cover all of `names`.
    pub fn with_names<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        files: CertifiedKeyFiles,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.named.push((names, files));
        self
    }

    /// Sets the clock. The default is the system's clock.
    pub fn with_time_provider(mut self, clock: Arc<dyn TimeProvider>) -> Self {
        self.clock = clock;
        self
    }

    /// Reads all files for the first time and builds the resolver.
    ///
    /// # Errors
    ///
    /// - [`ReloadError::Nothing`] if there are neither default files nor files with a name;
    /// - [`ReloadError::Name`] if a name is not a DNS name;
    /// - the errors of a reload if a pair is unusable.
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
        // drop pairs all of whose names were given to other files
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

/// Returns the key of `name` in `by_name`: without the trailing dot, as in SNI (RFC 6066 §3), and
/// in lower case.
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
        let now = self.clock.current_time();
        let mut found = files.load(&self.provider, &names, now, None)?;
        let flaws = mem::take(&mut found.flaws);
        let slot = Slot::new(
            files.description(),
            self.clock.clone(),
            Arc::new(ActiveKeys::new(found)),
            flaws,
            versions,
        );
        let pair = Arc::new(Pair { files, names, slot });
        self.pairs.push(pair.clone());
        Ok(pair)
    }
}

/// A certificate chain with its key, and its files.
struct Pair {
    files: CertifiedKeyFiles,
    /// The names, in lower case. The certificate covers all of them.
    names: Vec<DnsName<'static>>,
    slot: Slot<ActiveKeys, FileVersions>,
}

impl Pair {
    /// Returns the results of reloads. Adds a flaw if the OCSP response must no longer be stapled,
    /// although the most recent reload accepted it.
    fn status(&self, clock: &dyn TimeProvider) -> ReloadStatus {
        let mut status = self.slot.status();
        let is_known = |flaw: &ReloadError| matches!(flaw, ReloadError::OcspResponse { .. });
        let active = self.slot.current();
        let now = clock.current_time();
        if active.is_ocsp_outdated(now) && !status.flaws.iter().any(is_known) {
            let outdated = self.files.outdated_ocsp(now, active.requires_ocsp);
            status.flaws.extend(outdated);
        }
        status
    }
}

/// The current content of a pair.
struct ActiveKeys {
    certified_key: Arc<CertifiedKey>,
    /// The period in which the OCSP response of `certified_key` may be stapled; `None` if it is
    /// unlimited, or if there is no response.
    ocsp_currency: Option<Currency>,
    requires_ocsp: bool,
    /// The same pair without the OCSP response, created the first time that the response must not
    /// be stapled.
    without_ocsp: OnceLock<Arc<CertifiedKey>>,
    /// A resolver for the pair. A client's sessions are bound to this object.
    resolver: Arc<SingleCertAndKey>,
}

impl ActiveKeys {
    fn new(found: LoadedPair) -> Self {
        let certified_key = Arc::new(found.certified_key);
        Self {
            resolver: Arc::new(SingleCertAndKey::from(certified_key.clone())),
            ocsp_currency: found
                .ocsp_currency
                .filter(|currency| !currency.is_endless()),
            requires_ocsp: found.requires_ocsp,
            without_ocsp: OnceLock::new(),
            certified_key,
        }
    }

    /// Returns the key, with the OCSP response if that may be stapled now.
    fn certified_key(&self, clock: &dyn TimeProvider) -> Arc<CertifiedKey> {
        // without a limit, the clock need not be read
        if self.ocsp_currency.is_none() || !self.is_ocsp_outdated(clock.current_time()) {
            return self.certified_key.clone();
        }
        let without_ocsp = self.without_ocsp.get_or_init(|| {
            let CertifiedKey { cert, key, .. } = &*self.certified_key;
            Arc::new(CertifiedKey::new(cert.clone(), key.clone()))
        });
        without_ocsp.clone()
    }

    /// True if there is an OCSP response, but it must not be stapled at the time `now`: it has
    /// expired, or it can expire and the time is unknown.
    fn is_ocsp_outdated(&self, now: Option<UnixTime>) -> bool {
        let currency = self.ocsp_currency;
        currency.is_some_and(|currency| !currency.includes(now))
    }
}

/// True if nothing has changed. A key that cannot return its public key always counts as changed.
fn are_the_same(one: &CertifiedKey, other: &CertifiedKey) -> bool {
    one.cert == other.cert
        && one.ocsp == other.ocsp
        && one
            .key
            .public_key()
            .is_some_and(|key| Some(key) == other.key.public_key())
}
