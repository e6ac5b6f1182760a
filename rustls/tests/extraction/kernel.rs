//! Tests of the kernel connection that remains when something else encrypts the records, here the
//! bare AEAD.

use harness::peers::configs::PROVIDERS;
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::wire::bare_records::Records;
use harness::wire::{self, ALERT, APPLICATION_DATA as DATA, HANDSHAKE, message};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{
    ConnectionTrafficSecrets, Error, ExtractedSecrets, HandshakeKind, InvalidMessage,
    PeerMisbehaved,
};

use crate::extraction::{Case, Role, cases, tls13};

const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

pub(crate) enum Kernel {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

impl Kernel {
    fn update_tx(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        match self {
            Self::Client(conn) => conn.update_tx_secret(),
            Self::Server(conn) => conn.update_tx_secret(),
        }
    }

    fn update_rx(&mut self) -> Result<(u64, ConnectionTrafficSecrets), Error> {
        match self {
            Self::Client(conn) => conn.update_rx_secret(),
            Self::Server(conn) => conn.update_rx_secret(),
        }
    }
}

/// A [`KernelConnection`] with the record keys that an application gets.
pub(crate) struct End {
    kernel: Kernel,
    sending: Records,
    receiving: Records,
    pub(crate) plaintext: Vec<u8>,
    pub(crate) peer_has_closed: bool,
    tickets: usize,
}

impl End {
    pub(crate) fn new(is_tls13: bool, (secrets, kernel): (ExtractedSecrets, Kernel)) -> Self {
        Self {
            kernel,
            sending: Records::new(is_tls13, secrets.tx),
            receiving: Records::new(is_tls13, secrets.rx),
            plaintext: vec![],
            peer_has_closed: false,
            tickets: 0,
        }
    }

    /// Completes the handshake of `case` with `peer`.
    fn connected(case: &Case, peer: &mut dyn Endpoint) -> Self {
        macro_rules! connected {
            ($end:ident, $kernel:ident) => {{
                let mut ours = case.$end();
                case.connect(&mut ours, peer);
                let (secrets, conn) = ours.conn.dangerous_into_kernel_connection().unwrap();
                assert_eq!(conn.negotiated_cipher_suite(), case.suite);
                assert_eq!(conn.protocol_version(), case.suite.version().version);
                (secrets, Kernel::$kernel(conn))
            }};
        }
        let parts = match case.role {
            Role::Client => connected!(unbuffered_client, Client),
            Role::Server => connected!(unbuffered_server, Server),
        };
        Self::new(case.is_tls13(), parts)
    }

    /// Seals application data.
    pub(crate) fn seal(&mut self, payload: &[u8]) -> Vec<u8> {
        self.sending.seal(DATA, payload)
    }

    /// Seals a close_notify.
    pub(crate) fn close(&mut self) -> Vec<u8> {
        self.sending.seal(ALERT, &[1, 0])
    }

    /// Seals a KeyUpdate and switches to the next key.
    pub(crate) fn update(&mut self, requests: bool) -> Vec<u8> {
        let update = message(KEY_UPDATE, &[u8::from(requests)]);
        let sealed = self.sending.seal(HANDSHAKE, &update);
        self.sending = Records::new(true, self.kernel.update_tx().unwrap());
        assert_eq!(self.sending.sequence(), 0);
        sealed
    }

    /// Processes records. Returns the answers to KeyUpdates.
    pub(crate) fn open(&mut self, records: &[u8]) -> Vec<u8> {
        let mut answers = vec![];
        for record in wire::records(records) {
            let (typ, content) = self.receiving.open(&record).expect("the right keys");
            match (typ, &content[..]) {
                (DATA, _) => self.plaintext.extend_from_slice(&content),
                (ALERT, [1, 0]) => self.peer_has_closed = true,
                (HANDSHAKE, [KEY_UPDATE, ..]) => {
                    self.receiving = Records::new(true, self.kernel.update_rx().unwrap());
                    if content[4] == 1 {
                        answers.extend(self.update(false));
                    }
                }
                (HANDSHAKE, [NEW_SESSION_TICKET, ..]) => self.take_tickets(&content),
                _ => panic!("{typ} {content:?}"),
            }
        }
        answers
    }

    fn send(&mut self, peer: &mut dyn Endpoint, payload: &[u8]) {
        peer.receive(&self.seal(payload)).unwrap();
        let received = peer.read_all();
        assert_eq!(received, payload);
    }

    /// Processes all output of the peer.
    fn receive(&mut self, peer: &mut dyn Endpoint) {
        let answers = self.open(&peer.take_output());
        peer.receive(&answers).unwrap();
    }

