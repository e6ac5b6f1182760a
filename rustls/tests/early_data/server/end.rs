//! Tests of EndOfEarlyData (RFC 9846 §4.6), and of messages before and after it.

use harness::peers::configs::PROVIDERS;
use harness::peers::servers::{Server, servers};
use harness::scripted::{Refused, ScriptedClient};
use harness::table;
use harness::wire::{message, record};
use rustls::ContentType;

use super::{accepted, early_data, finish, rejected, send, settings};

const END_OF_EARLY_DATA: u8 = 5;

fn end() -> Vec<u8> {
    message(END_OF_EARLY_DATA, b"")
}

/// RFC 9846 §5.1: handshake messages must not span key changes.
const TWO_MESSAGES: &str = "PeerMisbehaved(KeyEpochWithPendingFragment)";

/// A client's actions after its early data was accepted.
type Actions = dyn Fn(&mut ScriptedClient) -> Result<(), Refused>;

#[test]
fn an_invalid_end_of_early_data_is_refused() {
    let unexpected = "InappropriateHandshakeMessage";
    let interleaved = "PeerMisbehaved(MessageInterleavedWithHandshakeMessage)";
    let cases: [(&str, &str, &Actions); 8] = table! {
        "Finished instead": unexpected, &|it| {
            let finished = it.finished();
            it.send(&finished)
        };
        "with content": "InvalidMessage(TrailingData",
            &|it| it.send(&message(END_OF_EARLY_DATA, b"x"));
        "followed by another": TWO_MESSAGES, &|it| it.send(&end().repeat(2));
        "followed by the beginning of another": TWO_MESSAGES,
            &|it| it.send(&[&end()[..], &[20]].concat());
        "twice": unexpected, &|it| {
            it.end_early_data()?;
            it.send(&end())
        };
        "data between its parts": interleaved, &|it| {
            it.send(&end()[..2])?;
            it.send_raw(ContentType::ApplicationData, b"x")
        };
        "data after it": "InappropriateMessage", &|it| {
            it.end_early_data()?;
            it.send_raw(ContentType::ApplicationData, b"x")
        };
        "under the wrong key": "DecryptError", &|it| {
            it.start_handshake();
            it.send(&end())
        };
    };
    for (settings, server) in servers(settings) {
        for (what, error, act) in &cases {
            if *error == TWO_MESSAGES && matches!(server, Server::Upstream(_)) {
                continue; // it goes on, at first
            }
            let mut client = accepted(&settings, &server);
            send(&mut client, b"early");
            let refused = act(&mut client).unwrap_err();
            assert!(refused.error.starts_with(error), "{what}: {refused:?}");
            let expected = match *error {
                "DecryptError" => 20,                // bad_record_mac
                "InvalidMessage(TrailingData" => 50, // decode_error
                _ => 10,                             // unexpected_message
            };
            match refused.alert {
                Some(alert) => assert_eq!(alert, [2, expected], "{what}"),
                // upstream sends no alert for interleaved messages
                None => assert!(matches!(server, Server::Upstream(_)), "{what}"),
            }
            // earlier data is not lost
            assert_eq!(early_data(&mut *client.server), b"early", "{what}");
        }
    }
}

/// RFC 9846 §4.6: an EndOfEarlyData must not follow rejected early data.
#[test]
fn end_of_early_data_is_refused_after_a_rejection() {
    for (settings, server) in servers(settings) {
        let mut client = rejected(&settings, &server);
        client.start_handshake();
        let error = client.send(&end()).unwrap_err().error;
        let unexpected = "InappropriateHandshakeMessage";
        assert!(error.starts_with(unexpected), "{error}");
    }
}

/// RFC 9846 §4.3.10: a record of accepted early data that cannot be decrypted causes
/// bad_record_mac.
#[test]
fn forged_early_data_is_refused() {
    for (settings, server) in servers(settings) {
        let mut client = accepted(&settings, &server);
        let refused = client.server.receive(&record(0x17, &[7; 40]));
        assert_eq!(refused, Err("DecryptError".into()));
    }
}

