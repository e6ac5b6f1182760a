//! Clients that offer a session, and servers that find the value that a test provides for it.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::peers::roles::Role;
use harness::providers::tickets::this::Tickets;
use harness::providers::transparent::this::{Configs, forget_sessions};
use harness::providers::transparent::{Resumes, Setup};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

use super::value::Session;

/// A recorded client with a session, and its server.
pub struct Scene {
    pub(super) configs: Configs,
    pub version: Version,
    pub(super) setup: Setup,
    /// The genuine session.
    pub value: Vec<u8>,
    pub(super) session: Session,
    /// The client's ClientHello, and its answer when the genuine session is resumed.
    pub(super) hello: Vec<u8>,
    pub(super) finished: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    Tls12,
    Tls13,
    Quic,
}

thread_local! {
    /// The value for every ticket and session ID in this thread, and the last value stored.
    static FOUND: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
    static STORED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lets servers of this thread find `value` for anything.
pub(super) fn set_found(value: Option<Vec<u8>>) {
    FOUND.set(value);
}

/// A ticketer whose tickets all open to the value to find, or a storage that has it under every
/// key.
fn sessions() -> Arc<Tickets> {
    let encrypt = |plain: &[u8]| {
        STORED.set(plain.to_vec());
        Some(b"a ticket".to_vec())
    };
    let decrypt = |_: &[u8]| FOUND.with_borrow(Clone::clone);
    Arc::new(Tickets::new(
        super::TICKET_LIFETIME as u32,
        encrypt,
        decrypt,
    ))
}

/// All scenes. Corpora refer to them by number, so append new ones at the end.
pub fn scenes() -> &'static [Scene] {
    static MADE: OnceLock<Vec<Scene>> = OnceLock::new();
    MADE.get_or_init(|| {
        let usual = |auth| Setup::usual(auth).trusting();
        let none = usual(ClientAuth::None);
        let tls12 = |auth| usual(auth).with_versions([Versions::Tls12; 2]);
        let with_tickets =
            |version, setup: Setup| Scene::new(version, setup.resuming(Resumes::Tickets));
        vec![
            with_tickets(Version::Tls13, none),
            Scene::new(Version::Tls13, none.with_early_data()),
            with_tickets(Version::Tls12, tls12(ClientAuth::Required)),
            Scene::new(
                Version::Tls12,
                tls12(ClientAuth::None).resuming(Resumes::Stored),
            ),
            with_tickets(Version::Quic, none.over_quic()),
            with_tickets(Version::Tls13, usual(ClientAuth::OptionalPresent)),
        ]
    })
}

impl Scene {
    fn new(version: Version, setup: Setup) -> Self {
        let Configs { client, server } = Configs::new(setup);
        let mut server = ServerConfig::clone(&server);
        if setup.resumes == Some(Resumes::Stored) {
            server.session_storage = sessions();
        } else {
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.ticketer = sessions();
        }
        let configs = Configs {
            client,
            server: Arc::new(server),
        };
        let ends = || {
            let client = configs.endpoint(Role::Client, version == Version::Quic);
            (client, Server::new(version, &configs))
        };
        forget_sessions();
        set_found(None);
        let (mut client, mut server) = ends();
        exchange(&mut *client, server.end()).unwrap();
        assert_eq!(server.kind(), "Some(Full)");
        let value = STORED.take();

        set_found(Some(value.clone()));
        let (mut client, mut server) = ends();
        let hello = client.take_output();
        server.end().receive(&hello).unwrap();
        client.receive(&server.end().take_output()).unwrap();
        let finished = client.take_output();
        server.end().receive(&finished).unwrap();
        assert_eq!(server.kind(), "Some(Resumed)");
        set_found(None);
        Self {
            version,
            setup,
            session: Session::read(&value).unwrap(),
            value,
            hello,
            finished,
            configs,
        }
    }

    pub(super) fn server(&self) -> Server {
        Server::new(self.version, &self.configs)
    }
}

/// A server of a scene.
pub(super) enum Server {
    Records(Box<ThisBuffered>),
    Quic(Box<dyn Endpoint>),
}

impl Server {
    fn new(version: Version, configs: &Configs) -> Self {
        match version {
            Version::Quic => Self::Quic(configs.endpoint(Role::Server, true)),
            _ => Self::Records(Box::new(ThisBuffered::new(configs.server()))),
        }
    }

    pub(super) fn end(&mut self) -> &mut dyn Endpoint {
        match self {
            Self::Records(end) => &mut **end,
            Self::Quic(end) => &mut **end,
        }
    }

    /// The kind of the handshake, as printed.
    pub(super) fn kind(&mut self) -> String {
        let negotiated = self.end().negotiated();
        negotiated.split(' ').next_back().unwrap().to_owned()
    }

    /// Returns whether early data is accepted; `None` over QUIC.
    pub(super) fn accepts_early_data(&mut self) -> Option<bool> {
        Some(self.over_records()?.early_data().is_some())
    }

    /// The application's data in the session; `None` over QUIC.
    pub(super) fn resumption_data(&mut self) -> Option<Vec<u8>> {
        let data = self.over_records()?.received_resumption_data();
        Some(data.unwrap_or_default().to_vec())
    }

    fn over_records(&mut self) -> Option<&mut ServerConnection> {
        match self {
            Self::Records(end) => Some(end.as_server()),
            Self::Quic(_) => None,
        }
    }
}
