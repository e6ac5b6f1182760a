//! `Counters`: each metric after known handshakes, by side, version and provider.

use std::sync::Arc;
use std::time::Duration;

use harness::peers::configs::{ClientAuth, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::Endpoint;
use harness::peers::servers::request_another_share;
use harness::quic::{self, Version};
use rustls::server::ServerSessionMemoryCache;
use rustls_observe::{Counters, Observers, Snapshot, Value};

use crate::kit::{Configs, cases, distrusting, label};

/// The counters of a client and of a server.
struct Both {
    client: Arc<Counters>,
    server: Arc<Counters>,
}

impl Both {
    fn new() -> Self {
        Self {
            client: Arc::new(Counters::new()),
            server: Arc::new(Counters::new()),
        }
    }

    fn observe(&self, configs: Configs) -> Configs {
        configs.observed_by(self.client.clone(), self.server.clone())
    }

    /// Returns what each side has counted.
    fn snapshots(&self) -> [(&'static str, Snapshot); 2] {
        [
            ("client", self.client.snapshot()),
            ("server", self.server.snapshot()),
        ]
    }

    /// Asserts a count on both sides, with their label `side`.
    #[track_caller]
    fn assert_both(&self, name: &str, labels: &[(&str, &str)], expected: u64) {
        for (side, snapshot) in self.snapshots() {
            let labels = [&[("side", side)], labels].concat();
            let count = snapshot.count(name, &labels);
            assert_eq!(count, expected, "{name} {labels:?}\n{snapshot}");
        }
    }
}

#[track_caller]
fn assert_count(snapshot: &Snapshot, name: &str, labels: &[(&str, &str)], expected: u64) {
    let count = snapshot.count(name, labels);
    assert_eq!(count, expected, "{name} {labels:?}\n{snapshot}");
}

#[test]
fn full_and_resumed_handshakes_are_counted_on_both_sides() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, versions, ClientAuth::None));
        configs.talk();
        configs.talk();
        configs.talk();
        let version = ("version", label(versions));
        let finished = ("outcome", "finished");
        both.assert_both("tls_handshakes_begun_total", &[("carrier", "records")], 3);
        both.assert_both("tls_handshakes_total", &[finished, version], 3);
        both.assert_both("tls_handshakes_total", &[finished, ("kind", "full")], 1);
        let resumed = [finished, ("kind", "resumed_by_ticket")];
        both.assert_both("tls_handshakes_total", &resumed, 2);
        both.assert_both("tls_cipher_suites_total", &[], 3);
        both.assert_both("tls_handshakes_in_progress", &[], 0);
        both.assert_both("tls_connections_open", &[], 0);
        both.assert_both("tls_connections_closed_total", &[("end", "clean")], 3);
        both.assert_both("tls_handshake_duration_seconds", &resumed, 2);
        both.assert_both("tls_handshake_own_work_seconds", &[finished], 3);
        both.assert_both("tls_connection_duration_seconds", &[], 3);
        both.assert_both("tls_wait_seconds", &[], 0);
        both.assert_both("tls_failures_total", &[], 0);
        both.assert_both("tls_alerts_total", &[], 0);
        for (_, snapshot) in both.snapshots() {
            let own = snapshot.time("tls_handshake_own_work_seconds", &[]);
            assert!(own > Duration::ZERO, "{snapshot}");
            assert!(snapshot.time("tls_handshake_duration_seconds", &[]) >= own);
        }
    }
}

#[test]
fn both_sides_count_the_same_data() {
    for (provider, versions) in cases() {
        let both = Both::new();
        both.observe(Configs::new(provider, versions, ClientAuth::None))
            .talk();
        for name in ["tls_records_total", "tls_bytes_total"] {
            let [client, server] = both.snapshots().map(|(_, snapshot)| {
                ["sending", "receiving"].map(|it| snapshot.count(name, &[("direction", it)]))
            });
            assert_eq!(client, [server[1], server[0]], "{name}");
            assert!(client.iter().all(|count| *count >= 3), "{name} {client:?}");
        }
    }
}

#[test]
fn signatures_and_chain_checks_are_counted_in_full_handshakes() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, versions, ClientAuth::Required));
        configs.talk();
        configs.talk();
        for signer in ["client", "server"] {
            let scheme = ("scheme", "ECDSA_NISTP256_SHA256");
            both.assert_both("tls_signatures_total", &[("signer", signer), scheme], 1);
        }
        both.assert_both("tls_signatures_total", &[], 2);
        both.assert_both("tls_peer_chains_total", &[("check", "verified")], 1);
        both.assert_both("tls_peer_chains_total", &[], 1);
        let sent = ("certificate", "sent");
        both.assert_both("tls_client_certificates_total", &[sent], 1);
    }
}

