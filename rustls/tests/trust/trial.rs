//! One peer before one judge, over several connections.

use std::sync::Arc;

use crate::caches::Caches;
use crate::cases::{Case, Shown};
use crate::ends::{self, Peer, Setup, Side, Verdict, this, upstream};

/// Which configuration a connection is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// The one that the case is about.
    Judge,
    /// One that has the same caches and sessions, says the same of itself, and trusts anybody.
    Anybody,
}

/// How a server that judges keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sessions {
    Stored,
    Sealed,
}

/// Judges of this crate, and a peer.
pub(crate) struct Trial {
    judge: this::Judge,
    anybody: this::Judge,
    peer: Peer,
    caches: Caches,
}

impl Trial {
    /// It is the time of the case.
    pub(crate) fn new(case: &Case, setup: &Setup, sessions: Sessions, caches: &Caches) -> Self {
        setup.clock.set(case.now);
        let kept = this::Sessions::new(setup, sessions == Sessions::Sealed);
        let (trust, provider) = (&case.trust, setup.provider);
        let roots = caches.roots(trust);
        // in use, so that the verifiers find them
        let _lists = caches.lists(trust);
        let (judge, anybody) = match setup.side {
            Side::Client => {
                let verifier = this::server_verifier(trust, roots, provider);
                let make = |verifier| {
                    let mut config = this::client(setup, &kept, verifier);
                    caches.set_up_client(&mut config);
                    this::Judge::Client(Arc::new(config), trust.server_name.clone())
                };
                let anybody = make(Arc::new(this::Anybody(verifier.clone())));
                (make(verifier), anybody)
            }
            Side::Server => {
                let verifier = this::client_verifier(trust, roots, provider);
                let make = |verifier| {
                    let mut config = this::server(setup, &kept, verifier);
                    caches.set_up_server(&mut config);
                    this::Judge::Server(Arc::new(config))
                };
                let anybody = make(Arc::new(this::Anybody(verifier.clone())));
                (make(verifier), anybody)
            }
        };
        Self {
            judge,
            anybody,
            peer: Peer::new(setup),
            caches: caches.clone(),
        }
    }

    pub(crate) fn connect(&self, who: Who, shown: &Shown) -> Verdict {
        let mut judge = match who {
            Who::Judge => &self.judge,
            Who::Anybody => &self.anybody,
        }
        .start();
        let verdict = ends::connect(&mut judge, &mut self.peer.showing(shown));
        if verdict.is_accepted() {
            self.caches.keep(judge);
        }
        verdict
    }
}

/// What a judge of upstream says when it sees the peer for the first time.
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
        &mut Peer::new(setup).showing(&case.shown),
    )
}