/// The message arrives with one byte per record. RFC 9846 §E.4: for middleboxes, a
/// change_cipher_spec may come before early data or anywhere in it.
#[test]
fn end_of_early_data_may_be_fragmented_and_a_change_cipher_spec_may_precede_it() {
    for (settings, server) in servers(settings) {
        let mut client = accepted(&settings, &server);
        client.server.receive(&record(0x14, &[1])).unwrap();
        send(&mut client, b"early");
        client.server.receive(&record(0x14, &[1])).unwrap();
        for byte in end() {
            client.send(&[byte]).unwrap();
        }
        client.start_handshake();
        finish(&mut client);
        assert_eq!(early_data(&mut *client.server), b"early");
    }
}

/// Changes each bit of the message and compares the outcome with upstream's.
#[test]
fn every_changed_byte_of_end_of_early_data_is_refused() {
    for settings in PROVIDERS.map(settings) {
        for at in 0..end().len() {
            for bit in 0..8 {
                let outcomes = settings.servers().map(|server| {
                    let mut client = accepted(&settings, &server);
                    send(&mut client, b"early");
                    let mut changed = end();
                    changed[at] ^= 1 << bit;
                    let sent = client.send(&changed).and_then(|()| {
                        client.start_handshake();
                        client.finish()
                    });
                    assert_eq!(early_data(&mut *client.server), b"early");
                    sent
                });
                let [buffered, unbuffered, upstream] = outcomes;
                buffered.as_ref().unwrap_err();
                assert_eq!(buffered, unbuffered, "bit {bit} of byte {at}");
                if at == 0 {
                    // RFC 9846 §4: the message is unexpected regardless of its content. Upstream
                    // parses it first
                    assert_eq!(buffered.unwrap_err().alert.as_deref(), Some(&[2, 10][..]));
                    upstream.unwrap_err();
                } else {
                    let (ours, theirs) = (buffered.unwrap_err(), upstream.unwrap_err());
                    assert_eq!(ours.error, theirs.error, "bit {bit} of byte {at}");
                    // upstream sends no alert for messages that are too long
                    assert!(theirs.alert.is_none() || theirs.alert == ours.alert);
                }
            }
        }
    }
}

/// RFC 9846 §6: an alert among early data ends the connection. A close_notify is not a clean end,
/// because the handshake is incomplete. Only the warning user_canceled, which announces another
/// alert, is ignored.
#[test]
fn alerts_do_not_end_early_data_cleanly() {
    for settings in PROVIDERS.map(settings) {
        let [buffered, unbuffered, _] = settings.servers();
        for server in [buffered, unbuffered] {
            for (alert, error) in [
                ([1, 0], "AlertReceived(CloseNotify)"),
                ([2, 0], "AlertReceived(CloseNotify)"),
                ([1, 40], "AlertReceived(HandshakeFailure)"),
                ([2, 90], "AlertReceived(UserCanceled)"),
            ] {
                let mut client = accepted(&settings, &server);
                send(&mut client, b"early");
                let refused = client.send_raw(ContentType::Alert, &alert).unwrap_err();
                assert_eq!(refused.error, error);
                assert_eq!(refused.alert, None);
                assert!(!client.server.peer_has_closed() && client.server.is_handshaking());
                // nothing else is accepted either
                client
                    .send_raw(ContentType::ApplicationData, b"more")
                    .unwrap_err();
                client.end_early_data().unwrap_err();
                assert_eq!(early_data(&mut *client.server), b"early");
            }
            let mut client = accepted(&settings, &server);
            client.send_raw(ContentType::Alert, &[1, 90]).unwrap();
            send(&mut client, b"early");
            client.end_early_data().unwrap();
            finish(&mut client);
            assert_eq!(early_data(&mut *client.server), b"early");
        }
    }
}
