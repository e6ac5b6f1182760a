//! The bench binary from outside: short runs of every sub-command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use serde_json::Value;

const SUITE: &str = "TLS13_AES_128_GCM_SHA256";

/// The number of providers that a job measures if the command line names none.
const PROVIDERS: usize = 3;

#[test]
fn bulk_measures_every_combination_on_every_allocator() {
    let rows = json("bulk");
    assert_eq!(
        of(&rows, "allocator"),
        "jemalloc mimalloc system".split(' ').collect()
    );
    assert_eq!(
        of(&rows, "impl"),
        "limit this upstream".split(' ').collect()
    );
    assert_eq!(of(&rows, "suite"), [SUITE].into());
    // upstream has no in-place encryption
    assert_eq!(rows.len(), 3 * PROVIDERS * 20);
    for row in &rows {
        let allocations = row["allocations_per_record"].as_f64().unwrap();
        match row["impl"].as_str() {
            Some("upstream") => assert!(allocations >= 1.0, "{row}"),
            _ => assert_eq!(allocations, 0.0, "{row}"),
        }
        assert!(row["mb_per_s"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(
            row["share_of_limit"] == 1.0,
            row["impl"] == "limit",
            "{row}"
        );
        let copies = !["in-place", "fill-buf"].contains(&row["api"].as_str().unwrap());
        let has_slowest = row.get("slowest_offset_mb_per_s").is_some();
        assert!(has_slowest <= copies, "{row}");
        assert!(
            has_slowest || row["direction"] == "receive" || !copies,
            "{row}"
        );
    }
    let promised = "bench impl provider suite api direction allocator threads mb_per_s mb_per_s_p10 mb_per_s_p90 \
                    ratio_to_upstream share_of_limit allocations_per_record machine";
    for key in promised.split_whitespace() {
        assert!(rows[0].get(key).is_some(), "{key}");
    }
    assert!(rows[0]["machine"]["cpu"].is_string() && rows[0]["machine"]["compiler"].is_string());
}

#[test]
fn odd_sizes_arrive_complete() {
    // every run checks that the received bytes equal the sent ones, on any provider
    for sizes in [
        "--plaintext-size=1",
        "--plaintext-size=100000",
        "--plaintext-size=16385 --working-set=1 --threads=2",
        "--plaintext-size=1000 --working-set=300KiB",
        "--plaintext-size=50000 --working-set=1",
    ] {
        let line = format!("bulk --allocator=system --provider=fastest {sizes}");
        assert_eq!(json(&line).len(), 20, "{sizes}");
    }
}

#[test]
fn every_suite_and_every_type_of_key_can_be_measured() {
    let suites = text("list-suites");
    assert!(suites.lines().count() >= 9);
    for version in ["TLS 1.2", "TLS 1.3"] {
        assert!(suites.contains(&format!("{version} · aws-lc-rs, ring, fastest")));
    }
    for name in suites.lines().filter_map(|line| line.split(' ').next()) {
        // writes so small that their offset does not matter
        let line = format!("bulk {name} --allocator=system --plaintext-size=1000");
        for row in json(&line) {
            assert_eq!(row["suite"], name);
            assert!(
                row["impl"] != "this" || row["allocations_per_record"] == 0.0,
                "{row}"
            );
        }
    }
    json("handshake --provider=ring --key-type=ecdsa-p256,ecdsa-p384,ed25519,rsa-2048");
}

#[test]
fn output_to_a_pipe_is_markdown() {
    let text = text("bulk --multiplier=0.001 --allocator=mimalloc");
    assert!(
        text.contains(&format!(
            "{SUITE} · writes of 16 KiB · mimalloc allocator · MB/s\n\n| provider "
        )),
        "{text}"
    );
    assert!(
        text.contains("| rustls-inplace | rustls 0.23.46 |  ratio | of AEAD |"),
        "{text}"
    );
    assert!(text.contains("load ") && text.contains("commit "), "{text}");
    assert!(
        text.trim_end()
            .ends_with("the slowest offset for each of them"),
        "{text}"
    );
}

#[test]
fn every_number_of_threads_is_plotted() {
    let (rows, svg) = plotted(
        "bulk --allocator=system --provider=ring --api=unbuffered --working-set=1MiB --threads=1,2,3",
    );
    assert_eq!(rows.len(), 2 * 3 * 3);
    for row in rows {
        assert_eq!(row["working_set"], 1 << 20);
    }
    assert!(
        svg.matches("3 threads").count() == 2 && svg.contains("MB/s"),
        "{svg}"
    );
}

#[test]
fn results_are_compared_with_an_earlier_file() {
    let file = temporary("json");
    let line = "bulk --multiplier=0.001 --allocator=system --provider=ring --api=unbuffered";
    fs::write(&file, text(&format!("{line} --json"))).unwrap();
    let compared = text(&format!("{line} --compare={}", file.display()));
    assert!(
        compared.contains("before") && compared.contains("over 2 rows"),
        "{compared}"
    );
    fs::remove_file(&file).unwrap();
}

#[test]
fn tcp_measures_all_sizes() {
    let (rows, svg) = plotted("tcp");
    assert_eq!(of(&rows, "impl"), ["this", "upstream"].into());
    assert_eq!(rows.len(), PROVIDERS * 2 * 4);
    for row in &rows {
        assert!(row["ratio_to_upstream"].as_f64().unwrap() > 0.0, "{row}");
        // both ends make at least one call for each of the largest writes
        assert!(
            row["system_calls_per_mb"].as_f64().unwrap() >= 2e6 / 65536.0,
            "{row}"
        );
        assert_eq!(
            row["cpu_s_per_gb"].as_f64().unwrap() > 0.0,
            cfg!(unix),
            "{row}"
        );
    }
    assert!(svg.contains("MB/s"), "{svg}");
}

#[test]
fn duplex_compares_with_one_direction() {
    for more in ["", " TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] {
        let rows = json(&format!("duplex{more}"));
        assert_eq!(rows.len(), PROVIDERS * 7);
        for row in &rows {
            let ratio = row["ratio_to_one_direction"].as_f64().unwrap();
            assert!(
                ratio > 0.0 && (row["threads"] == 2 || ratio == 1.0),
                "{row}"
            );
            assert_eq!(row["threads"] == 2, row["sharing"] != "none", "{row}");
        }
    }
}

#[test]
fn offload_compares_ways_to_sign() {
    let rows = json("offload");
    assert_eq!(of(&rows, "topic"), ["RSA-4096", "signer of 5 ms"].into());
    // this has one more way than upstream to make handshakes, at both rates
    assert_eq!(rows.len(), PROVIDERS * 2 * (5 + 3));
    for row in &rows {
        let figure = |key: &str| row[key].as_f64().unwrap();
        let is_idle = row["work"] == "none";
        assert!(figure("echo_p50_us") <= figure("echo_p99_us"), "{row}");
        assert_eq!(figure("handshakes_per_s") == 0.0, is_idle, "{row}");
        assert!(!is_idle || figure("ratio_to_no_handshakes") == 1.0, "{row}");
        assert!(row["way"] != "offloaded" || row["impl"] == "this", "{row}");
    }
}

#[test]
fn memory_reports_no_buffers_for_idle_connections() {
    let rows = json("memory");
    let with = |key| rows.iter().filter(move |row| row.get(key).is_some());
    assert_eq!(
        with("bytes_per_connection").count(),
        PROVIDERS * 2 * 2 * 2 * 2
    );
    for row in with("bytes_per_connection") {
        let bytes = row["bytes_per_connection"].as_f64().unwrap();
        assert!(
            bytes > 0.0 && (bytes <= 6000.0 || row["impl"] != "this"),
            "{row}"
        );
    }
    assert_eq!(with("allocations_per_handshake").count(), PROVIDERS * 2 * 2);
    assert_eq!(with("pool_bytes_per_thread").count(), PROVIDERS * 2);
}

#[test]
fn handshakes_are_measured_by_side() {
    let (mut rows, svg) = plotted("handshake --group=x25519,x25519mlkem768");
    assert!(svg.contains("handshakes/s"), "{svg}");
    // three contenders, two sides, chains verified once and each time; ring and TLS 1.2 lack the
    // hybrid group
    assert_eq!(rows.len(), 3 * 2 * (3 + 2 + 3) * 2);
    assert_eq!(of(&rows, "group"), ["X25519", "X25519MLKEM768"].into());
    let both = "--key-type=ecdsa-p256,rsa-2048 --client-auth=no,yes";
    let more = json(&format!("handshake --provider=ring {both}"));
    assert_eq!(more.len(), 3 * 2 * 2 * 2 * 2 * 2);
    rows.extend(more);
    let subject = |row: &Value| {
        let keys = [
            "role",
            "provider",
            "version",
            "group",
            "key_type",
            "client_auth",
            "verified",
            "api",
        ];
        keys.map(|key| row[key].clone())
    };
    for row in &rows {
        let is_limit = row["impl"] == "limit";
        assert!(row["share_of_limit"] == 1.0 || !is_limit, "{row}");
        let mut others = rows.iter().filter(|other| subject(other) == subject(row));
        let upstream = others.find(|other| other["impl"] == "upstream").unwrap();
        let [ours, theirs] = [row, upstream].map(|row| row["allocations_per_handshake"].as_u64());
        assert!(row["impl"] != "this" || ours < theirs, "{row}");
    }
}

#[test]
fn sessions_are_resumed_in_every_version() {
    for job in ["handshake-resume", "handshake-ticket"] {
        let rows = json(job);
        assert_eq!(of(&rows, "bench"), [job].into());
        assert_eq!(of(&rows, "version"), ["TLS 1.2", "TLS 1.3"].into());
        assert_eq!(rows.len(), PROVIDERS * 2 * 3 * 2);
    }
}

#[test]
fn all_runs_every_subcommand() {
    let (rows, svg) = plotted("all --working-set=64KiB --allocator=jemalloc --provider=ring");
    assert_eq!(of(&rows, "bench").len(), 12);
    assert_eq!(of(&rows, "provider"), ["ring"].into());
    for row in rows {
        let is_streamed = row.get("working_set").is_some();
        assert!(!is_streamed || row["working_set"] == 65536, "{row}");
        let expected = if is_streamed { "system" } else { "jemalloc" };
        assert_eq!(row["allocator"], expected, "{row}");
    }
    assert!(svg.contains("threads") && svg.contains("handshakes/s"));
}

#[test]
fn primitives_are_selected_by_name() {
    let rows = json("primitives x25519");
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["primitive"].as_str().unwrap())
        .collect();
    let (share, secret) = ("X25519 share", "X25519 share and secret");
    assert_eq!(names[..6], [share, share, share, secret, secret, secret]);
    // three rows of the hybrid group, on two providers
    assert_eq!(names.len(), 12);
}

#[test]
fn cached_certificates_use_less_memory() {
    let rows = json("certificates --provider=ring");
    let of = |work: &str, way: &str, key: &str| {
        let is = |row: &Value, key: &str, part: &str| row[key].as_str().unwrap().contains(part);
        let mut found = rows
            .iter()
            .filter(|row| row["impl"] == "this" && is(row, "work", work) && is(row, "way", way));
        let figure = found.next().unwrap()[key].as_f64();
        figure.unwrap_or_else(|| panic!("{work}, {way}: no {key}"))
    };
    let heap = |way| of("140 certificates", way, "heap_bytes_per_op");
    assert!(heap("cached") < heap("parsed each time") / 5.0);
    let held = |way| of("stored sessions of one client", way, "bytes_per_session");
    assert!(held("shared") < held("a copy each") / 2.0);
    let ticket = |way| of("TLS 1.3, ticket, server", way, "allocations_per_op");
    assert!(ticket("verified once") < ticket("verified each time"));
}

#[test]
fn memory_per_connection_does_not_grow_with_number_or_time() {
    let memory = json("memory --provider=aws-lc-rs");
    let rows = json("load connections --provider=aws-lc-rs");
    for row in rows.iter().filter(|row| row["impl"] == "this") {
        // a thread does not always keep the same buffers
        assert!(row["growth_bytes"].as_i64().unwrap() <= 0, "{row}");
        let bytes = row["bytes_per_connection"].as_f64().unwrap();
        let state = row["state"].as_str().unwrap();
        // a part of a record, or one that waits to be read
        assert!(bytes < 20_000.0 || state == "resident", "{row}");
        let alike = memory.iter().filter(|alike| {
            alike["impl"] == "this"
                && alike["api"] == row["api"]
                && alike["state"] == "after-traffic"
                && state.strip_prefix("idle ") == alike["role"].as_str()
        });
        for alike in alike {
            let expected = alike["bytes_per_connection"].as_f64().unwrap();
            assert!((bytes - expected).abs() < 1.0, "{row} {alike}");
        }
    }
}

#[test]
fn handshakes_leave_nothing_on_the_heap() {
    let rows = json("load handshakes --provider=aws-lc-rs");
    assert_eq!(of(&rows, "version"), ["TLS 1.2", "TLS 1.3"].into());
    assert_eq!(rows.len(), 2 * 2 * 6);
    for row in rows.iter().filter(|row| row["impl"] == "this") {
        // a table of sessions doubles once, at any time after it is full; a server keeps the last
        // key of tickets
        let most = if row["session"] == "ticket" { 0 } else { 4096 };
        assert!(row["growth_bytes"].as_i64().unwrap() <= most, "{row}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_explained() {
    for (line, expected) in [
        ("bulk --threads=0", "1..=1024"),
        ("bulk --working-set=big", "big"),
        ("bulk --plaintext-size=0", "1..=16777216"),
        ("bulk --multiplier=NaN", "from 0.001 to 1000"),
        (
            "bulk TLS13_AES_128_GCM_SHA265",
            "tip: a similar value exists: 'TLS13_AES_128_GCM_SHA256'",
        ),
        ("handshake --group=x448", "X25519"),
        ("bulk --jason", "--json"),
        ("bluk", "bulk"),
        ("primitives rot13", "X25519 share"),
        ("bulk --allocator=tcmalloc", "jemalloc, mimalloc"),
        (
            "handshake --provider=ring --group=x25519mlkem768",
            "combination",
        ),
        ("bulk --compare=/no/such/file", "/no/such/file"),
        (
            "bulk --plot=/no/such/directory/x.svg",
            "/no/such/directory/x.svg",
        ),
        ("document /no/such/file", "/no/such/file"),
    ] {
        let output = bench(line);
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{line}"
        );
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn a_closed_pipe_causes_at_most_one_line_of_error() {
    let mut child = command("list-suites")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    // the whole list may have been written before
    assert!(
        error.is_empty() || error.contains("standard output"),
        "{error}"
    );
    assert!(
        error.lines().count() <= 1 && !error.contains("panicked"),
        "{error}"
    );
}

fn command(line: &str) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_bench")));
    command.args(line.split(' '));
    command
}

fn bench(line: &str) -> Output {
    command(line).output().unwrap()
}

fn text(line: &str) -> String {
    let output = bench(line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of the shortest run of `line`.
fn json(line: &str) -> Vec<Value> {
    parse(&text(&format!("{line} --multiplier=0.001 --json")))
}

fn parse(lines: &str) -> Vec<Value> {
    let rows = lines.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}

fn temporary(extension: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!(
        "rustls-bench-test-{}-{number}.{extension}",
        process::id()
    ))
}

/// The rows of `line`, and all pages of the picture that it draws.
fn plotted(line: &str) -> (Vec<Value>, String) {
    let file = temporary("svg");
    let rows = json(&format!("{line} --plot={}", file.display()));
    let (name, mut svg) = (file.display().to_string(), String::new());
    let further = (2..).map(|number| name.replace(".svg", &format!("-{number}.svg")));
    for page in [name.clone()].into_iter().chain(further) {
        let Ok(text) = fs::read_to_string(&page) else {
            break;
        };
        assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"));
        svg += &text;
        fs::remove_file(&page).unwrap();
    }
    (rows, svg)
}

/// The distinct values of `key`.
fn of<'a>(rows: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap()).collect()
}
