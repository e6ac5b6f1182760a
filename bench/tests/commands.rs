//! The bench binary from outside: every sub-command on every allocator, as short as it can be.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
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
fn bulk_prints_a_table_and_draws_it() {
    let file = env::temp_dir().join(format!("rustls-bench-{}.svg", process::id()));
    let plot = format!("--plot={}", file.display());
    let text = text(&[
        "bulk",
        SUITE,
        "--multiplier=0.001",
        "--allocator=mimalloc",
        &plot,
    ]);
    assert!(text.contains("allocations/record"), "{text}");
    assert!(
        text.contains("mimalloc") && !text.contains("jemalloc"),
        "{text}"
    );
    let svg = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn tcp_measures_both_ways_to_use_a_connection() {
    let file = env::temp_dir().join(format!("rustls-bench-tcp-{}.svg", process::id()));
    let plot = format!("--plot={}", file.display());
    let rows = json(&["tcp", "--multiplier=0.001", "--json", &plot]);
    let svg = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
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
fn every_tls13_suite_can_be_measured() {
    let suites = json(&["list-suites", "--json"]);
    assert!(suites.len() >= 9);
    let args = ["--multiplier=0.001", "--allocator=system", "--json"];
    for suite in suites {
        let name = suite["suite"].as_str().unwrap();
        let output = bench(&[&["bulk", name], &args[..]].concat());
        let measurable = suite["version"] == "TLS 1.3";
        assert_eq!(suite["measurable"], measurable);
        assert_eq!(output.status.success(), measurable, "{name}");
    }
}

#[test]
fn mistakes_are_answered_with_what_would_work() {
    let cases: [(&[&str], &str); 4] = [
        (&["bulk", "TLS13_AES"], SUITE),
        (
            &["bulk", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
            "no TLS 1.2 handshake",
        ),
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
    let lines = text(args);
    let rows = lines.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}

/// The values of `key`, each once.
fn of<'a>(rows: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap()).collect()
}
