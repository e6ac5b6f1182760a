//! Tests of failures that end a session. Only a client that has proved possession of the session
//! can cause them.

use harness::peers::configs::{PROVIDERS, Versions, product};
use harness::peers::servers::Settings;
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::client_hello::{ClientHello, PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES};
use harness::wire::{message, u8_vec, u16_vec};
use rustls::ContentType;

use super::{hello, offering, resumes, session};

/// Session IDs are visible on the wire. An observer must not be able to remove a session by its ID,
/// in either version.
#[test]
fn an_observer_of_ids_cannot_remove_sessions() {
    for provider in PROVIDERS {
        let settings = Settings::tls12(provider).edit(|it| it.versions = Versions::Both);
        let [server, ..] = settings.servers();
        let hello = ClientHello::tls12();
        let session = session(&server, &hello);
        for identity in [session.id.clone(), [&[3, 3], &session.id[..]].concat()] {
            let identity = [&u16_vec(&identity)[..], &[0; 4]].concat();
            let offered = [u16_vec(&identity), u16_vec(&u8_vec(&[7; 32]))].concat();
            let tls13 = ClientHello::new()
                .and(PSK_KEY_EXCHANGE_MODES, vec![1, 1])
                .and(PRE_SHARED_KEY, offered);
            server.accept().receive(&tls13.record()).unwrap();
        }
        let offer = offering(&hello, &session);
        // a handshake that fails does not remove it either
        let mut client = server.connect_tls12(&offer, Some(&session)).unwrap();
        client.change_cipher_spec().unwrap();
        client
            .send_raw(ContentType::Handshake, &[20, 0, 0, 12, 0])
            .unwrap();
        drop(client);
        assert!(resumes(&server, &offer, &session));
    }
}

/// RFC 5246 §7.2.2: a fatal alert ends the session, unless its sender only knows the ID.
#[test]
fn a_failed_connection_ends_its_session() {
    type Failing = fn(&mut ScriptedClient) -> Result<(), Refused>;
    const FAILING: [(&str, Failing); 5] = [
        ("a record that cannot be opened", |client| {
            client.protect(); // begins with the first number again
            client.send_raw(ContentType::ApplicationData, b"data")
        }),
        ("a change_cipher_spec", |client| {
            client.send_raw(ContentType::ChangeCipherSpec, &[1])
        }),
        ("a message", |client| {
            client.send_raw(ContentType::Handshake, &[20, 0, 0, 0])
        }),
        ("too many attempts to renegotiate", |client| {
            let hello = ClientHello::tls12().message();
            client.send_raw(ContentType::Handshake, &hello)?;
            client.send_raw(ContentType::Handshake, &hello)
        }),
        ("a fatal alert", |client| {
            client.send_raw(ContentType::Alert, &[2, 80])
        }),
    ];
    for provider in PROVIDERS {
        let [server, ..] = Settings::tls12(provider).servers();
        let hello = ClientHello::tls12();
        for ((what, fails), is_resumed) in product(FAILING, [false, true]) {
            let mut session = session(&server, &hello);
            let offer = offering(&hello, &session);
            let mut client = match is_resumed {
                true => server.connect_tls12(&offer, Some(&session)).unwrap(),
                false => server.connect_tls12(&hello, None).unwrap(),
            };
            assert_eq!(client.is_resumed(), is_resumed);
            client.finish().unwrap();
            if !is_resumed {
                session = client.session();
            }
            fails(&mut client).unwrap_err();
            let offer = offering(&hello, &session);
            assert!(!resumes(&server, &offer, &session), "{what}");
        }

        // before the Finished, the client is not authenticated
        let session = session(&server, &hello);
        let offer = offering(&hello, &session);
        for fails in [
            |client: &mut ScriptedClient| client.send_raw(ContentType::Handshake, &[20, 0, 0, 0]),
            |client: &mut ScriptedClient| {
                client.change_cipher_spec()?;
                client.send_raw(ContentType::Handshake, &message(20, &[7; 12]))
            },
        ] {
            let mut client = server.connect_tls12(&offer, Some(&session)).unwrap();
            fails(&mut client).unwrap_err();
            assert!(resumes(&server, &offer, &session));
        }
    }
}

/// With a ticket, the session ID is arbitrary. A failure must not remove the session that has the
/// same ID.
#[test]
fn a_failure_removes_no_session_of_others() {
    for provider in PROVIDERS {
        let settings = Settings::tls12(provider).edit(|it| it.sealed = true);
        let [server, ..] = settings.servers();
        let victim = session(&server, &ClientHello::tls12());
        let of_victim = offering(&ClientHello::tls12(), &victim);
        assert!(victim.ticket.is_empty() && !victim.id.is_empty());

        let hello = hello(true);
        let session = session(&server, &hello);
        let offer = offering(&hello, &session).edit(|hello| hello.session_id = victim.id.clone());
        let mut client = server.connect_tls12(&offer, Some(&session)).unwrap();
        assert!(client.is_resumed());
        client.finish().unwrap();
        client
            .send_raw(ContentType::ChangeCipherSpec, &[1])
            .unwrap_err();
        assert!(resumes(&server, &of_victim, &victim));
    }
}
