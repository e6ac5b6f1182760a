//! The bench binary from outside: short runs of every sub-command on every allocator.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use serde_json::Value;

const SUITE: &str = "TLS13_AES_128_GCM_SHA256";

#[test]
fn bulk_measures_on_every_allocator() {
    let rows = json(&[
        "bulk",
        SUITE,
        "--multiplier=0.001",
        "--provider=ring",
        "--json",
    ]);
    assert_eq!(
        of(&rows, "allocator"),
        ["jemalloc", "mimalloc", "system"].into()
    );
    assert_eq!(of(&rows, "impl"), ["limit", "this", "upstream"].into());
    assert_eq!(of(&rows, "provider"), ["ring"].into());
    assert_eq!(of(&rows, "suite"), [SUITE].into());
    assert_eq!(rows.len(), 3 * 17);
    for row in &rows {
        if row["impl"] == "limit" {
            assert_eq!(row["allocations_per_record"], 0.0, "{row}");
        }
    }
}

#[test]
fn upstream_allocates_for_every_record_and_this_library_for_none() {
    let rows = json(&["bulk", SUITE, "--multiplier=0.001", "--json"]);
    for row in rows {
        let allocations = row["allocations_per_record"].as_f64().unwrap();
        match row["impl"].as_str() {
            Some("upstream") => assert!(allocations >= 1.0, "{row}"),
            _ => assert_eq!(allocations, 0.0, "{row}"),
        }
    }
}

#[test]
fn bulk_prints_and_draws_a_table() {
    let (text, svg) = plotted(&["bulk", SUITE, "--multiplier=0.001", "--allocator=mimalloc"]);
    assert!(text.contains("allocations/record"), "{text}");
    assert!(
        text.contains("mimalloc") && !text.contains("jemalloc"),
        "{text}"
    );
    assert!(svg.contains(SUITE), "{svg}");
}

#[test]
fn streaming_over_threads_is_drawn_as_curves() {
    let (text, svg) = plotted(&[
        "bulk",
        SUITE,
        "--multiplier=0.001",
        "--allocator=system",
        "--provider=ring",
        "--api=unbuffered",
        "--working-set=1MiB",
        "--threads=1..3",
        "--json",
    ]);
    let rows = parse(&text);
    assert_eq!(rows.len(), 2 * 3 * 3);
    for row in rows {
        assert_eq!(row["working_set"], 1 << 20);
        assert!(
            [1, 2, 3].map(Value::from).contains(&row["threads"]),
            "{row}"
        );
    }
    // this library, upstream and the limit, in each direction
    assert!(svg.matches("<polyline").count() >= 6, "{svg}");
    assert!(svg.contains("over threads"), "{svg}");
}

