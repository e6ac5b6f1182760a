//! A verifier that can reload its roots and revocation lists, and is rebuilt if a reload finds
//! changes.
//!
//! [`ReloadingVerifier`] and its builder serve both sides. `server_verifier` and `client_verifier`
//! contain the code of one side: they implement [`VerifierKind`] for its verifier trait, and that
//! trait for the reloading verifier.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::certificates::RevocationList;
use rustls::crypto::CryptoProvider;
use rustls::server::VerifierBuilderError;
use rustls::time_provider::TimeProvider;

use super::slot::{Replacement, Slot};
use super::trust::{SourceVersions, Trust, TrustSources};
use super::{Reload, ReloadError, ReloadStatus};
use crate::{CrlSource, RootCache, RootSource};

/// The verifiers of one side: `dyn ServerCertVerifier` or `dyn ClientCertVerifier`.
///
/// This trait is sealed.
pub trait PeerVerifier: VerifierKind {}

impl<V: VerifierKind + ?Sized> PeerVerifier for V {}

/// The part of [`ReloadingVerifier`] that differs between the two sides.
pub trait VerifierKind: Send + Sync + 'static {
    /// The builder for webpki verifiers.
    type Builder;

    /// The name of the reloading verifier.
    const NAME: &'static str;

    /// Starts building a webpki verifier.
    fn builder(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Self::Builder;

    /// Adds revocation lists.
    fn with_crls(builder: Self::Builder, crls: &[Arc<RevocationList>]) -> Self::Builder;

    /// Builds the verifier.
    ///
    /// # Errors
    ///
    /// Returns an error if the webpki verifier cannot be built.
    fn build(builder: Self::Builder) -> Result<Arc<Self>, VerifierBuilderError>;

    /// Checks a new verifier, after it has been wrapped if there is a wrapper.
    ///
    /// # Errors
    ///
    /// Returns the reason why it must not become active.
    fn check(&self) -> Result<(), ReloadError>;

    /// Returns the replacement of this verifier, if any.
    fn replacement(&self) -> Option<Arc<Self>>;
}

/// A function that changes the options of a new verifier.
type Options<V> =
    Box<dyn Fn(<V as VerifierKind>::Builder) -> <V as VerifierKind>::Builder + Send + Sync>;

/// A function that wraps a new verifier.
type Wrap<V> = Box<dyn Fn(Arc<V>) -> Arc<V> + Send + Sync>;

/// A verifier for servers or for clients that can [`reload`](Self::reload) its roots and revocation
/// lists: [`ReloadingServerVerifier`](crate::ReloadingServerVerifier) or
/// [`ReloadingClientVerifier`](crate::ReloadingClientVerifier).
pub struct ReloadingVerifier<V: PeerVerifier + ?Sized> {
    sources: TrustSources,
    make: Make<V>,
    slot: Slot<ActiveVerifier<V>, SourceVersions>,
}

/// A function that builds a verifier from roots and revocation lists.
type Make<V> = Box<dyn Fn(&Trust) -> Result<Arc<V>, ReloadError> + Send + Sync>;

/// The current roots and lists, with their verifier.
struct ActiveVerifier<V: ?Sized> {
    trust: Trust,
    verifier: Arc<V>,
}

impl<V: PeerVerifier + ?Sized> ReloadingVerifier<V> {
    /// Starts building a verifier with the algorithms of `provider`.
    pub fn builder(
        roots: RootSource,
        provider: Arc<CryptoProvider>,
    ) -> ReloadingVerifierBuilder<V> {
        ReloadingVerifierBuilder {
            sources: TrustSources::new(roots),
            provider,
            options: Box::new(|builder| builder),
            wrap: Box::new(|verifier| verifier),
        }
    }

