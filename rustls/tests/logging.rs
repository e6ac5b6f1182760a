//! Log lines of handshakes: each message at trace level, negotiated values at debug level, and no
//! secret.
//!
//! This test has a program of its own because the collector belongs to the process.

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::peers::log_lines::listen;
use log::Level;

#[test]
fn handshakes_are_logged() {
    for provider in PROVIDERS {
        let mut client = configs::this::client(provider.this(), KeyType::Ed25519, ClientAuth::None);
        let mut server = configs::this::server(provider.this(), KeyType::Ed25519, ClientAuth::None);
        client.alpn_protocols = vec![b"h2".to_vec()];
        server.alpn_protocols = vec![b"h2".to_vec()];
        let ((), lines) = listen(|| {
            let mut client = ThisBuffered::client(client);
            let mut server = ThisBuffered::server(server);
            exchange(&mut client, &mut server).unwrap();
            client.send(b"a secret of the application");
            client.close();
            exchange(&mut client, &mut server).unwrap();
        });
        let has = |level, text: &str| {
            let found = lines.iter().filter(|line| line.level == level);
            found.filter(|line| line.text.contains(text)).count()
        };
        for message in ["ClientHello", "ServerHello", "Certificate", "Finished"] {
            assert!(has(Level::Trace, &format!("sending {message}")) >= 1);
            assert!(has(Level::Trace, &format!("received {message}")) >= 1);
        }
        // logged by both sides
        assert_eq!(
            has(Level::Debug, "cipher suite TLS13_AES_"),
            2,
            "{lines:#?}"
        );
        assert_eq!(
            has(Level::Debug, "application protocol h2"),
            2,
            "{lines:#?}"
        );
        assert_eq!(has(Level::Debug, "sending Warning alert CloseNotify"), 1);
        assert_eq!(has(Level::Warn, ""), 0, "{lines:#?}");
        for level in [Level::Trace, Level::Debug] {
            assert_eq!(has(level, "a secret"), 0);
        }
    }
}
