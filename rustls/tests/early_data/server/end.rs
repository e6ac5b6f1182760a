//! Tests of EndOfEarlyData (RFC 9846 §4.6), and of messages before and after it.

use harness::peers::servers::{Server, servers};
use harness::scripted::{Refused, ScriptedClient};
use harness::table;
use harness::wire::message;
use rustls::ContentType;

use super::{accepted, early_data, rejected, send, settings};

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