    /// Rereads all sources.
    ///
    /// # Errors
    ///
    /// Returns the sources and revocation lists that could not be used, with reasons. Their current
    /// content stays in use, except lists for which [there is no
    /// room](crate::CrlProblemReason::NoRoom). All others are still replaced, because a revocation
    /// should not wait for an unrelated file. If no verifier can be built from the new content,
    /// nothing is replaced.
    pub fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.slot
            .reload(|| self.sources.versions(), |held| self.load(held))
    }

    /// Reloads only if a file or directory has changed, or if the last reload failed. A change
    /// means a different size, a different modification time or, on Unix, another inode or a change
    /// of its metadata. Files that were modified within two seconds of the last reading are also
    /// reread, because a later change may have the same date. The platform's roots are always read.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reload`](Self::reload).
    pub fn reload_if_changed(&self) -> Result<Reload, Arc<ReloadError>> {
        self.slot
            .reload_if_changed(|| self.sources.versions(), |held| self.load(held))
    }

    /// Reads all sources as if for the first time: missing roots and revocation lists are dropped,
    /// and older lists are accepted. Use this after removing an authority on purpose. If all
    /// sources can be used, also removes the roots from [`RootCache::global`], so that other users
    /// of that cache reread them. A concurrent reload may still keep missing roots and lists.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no usable root, if anything in a source of revocation lists is
    /// unusable, or if no verifier can be built. In that case nothing is replaced.
    pub fn reload_from_scratch(&self) -> Result<Reload, Arc<ReloadError>> {
        let load = |held: &Arc<ActiveVerifier<V>>| match self.sources.load(None) {
            Ok((trust, _)) => {
                // the cache may have kept roots that the source lacks
                RootCache::global().invalidate(&self.sources.roots);
                self.with_verifier(trust, None, held)
            }
            Err(error) => Replacement::failed(held, error),
        };
        self.slot.reload(|| self.sources.versions(), load)
    }

    /// Returns the results of reloads so far.
    pub fn status(&self) -> ReloadStatus {
        self.slot.status()
    }

    /// Returns the current verifier: the same object until something changes.
    pub fn current(&self) -> Arc<V> {
        let verifier = self.slot.current().verifier.clone();
        // a wrapper may itself be replaceable
        verifier.replacement().unwrap_or(verifier)
    }

    fn load(&self, held: &Arc<ActiveVerifier<V>>) -> Replacement<ActiveVerifier<V>> {
        match self.sources.load(Some(&held.trust)) {
            Ok((trust, problem)) => self.with_verifier(trust, problem, held),
            Err(error) => Replacement::failed(held, error),
        }
    }

    /// Returns `held` if `trust` has not changed, or if no verifier can be built for it. Otherwise,
    /// returns a new verifier.
    fn with_verifier(
        &self,
        trust: Trust,
        problem: Option<ReloadError>,
        held: &Arc<ActiveVerifier<V>>,
    ) -> Replacement<ActiveVerifier<V>> {
        if trust.is_same_as(&held.trust) {
            return Replacement::new(held.clone(), problem);
        }
        match (self.make)(&trust) {
            Ok(verifier) => Replacement::new(Arc::new(ActiveVerifier { trust, verifier }), problem),
            Err(error) => {
                let problem = ReloadError::of(problem.into_iter().chain([error]).collect());
                Replacement::new(held.clone(), problem)
            }
        }
    }
}

impl<V: PeerVerifier + ?Sized> fmt::Debug for ReloadingVerifier<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(V::NAME)
            .field("sources", &self.sources)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// Builds a [`ReloadingVerifier`].
///
/// Without revocation lists, revocation is not checked.
pub struct ReloadingVerifierBuilder<V: PeerVerifier + ?Sized> {
    sources: TrustSources,
    provider: Arc<CryptoProvider>,
    options: Options<V>,
    wrap: Wrap<V>,
}

impl<V: PeerVerifier + ?Sized> ReloadingVerifierBuilder<V> {
    /// Checks certificates against the revocation lists in `source`, in addition to any added by
    /// earlier calls. If several lists cover a certificate, the latest one is used, but one dated
    /// in the future only if there is no other.
    pub fn with_crls(mut self, source: CrlSource) -> Self {
        self.sources.crls.push(source);
        self
    }

    /// Sets further options of each new verifier, for example the depth of the revocation check.
    /// Replaces any `options` set by an earlier call.
    ///
    /// `options` receives and returns a
    /// [`ServerCertVerifierBuilder`](rustls::client::ServerCertVerifierBuilder) or a
    /// [`ClientCertVerifierBuilder`](rustls::server::ClientCertVerifierBuilder).
    pub fn with_options(
        mut self,
        options: impl Fn(V::Builder) -> V::Builder + Send + Sync + 'static,
    ) -> Self {
        self.options = Box::new(options);
        self
    }

    /// Wraps each new verifier in a custom one with `wrap`. Replaces any `wrap` set by an earlier
    /// call.
    ///
    /// `wrap` must return a new object each time. A client's sessions belong to one verifier
    /// object, so sessions that the previous object verified are not resumed.
    pub fn wrapped_in(mut self, wrap: impl Fn(Arc<V>) -> Arc<V> + Send + Sync + 'static) -> Self {
        self.wrap = Box::new(wrap);
        self
    }

    /// Sets the clock for the dates in [`ReloadStatus`] and for detecting lists dated in the
    /// future. Certificates are verified with the configuration's clock.
    pub fn with_time_provider(mut self, clock: Arc<dyn TimeProvider>) -> Self {
        self.sources.clock = clock;
        self
    }

    /// Reads all sources for the first time and builds the verifier.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no usable root, if anything in a source of revocation lists is
    /// unusable, or if no verifier can be built.
    pub fn build(self) -> Result<Arc<ReloadingVerifier<V>>, Arc<ReloadError>> {
        let Self {
            sources,
            provider,
            options,
            wrap,
        } = self;
        let make = move |trust: &Trust| {
            let builder = V::builder(trust.roots().clone(), provider.clone());
            let builder = if trust.has_crls() {
                V::with_crls(builder, trust.crls())
            } else {
                builder
            };
            let verifier = wrap(V::build(options(builder))?);
            verifier.check()?;
            Ok(verifier)
        };

        let versions = sources.versions();
        let (trust, _) = sources.load(None)?;
        let verifier = make(&trust)?;
        let first = Arc::new(ActiveVerifier { trust, verifier });
        let what = format!("trust in {:?}", sources.roots);
        Ok(Arc::new(ReloadingVerifier {
            slot: Slot::new(what, sources.clock.clone(), first, Vec::new(), versions),
            sources,
            make: Box::new(make),
        }))
    }
}

impl<V: PeerVerifier + ?Sized> fmt::Debug for ReloadingVerifierBuilder<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingVerifierBuilder")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
