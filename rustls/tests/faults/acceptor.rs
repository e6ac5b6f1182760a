//! Tests of an `Acceptor` over a transport that fails at one of its calls, for each call, and of
//! the alert for a client that it rejects.

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::peers::roles::Role;
use harness::peers::roles::this::Config;
use rustls::server::{AcceptedAlert, Acceptor};

use crate::scripts::{Scene, Tried, plans, this, tried};
use crate::transport::{Counts, Fault, KINDS, Plan, PlannedPanic, Transport};

/// Completes a handshake with a server that chooses its configuration after the ClientHello.
fn accept(configs: &this::Configs, plan: Option<Plan>) -> Counts {
    configs.prepare(Role::Server);
    let (_, peer) = configs.fresh(Role::Server);
    let mut transport = Transport::new(peer, plan);
    let mut acceptor = Acceptor::default();
    let accepted = (0..10).find_map(|_| {
        let _: Tried<_> = tried(|| acceptor.read_tls(&mut transport));
        acceptor.accept().unwrap()
    });
    let [_, Config::Server(server)] = &configs.ours else {
        unreachable!("the second is a server's");
    };
    let server = server.clone();
    let mut conn = accepted.unwrap().into_connection(server).unwrap();
    for _ in 0..10 {
        let _: Tried<_> = tried(|| conn.complete_io(&mut transport));
    }
    assert!(!conn.is_handshaking() && !transport.peer.is_handshaking());
    transport.counts
}

#[test]
fn acceptors_survive_faults_of_the_transport() {
    for scene in [Scene::Tls12, Scene::Tls13EarlyData, Scene::Tls13Retry] {
        let configs = this::Configs::new(scene);
        let counts = accept(&configs, None);
        for plan in plans(counts, &KINDS) {
            println!("{scene:?} {plan:?}");
            accept(&configs, Some(plan));
        }
    }
}

/// Accepts two bytes at a time and fails at one call.
struct Narrow {
    bytes: Vec<u8>,
    calls: usize,
    wrong: (usize, Fault),
}

impl Write for Narrow {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let (at, fault) = self.wrong;
        self.calls += 1;
        let most = match fault {
            _ if self.calls != at + 1 => 2,
            Fault::Short => 1,
            Fault::Fails(kind) => return Err(kind.into()),
            Fault::Nothing => return Ok(0),
            Fault::Panics => resume_unwind(Box::new(PlannedPanic)),
            Fault::Lies => {
                self.bytes.extend_from_slice(buf);
                return Ok(buf.len() + 1);
            }
        };
        let len = buf.len().min(most);
        self.bytes.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the alert for a client that has nothing in common with the server.
fn refusal() -> AcceptedAlert {
    let (auth, key_type) = (ClientAuth::None, KeyType::EcdsaP256);
    let provider = Provider::Ring.upstream();
    let client = configs::upstream::client_of(Versions::Tls12, provider, key_type, auth);
    let hello = UpstreamBuffered::client(client).take_output();
    let server = configs::this::server(Provider::Ring.this(), key_type, auth);
    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut &hello[..]).unwrap();
    let accepted = acceptor.accept().unwrap().unwrap();
    let (_, alert) = accepted.into_connection(Arc::new(server)).unwrap_err();
    alert
}

#[test]
fn alerts_survive_transport_faults() {
    const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 70];
    for (at, fault, writes_all) in product3(0..4, KINDS, [true, false]) {
        let mut writer = Narrow {
            bytes: Vec::new(),
            calls: 0,
            wrong: (at, fault),
        };
        let mut alert = refusal();
        for _ in 0..8 {
            let _: Tried<_> = tried(|| match writes_all {
                true => alert.write_all(&mut writer),
                false => alert.write(&mut writer).map(|_| ()),
            });
        }
        assert_eq!(writer.bytes, ALERT, "{fault:?} at {at}");
    }
}
