//! Log lines of handshakes: each message at trace level, negotiated values at debug level, and no
//! secret.
//!
//! This test has a program of its own because the collector belongs to the process.

use std::sync::Mutex;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use log::{Level, LevelFilter, Log, Metadata, Record};

static LINES: Mutex<Vec<(Level, String)>> = Mutex::new(Vec::new());

struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // only this library's lines; upstream's targets have the same name
        metadata.target().starts_with("rustls")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = (record.level(), record.args().to_string());
            LINES.lock().unwrap().push(line);
        }
    }

    fn flush(&self) {}
}

#[test]
fn handshakes_are_logged() {
    log::set_logger(&Collector).unwrap();
    log::set_max_level(LevelFilter::Trace);
    for provider in PROVIDERS {
        let mut client = configs::this::client(provider.this(), KeyType::Ed25519, ClientAuth::None);
        let mut server = configs::this::server(provider.this(), KeyType::Ed25519, ClientAuth::None);
        client.alpn_protocols = vec![b"h2".to_vec()];
        server.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = ThisBuffered::client(client);
        let mut server = ThisBuffered::server(server);
        exchange(&mut client, &mut server).unwrap();
        client.send(b"a secret of the application");
        client.close();
        exchange(&mut client, &mut server).unwrap();

        let lines = std::mem::take(&mut *LINES.lock().unwrap());
        let has = |level, text: &str| {
            lines
                .iter()
                .filter(|(line_level, line)| *line_level == level && line.contains(text))
                .count()
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
