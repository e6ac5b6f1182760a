//! Secrets that a connection reveals: key log lines and exported keying material. Both ends agree
//! on them.

use std::process::Command;
use std::sync::Arc;

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::PROVIDERS;
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};

use crate::compared::for_all;
use crate::connected::{self, Role, fresh_peer};

#[test]
fn both_ends_log_the_same() {
    for_all(|provider, role| {
        let (here, there) = (Arc::<KeyLines>::default(), Arc::<KeyLines>::default());
        let (conn, peer) = match role {
            Role::Client => {
                let mut config = connected::this::client_config(provider);
                config.key_log = here.clone();
                let mut other = connected::upstream::server_config(provider);
                other.key_log = there.clone();
                (
                    connected::this::client(config),
                    connected::upstream::server(other),
                )
            }
            Role::Server => {
                let mut config = connected::this::server_config(provider);
                config.key_log = here.clone();
                let mut other = connected::upstream::client_config(provider);
                other.key_log = there.clone();
                (
                    connected::this::server(config),
                    connected::upstream::client(other),
                )
            }
        };
        let (mut conn, mut peer) = (ThisBuffered::new(conn), UpstreamBuffered::new(peer));
        exchange(&mut conn, &mut peer).unwrap();
        conn.refresh_traffic_keys();
        exchange(&mut conn, &mut peer).unwrap();
        let lines = here.sorted();
        assert_eq!(lines, there.sorted(), "{provider:?} {role:?}");
        let mut labels: Vec<&str> = lines.iter().map(|(label, ..)| label.as_str()).collect();
        labels.dedup();
        assert_eq!(
            labels[..],
            [
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0",
                "EXPORTER_SECRET",
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_TRAFFIC_SECRET_0",
            ]
        );
    });
}

#[test]
fn both_ends_export_the_same() {
    for_all(|provider, role| {
        let (conn, peer) = connected::this::connected(provider, role);
        for label in [&b""[..], b"label", b"EXPORTER-Channel-Binding", &[7; 200]] {
            for context in [None, Some(&b""[..]), Some(b"context"), Some(&[1; 1000])] {
                for len in [1, 32, 255, 1000] {
                    let ours = conn.export_keying_material(vec![0; len], label, context);
                    let theirs = peer
                        .conn
                        .export_keying_material(vec![0; len], label, context);
                    assert_eq!(ours.unwrap(), theirs.unwrap());
                }
            }
        }
        // in TLS 1.3, no context equals an empty one (RFC 9846 §7.5)
        let export = |context| {
            conn.export_keying_material([0; 32], b"label", context)
                .unwrap()
        };
        assert_eq!(export(None), export(Some(b"")));
        assert_ne!(export(None), export(Some(b"x")));
    });
}

#[test]
fn refused_exports() {
    for_all(|provider, role| {
        let fresh = connected::this::fresh(provider, role);
        let reference = fresh_peer(provider, role);
        let (conn, peer) = connected::this::connected(provider, role);
        // each crate has its own text for errors without a cause
        let kind = |error: String| error.split('(').next().unwrap_or_default().to_string();
        for (ours, theirs) in [(&fresh, &reference), (&conn, &peer)] {
            for len in [1, 32, 1 << 14, 1 << 17] {
                let ours = ours.export_keying_material(vec![0; len], b"label", None);
                let theirs = theirs
                    .conn
                    .export_keying_material(vec![0; len], b"label", None);
                assert_eq!(
                    ours.map_err(|error| kind(format!("{error:?}"))),
                    theirs.map_err(|error| kind(format!("{error:?}"))),
                    "{len}"
                );
            }
        }
        assert_eq!(
            fresh.export_keying_material([0; 1], b"label", None),
            Err(rustls::Error::HandshakeNotComplete)
        );
        let empty = conn.export_keying_material([0; 0], b"label", None);
        assert!(matches!(empty, Err(rustls::Error::General(_))));
        // upstream lets the label's length wrap around
        let long = conn.export_keying_material([0; 32], &[b'l'; 250], None);
        assert!(matches!(long, Err(rustls::Error::General(_))));
    });
}

const FILE_TEST: &str = "key_log_and_exporters::key_log_file";

/// Set for the child process that logs to a file.
const INNER: &str = "KEY_LOG_FILE_TEST_INNER";

/// A child process reads `SSLKEYLOGFILE`, so that no other test sees it.
#[test]
fn key_log_file() {
    if std::env::var_os(INNER).is_some() {
        for provider in PROVIDERS {
            let mut config = connected::this::client_config(provider);
            config.key_log = Arc::new(rustls::KeyLogFile::new());
            let mut conn = ThisBuffered::new(connected::this::client(config));
            let mut peer = fresh_peer(provider, Role::Client);
            exchange(&mut conn, &mut peer).unwrap();
            assert!(!conn.is_handshaking());
        }
        return;
    }
    let file = format!("{}/key-log.txt", env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(&file);
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", FILE_TEST])
        .env(INNER, "1")
        .env("SSLKEYLOGFILE", &file)
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 5 * PROVIDERS.len(), "{text}");
    for line in text.lines() {
        let [label, client_random, secret] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert!(label.contains("SECRET"), "{line}");
        assert_eq!(client_random.len(), 64, "{line}");
        assert!([64, 96].contains(&secret.len()), "{line}");
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_hex(client_random) && is_hex(secret), "{line}");
    }
}
