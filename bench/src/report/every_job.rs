//! The tables and pictures of every job, with the longest labels and large figures.

use itertools::Itertools;
use serde_json::{Value, json};

use super::{Style, charts, text};
use crate::choices::{Provider, names};
use crate::jobs::JOBS;
use crate::plot;
use crate::row::Row;
use crate::tables::{WIDTH, width};

/// The subjects and figures of each job: keys with their values, of which all combinations occur on
/// all providers.
const SAMPLES: [(&str, &str, &str); 12] = [
    (
        "bulk",
        "suite=TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 \
         api=buffered|fill-buf|open-into|unbuffered|in-place direction=send|receive plaintext_size=#16384 \
         working_set=#67108864 threads=#1|#2 allocator=system|mimalloc",
        "mb_per_s=22284.1 ratio_to_upstream=12.345 share_of_limit=1.003 share_of_copying_limit=1.003 \
         allocations_per_record=1.25 ns_per_record=1234.5 slowest_offset_mb_per_s=12345.6 \
         slowest_offset_ratio_to_upstream=8.5 slowest_offset_share_of_limit=0.9 \
         slowest_offset_share_of_copying_limit=0.9",
    ),
    (
        "tcp",
        "suite=TLS13_CHACHA20_POLY1305_SHA256 api=stream write_size=#1024|#65536 \
         read_size=#65536 threads=#1 allocator=system",
        "mb_per_s=5358.2 cpu_s_per_gb=12.345 system_calls_per_mb=1234.5 ratio_to_upstream=1.05",
    ),
    (
        "duplex",
        "suite=TLS13_CHACHA20_POLY1305_SHA256 api=buffered direction=send|both \
         sharing=none|mutex|split threads=#1|#2 write_size=#16384 allocator=system",
        "mb_per_s=35476.2 ratio_to_one_direction=2.04",
    ),
    (
        "memory",
        "suite=TLS13_CHACHA20_POLY1305_SHA256 role=client|server api=buffered|unbuffered \
         state=fresh|after-traffic connections=#65536 allocator=system",
        "bytes_per_connection=36544",
    ),
    (
        "handshake",
        "suite=TLS13_CHACHA20_POLY1305_SHA256|TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 \
         version=TLS1.2 group=X25519MLKEM768|secp256r1 key_type=ecdsa-p256|rsa-2048 role=client|server \
         client_auth=?yes|?no certificates=#3 verified=once|each api=buffered allocator=system",
        "handshakes_per_s=184699.1 ratio_to_upstream=1.13 share_of_limit=0.9 allocations_per_handshake=1234 \
         heap_bytes_per_handshake=123456 sent_bytes_per_handshake=12345",
    ),
    (
        "handshake-resume",
        "suite=TLS13_AES_128_GCM_SHA256|TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 \
         role=client|server verified=once api=buffered allocator=system|jemalloc|mimalloc",
        "handshakes_per_s=184699.1 ratio_to_upstream=1.13 share_of_limit=0.9 allocations_per_handshake=123",
    ),
    (
        "handshake-ticket",
        "suite=TLS13_AES_128_GCM_SHA256|TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 \
         role=client|server verified=once api=buffered allocator=system",
        "handshakes_per_s=184699.1 ratio_to_upstream=1.13 share_of_limit=0.9 allocations_per_handshake=123",
    ),
    (
        "offload",
        "suite=TLS13_AES_128_GCM_SHA256 topic=RSA-4096|signer_of_1000_ms \
         work=none|as_many_as_possible way=on_the_thread|offloaded api=buffered connections=#10000 allocator=system",
        "echo_p99_us=167447.5 echo_p50_us=164415.1 handshakes_per_s=3118.2 ratio_to_no_handshakes=1509.08",
    ),
    (
        "primitives",
        "primitive=X25519MLKEM768_share_and_secret,_server|aes128-gcm_open,_64_bytes \
         allocator=system",
        "ns_per_op=491350.5",
    ),
    (
        "certificates",
        "topic=resumption_with_a_client's_chain_of_three_certificates|revocation \
         work=configuration_from_140_certificates,_connection,_ecdsa-p256|verifier_with_a_list_of_100000 \
         way=parsed_each_time|reload_if_changed|verified_each_time allocator=system",
        "ns_per_op=32103937.1 allocations_per_op=209124 heap_bytes_per_op=46803407 times_as_fast=97256.07",
    ),
    (
        "load-connections",
        "suite=TLS13_CHACHA20_POLY1305_SHA256 api=buffered|unbuffered \
         state=idle_client|part_of_a_record_of_16_KiB connections=#20000 allocator=system",
        "bytes_per_connection=51693.5 growth_bytes=-409600",
    ),
    (
        "load-handshakes",
        "suite=TLS13_AES_128_GCM_SHA256|TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 \
         session=stored_session|ticket,_rotated client_auth=?yes|?no api=buffered allocator=system",
        "handshakes_per_s=82034.1 growth_bytes=15680 peak_bytes=17412 allocations_per_handshake=123.45 \
         live_bytes=123456 handshakes=100000",
    ),
];

