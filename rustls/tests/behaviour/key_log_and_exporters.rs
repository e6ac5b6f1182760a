//! Secrets that a connection reveals: key log lines and exported keying material. Both ends agree
//! on them.

use std::process::Command;
use std::sync::Arc;

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{PROVIDERS, product, product3};
use harness::peers::endpoints::{Endpoint, exchange};
use harness::peers::roles::upstream;
use rustls::NamedGroup;

use crate::behaviour::connected::this::connected;
use crate::cases::{Case, KEY_TYPE, Role, cases, tls13_cases, tls13_cases_of};

/// Includes handshakes with a HelloRetryRequest, and resumed ones of TLS 1.2.
#[test]
fn both_ends_log_the_same_secrets() {
    for (case, retried) in product(cases(), [false, true]) {
        if case.is_tls13() || !retried {
            log_the_same(case, retried);
        }
    }
}

fn log_the_same(case: Case, retried: bool) {
    let (here, there) = (Arc::<KeyLines>::default(), Arc::<KeyLines>::default());
    let (mut ours, mut theirs) = (case.provider.this(), case.provider.upstream());
    if retried {
        // the server has a group for which clients do not send a share in the first hello
        let group = u16::from(NamedGroup::secp384r1);
        match case.role {
            Role::Client => theirs.kx_groups.retain(|it| u16::from(it.name()) == group),
            Role::Server => ours.kx_groups.retain(|it| u16::from(it.name()) == group),
        }
    }
    let ours = case.config_over(ours).edit(
        |it| it.key_log = here.clone(),
        |it| it.key_log = here.clone(),
    );
    let peer = upstream::Config::new(case.role.other(), case.versions, theirs, KEY_TYPE).edit(
        |it| it.key_log = there.clone(),
        |it| it.key_log = there.clone(),
    );
    let mut secrets = Vec::new();
    // upstream's resuming servers of TLS 1.3 also log secrets that are not used
    let kinds = if case.is_tls13() {
        &[false][..]
    } else {
        &[false, true]
    };
    for &is_resumed in kinds {
        let what = format!("{case:?} {retried} {is_resumed}");
        let (mut conn, mut peer) = (ours.buffered(), peer.buffered());
        exchange(&mut conn, &mut peer).unwrap();
        let negotiated = conn.negotiated();
        assert_eq!(negotiated.contains("Resumed"), is_resumed, "{what}");
        let is_retried = negotiated.contains("Retry");
        assert_eq!(is_retried, retried, "{what}");
        if case.is_tls13() {
            conn.refresh_traffic_keys();
        }
        exchange(&mut conn, &mut peer).unwrap();
        let [lines, of_peer] = [&here, &there].map(|log| {
            let mut lines = log.take();
            lines.sort();
            lines
        });
        assert_eq!(lines, of_peer, "{what}");
        let labels: Vec<&str> = lines.iter().map(|(label, ..)| label.as_str()).collect();
        if case.is_tls13() {
            assert_eq!(labels, TLS13_LABELS, "{what}");
        } else {
            // RFC 9850; both handshakes share their master secret
            assert_eq!(labels, ["CLIENT_RANDOM"], "{what}");
            assert_eq!((lines[0].1.len(), lines[0].2.len()), (32, 48), "{what}");
            secrets.push(lines[0].2.clone());
        }
    }
    assert!(secrets.windows(2).all(|it| it[0] == it[1]), "{case:?}");
}

const TLS13_LABELS: [&str; 5] = [
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0",
    "EXPORTER_SECRET",
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_TRAFFIC_SECRET_0",
];

#[test]
fn both_ends_export_the_same_material() {
    for case in cases() {
        let (conn, peer) = connected(case);
        let labels = [&b""[..], b"label", b"EXPORTER-Channel-Binding", &[7; 200]];
        let contexts = [None, Some(&b""[..]), Some(b"context"), Some(&[1; 1000])];
        for (label, context, len) in product3(labels, contexts, [1, 32, 255, 1000]) {
            let ours = conn.export_keying_material(vec![0; len], label, context);
            let peer = &peer.conn;
            let theirs = peer.export_keying_material(vec![0; len], label, context);
            assert_eq!(ours.unwrap(), theirs.unwrap());
        }
        let export = |context| conn.export_keying_material([0; 32], b"label", context);
        // only in TLS 1.3, no context equals an empty one (RFC 9846 §7.5, RFC 5705 §4)
        assert_eq!(export(None) == export(Some(b"")), case.is_tls13());
        assert_ne!(export(None), export(Some(b"x")));
        if !case.is_tls13() {
            let too_long = export(Some(&[0; 0x1_0000]));
            assert!(matches!(too_long, Err(rustls::Error::General(_))));
        }
    }
}

/// `misuse` tests other lengths. Upstream lets the label's length wrap around.
#[test]
fn a_label_that_is_too_long_is_refused() {
    for case in tls13_cases() {
        let (conn, _) = connected(case);
        let long = conn.export_keying_material([0; 32], &[b'l'; 250], None);
        assert!(matches!(long, Err(rustls::Error::General(_))));
    }
}

const FILE_TEST: &str = "behaviour::key_log_and_exporters::key_log_lines_are_written_to_the_file";

/// Set for the child process that logs to a file.
const INNER: &str = "KEY_LOG_FILE_TEST_INNER";

/// The variable `SSLKEYLOGFILE` is only set in a child process, so that it affects no other test.
#[test]
fn key_log_lines_are_written_to_the_file() {
    if std::env::var_os(INNER).is_some() {
        for case in tls13_cases_of(Role::Client) {
            let log = Arc::new(rustls::KeyLogFile::new());
            let config = case.config().edit(|client| client.key_log = log, |_| {});
            let mut conn = config.buffered();
            exchange(&mut conn, &mut case.peer()).unwrap();
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
