//! Tests of tickets and sessions of a fleet: any machine opens the tickets of another, even if
//! their providers and clocks differ.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, handshake, send_and_check,
};
use rustls::crypto::{aws_lc_rs, ring};
use rustls::time_provider::TimeProvider;
use rustls::{HandshakeKind, ServerConfig};
use rustls_upstream::ClientConfig;

const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

const SECRET: [u8; 32] = [0x5e; 32];
const OTHER_SECRET: [u8; 32] = [0x5f; 32];
const HOUR: u32 = 60 * 60;
const EPOCH: u32 = 6 * HOUR;
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
        Self::with(provider, versions, ClientAuth::None, &SECRET)
    }

    fn with(provider: Provider, versions: Versions, auth: ClientAuth, secret: &[u8]) -> Self {
        let mut config =
            configs::this::server_of(versions, provider.this(), KeyType::Ed25519, auth);
        let clock = Clock::at(BEGIN);
        let of_ticketer = clock.clone();
        let now = move || of_ticketer.current_time();
        let ticketer = match provider {
            Provider::AwsLc => aws_lc_rs::Ticketer::for_fleet_with_clock(secret, EPOCH, now),
            Provider::Ring => ring::Ticketer::for_fleet_with_clock(secret, EPOCH, now),
        };
        config.ticketer = ticketer.unwrap();
        config.time_provider = clock.clone();
        Self {
            config: Arc::new(config),
            clock,
        }
    }

    /// Opens a ticket while this machine's clock shows `secs`.
    fn decrypt(&self, secs: u64, ticket: &[u8]) -> Option<Vec<u8>> {
        self.clock.set(secs);
        self.config.ticketer.decrypt(ticket)
    }

    /// Serves `client` while this machine's clock shows `secs`.
    fn serve(&self, secs: u64, client: &Arc<ClientConfig>) -> ThisBuffered {
        self.clock.set(secs);
        let mut client = UpstreamBuffered::client(client.clone());
        let mut server = ThisBuffered::server(self.config.clone());
        handshake(&mut client, &mut server);
        send_and_check(&mut server, &mut client, b"data");
        server
    }

    /// Serves `client`, and returns true if the session resumes.
    fn resumes(&self, secs: u64, client: &Arc<ClientConfig>) -> bool {
        self.serve(secs, client).conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

fn client(provider: Provider, versions: Versions, auth: ClientAuth) -> Arc<ClientConfig> {
    configs::upstream::client_of(versions, provider.upstream(), KeyType::Ed25519, auth).into()
}

#[test]
fn machines_that_share_a_secret_open_each_others_tickets() {
    for (maker, opener) in product(PROVIDERS, PROVIDERS) {
        let [maker, opener] = [maker, opener].map(|it| Machine::new(it, Versions::Tls13));
        let ticketer = &maker.config.ticketer;
        let ticket = ticketer.encrypt(b"session").unwrap();
        for (at, opens) in [
            (BEGIN - 1, true),
            (BEGIN, true),
            (BEGIN + u64::from(ticketer.lifetime()), true),
            (BEGIN + 2 * u64::from(EPOCH), false),
        ] {
            let plain = opener.decrypt(at, &ticket);
            assert_eq!(plain.as_deref(), opens.then_some(&b"session"[..]), "{at}");
        }
        assert!(opener.decrypt(BEGIN, &ticket).is_some(), "again");
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 0x10;
            assert_eq!(opener.decrypt(BEGIN, &changed), None, "byte {at} changed");
        }
        let (tls13, auth) = (Versions::Tls13, ClientAuth::None);
        let stranger = Machine::with(Provider::Ring, tls13, auth, &OTHER_SECRET);
        assert!(stranger.decrypt(BEGIN, &ticket).is_none());
    }
}

/// Sessions begun at one machine resume at another, whose clock is an hour ahead and whose provider
/// may differ. They do not resume at a machine with another secret.
#[test]
fn sessions_resume_on_another_machine() {
    for (one, other, versions) in product3(PROVIDERS, PROVIDERS, VERSIONS) {
        // the providers' verifiers support different signature schemes, and a session with a client
        // certificate does not resume under a different verifier
        let auth = match one == other {
            true => ClientAuth::Required,
            false => ClientAuth::None,
        };
        let client = client(one, versions, auth);
        let later = BEGIN + u64::from(HOUR);
        for (provider, secret, secs, kind) in [
            (one, SECRET, BEGIN, HandshakeKind::Full),
            (other, SECRET, later, HandshakeKind::Resumed),
            (other, OTHER_SECRET, later, HandshakeKind::Full),
        ] {
            let server = Machine::with(provider, versions, auth, &secret).serve(secs, &client);
            let is = server.conn.handshake_kind();
            assert_eq!(is, Some(kind), "{one:?} {other:?} {versions:?}");
            assert_eq!(server.peer_certificates().is_empty(), one != other);
        }
    }
}

#[test]
fn a_fleet_ticketer_rejects_short_secrets_and_epochs() {
    let makers = [aws_lc_rs::Ticketer::for_fleet, ring::Ticketer::for_fleet];
    for make in makers {
        let machine = make(&SECRET, EPOCH).unwrap();
        assert!(machine.enabled());
        let ticket = machine.encrypt(b"session").unwrap();
        // even if an epoch ended in between
        assert_eq!(machine.decrypt(&ticket).unwrap(), b"session");
        assert!(make(&SECRET[1..], EPOCH).is_err());
        assert!(make(&SECRET, HOUR - 1).is_err());
    }
}

/// A client returns at the end of its ticket's lifetime and meets a clock that is ahead.
#[test]
fn a_ticket_is_valid_for_its_lifetime_if_clocks_are_ahead() {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        let lifetime = u64::from(one.config.ticketer.lifetime());
        assert_eq!(lifetime, u64::from(EPOCH) - TOLERANCE);
        for ahead in [0, 290, TOLERANCE, TOLERANCE + 1] {
            let client = client(provider, versions, ClientAuth::None);
            assert!(!one.resumes(BEGIN, &client));
            let resumes = other.resumes(BEGIN + lifetime + ahead, &client);
            assert_eq!(resumes, ahead <= TOLERANCE, "{ahead} seconds ahead");
        }
    }
}

/// To clocks that are behind, a ticket is dated in the future and comes from an epoch not yet
/// begun.
#[test]
fn a_ticket_is_valid_immediately_if_clocks_are_behind() {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        let client = client(provider, versions, ClientAuth::None);
        assert!(!one.resumes(BEGIN, &client));
        for behind in [1, 290, TOLERANCE] {
            assert!(other.resumes(BEGIN - behind, &client));
        }
    }
}

/// A chain of sessions lasts a week, and its tickets carry the time left.
#[test]
fn the_last_ticket_of_a_chain_is_valid_for_its_lifetime_if_clocks_are_ahead() {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let [one, other] = [(); 2].map(|()| Machine::new(provider, versions));
        for ahead in [TOLERANCE, TOLERANCE + 1] {
            let client = client(provider, versions, ClientAuth::None);
            assert!(!one.resumes(BEGIN, &client));
            for hours in (5..7 * 24).step_by(5) {
                assert!(one.resumes(BEGIN + hours * 60 * 60, &client));
            }
            let resumes = other.resumes(BEGIN + WEEK + ahead, &client);
            assert_eq!(resumes, ahead <= TOLERANCE, "{ahead} seconds ahead");
        }
    }
}
