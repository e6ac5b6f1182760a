//! Tests of unexpected content, inserted at every point of full and abbreviated handshakes. Both
//! sides reject everything that upstream rejects, and more only where RFC 5246 requires it.

use harness::peers::configs::{PROVIDERS, Versions, product};
use harness::peers::servers::{Server, Settings};
use harness::scripted::tls12::client::ScriptedClient;
use harness::scripted::tls12::server::{Script, Step};
use harness::scripted::{Refused, bytes};
use harness::wire::client_hello::{ClientHello, SESSION_TICKET};
use rustls::{ContentType, HandshakeType};

use crate::tls12::client::{Client, End, clients};
use crate::tls12::server::resumption::{hello, offering, session};

/// An empty ClientHello with its header.
const CLIENT_HELLO: [u8; 4] = [1, 0, 0, 0];

/// A message header without its last byte. The first byte of the next message then counts as the
/// end of its length, and the bytes after that may belong to a public key, so the error varies.
const CUT_HEADER: [u8; 3] = [20, 0, 0];

fn contents() -> Vec<(ContentType, Vec<u8>)> {
    use ContentType::*;
    vec![
        (ApplicationData, b"early".to_vec()),
        (ApplicationData, vec![]),
        (Alert, vec![1, 0]),
        (Alert, vec![2, 0]),
        (Alert, vec![1, 100]),
        (Alert, vec![1, 90]),
        (Alert, vec![2, 40]),
        (Alert, vec![1]),
        (Alert, vec![1, 100, 1, 100]),
        (ChangeCipherSpec, vec![1]),
        (ChangeCipherSpec, vec![]),
        (Handshake, vec![]),
        (Handshake, vec![0, 0, 0, 0]),
        (Handshake, CLIENT_HELLO.to_vec()),
        (Handshake, CUT_HEADER.to_vec()),
        (Handshake, vec![14, 0, 0, 0]),
        (Handshake, vec![16, 0, 0, 1, 0]),
        (Handshake, [&[20, 0, 0, 12][..], &[0; 12]].concat()),
        (Heartbeat, vec![1, 2, 3]),
        (Unknown(99), vec![1, 2, 3]),
    ]
}

/// True if upstream continues after this content and this crate does not.
fn is_deviation(typ: ContentType, content: &[u8]) -> bool {
    match typ {
        // RFC 5246 §7.2.1: a close_notify closes the connection, during the handshake as well
        ContentType::Alert => content == [1, 0],
        // RFC 5246 §6.2.1: no empty fragments of handshake messages
        ContentType::Handshake => content.is_empty(),
        _ => false,
    }
}

/// The kind of handshake. A client's sessions belong to its configuration.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Full,
    Id,
    Ticket,
    NewTicket,
}

impl Kind {
    /// Creates a session for `client` if necessary, and returns the script for its next connection.
    fn script(self, client: &Client) -> Script {
        let first = match self {
            Self::Full => return Script::with_request(),
            Self::Id => Script::new().with_session_id(&[7; 32]),
            Self::Ticket | Self::NewTicket => Script::with_ticket(),
        };
        let outcome = client.run(&first);
        assert_eq!(outcome.error, None);
        let mut script = Script::resuming(outcome.session.unwrap());
        script.hello.session_id = None;
        if let Self::NewTicket = self {
            script.hello.extensions.push(bytes(SESSION_TICKET, &[]));
            script = script.with_step(1, Step::Send(HandshakeType::NewSessionTicket));
        }
        script
    }

    /// Inserts `content` before step `at`. Returns the end of each client, and whether the step was
    /// the last.
    fn ends(
        self,
        clients: [Client; 3],
        at: usize,
        content: &(ContentType, Vec<u8>),
    ) -> ([End; 3], bool) {
        let mut is_last = false;
        let ends = clients.map(|client| {
            let script = self.script(&client);
            is_last = at == script.steps.len();
            let script = script.with_step(at, Step::Raw(content.0, content.1.clone()));
            client.end(&script.edit(|script| script.steps.push(Step::Await)))
        });
        (ends, is_last)
    }
}

