//! Sessions of a fleet whose machines' clocks differ.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered, handshake};
use rustls::ServerConfig;
use rustls::crypto::{aws_lc_rs, ring};
use rustls::time_provider::TimeProvider;

const SECRET: [u8; 32] = [0x5e; 32];
const EPOCH: u32 = 6 * 60 * 60;
const WEEK: u64 = 7 * 24 * 60 * 60;

/// The tolerated difference between clocks, in seconds.
const TOLERANCE: u64 = 300;

/// The start of an epoch.
const BEGIN: u64 = 80_000 * EPOCH as u64;

struct Machine {
    config: Arc<ServerConfig>,
    clock: Arc<Clock>,
}

impl Machine {
    fn new(provider: Provider, versions: Versions) -> Self {
        let auth = ClientAuth::None;
        let mut config =
            configs::this::server_of(versions, provider.this(), KeyType::Ed25519, auth);
        let clock = Clock::at(BEGIN);
        let of_ticketer = clock.clone();
        let now = move || of_ticketer.current_time();
        let ticketer = match provider {
            Provider::AwsLc => aws_lc_rs::Ticketer::for_fleet_with_clock(&SECRET, EPOCH, now),
            Provider::Ring => ring::Ticketer::for_fleet_with_clock(&SECRET, EPOCH, now),
        };
        config.ticketer = ticketer.unwrap();
        config.time_provider = clock.clone();
        Self {
            config: Arc::new(config),
            clock,
        }
    }

    /// Serves `client` while this machine's clock shows `secs`; true if the session resumes.
    fn resumes(&self, secs: u64, client: &Arc<rustls_upstream::ClientConfig>) -> bool {
        self.clock.set(secs);
        let mut client = UpstreamBuffered::client(client.clone());
        let mut server = ThisBuffered::server(self.config.clone());
        handshake(&mut client, &mut server);
        server.conn.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }
}

fn client(provider: Provider, versions: Versions) -> Arc<rustls_upstream::ClientConfig> {
    let auth = ClientAuth::None;
    configs::upstream::client_of(versions, provider.upstream(), KeyType::Ed25519, auth).into()
}

fn for_each(test: impl Fn(Provider, Versions)) {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        test(provider, versions);
    }
}

/// A client returns at the end of its ticket's lifetime and meets a clock that is ahead.
#[test]
fn a_ticket_is_good_for_its_lifetime_by_clocks_that_are_ahead() {
    for_each(|provider, versions| {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        let lifetime = u64::from(one.config.ticketer.lifetime());
        assert_eq!(lifetime, u64::from(EPOCH) - TOLERANCE);
        for (ahead, resumes) in [
            (0, true),
            (290, true),
            (TOLERANCE, true),
            (TOLERANCE + 1, false),
        ] {
            let client = client(provider, versions);
            assert!(!one.resumes(BEGIN, &client));
            let now = BEGIN + lifetime + ahead;
            assert_eq!(
                other.resumes(now, &client),
                resumes,
                "{ahead} seconds ahead"
            );
        }
    });
}

/// To clocks that are behind, a ticket is dated in the future and comes from an epoch not yet
/// begun.
#[test]
fn a_ticket_is_good_at_once_by_clocks_that_are_behind() {
    for_each(|provider, versions| {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        let client = client(provider, versions);
        assert!(!one.resumes(BEGIN, &client));
        for behind in [1, 290, TOLERANCE] {
            assert!(other.resumes(BEGIN - behind, &client));
        }
    });
}

/// A chain of sessions lasts a week, and its tickets carry the time left.
#[test]
fn the_last_ticket_of_a_chain_is_good_for_its_lifetime_by_clocks_that_are_ahead() {
    for_each(|provider, versions| {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        for (ahead, resumes) in [(TOLERANCE, true), (TOLERANCE + 1, false)] {
            let client = client(provider, versions);
            assert!(!one.resumes(BEGIN, &client));
            for hours in (5..7 * 24).step_by(5) {
                assert!(one.resumes(BEGIN + hours * 60 * 60, &client));
            }
            let now = BEGIN + WEEK + ahead;
            assert_eq!(
                other.resumes(now, &client),
                resumes,
                "{ahead} seconds ahead"
            );
        }
    });
}