fn samples(bench: &str) -> Vec<Row> {
    let (_, subjects, figures) = SAMPLES
        .into_iter()
        .find(|sample| sample.0 == bench)
        .unwrap();
    let value = |text: &str| match text.split_at(1) {
        ("#", number) => json!(number.parse::<u64>().unwrap()),
        ("?", is) => json!(is == "yes"),
        _ => json!(text.replace('_', if text.starts_with("TLS") { "_" } else { " " })),
    };
    let of_key = subjects.split_whitespace().map(|key| {
        let (key, values) = key.split_once('=').unwrap();
        values
            .split('|')
            .map(|text| (key, value(text)))
            .collect_vec()
    });
    let impls = ["this", "upstream", "limit"].map(|name| ("impl", json!(name)));
    let impls = match bench {
        "primitives" => impls[2..].to_vec(),
        "bulk" | "handshake" | "handshake-resume" | "handshake-ticket" => impls.to_vec(),
        _ => impls[..2].to_vec(),
    };
    let providers = names::<Provider>().map(|name| ("provider", json!(name)));
    let all = [providers.collect()].into_iter().chain(of_key);
    let subjects = all.chain([impls]).multi_cartesian_product();
    let rows = subjects.map(|subject| {
        let row = Row::parse(&json!({ "bench": bench }).to_string()).unwrap();
        let row = subject
            .into_iter()
            .fold(row, |row, (key, value)| row.with(key, value));
        figures.split_whitespace().fold(row, |row, figure| {
            let (key, value) = figure.split_once('=').unwrap();
            let value: f64 = value.parse().unwrap();
            let row = row.with(key, value);
            match key.ends_with("_s") || key.starts_with("ns_") || key.ends_with("p99_us") {
                true => row
                    .with(&format!("{key}_p10"), 0.9 * value)
                    .with(&format!("{key}_p90"), 1.1 * value),
                false => row,
            }
        })
    });
    rows.collect()
}

#[test]
fn tables_of_every_job_fit_a_terminal() {
    for job in JOBS {
        let rows = samples(&job.bench());
        for detail in [false, true] {
            let text = text(&rows, &Value::Null, Style::Terminal, detail, "");
            assert!(width(&text) <= WIDTH, "{text}");
            assert!(text.lines().count() > 4, "{text}");
        }
    }
}

/// The value of `attribute` in a tag.
fn attribute<'a>(tag: &'a str, attribute: &str) -> &'a str {
    let (_, value) = tag.split_once(&format!(" {attribute}=\"")).unwrap();
    value.split('"').next().unwrap()
}

#[test]
fn pictures_of_every_job_are_legible_and_at_most_a_page_high() {
    for job in JOBS {
        let pages = plot::pages(&charts(&samples(&job.bench())));
        assert!(!pages.is_empty());
        for page in pages {
            let number = |tag, name| attribute(tag, name).parse::<f64>().unwrap();
            let (width, height) = (number(&page, "width"), number(&page, "height"));
            assert!(height <= 1.415 * width, "{}: {height}", job.name);
            let mut ticks = Vec::new();
            for tag in page.split("<text").skip(1) {
                let (tag, text) = tag.split_once('>').unwrap();
                let text = text.split('<').next().unwrap().replace("&amp;", "&");
                let (x, y, len) = (number(tag, "x"), number(tag, "y"), plot::text_width(&text));
                let start = match attribute(tag, "text-anchor") {
                    "start" => x,
                    "middle" => x - len / 2.0,
                    _ => x - len,
                };
                let is_inside = start >= 0.0 && start + len <= width && y > 8.0 && y < height;
                assert!(is_inside, "{}: {text} at {x}, {y}", job.name);
                if attribute(tag, "text-anchor") == "middle" {
                    ticks.push((y, start, start + len));
                }
            }
            for ((y, _, end), (next, start, _)) in ticks.iter().tuple_windows() {
                assert!(
                    y != next || end < start,
                    "{}: numbers of an axis overlap",
                    job.name
                );
            }
            let is_log = ["offload", "primitives", "certificates"].contains(&job.name);
            assert_eq!(page.contains("(logarithmic)"), is_log, "{}", job.name);
        }
    }
}