#[test]
fn tcp_measures_both_apis() {
    let (lines, _) = plotted(&["tcp", "--multiplier=0.001", "--json"]);
    let rows = parse(&lines);
    assert_eq!(of(&rows, "api"), ["calls", "stream"].into());
    assert_eq!(of(&rows, "impl"), ["this", "upstream"].into());
    assert_eq!(of(&rows, "provider"), ["aws-lc-rs", "ring"].into());
    assert_eq!(of(&rows, "allocator"), ["system"].into());
    assert_eq!(rows.len(), 2 * 2 * 2 * 4);

    let keys: BTreeSet<_> = rows[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "bench impl provider suite api allocator write_size read_size mb_per_s \
                    ratio_to_upstream cpu_s_per_gb system_calls_per_mb";
    assert_eq!(keys, expected.split_whitespace().collect());

    let text = text(&["tcp", "--multiplier=0.001", "--write-sizes=65536"]);
    assert!(text.contains("CPU s/GB"), "{text}");
}

#[test]
fn memory_finds_no_buffers_in_an_idle_connection() {
    let rows = json(&["memory", "--connections=4", "--json"]);
    let idle: Vec<_> = rows
        .iter()
        .filter(|row| row.get("bytes_per_connection").is_some())
        .collect();
    assert_eq!(idle.len(), 2 * 2 * 2 * 2 * 2);
    for row in idle {
        let bytes = row["bytes_per_connection"].as_f64().unwrap();
        assert!(bytes > 0.0, "{row}");
        if row["impl"] == "this" {
            assert!(bytes <= 6000.0, "{row}");
        }
    }
    let counted = |key| rows.iter().filter(|row| row.get(key).is_some()).count();
    assert_eq!(counted("allocations_per_handshake"), 2 * 2 * 2);
    assert_eq!(counted("pool_bytes_per_thread"), 2 * 2);
}

#[test]
fn every_kind_of_key_makes_a_connection() {
    for key_type in ["ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048"] {
        let key_type = format!("--key-type={key_type}");
        json(&[
            "bulk",
            SUITE,
            "--multiplier=0.001",
            "--allocator=system",
            "--api=buffered",
            &key_type,
            "--json",
        ]);
    }
}

#[test]
fn every_suite_can_be_measured() {
    let suites = json(&["list-suites", "--json"]);
    assert_eq!(of(&suites, "version"), ["TLS 1.2", "TLS 1.3"].into());
    assert!(suites.len() >= 9);
    for suite in suites {
        let name = suite["suite"].as_str().unwrap();
        let args = ["--multiplier=0.001", "--allocator=system", "--json"];
        let rows = json(&[&["bulk", name], &args[..]].concat());
        for row in rows {
            assert_eq!(row["suite"], name);
            if row["impl"] == "this" {
                assert_eq!(row["allocations_per_record"], 0.0, "{row}");
            }
        }
    }
}

#[test]
fn handshakes_are_measured_by_side() {
    let (text, svg) = plotted(&["handshake", "--multiplier=0.001", "--json"]);
    let rows = parse(&text);
    assert_eq!(of(&rows, "impl"), ["limit", "this", "upstream"].into());
    assert_eq!(of(&rows, "role"), ["client", "server"].into());
    assert_eq!(rows.len(), 2 * 2 * 3 * 2);
    assert!(svg.contains("handshakes/s"), "{svg}");
    for row in &rows {
        let allocations = row["allocations_per_handshake"].as_f64().unwrap();
        let of_upstream = rows.iter().find(|other| {
            other["impl"] == "upstream"
                && other["role"] == row["role"]
                && other["provider"] == row["provider"]
                && other["version"] == row["version"]
        });
        if row["impl"] == "this" {
            let theirs = &of_upstream.unwrap()["allocations_per_handshake"];
            assert!(allocations < theirs.as_f64().unwrap(), "{row}");
        }
    }
}

#[test]
fn sessions_are_resumed_in_every_version() {
    for job in ["handshake-resume", "handshake-ticket"] {
        let rows = json(&[job, "--multiplier=0.001", "--api=unbuffered", "--json"]);
        assert_eq!(of(&rows, "bench"), [job].into());
        assert_eq!(of(&rows, "version"), ["TLS 1.2", "TLS 1.3"].into());
        assert_eq!(of(&rows, "provider"), ["aws-lc-rs", "ring"].into());
        assert_eq!(rows.len(), 2 * 2 * 3 * 2);
    }
}

#[test]
fn all_runs_every_subcommand() {
    let (lines, svg) = plotted(&[
        "all",
        "--multiplier=0.001",
        "--working-set=64KiB",
        "--threads=1,2",
        "--allocator=system",
        "--provider=ring",
        "--json",
    ]);
    let rows = parse(&lines);
    let jobs = "bulk duplex tcp memory handshake handshake-resume handshake-ticket primitives \
        certificates load-connections load-handshakes";
    assert_eq!(of(&rows, "bench"), jobs.split_whitespace().collect());
    assert_eq!(of(&rows, "provider"), ["ring"].into());
    assert!(svg.contains("over threads") && svg.contains("loopback TCP"));
}

#[test]
fn primitives_are_measured_and_drawn() {
    let (text, svg) = plotted(&["primitives", "sha-256", "--multiplier=0.001"]);
    assert!(
        text.contains("HMAC-SHA-256") && text.contains("ring"),
        "{text}"
    );
    assert!(svg.contains("HMAC-SHA-256"), "{svg}");
}

#[test]
fn certificates_are_measured_and_drawn() {
    let (text, svg) = plotted(&["certificates", "--multiplier=0.001", "--provider=ring"]);
    for topic in ["roots", "revocation", "resumption"] {
        assert!(
            text.contains(&format!("\n{topic}")) || text.starts_with(topic),
            "{text}"
        );
    }
    assert!(svg.contains("parsed each time"), "{svg}");
}

#[test]
fn cached_certificates_take_no_further_memory() {
    let rows = json(&[
        "certificates",
        "--multiplier=0.001",
        "--provider=ring",
        "--json",
    ]);
    let of = |work: &str, way: &str, key: &str| {
        let mut found = rows.iter().filter(|row| {
            let is = |key: &str, part: &str| row[key].as_str().unwrap().contains(part);
            row["impl"] == "this" && is("work", work) && is("way", way)
        });
        let figure = found.next().unwrap()[key].as_f64();
        figure.unwrap_or_else(|| panic!("{work}, {way}: no {key}"))
    };
    for property in ["subject", "validity", "key usages", "fingerprint"] {
        assert_eq!(of(property, "again", "allocations_per_op"), 0.0);
        assert!(of(property, "first", "allocations_per_op") > 0.0);
    }
    let heap = |way| of("140 certificates", way, "heap_bytes_per_op");
    assert!(heap("cached") < heap("parsed each time") / 5.0);
    let held = |way| {
        of(
            "TLS 1.3, stored sessions of one client",
            way,
            "bytes_per_session",
        )
    };
    assert!(held("shared") < held("a copy each") / 2.0);
    let ticket = |way| of("TLS 1.3, ticket, server", way, "allocations_per_op");
    assert!(ticket("shared") < ticket("a copy each"));
    let reload = |way| of("from files", way, "heap_bytes_per_op");
    assert!(reload("reload_if_changed") < reload("each time") / 5.0);
}

#[test]
fn memory_per_connection_is_constant_over_number_and_time() {
    let one_provider = ["--provider=aws-lc-rs", "--json"];
    let memory = json(&[&["memory", "--connections=10"], &one_provider[..]].concat());
    for transport in [&[][..], &["--tcp"]] {
        let load = ["load", "connections", "--multiplier=0.001"];
        let rows = json(&[&load, transport, &one_provider].concat());
        let ours = || rows.iter().filter(|row| row["impl"] == "this");
        for row in ours() {
            // a thread does not always keep the same buffers
            assert!(row["growth_bytes"].as_i64().unwrap() <= 0, "{row}");
            let bytes = row["bytes_per_connection"].as_f64().unwrap();
            if row["state"] != "resident" {
                // a part of a record, or one that waits to be read
                assert!(bytes < 20_000.0, "{row}");
            }
        }
        for role in ["client", "server"] {
            let idle = format!("idle {role}");
            for row in ours().filter(|row| row["state"] == *idle) {
                let alike = memory.iter().filter(|alike| {
                    alike["impl"] == "this"
                        && alike["api"] == row["api"]
                        && alike["role"] == role
                        && alike["state"] == "after-traffic"
                });
                for alike in alike {
                    let [bytes, expected] =
                        [row, alike].map(|row| row["bytes_per_connection"].as_f64().unwrap());
                    assert!((bytes - expected).abs() < 1.0, "{row} {alike}");
                }
            }
        }
    }
}

#[test]
fn handshakes_leave_nothing_on_the_heap() {
    let rows = json(&[
        "load",
        "handshakes",
        "--multiplier=0.001",
        "--provider=aws-lc-rs",
        "--json",
    ]);
    assert_eq!(of(&rows, "version"), ["TLS 1.2", "TLS 1.3"].into());
    assert_eq!(rows.len(), 2 * 2 * 7);
    for row in rows.iter().filter(|row| row["impl"] == "this") {
        let growth = row["growth_bytes"].as_i64().unwrap();
        // a table of sessions doubles once, at any time after it is full; a server keeps the last
        // key of tickets
        let most = if row["session"] == "ticket" { 0 } else { 4096 };
        assert!(growth <= most, "{row}");
    }
}

#[test]
fn mistakes_are_answered_with_valid_choices() {
    let cases: [(&[&str], &str); 5] = [
        (&["bulk", "TLS13_AES"], SUITE),
        (
            &[
                "bulk",
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "--key-type=ed25519",
            ],
            "rsa-2048",
        ),
        (&["primitives", "rot13"], "X25519 share"),
        (&["bulk", SUITE, "--allocator=tcmalloc"], "jemalloc"),
        (
            &[
                "bulk",
                SUITE,
                "--multiplier=0.001",
                "--allocator=system",
                "--plot=/no/such/directory/x.svg",
            ],
            "/no/such/directory/x.svg",
        ),
    ];
    for (args, expected) in cases {
        let output = bench(args);
        assert!(!output.status.success(), "{args:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

fn bench(args: &[&str]) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_bench"));
    Command::new(binary).args(args).output().unwrap()
}

fn text(args: &[&str]) -> String {
    let output = bench(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Vec<Value> {
    parse(&text(args))
}

fn parse(lines: &str) -> Vec<Value> {
    let rows = lines.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}

/// The output of `args`, and the picture that they draw.
fn plotted(args: &[&str]) -> (String, String) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = env::temp_dir().join(format!("rustls-bench-{}-{number}.svg", process::id()));
    let plot = format!("--plot={}", file.display());
    let text = text(&[args, &[&plot]].concat());
    let svg = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    (text, svg)
}

/// The distinct values of `key`.
fn of<'a>(rows: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap()).collect()
}