#[test]
fn a_missing_client_certificate_is_counted() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = Configs::new(provider, versions, ClientAuth::OptionalAbsent);
        both.observe(configs).talk();
        let missing = ("certificate", "missing");
        both.assert_both("tls_client_certificates_total", &[missing], 1);
        both.assert_both("tls_client_certificates_total", &[], 1);
    }
}

#[test]
fn handshakes_with_a_hello_retry_request_are_counted() {
    for provider in PROVIDERS {
        let both = Both::new();
        let mut configs = Configs::new(provider, Versions::Tls13, ClientAuth::None);
        let mut crypto = provider.this();
        request_another_share(&mut crypto);
        configs.server = {
            let mut server = harness::peers::configs::this::server(
                crypto,
                crate::kit::KEY_TYPE,
                ClientAuth::None,
            );
            server.ticketer = configs.server.ticketer.clone();
            server
        };
        both.observe(configs).talk();
        let kind = ("kind", "full_with_hello_retry_request");
        both.assert_both("tls_handshakes_total", &[kind], 1);
        both.assert_both("tls_handshakes_total", &[], 1);
    }
}

#[test]
fn sessions_in_the_storage_and_their_resumption_are_counted() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = Configs::new(provider, versions, ClientAuth::None).with_storage();
        let configs = both.observe(configs);
        configs.talk();
        configs.talk();
        let server = both.server.snapshot();
        let kind = ("kind", "resumed_by_storage");
        assert_count(&server, "tls_handshakes_total", &[kind], 1);
        let stored = [("side", "server"), ("outcome", "stored")];
        assert!(server.count("tls_sessions_total", &stored) >= 1, "{server}");
    }
}

#[test]
fn tickets_and_sessions_are_counted() {
    for (provider, versions) in cases() {
        let both = Both::new();
        both.observe(Configs::new(provider, versions, ClientAuth::None))
            .talk();
        let tickets = match versions {
            Versions::Tls12 => 1,
            _ => both.server.snapshot().count("tls_tickets_total", &[]),
        };
        assert!(tickets > 0);
        let made = ("action", "made");
        assert_count(
            &both.server.snapshot(),
            "tls_tickets_total",
            &[made],
            tickets,
        );
        let received = ("action", "received");
        let client = both.client.snapshot();
        assert_count(&client, "tls_tickets_total", &[received], tickets);
        let stored = ("outcome", "stored");
        assert_count(&client, "tls_sessions_total", &[stored], tickets);
    }
}

#[test]
fn an_unreadable_ticket_is_refused_and_its_reason_counted() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let mut configs = both.observe(Configs::new(provider, versions, ClientAuth::None));
        configs.talk();
        // another key
        configs.server.ticketer = provider.this_ticketer();
        configs.talk();
        let reason = ("reason", "unreadable_ticket");
        let server = both.server.snapshot();
        assert_count(&server, "tls_tickets_total", &[("action", "refused")], 1);
        assert_count(&server, "tls_tickets_refused_total", &[reason], 1);
        assert_count(&server, "tls_sessions_not_resumed_total", &[reason], 1);
        let reason = ("reason", "refused_by_server");
        let client = both.client.snapshot();
        assert_count(&client, "tls_sessions_not_resumed_total", &[reason], 1);
    }
}

/// Returns configurations that allow early data, and have connected once.
fn with_early_data(provider: Provider, both: &Both) -> Configs {
    let mut configs = Configs::new(provider, Versions::Tls13, ClientAuth::None);
    configs.client.enable_early_data = true;
    configs.server.max_early_data_size = 1000;
    configs.server.session_storage = ServerSessionMemoryCache::new(100);
    let configs = both.observe(configs.with_storage());
    configs.talk();
    configs
}

#[test]
fn accepted_and_rejected_early_data_is_counted() {
    for provider in PROVIDERS {
        let both = Both::new();
        let mut configs = with_early_data(provider, &both);
        both.assert_both("tls_early_data_total", &[], 0);
        let mut pair = configs.connect();
        assert_ne!(pair.client.send_early(b"early"), 0);
        pair.handshake();
        pair.close();
        both.assert_both("tls_early_data_total", &[("outcome", "accepted")], 1);
        configs.server.max_early_data_size = 0;
        let mut pair = configs.connect();
        assert_ne!(pair.client.send_early(b"early"), 0);
        pair.handshake();
        pair.close();
        both.assert_both("tls_early_data_total", &[("outcome", "rejected")], 1);
        let server = both.server.snapshot();
        let reason = ("reason", "not_allowed");
        assert_count(&server, "tls_early_data_rejected_total", &[reason], 1);
        let reason = ("reason", "by_server");
        let client = both.client.snapshot();
        assert_count(&client, "tls_early_data_rejected_total", &[reason], 1);
    }
}

