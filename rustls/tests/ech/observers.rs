//! Tests of the arguments of a client's key log and verifier, which show the hello that the
//! handshake uses.

use std::sync::{Arc, Mutex};

use harness::peers::configs::{PROVIDERS, Versions};
use harness::peers::events::{Event, Events, What};
use harness::scripted::Script;
use harness::verifiers::this::Verifier;
use rustls::client::EchStatus;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, KeyLog, SignatureScheme};

use crate::ech::clients::{Mode, Setup, this};
use crate::ech::kit::{self, ACCEPTED, PUBLIC, Peers, Run, SECRET, accepting_retry};

/// A key log and verifier that records its arguments.
#[derive(Debug, Default)]
struct Observer {
    logged: Mutex<Vec<(String, Vec<u8>)>>,
    names: Mutex<Vec<ServerName<'static>>>,
}

impl KeyLog for Observer {
    fn log(&self, label: &str, client_random: &[u8], _: &[u8]) {
        let line = (label.to_owned(), client_random.to_vec());
        self.logged.lock().unwrap().push(line);
    }
}

impl Observer {
    #[track_caller]
    fn assert_seen(&self, random: &[u8; 32], name: &str) {
        let logged = self.logged.lock().unwrap();
        // two handshake secrets, two traffic secrets and the exporter's
        assert_eq!(logged.len(), 5, "{logged:?}");
        assert!(logged.iter().all(|(_, logged)| logged == random));
        let names = self.names.lock().unwrap();
        assert_eq!(*names, [ServerName::try_from(name.to_owned()).unwrap()]);
    }
}

fn observed(setup: &Setup) -> (Arc<Observer>, Arc<ClientConfig>) {
    let observer = Arc::new(Observer::default());
    let mut config = this::config(setup).unwrap();
    config.key_log = observer.clone();
    let schemes = [
        SignatureScheme::ED25519,
        SignatureScheme::ECDSA_NISTP256_SHA256,
    ];
    let observing = observer.clone();
    let verifier = Verifier::accepting(Versions::Tls13, &schemes).with_certificates(move |it| {
        let name = it.server_name.unwrap().to_owned();
        observing.names.lock().unwrap().push(name);
        Ok(())
    });
    config
        .dangerous()
        .set_certificate_verifier(Arc::new(verifier));
    (observer, Arc::new(config))
}

fn run(peers: &Peers, config: &Arc<ClientConfig>, script: &Script) -> Run {
    let name = ServerName::try_from(SECRET).unwrap();
    peers.run_client(this::connect(config, name).unwrap(), script)
}

/// Each secret is logged with the random of the hello that it belongs to, and the verifier receives
/// the name in that hello.
#[test]
fn key_log_and_verifier_see_the_hello_in_use() {
    for peers in PROVIDERS.map(Peers::new) {
        for script in [Script::new(), accepting_retry()] {
            let (observer, config) = observed(&peers.setup());
            let accepted = run(&peers, &config, &peers.to_accept(script.clone()));
            assert_eq!(accepted.conversation.outcome, ACCEPTED);
            let inner = accepted.conversation.opened[0].inner.random;
            assert_ne!(inner, accepted.outer()[0].random);
            observer.assert_seen(&inner, SECRET);

            // a rejection stays an error even if the verifier accepts everything
            let mut script = peers.to_reject(script);
            script.retries.iter_mut().for_each(|retry| {
                retry.extensions.retain(|(typ, _)| *typ != kit::ECH);
            });
            let (observer, config) = observed(&peers.setup());
            let rejected = run(&peers, &config, &script);
            assert_eq!(rejected.conversation.outcome, kit::rejected());
            observer.assert_seen(&rejected.outer()[0].random, PUBLIC);
        }
    }
}

/// Events name the inner server, and have the outcome of ECH.
#[test]
fn events_report_the_outcome_of_ech() {
    for peers in PROVIDERS.map(Peers::new) {
        let rejected = "peer_incompatible.server_rejected_encrypted_client_hello";
        let cases = [
            (peers.setup(), peers.accepting(), EchStatus::Accepted, None),
            (
                peers.setup(),
                peers.to_accept(accepting_retry()),
                EchStatus::Accepted,
                None,
            ),
            (
                peers.setup(),
                peers.rejecting(),
                EchStatus::Rejected,
                Some(rejected),
            ),
            (peers.greasing(), Script::new(), EchStatus::Grease, None),
            (
                peers.setup_with(Mode::Off),
                Script::new(),
                EchStatus::NotOffered,
                None,
            ),
        ];
        for (setup, script, status, label) in cases {
            let events = Events::new();
            let mut config = this::config(&setup).unwrap();
            config.observer = Some(events.clone());
            drop(run(&peers, &config.into(), &script));
            let events = events.take_one();
            let is_named = |event: &Event| event.of.server_name.as_deref() == Some(SECRET);
            assert!(events.iter().all(is_named));
            let told = events.iter().find_map(|event| match &event.what {
                What::Finished(facts) => Some((facts.ech, None)),
                What::Failed(failed) => Some((failed.handshake.ech, Some(failed.label))),
                _ => None,
            });
            assert_eq!(told, Some((status, label)));
        }
    }
}
