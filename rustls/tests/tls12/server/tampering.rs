//! Tests of the client's messages with a changed bit in each byte.

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider};
use harness::peers::servers::{Server, Settings};
use harness::scripted::Refused;
use harness::wire::client_hello::ClientHello;
use rustls::ContentType;

use super::send_flight;

const CLIENT_KEY_EXCHANGE: usize = 1;
const CERTIFICATE_VERIFY: usize = 2;
const FINISHED: usize = 3;

/// Returns the outcome of the flight with this bit of this message changed, and true if the byte
/// exists.
fn outcome(server: &Server, message: usize, at: usize, bit: u8) -> (Result<(), Refused>, bool) {
    let mut client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
    let mut changed = false;
    let mut change = |index, bytes: &mut Vec<u8>| {
        if let Some(byte) = bytes.get_mut(at).filter(|_| index == message) {
            *byte ^= bit;
            changed = true;
        }
    };
    let result = send_flight(&mut client, KeyType::EcdsaP256, 0x0403, &mut change);
    // a changed header may announce more bytes
    let result = result.and_then(|()| {
        if client.server.is_handshaking() {
            client.send_raw(ContentType::ApplicationData, b"data")
        } else {
            Ok(())
        }
    });
    (result, changed)
}

/// Returns servers that require a certificate.
fn demanding(provider: Provider) -> [Server; 3] {
    let settings = Settings::tls12(provider).edit(|it| it.auth = ClientAuth::Required);
    settings.servers()
}

#[test]
fn changing_any_byte_from_the_client_is_refused() {
    for servers in PROVIDERS.map(demanding) {
        for (message, least) in [
            (CLIENT_KEY_EXCHANGE, 4 + 33),
            (CERTIFICATE_VERIFY, 4 + 4 + 60),
            (FINISHED, 4 + 12),
        ] {
            for server in &servers[..2] {
                let (untouched, _) = outcome(server, usize::MAX, 0, 0);
                untouched.unwrap();
                for at in 0.. {
                    let bit = 1 << (at % 8);
                    let (result, changed) = outcome(server, message, at, bit);
                    if !changed {
                        assert!(at >= least, "{at} bytes of message {message}");
                        break;
                    }
                    let refused = result.unwrap_err();
                    assert!(
                        refused.alert.is_some_and(|alert| alert[0] == 2),
                        "byte {at} of message {message}: {}",
                        refused.error
                    );
                }
            }
        }
    }
}

/// Changes bytes of values, but not of lengths: error and alert equal upstream's.
#[test]
fn changed_values_are_refused_like_upstream() {
    for servers in PROVIDERS.map(demanding) {
        for (message, at, error, alert) in [
            // the keys differ
            (CLIENT_KEY_EXCHANGE, 20, "DecryptError", 20),
            (
                CERTIFICATE_VERIFY,
                30,
                "InvalidCertificate(BadSignature)",
                51,
            ),
            (FINISHED, 4, "DecryptError", 51),
            (FINISHED, 15, "DecryptError", 51),
        ] {
            for server in &servers {
                let (result, _) = outcome(server, message, at, 1);
                let expected = Refused {
                    error: error.into(),
                    alert: Some(vec![2, alert]),
                };
                assert_eq!(result, Err(expected), "{}", server.name());
            }
        }
    }
}