#[test]
fn content_injected_by_servers_has_the_same_outcome_as_upstream() {
    let kinds = [Kind::Full, Kind::Id, Kind::Ticket, Kind::NewTicket];
    for (provider, kind) in product(PROVIDERS, kinds) {
        for at in 0.. {
            let mut was_last = false;
            for content in contents() {
                let clients = clients(provider, Versions::Tls12);
                let ([ours, unbuffered, theirs], is_last) = kind.ends(clients, at, &content);
                was_last = is_last;
                let what = format!("{kind:?}: {content:?} at {at}");
                if content.1 == CUT_HEADER {
                    assert_eq!(ours.error.is_some(), unbuffered.error.is_some(), "{what}");
                } else {
                    assert_eq!(ours.error, unbuffered.error, "{what}");
                    assert_eq!(ours.alert, unbuffered.alert, "{what}");
                }
                if ours.error.is_some() != theirs.error.is_some() {
                    assert!(theirs.error.is_none(), "{what} is accepted: {theirs:?}");
                    assert!(is_deviation(content.0, &content.1), "{what}: {ours:?}");
                }
            }
            if was_last {
                break;
            }
        }
    }
}

type Message = fn(&mut ScriptedClient) -> Result<(), Refused>;

/// Returns the actions of a client, message by message.
fn steps(is_resumed: bool) -> Vec<Message> {
    let mut steps: Vec<Message> = vec![];
    if !is_resumed {
        steps.push(|client| {
            let message = client.key_exchange();
            client.send(&message)
        });
    }
    steps.push(ScriptedClient::change_cipher_spec);
    steps.push(|client| {
        let message = client.finished();
        client.send(&message)
    });
    steps.push(|client| client.send_raw(ContentType::ApplicationData, b"data"));
    steps
}

fn connect(server: &Server, hello: &ClientHello, is_resumed: bool) -> ScriptedClient {
    if !is_resumed {
        return server.connect_tls12(hello, None).unwrap();
    }
    let session = session(server, hello);
    let client = server.connect_tls12(&offering(hello, &session), Some(&session));
    let client = client.unwrap();
    assert!(client.is_resumed());
    client
}

/// Sends all messages with `content` before step `at`. Returns the data that the application
/// received.
fn converse(
    client: &mut ScriptedClient,
    is_resumed: bool,
    at: usize,
    (typ, content): &(ContentType, Vec<u8>),
) -> Result<Vec<u8>, Refused> {
    for (i, step) in steps(is_resumed).iter().enumerate() {
        if i == at {
            client.send_raw(*typ, content)?;
        }
        step(client)?;
    }
    Ok(client.received_by_server())
}

#[test]
fn content_injected_by_clients_has_the_same_outcome_as_upstream() {
    for provider in PROVIDERS {
        for (tickets, is_resumed) in [(false, false), (false, true), (true, true)] {
            let settings = Settings::tls12(provider).edit(|it| it.sealed = tickets);
            let hello = hello(tickets);
            for at in 0..steps(is_resumed).len() {
                for content in contents() {
                    let [ours, unbuffered, theirs] = settings.servers().map(|server| {
                        let mut client = connect(&server, &hello, is_resumed);
                        converse(&mut client, is_resumed, at, &content)
                            .map_err(|refused| format!("{refused:?}"))
                    });
                    let what = format!("resumed {is_resumed}, {tickets}: {content:?} at {at}");
                    if content.1 == CUT_HEADER {
                        assert_eq!(ours.is_ok(), unbuffered.is_ok(), "{what}");
                    } else {
                        assert_eq!(ours, unbuffered, "{what}");
                    }
                    match (ours, theirs) {
                        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{what}"),
                        // renegotiation is refused without parsing the message
                        (Ok(ours), Err(_)) if content.1 == CLIENT_HELLO => {
                            assert_eq!(ours, b"data", "{what}");
                        }
                        (Ok(_), Err(theirs)) => panic!("{what} is accepted: {theirs}"),
                        (Err(ours), Ok(_)) => {
                            assert!(is_deviation(content.0, &content.1), "{what}: {ours}");
                        }
                        (Err(_), Err(_)) => {}
                    }
                }
            }
        }
    }
}