    fn take_tickets(&mut self, content: &[u8]) {
        let Kernel::Client(conn) = &mut self.kernel else {
            panic!("a client sends no ticket");
        };
        let mut messages = wire::Reader(content);
        while !messages.is_empty() {
            assert_eq!(messages.number(1), usize::from(NEW_SESSION_TICKET));
            conn.handle_new_session_ticket(messages.vector(3)).unwrap();
            self.tickets += 1;
        }
    }
}

#[test]
fn keys_are_updated_by_either_side() {
    for case in cases().filter(Case::is_tls13) {
        exchange_keys(&case, &mut case.peer());
        exchange_keys(&case, &mut case.our_peer());
    }
}

fn exchange_keys(case: &Case, peer: &mut dyn Endpoint) {
    let mut end = End::connected(case, peer);
    for round in 0..5 {
        // the peer requests an update and receives one
        peer.refresh_traffic_keys();
        peer.send(b"under new keys");
        end.receive(peer);
        assert_eq!(core::mem::take(&mut end.plaintext), b"under new keys");
        end.send(peer, &[round; 50]);
        // this side requests an update
        peer.receive(&end.update(true)).unwrap();
        end.send(peer, &[round; 60]);
        peer.send(b"answered");
        end.receive(peer);
        assert_eq!(core::mem::take(&mut end.plaintext), b"answered");
        // this side updates without a request
        peer.receive(&end.update(false)).unwrap();
        end.send(peer, &[round; 70]);
    }
}

#[test]
fn tickets_received_after_the_extraction_are_stored() {
    for provider in PROVIDERS {
        let case = tls13(provider, Role::Client);
        let server = case.peer_config().server();
        let client_config = case.config().client();

        let mut peer = UpstreamBuffered::server(server.clone());
        let mut ours = ThisUnbuffered::client(client_config.clone());
        peer.receive(&ours.take_output()).unwrap();
        ours.receive(&peer.take_output()).unwrap();
        peer.receive(&ours.take_output()).unwrap();
        // the tickets are still in transit
        assert_eq!(ours.conn.tls13_tickets_received(), 0);
        let (secrets, conn) = ours.conn.dangerous_into_kernel_connection().unwrap();
        let mut end = End::new(true, (secrets, Kernel::Client(conn)));
        end.receive(&mut peer);
        assert_eq!(end.tickets, 2);
        drop(end);

        use HandshakeKind::{Full, Resumed};
        for kind in [Resumed, Resumed, Full] {
            // these servers send no tickets
            let mut server = (*server).clone();
            server.send_tls13_tickets = 0;
            let mut peer = UpstreamBuffered::server(server);
            let mut ours = ThisBuffered::client(client_config.clone());
            case.connect(&mut ours, &mut peer);
            assert_eq!(ours.conn.handshake_kind(), Some(kind));
        }
    }
}

fn client(case: &Case) -> KernelConnection<ClientConnectionData> {
    match End::connected(case, &mut case.peer()).kernel {
        Kernel::Client(conn) => conn,
        Kernel::Server(_) => panic!("a server"),
    }
}

#[test]
fn wrong_tickets_are_refused() {
    const TICKET: [u8; 16] = [0, 0, 1, 0, 0, 0, 0, 1, 1, 5, 0, 1, 7, 0, 0, 9];
    let case = tls13(PROVIDERS[0], Role::Client);
    let mut conn = client(&case);
    let mut give = |payload: &[u8]| conn.handle_new_session_ticket(payload);
    for len in 0..15 {
        assert!(
            matches!(give(&TICKET[..len]), Err(Error::InvalidMessage(_))),
            "{len}"
        );
    }
    assert!(matches!(
        give(&TICKET),
        Err(Error::InvalidMessage(InvalidMessage::TrailingData(_)))
    ));
    assert_eq!(
        give(&[0; 1 << 16]),
        Err(InvalidMessage::HandshakePayloadTooLarge.into())
    );
    let twice = [&TICKET[..13], &[0, 8, 255, 0, 0, 0, 255, 0, 0, 0]].concat();
    assert_eq!(
        give(&twice),
        Err(InvalidMessage::DuplicateExtension(0xff00).into())
    );
    // with the message's header
    assert!(give(&message(4, &TICKET[..15])).is_err());
    // none of these errors ends the connection
    assert_eq!(give(&TICKET[..15]), Ok(()));
}

/// RFC 9846 §6: the secrets of a failed connection are erased.
#[test]
fn a_failed_kernel_connection_repeats_its_error() {
    // with an extension that belongs in ClientHello and CertificateRequest
    const TICKET: [u8; 18] = [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 7, 0, 4, 0, 27, 0, 0];
    let refused = Err(Error::PeerMisbehaved(
        PeerMisbehaved::DisallowedEncryptedExtension,
    ));
    for provider in PROVIDERS {
        let case = tls13(provider, Role::Client);
        let mut conn = client(&case);
        assert_eq!(conn.handle_new_session_ticket(&TICKET), refused);
        let right = [&TICKET[..12], &[0, 0]].concat();
        assert_eq!(conn.handle_new_session_ticket(&right), refused);
        assert_eq!(conn.update_tx_secret().map(|_| ()), refused);
        assert_eq!(conn.update_rx_secret().map(|_| ()), refused);
    }
}

/// TLS 1.2 has no KeyUpdate and no tickets after the handshake.
#[test]
fn tls12_has_no_key_updates_or_post_handshake_tickets() {
    for case in cases().filter(|case| !case.is_tls13()) {
        let mut peer = case.peer();
        let mut end = End::connected(&case, &mut peer);
        assert!(matches!(end.kernel.update_tx(), Err(Error::General(_))));
        assert!(matches!(end.kernel.update_rx(), Err(Error::General(_))));
        if let Kernel::Client(conn) = &mut end.kernel {
            let refused = conn.handle_new_session_ticket(&[0; 6]);
            assert!(matches!(refused, Err(Error::General(_))));
        }
        end.send(&mut peer, b"data");
        peer.send(b"answer");
        end.receive(&mut peer);
        assert_eq!(end.plaintext, b"answer");
    }
}
