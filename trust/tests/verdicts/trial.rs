//! One peer before one judge over several connections.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::verifiers::this::Verifier as Lenient;
use rustls::client::danger::ServerCertVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{Case, Credential, Trust};
use crate::verdicts::ends::{self, Peer, Setup, Side, Verdict, this, upstream};
use crate::verdicts::stated_rules::StatedRules;

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
        Self::with(case, setup, kept, Arc::new(Peer::new(setup)), caches)
    }

    /// The same peer before judges of another case that share these caches and sessions.
    pub(crate) fn sharing(&self, case: &Case) -> Self {
        let (kept, peer) = (self.kept.clone(), self.peer.clone());
        Self::with(case, &self.setup, kept, peer, &self.caches)
    }

    /// Another peer before the same judges.
    pub(crate) fn with_another_peer(&self) -> Self {
        Self {
            peer: Arc::new(Peer::new(&self.setup)),
            ..self.clone()
        }
    }

    /// The same trial with clients that require another server name.
    pub(crate) fn asking_for(&self, name: &str) -> Self {
        let ask = |judge: &this::Judge| match judge {
            this::Judge::Client(config, _) => {
                let name = name.to_owned().try_into().unwrap();
                this::Judge::Client(config.clone(), name)
            }
            this::Judge::Server(_) => panic!("servers require no name"),
        };
        Self {
            judge: ask(&self.judge),
            anybody: ask(&self.anybody),
            ..self.clone()
        }
    }

    /// The same peer before judges whose verifiers `wrap` replaces, with the same caches and
    /// sessions.
    pub(crate) fn wrapped(&self, case: &Case, wrap: impl Fn(Verifier) -> Verifier) -> Self {
        let (kept, peer) = (self.kept.clone(), self.peer.clone());
        Self::with_verifiers(case, &self.setup, kept, peer, &self.caches, wrap)
    }

    fn with(
        case: &Case,
        setup: &Setup,
        kept: this::Sessions,
        peer: Arc<Peer>,
        caches: &Caches,
    ) -> Self {
        Self::with_verifiers(case, setup, kept, peer, caches, |verifier| verifier)
    }

    fn with_verifiers(
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
        // alive until the verifiers hold them
        let _lists = caches.lists(trust);
        let verifier = match setup.side {
            Side::Client => Verifier::OfServers(this::server_verifier(trust, roots, provider)),
            Side::Server => Verifier::OfClients(this::client_verifier(trust, roots, provider)),
        };
        let verifier = match trust.roots.is_empty() {
            true => with_rules(verifier, trust, provider),
            false => verifier,
        };
        let make = |verifier| match verifier {
            Verifier::OfServers(verifier) => {
                let mut config = this::client(setup, &kept, verifier);
                caches.set_up_client(&mut config);
                this::Judge::Client(Arc::new(config), trust.server_name.clone())
            }
            Verifier::OfClients(verifier) => {
                let mut config = this::server(setup, &kept, verifier);
                caches.set_up_server(&mut config);
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

/// Adds the rules of a verifier that trusts one raw public key: the key.
fn with_rules(verifier: Verifier, trust: &Trust, provider: Provider) -> Verifier {
    match verifier {
        Verifier::OfServers(it) => {
            Verifier::OfServers(Arc::new(StatedRules::new(it, &trust.raw_key, provider)))
        }
        Verifier::OfClients(it) => {
            Verifier::OfClients(Arc::new(StatedRules::new(it, &trust.raw_key, provider)))
        }
    }
}

/// The verdict of an upstream judge that has not met the peer before.
pub(crate) fn of_upstream(case: &Case, setup: &Setup) -> Verdict {
    assert!(!setup.resumes);
    setup.clock.set(case.now);
    let kept = upstream::Sessions::new(setup, false);
    let (trust, provider) = (&case.trust, setup.provider);
    let roots = upstream::roots(trust);
    let judge = match setup.side {
        Side::Client => {
            let verifier = upstream::server_verifier(trust, roots, provider);
            let config = upstream::client(setup, &kept, verifier);
            upstream::Judge::Client(Arc::new(config), trust.server_name.clone())
        }
        Side::Server => {
            let verifier = upstream::client_verifier(trust, roots, provider);
            upstream::Judge::Server(Arc::new(upstream::server(setup, &kept, verifier)))
        }
    };
    ends::connect(
        &mut judge.start(),
        &mut Peer::new(setup).presenting(&case.presented),
    )
}
