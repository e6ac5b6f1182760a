//! Callbacks of the application and the crypto provider that panic, fail, or open other connections
//! with the same configurations. Each fails at several of its calls, from the first byte to the
//! close_notify.

use std::collections::BTreeMap;
use std::rc::Rc;

use harness::peers::configs::{Versions, product3};

use crate::bomb::{self, Wrong, survives};
use crate::ends::{Api, End};
use crate::other_calls::TLS13;
use crate::rigged::{Rig, Setup};
use crate::talk::{CLIENT, SERVER, Stop, Talk, good};

/// The error that every call returns after a callback has panicked.
pub(crate) const OVER: &str =
    "unexpected error: the connection is over: a call of the application's code has panicked";

/// Connections with one setup, each of which may resume the previous one.
struct Scene {
    api: Api,
    setup: Setup,
    resumes: bool,
    /// True if a callback fails at its last call only; otherwise also at the first and middle ones.
    fails_last: bool,
    rig: Rc<Rig>,
}

impl Scene {
    fn new(api: Api, setup: Setup, resumes: bool) -> Self {
        bomb::rig_logger();
        Self {
            api,
            setup,
            resumes,
            fails_last: false,
            rig: Rc::new(Rig::new(setup)),
        }
    }

    /// Creates a scene of this API: a full handshake, or a resumed one with early data if possible.
    fn of(api: Api, versions: Versions, resumes: bool) -> Self {
        let setup = Setup {
            versions,
            early_data: resumes && versions == Versions::Tls13,
            quic: api == Api::Quic,
            ..TLS13
        };
        Self::new(api, setup, resumes)
    }

    /// Prepares sessions if the scene resumes, otherwise fresh configurations without any.
    fn prepare(&mut self) {
        if self.resumes {
            good(&self.rig, self.setup, self.api);
        } else {
            self.rig = Rc::new(Rig::new(self.setup));
        }
    }

    /// Returns the number of calls of each callback.
    fn calls(&mut self) -> BTreeMap<&'static str, usize> {
        self.prepare();
        bomb::forget_calls();
        good(&self.rig, self.setup, self.api);
        bomb::calls()
    }

    /// Runs a connection for each callback and each call at which it fails.
    fn each(&mut self, wrong: Wrong, mut check: impl FnMut(&Self, &str, Option<Talk>, Stop)) {
        for (name, count) in self.calls() {
            // comes after all calls; a panic in it is caught
            if name == "Observer::closed" {
                continue;
            }
            let mut times = vec![0, count / 2, count - 1];
            times.dedup();
            times.retain(|at| !self.fails_last || *at == count - 1);
            for at in times {
                let what = format!("{wrong:?}: {name}, call {at} of {count}, {:?}", self.api);
                println!("{what}, {:?}", self.setup);
                self.prepare();
                bomb::arm(name, at, wrong);
                let (talk, stop) = Talk::run(&self.rig, self.setup, self.api);
                assert!(bomb::disarm(), "never called");
                check(self, name, talk, stop);
                // in order, and to the end
                let _ = self.rig.events.take();
                // other connections still work
                good(&self.rig, self.setup, self.api);
            }
        }
    }

    fn panics(&mut self) {
        self.each(Wrong::Panics, |scene, name, talk, stop| {
            let (mut talk, side) = match (talk, stop) {
                (Some(talk), Stop::Panicked(side)) => (talk, side),
                (None, Stop::NotMade) => return,
                (_, stop) => panic!("{stop:?}"),
            };
            check_unverified(name, &*talk.ends[side]);
            talk.deliver_rest(side);
            talk.check_received();
            assert_eq!(check_over(&mut *talk.ends[side]), OVER, "{:?}", scene.setup);
        });
    }

    fn fails(&mut self) {
        self.each(Wrong::Fails, |scene, name, talk, stop| {
            let Some(mut talk) = talk else {
                return;
            };
            talk.check_received();
            match stop {
                Stop::Failed(side, error) => {
                    check_unverified(name, &*talk.ends[side]);
                    talk.deliver_rest(side);
                    talk.check_received();
                    let over = check_over(&mut *talk.ends[side]);
                    assert!(error.contains(&over), "{error}");
                }
                // if resumption fails, the peer may authenticate again
                Stop::Done if name.contains("::verify_") => {
                    assert!(scene.resumes && bomb::calls()[name] > 1, "wrongly accepted");
                }
                Stop::Done => {}
                stop => panic!("{stop:?}"),
            }
        });
    }

    fn reenters(&mut self) {
        let (rig, setup, api) = (self.rig.clone(), self.setup, self.api);
        bomb::set_nested(Rc::new(move || good(&rig, setup, api)));
        self.each(Wrong::Reenters, |_, _, talk, stop| {
            assert_eq!(stop, Stop::Done);
            talk.unwrap().check_received();
        });
    }
}