#[test]
fn a_rejected_certificate_is_a_failure_on_both_sides() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, versions, ClientAuth::None));
        let configs = distrusting(configs, provider, versions);
        let mut pair = configs.connect();
        pair.exchange().unwrap_err();
        // the alert
        let alert = pair.client.take_output();
        pair.server.receive(&alert).unwrap_err();
        drop(pair);
        both.assert_both("tls_handshakes_total", &[("outcome", "failed")], 1);
        both.assert_both("tls_handshakes_total", &[], 1);
        let failed = [("stage", "handshake"), ("fault", "peer")];
        both.assert_both("tls_failures_total", &failed, 1);
        both.assert_both("tls_connections_closed_total", &[("end", "failed")], 1);
        both.assert_both("tls_handshakes_in_progress", &[], 0);
        both.assert_both("tls_connections_open", &[], 0);
        let client = both.client.snapshot();
        let label = ("label", "invalid_certificate.unknown_issuer");
        assert_count(&client, "tls_failures_total", &[label], 1);
        let alert = [("direction", "sent"), ("alert", "unknown_ca")];
        assert_count(&client, "tls_alerts_total", &alert, 1);
        let server = both.server.snapshot();
        let label = ("label", "alert_received.unknown_ca");
        assert_count(&server, "tls_failures_total", &[label], 1);
        let alert = [("direction", "received"), ("alert", "unknown_ca")];
        assert_count(&server, "tls_alerts_total", &alert, 1);
    }
}

#[test]
fn handshakes_in_progress_and_dropped_ones_are_counted() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, versions, ClientAuth::None));
        let mut pairs = [configs.connect(), configs.connect()];
        for pair in &mut pairs {
            let hello = pair.client.take_output();
            pair.server.receive(&hello).unwrap();
        }
        both.assert_both("tls_handshakes_begun_total", &[], 2);
        both.assert_both("tls_handshakes_in_progress", &[], 2);
        both.assert_both("tls_connections_open", &[], 2);
        drop(pairs);
        both.assert_both("tls_handshakes_in_progress", &[], 0);
        both.assert_both("tls_connections_open", &[], 0);
        let dropped = [("label", "dropped"), ("fault", "application")];
        both.assert_both("tls_failures_total", &dropped, 2);
        both.assert_both("tls_handshakes_total", &[("outcome", "failed")], 2);
        both.assert_both("tls_connections_closed_total", &[("end", "dropped")], 2);
    }
}

#[test]
fn a_changed_record_is_counted_as_a_traffic_failure() {
    for (provider, versions) in cases() {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, versions, ClientAuth::None));
        let mut pair = configs.connect();
        pair.handshake();
        pair.client.send(b"data");
        let mut record = pair.client.take_output();
        *record.last_mut().unwrap() ^= 1;
        pair.server.receive(&record).unwrap_err();
        drop(pair);
        let server = both.server.snapshot();
        let failed = [("stage", "traffic"), ("label", "decrypt_error")];
        assert_count(&server, "tls_failures_total", &failed, 1);
        let alert = [("direction", "sent"), ("alert", "bad_record_mac")];
        assert_count(&server, "tls_alerts_total", &alert, 1);
        let finished = [("outcome", "finished")];
        assert_count(&server, "tls_handshakes_total", &finished, 1);
        assert_count(&server, "tls_handshakes_total", &[], 1);
        assert_count(
            &server,
            "tls_connections_closed_total",
            &[("end", "failed")],
            1,
        );
        // the client has not received the alert
        let end = [("end", "dropped")];
        assert_count(
            &both.client.snapshot(),
            "tls_connections_closed_total",
            &end,
            1,
        );
    }
}

#[test]
fn key_updates_are_counted_by_direction() {
    for provider in PROVIDERS {
        let both = Both::new();
        let configs = Configs::new(provider, Versions::Tls13, ClientAuth::None);
        let mut pair = both.observe(configs).connect();
        pair.handshake();
        pair.client.refresh_traffic_keys();
        pair.exchange().unwrap();
        pair.close();
        // the server replies with its own
        for direction in ["sending", "receiving"] {
            both.assert_both("tls_key_updates_total", &[("direction", direction)], 1);
        }
    }
}

