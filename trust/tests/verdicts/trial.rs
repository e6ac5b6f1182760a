//! Several connections between one peer and one judge.

use std::sync::Arc;

use harness::peers::configs;
use harness::peers::roles::Role;
use harness::verifiers::this::Verifier as Lenient;
use rustls::client::danger::ServerCertVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{Case, Credential};
use crate::verdicts::ends::{self, Peer, Setup, Verdict, this, upstream};
use crate::verdicts::stated_rules::with_rules;

/// The configuration for a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// The judge of the case.
    Judge,
    /// A judge with the same caches, sessions and reported properties that trusts anybody.
    Anybody,
}

/// The place where a server keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sessions {
    Stored,
    Sealed,
}

/// The verifier of a judge.
#[derive(Clone)]
pub(crate) enum Verifier {
    OfServers(Arc<dyn ServerCertVerifier>),
    OfClients(Arc<dyn ClientCertVerifier>),
}

/// Judges of this crate, and a peer.
#[derive(Clone)]
pub(crate) struct Trial {
    judge: this::Judge,
    anybody: this::Judge,
    setup: Setup,
    kept: this::Sessions,
    peer: Arc<Peer>,
    caches: Caches,
}

impl Trial {
    /// Creates judges and a peer, and sets the clock to the case's time.
    pub(crate) fn new(case: &Case, setup: &Setup, sessions: Sessions, caches: &Caches) -> Self {
        let kept = this::Sessions::new(setup, sessions == Sessions::Sealed);
        let peer = Arc::new(Peer::new(setup));
        Self::with(case, setup, kept, peer, caches, |verifier| verifier)
    }

    /// Returns the same peer with judges of another case that share these caches and sessions.
    pub(crate) fn sharing(&self, case: &Case) -> Self {
        self.wrapped(case, |verifier| verifier)
    }

    /// Returns another peer with the same judges.
    pub(crate) fn with_another_peer(&self) -> Self {
        Self {
            peer: Arc::new(Peer::new(&self.setup)),
            ..self.clone()
        }
    }

    /// Returns the same trial with clients that require another server name.
    pub(crate) fn with_server_name(&self, name: &str) -> Self {
        let named = |judge: &this::Judge| match judge {
            this::Judge::Client(config, _) => {
                let name = name.to_owned().try_into().unwrap();
                this::Judge::Client(config.clone(), name)
            }
            this::Judge::Server(_) => panic!("servers require no name"),
        };
        Self {
            judge: named(&self.judge),
            anybody: named(&self.anybody),
            ..self.clone()
        }
    }

    /// Like [`Self::sharing`], with verifiers that `wrap` replaces.
    pub(crate) fn wrapped(&self, case: &Case, wrap: impl Fn(Verifier) -> Verifier) -> Self {
        let (kept, peer) = (self.kept.clone(), self.peer.clone());
        Self::with(case, &self.setup, kept, peer, &self.caches, wrap)
    }

    fn with(
        case: &Case,
        setup: &Setup,
        kept: this::Sessions,
        peer: Arc<Peer>,
        caches: &Caches,
        wrap: impl Fn(Verifier) -> Verifier,
    ) -> Self {
        setup.clock.set(case.now);
        let (trust, provider) = (&case.trust, setup.provider);
        let roots = caches.roots(trust);
        // keeps the lists alive until the verifiers hold them
        let _lists = caches.lists(trust);
        macro_rules! verifier {
            ($variant:ident, $inner:expr) => {
                Verifier::$variant(match trust.roots.is_empty() {
                    true => with_rules($inner, &trust.raw_key, provider),
                    false => $inner,
                })
            };
        }
        let verifier = match setup.side {
            Role::Client => verifier!(OfServers, this::server_verifier(trust, roots, provider)),
            Role::Server => verifier!(OfClients, this::client_verifier(trust, roots, provider)),
        };
        let make = |verifier| match verifier {
            Verifier::OfServers(verifier) => {
                let mut config = this::client(setup, &kept, verifier);
                (config.peer_chains, config.verified_chains) = caches.maps();
                this::Judge::Client(Arc::new(config), trust.server_name.clone())
            }
            Verifier::OfClients(verifier) => {
                let mut config = this::server(setup, &kept, verifier);
                (config.peer_chains, config.verified_chains) = caches.maps();
                this::Judge::Server(Arc::new(config))
            }
        };
        let anybody = make(match verifier.clone() {
            Verifier::OfServers(it) => Verifier::OfServers(Arc::new(
                Lenient::like_server_verifier(it).with_certificates(|_| Ok(())),
            )),
            Verifier::OfClients(it) => Verifier::OfClients(Arc::new(
                Lenient::like_client_verifier(it).with_certificates(|_| Ok(())),
            )),
        });
        let judge = make(wrap(verifier));
        Self {
            judge,
            anybody,
            setup: setup.clone(),
            kept,
            peer,
            caches: caches.clone(),
        }
    }

    pub(crate) fn connect(&self, who: Who, presented: &Credential) -> Verdict {
        let mut judge = match who {
            Who::Judge => &self.judge,
            Who::Anybody => &self.anybody,
        }
        .start();
        let verdict = ends::connect(&mut judge, &mut self.peer.presenting(presented));
        if verdict.is_accepted() {
            self.caches.keep(judge);
        }
        verdict
    }
}

/// Returns the verdict of an upstream judge that has not met the peer before.
pub(crate) fn of_upstream(case: &Case, setup: &Setup) -> Verdict {
    assert!(!setup.resumes);
    setup.clock.set(case.now);
    let kept = upstream::Sessions::new(setup, false);
    let (trust, provider) = (&case.trust, setup.provider);
    let roots = configs::upstream::trusted(&trust.roots);
    let judge = match setup.side {
        Role::Client => {
            let verifier = upstream::server_verifier(trust, roots, provider);
            let config = upstream::client(setup, &kept, verifier);
            upstream::Judge::Client(Arc::new(config), trust.server_name.clone())
        }
        Role::Server => {
            let verifier = upstream::client_verifier(trust, roots, provider);
            upstream::Judge::Server(Arc::new(upstream::server(setup, &kept, verifier)))
        }
    };
    ends::connect(
        &mut judge.start(),
        &mut Peer::new(setup).presenting(&case.presented),
    )
}
