//! Tests of configurations in use whose parts are all replaced: with many threads, with an
//! `Acceptor`, and with long-lived connections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use harness::peers::endpoints::{Endpoint, handshake, send_and_check};
use rustls::{ClientConfig, ServerConfig};
use rustls_trust::{
    CrlSource, Reload, ReloadStatus, ReloadingCertifiedKeys, ReloadingClientVerifier,
    ReloadingServerVerifier,
};

use crate::directory::Directory;
use crate::reload::kit::{Authority, Setup, setups};
use crate::reload::trust::{connect, of_clients, of_servers, roots};

/// Both sides. Each [`Self::reload`] replaces everything, alternating between two authorities.
struct Running {
    setup: Setup,
    authorities: [Authority; 2],
    /// The server's directory, then the client's.
    dirs: [Directory; 2],
    clients: Arc<ReloadingClientVerifier>,
    servers: Arc<ReloadingServerVerifier>,
    keys: [Arc<ReloadingCertifiedKeys>; 2],
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Running {
    fn new(setup: Setup) -> Self {
        let authorities = [Authority::new("even"), Authority::new("odd")];
        let dirs = [Directory::new(), Directory::new()];
        let both = [&authorities[0], &authorities[1]];
        let provider = Arc::new(setup.provider.this());
        let crl = |dir: &Directory| {
            let lists = both.map(|ca| ca.crl(1, &[99])).concat();
            CrlSource::File(dir.write("crl.pem", lists))
        };
        let clients = of_clients(&dirs[0], setup.provider, &both)
            .with_crls(crl(&dirs[0]))
            .build()
            .unwrap();
        let servers = of_servers(&dirs[1], setup.provider, &both)
            .with_crls(crl(&dirs[1]))
            .build()
            .unwrap();
        let keys = [&dirs[0], &dirs[1]].map(|dir| {
            let files = dir.write_pair(&authorities[0].issue());
            ReloadingCertifiedKeys::new(files, provider.clone()).unwrap()
        });
        Self {
            server: setup.server_config(clients.clone(), keys[0].clone()),
            client: setup.client_config(servers.clone(), keys[1].clone()),
            setup,
            authorities,
            dirs,
            clients,
            servers,
            keys,
        }
    }

    fn reload(&self, round: u8) {
        let authority = &self.authorities[usize::from(round % 2)];
        for (dir, keys) in self.dirs.iter().zip(&self.keys) {
            dir.write_pair(&authority.issue());
            assert_eq!(keys.reload().unwrap(), Reload::Replaced);
            let lists = self.authorities.each_ref().map(|ca| ca.crl(round, &[99]));
            dir.write("crl.pem", lists.concat());
        }
        assert_eq!(self.clients.reload().unwrap(), Reload::Replaced);
        assert_eq!(self.servers.reload().unwrap(), Reload::Replaced);
    }

    fn ends(&self) -> [Box<dyn Endpoint>; 2] {
        [
            self.setup.client(&self.client),
            self.setup.server(&self.server),
        ]
    }
}

/// Threads connect while another one reloads. Every connection succeeds, full or resumed, and
/// transfers data.
#[test]
fn no_connection_fails_while_everything_is_replaced() {
    const THREADS: usize = 3;
    const RELOADS: u8 = 12;
    for setup in setups() {
        let running = Running::new(setup);
        let start = Barrier::new(THREADS + 1);
        let (done, connected) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let connect = || {
                scope.spawn(|| {
                    start.wait();
                    while !done.load(Ordering::Relaxed) {
                        let [mut one, mut two] = running.ends();
                        handshake(&mut *one, &mut *two);
                        send_and_check(&mut *one, &mut *two, b"there");
                        send_and_check(&mut *two, &mut *one, b"and back");
                        connected.fetch_add(1, Ordering::Relaxed);
                    }
                })
            };
            let threads = [(); THREADS].map(|()| connect());
            start.wait();
            for round in 2..2 + RELOADS {
                running.reload(round);
                // wait for at least one connection under each
                let before = connected.load(Ordering::Relaxed);
                while connected.load(Ordering::Relaxed) == before {
                    // otherwise all of them have failed
                    assert!(threads.iter().any(|thread| !thread.is_finished()));
                    thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(connected.into_inner() >= RELOADS.into(), "{setup:?}");
        let counts = |status: ReloadStatus| (status.reloads, status.failures);
        assert_eq!(counts(running.clients.status()), (RELOADS.into(), 0));
        assert_eq!(counts(running.servers.status()), (RELOADS.into(), 0));
        assert_eq!(counts(running.keys[0].status()), (RELOADS.into(), 0));
    }
}

/// Long-lived connections do not keep a replaced verifier alive, and messages that they receive
/// late have no effect on it.
#[test]
fn long_lived_connections_release_old_verifiers() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    for setup in setups() {
        let (here, there) = (Directory::new(), Directory::new());
        let servers = of_servers(&here, setup.provider, &[&a]).build().unwrap();
        let clients = of_clients(&there, setup.provider, &[&a]).build().unwrap();
        let client = setup.client_config(servers.clone(), a.issue().certified(setup.provider));
        let server = setup.server_config(clients.clone(), a.issue().certified(setup.provider));
        let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
        handshake(&mut *one, &mut *two);
        let old_servers = Arc::downgrade(&servers.current());
        let old_clients = Arc::downgrade(&clients.current());
        assert!(old_servers.strong_count() > 0 && old_clients.strong_count() > 0);
        roots(&here, &[&a, &b]);
        roots(&there, &[&a, &b]);
        servers.reload().unwrap();
        clients.reload().unwrap();
        assert_eq!(old_servers.strong_count(), 0, "{setup:?}");
        assert_eq!(old_clients.strong_count(), 0, "{setup:?}");
        send_and_check(&mut *one, &mut *two, b"there");
        send_and_check(&mut *two, &mut *one, b"and back");
        drop((one, two));
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
    }
}