#[test]
fn quic_handshakes_are_counted_under_their_carrier() {
    for provider in PROVIDERS {
        let both = Both::new();
        let configs = both.observe(Configs::new(provider, Versions::Tls13, ClientAuth::None));
        let version = Version::V1;
        let mut client =
            quic::this::client(&configs.client.into(), version, b"parameters").unwrap();
        let mut server =
            quic::this::server(&configs.server.into(), version, b"parameters").unwrap();
        quic::exchange(&mut client, &mut server).unwrap();
        drop((client, server));
        let finished = [("carrier", "quic"), ("outcome", "finished")];
        both.assert_both("tls_handshakes_total", &finished, 1);
        both.assert_both("tls_records_total", &[], 0);
        for (_, snapshot) in both.snapshots() {
            assert_ne!(snapshot.count("tls_bytes_total", &[]), 0);
        }
    }
}

/// Threads add to different stripes, and connections may end on another thread.
#[test]
fn counts_of_several_threads_add_up() {
    let both = Both::new();
    let [provider, _] = PROVIDERS;
    let configs = both.observe(Configs::new(provider, Versions::Tls13, ClientAuth::None));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut pair = configs.connect();
                pair.handshake();
                std::thread::scope(|scope| scope.spawn(|| pair.close()).join().unwrap());
                std::thread::scope(|scope| scope.spawn(move || drop(pair)).join().unwrap());
            });
        }
    });
    both.assert_both("tls_handshakes_total", &[("outcome", "finished")], 8);
    both.assert_both("tls_connections_closed_total", &[("end", "clean")], 8);
    both.assert_both("tls_handshakes_in_progress", &[], 0);
    both.assert_both("tls_connections_open", &[], 0);
}

#[test]
fn several_observers_get_each_event() {
    for (provider, versions) in cases() {
        let (first, second) = (Arc::new(Counters::new()), Arc::new(Counters::new()));
        let both = Arc::new(Observers(vec![first.clone(), second.clone()]));
        let configs = Configs::new(provider, versions, ClientAuth::None);
        let configs = configs.observed_by(both.clone(), both);
        configs.talk();
        distrusting(configs, provider, versions)
            .connect()
            .exchange()
            .unwrap_err();
        let [first, second] = [first, second].map(|counters| counters.snapshot());
        assert_eq!(first.samples().len(), second.samples().len());
        for (a, b) in first.samples().iter().zip(second.samples()) {
            // the durations are the same, because each is measured once
            assert_eq!(a, b);
        }
        assert_ne!(first.count("tls_failures_total", &[]), 0);
    }
}

#[test]
fn a_snapshot_prints_the_text_format_of_prometheus() {
    let counters = Arc::new(Counters::new());
    let [provider, _] = PROVIDERS;
    let configs = Configs::new(provider, Versions::Tls13, ClientAuth::None);
    configs
        .observed_by(counters.clone(), counters.clone())
        .talk();
    let snapshot = counters.snapshot();
    let text = snapshot.to_string();
    let expected = "# HELP tls_handshakes_begun_total Handshakes that have begun\n\
        # TYPE tls_handshakes_begun_total counter\n\
        tls_handshakes_begun_total{side=\"client\",carrier=\"records\"} 1\n\
        tls_handshakes_begun_total{side=\"server\",carrier=\"records\"} 1\n\
        # HELP tls_handshakes_in_progress ";
    assert!(text.starts_with(expected), "{text}");
    let line = "tls_handshake_duration_seconds_count{side=\"client\",outcome=\"finished\",kind=\"full\"} 1\n";
    assert!(text.contains(line), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#')).count();
    let is_time = |value: Value| matches!(value, Value::Time { .. });
    let samples = snapshot.samples().iter();
    let expected: usize = samples
        .map(|it| if is_time(it.value) { 2 } else { 1 })
        .sum();
    assert_eq!(lines, expected, "{text}");
}

#[test]
fn suites_groups_and_schemes_of_the_providers_have_names() {
    let both = Both::new();
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        for suite in provider.this().cipher_suites {
            let is_tls13 = suite.tls13().is_some();
            if is_tls13 != (versions == Versions::Tls13) {
                continue;
            }
            let name = suite.suite().as_str().unwrap();
            if name.contains("RSA") {
                continue;
            }
            let crypto = harness::peers::configs::this::provider_of(provider, suite.suite());
            let mut configs = Configs::new(provider, versions, ClientAuth::None);
            let key_type = crate::kit::KEY_TYPE;
            configs.client = harness::peers::configs::this::client_of(
                versions,
                crypto,
                key_type,
                ClientAuth::None,
            );
            both.observe(configs).talk();
        }
    }
    both.assert_both("tls_cipher_suites_total", &[("cipher_suite", "other")], 0);
    both.assert_both("tls_groups_total", &[("group", "other")], 0);
    for (side, snapshot) in both.snapshots() {
        let names = snapshot.samples().iter();
        let names = names.filter(|sample| sample.name == "tls_cipher_suites_total");
        assert_eq!(names.count(), 6, "{side}\n{snapshot}");
    }
}