/// Asserts that an unverified peer is neither identified nor connected.
fn check_unverified(name: &str, end: &dyn End) {
    if name.contains("::verify_") {
        assert!(end.is_handshaking() && !end.knows_peer());
    }
}

/// Asserts that the connection has failed and uses no more keys or callbacks.
fn check_over(end: &mut dyn End) -> String {
    bomb::forget_calls();
    let error = end.check_over();
    let mut calls = bomb::calls();
    // a failed connection's session is removed
    calls.remove("StoresServerSessions::take");
    calls.remove("ClientSessionStore::remove_tls12_session");
    calls.remove("Log::log");
    assert!(calls.is_empty(), "{calls:?}");
    error
}

/// The setups of a full handshake of TLS 1.2 and a resumed one of TLS 1.3.
const FULL_AND_RESUMED: [(Versions, bool); 2] = [(Versions::Tls12, false), (Versions::Tls13, true)];

/// Returns all scenes of the buffered API.
fn buffered_scenes() -> Vec<Scene> {
    let other = |versions, resumes, tickets, retry| {
        let setup = Setup {
            versions,
            tickets,
            retry,
            ..TLS13
        };
        Scene::new(Api::Buffered, setup, resumes)
    };
    vec![
        Scene::of(Api::Buffered, Versions::Tls12, false),
        Scene::of(Api::Buffered, Versions::Tls12, true),
        Scene::of(Api::Buffered, Versions::Tls13, true),
        other(Versions::Tls12, true, true, false),
        other(Versions::Tls13, false, true, true),
    ]
}

#[test]
fn connections_fail_if_a_callback_panics() {
    for mut scene in buffered_scenes() {
        scene.panics();
    }
    for (versions, resumes) in FULL_AND_RESUMED {
        Scene::of(Api::Unbuffered, versions, resumes).panics();
    }
}

/// Both halves report a failure that occurred in one of them.
#[test]
fn both_halves_fail_if_a_callback_panics() {
    for (versions, resumes) in FULL_AND_RESUMED {
        let mut scene = Scene::of(Api::Split, versions, resumes);
        // the handshake is the same as that of a whole connection
        scene.fails_last = true;
        scene.panics();
    }
}

#[test]
fn connections_fail_if_a_callback_fails() {
    for mut scene in buffered_scenes() {
        scene.fails();
    }
}

#[test]
fn quic_connections_fail_if_a_callback_panics_or_fails() {
    for resumes in [false, true] {
        Scene::of(Api::Quic, Versions::Tls13, resumes).panics();
        Scene::of(Api::Quic, Versions::Tls13, resumes).fails();
    }
}

/// No lock or borrow is held while a callback runs.
#[test]
fn callbacks_may_connect_with_the_same_configurations() {
    for (versions, resumes) in [(Versions::Tls12, true), (Versions::Tls13, true)] {
        Scene::of(Api::Buffered, versions, resumes).reenters();
    }
}

/// A connection that fails calls callbacks: it logs, seals an alert and removes its session. A
/// panic in them must not keep the connection alive or change its error.
#[test]
fn a_connection_stays_failed_if_a_callback_panics() {
    // a record under an unknown key
    let record = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
    let apis = [Api::Buffered, Api::Split, Api::Unbuffered];
    for ((versions, resumes), api, side) in product3(FULL_AND_RESUMED, apis, [CLIENT, SERVER]) {
        let mut scene = Scene::of(api, versions, resumes);
        let connected = |scene: &mut Scene| {
            scene.prepare();
            let mut talk = Talk::new(&scene.rig, scene.api).unwrap();
            talk.open(scene.setup).unwrap();
            bomb::forget_calls();
            talk
        };
        let fail = |end: &mut dyn End| end.receive(&record).map(|()| end.output());
        let mut talk = connected(&mut scene);
        let reason = fail(&mut *talk.ends[side]).unwrap_err();
        talk.deliver_rest(side);
        for (name, count) in bomb::calls() {
            for at in 0..count {
                println!("{name}, call {at}, {api:?} {versions:?} {side}");
                let mut talk = connected(&mut scene);
                bomb::arm(name, at, Wrong::Panics);
                let failed = survives(|| fail(&mut *talk.ends[side]));
                assert_ne!(failed, Some(Ok(Vec::new())));
                let _ = survives(|| talk.deliver_rest(side));
                assert!(bomb::disarm());
                let _ = talk.ends[side].output();
                let over = check_over(&mut *talk.ends[side]);
                assert!(over == reason || over == OVER, "{over}");
                good(&scene.rig, scene.setup, api);
            }
        }
    }
}
