//! Tickets of a fleet: any machine opens the tickets of another, whichever provider each uses.

use std::sync::Arc;
use std::time::Duration;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{ThisBuffered, UpstreamBuffered, handshake, send_and_check};
use rustls::crypto::{aws_lc_rs, ring};
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;

const SECRET: [u8; 32] = [0x5e; 32];
const HOUR: u32 = 60 * 60;

/// The ticketer of a machine whose clock shows `secs` since 1970.
fn machine(provider: Provider, secret: &[u8], secs: u64) -> Arc<dyn ProducesTickets> {
    let clock = move || Some(UnixTime::since_unix_epoch(Duration::from_secs(secs)));
    let made = match provider {
        Provider::AwsLc => aws_lc_rs::Ticketer::for_fleet_with_clock(secret, 6 * HOUR, clock),
        Provider::Ring => ring::Ticketer::for_fleet_with_clock(secret, 6 * HOUR, clock),
    };
    made.unwrap()
}

#[test]
fn machines_with_one_secret_open_each_others_tickets() {
    for (maker, opener) in product(PROVIDERS, PROVIDERS) {
        let begin = 80_000 * 6 * u64::from(HOUR);
        let maker = machine(maker, &SECRET, begin);
        let ticket = maker.encrypt(b"session").unwrap();
        for (at, opens) in [
            (begin - 1, true),
            (begin, true),
            (begin + u64::from(maker.lifetime()), true),
            (begin + 12 * u64::from(HOUR), false),
        ] {
            let plain = machine(opener, &SECRET, at).decrypt(&ticket);
            assert_eq!(plain.as_deref(), opens.then_some(&b"session"[..]));
        }
        let opener = machine(opener, &SECRET, begin);
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 0x10;
            assert!(opener.decrypt(&changed).is_none(), "byte {at} changed");
        }
        let stranger = machine(Provider::Ring, &[0x5f; 32], begin);
        assert!(stranger.decrypt(&ticket).is_none());
    }
}

/// Sessions begun at one machine resume at another, whose clock is an hour ahead and whose provider
/// may differ. They do not resume at a machine with another secret.
#[test]
fn sessions_resume_at_another_machine() {
    let begin = 80_000 * 6 * u64::from(HOUR);
    let server = |provider: Provider, auth, versions, secret: &[u8], secs| {
        let mut config =
            configs::this::server_of(versions, provider.this(), KeyType::Ed25519, auth);
        config.ticketer = machine(provider, secret, secs);
        Arc::new(config)
    };
    for (one, other) in product(PROVIDERS, PROVIDERS) {
        // the providers' verifiers support different signature schemes, and a session with a client
        // certificate does not resume under a different verifier
        let auth = if one == other {
            ClientAuth::Required
        } else {
            ClientAuth::None
        };
        for versions in [Versions::Tls12, Versions::Tls13] {
            let client =
                configs::upstream::client_of(versions, one.upstream(), KeyType::Ed25519, auth);
            let client = Arc::new(client);
            let later = begin + u64::from(HOUR);
            for (server, kind) in [
                (server(one, auth, versions, &SECRET, begin), "Full"),
                (server(other, auth, versions, &SECRET, later), "Resumed"),
                (server(other, auth, versions, &[0x5f; 32], later), "Full"),
            ] {
                let mut client = UpstreamBuffered::client(client.clone());
                let mut server = ThisBuffered::server(server);
                handshake(&mut client, &mut server);
                let is = format!("{:?}", server.conn.handshake_kind().unwrap());
                assert_eq!(is, kind, "{one:?} {other:?} {versions:?}");
                assert_eq!(server.conn.peer_certificates().is_some(), one == other);
                send_and_check(&mut server, &mut client, b"data");
            }
        }
    }
}

#[test]
fn system_clock_and_refused_secrets() {
    let makers = [aws_lc_rs::Ticketer::for_fleet, ring::Ticketer::for_fleet];
    for make in makers {
        let machine = make(&SECRET, 6 * HOUR).unwrap();
        assert!(machine.enabled());
        let ticket = machine.encrypt(b"session").unwrap();
        // even if an epoch ended in between
        assert_eq!(machine.decrypt(&ticket).unwrap(), b"session");
        assert!(make(&SECRET[1..], 6 * HOUR).is_err());
        assert!(make(&SECRET, HOUR - 1).is_err());
    }
}
