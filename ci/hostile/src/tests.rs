//! The limits that hostile peers are held to.

use harness::peers::configs::Provider;

use crate::{Args, KINDS, LIBRARIES, alone, count, plan};

/// A single test, because the heap count is process-wide.
#[test]
fn hostile_peers_stay_within_the_limits() {
    const STEPS: usize = 100;
    let [this, _] = &LIBRARIES;
    let victims = (this.victims)(Provider::AwsLc);
    for (kind, (name, held, records, error)) in KINDS.iter().zip(LIMITS) {
        assert_eq!(kind.name, name);
        let outcome = count(|| alone::outcome(kind, &*victims, STEPS)).0.unwrap();
        assert!(outcome.held <= held, "{name}: {}", outcome.held);
        assert!(outcome.records <= records, "{name}: {}", outcome.records);
        match (error, &outcome.error) {
            ("", None) => {}
            ("", Some(ended_by)) => panic!("{name}: {ended_by}"),
            (_, ended_by) => assert!(ended_by.as_ref().unwrap().contains(error), "{name}"),
        }
    }

    let args = Args {
        filter: String::new(),
        hostile: 0,
        honest: 2,
        seconds: 0.2,
        steps: STEPS,
        provider: None,
    };
    let plan = plan(&KINDS.iter().collect::<Vec<_>>(), &args);
    for library in &LIBRARIES {
        if let Some(serve) = library.serve {
            // fails if an honest client receives anything else than it sent
            let runs = plan.measure(serve, Provider::AwsLc).unwrap();
            let [_, beside] = &runs;
            let reached = |served: &crate::beside::Served| served.connections != 0;
            assert!(beside.summary.served.iter().all(reached));
            crate::print_runs(&plan, &runs);
        }
    }
}

/// The limits for each kind: the most heap that a connection holds, the most records in handshakes
/// and a hundred steps, and the error that ends it.
const LIMITS: [(&str, i64, usize, &str); KINDS.len()] = [
    ("silent", 1_000, 0, ""),
    ("half a ClientHello", 2_000, 1, ""),
    ("ClientHello only", 4_000, 1, ""),
    ("64 kB ClientHello without its last byte", 70_000, 4, ""),
    ("one byte at a time", 4_000, 100, ""),
    ("ClientHello in 1-byte records", 4_000, 300, ""),
    (
        "empty records before ClientHello",
        2_000,
        1,
        "InvalidEmptyPayload",
    ),
    (
        "warnings before ClientHello",
        2_000,
        5,
        "TooManyWarningAlertsReceived",
    ),
    (
        "endless change_cipher_spec",
        4_000,
        4,
        "IllegalMiddleboxChangeCipherSpec",
    ),
    ("200 unknown tickets", 50_000, 3, ""),
    ("undecryptable encrypted ClientHello", 20_000, 1, ""),
    ("15 000 extensions", 4_000, 4, ""),
    ("30 000 cipher suites", 4_000, 4, ""),
    ("12 000 key shares", 4_000, 4, ""),
    ("30 000 groups", 20_000, 4, "NoKxGroupsInCommon"),
    (
        "30 000 signature schemes",
        20_000,
        4,
        "NoSignatureSchemesInCommon",
    ),
    ("30 000 protocols", 20_000, 4, "NoApplicationProtocol"),
    ("1 500 tickets of 1 byte", 4_000, 4, ""),
    ("rejected early data", 20_000, 3, "DecryptError"),
    ("repeated handshakes", 4_000, 4, ""),
    ("repeated TLS 1.2 handshakes", 4_000, 6, ""),
    ("certificates of 60 kB", 70_000, 8, ""),
    (
        "certificates of 1 MB",
        70_000,
        70,
        "HandshakePayloadTooLarge",
    ),
    // at most 16 KiB wait for a signature if an earlier handshake may have accepted them
    ("200 certificates of 1 byte", 6_000, 100, ""),
    ("200 certificates of 1 byte, TLS 1.2", 8_000, 100, ""),
    ("200 certificates of 1 byte, compressed", 6_000, 100, ""),
    ("3 certificates of 4 kB, compressed", 17_000, 100, ""),
    // more are verified on arrival, and wait in one piece
    ("10 000 certificates of 1 byte", 45_000, 2_000, ""),
    ("10 000 certificates of 1 byte, TLS 1.2", 130_000, 2_000, ""),
    ("10 000 certificates of 1 byte, compressed", 45_000, 100, ""),
    ("2 000 certificates of 20 bytes", 52_000, 2_000, ""),
    (
        "2 000 certificates of 20 bytes, TLS 1.2",
        150_000,
        2_000,
        "",
    ),
    ("300 certificates of 200 bytes, compressed", 67_000, 100, ""),
    ("14 certificates of 4 kB, compressed", 62_000, 100, ""),
    // the application gets them as a list of allocations, as in 0.23
    ("10 000 certificates of 1 byte, signed", 260_000, 10, ""),
    ("record without its last byte", 20_000, 5, ""),
    ("empty records", 4_000, 40, "TooManyEmptyFragments"),
    (
        "records of padding only",
        20_000,
        40,
        "TooManyEmptyFragments",
    ),
    ("1-byte records with padding", 4_000, 110, ""),
    ("1-byte records", 4_000, 110, ""),
    ("warnings", 4_000, 10, "TooManyWarningAlertsReceived"),
    ("KeyUpdates", 4_000, 40, "TooManyKeyUpdateRequests"),
    ("KeyUpdates with data, answers unread", 20_000, 210, ""),
    // waiting output: `set_buffer_limit`, and the records around it
    ("sends requests, never reads", 90_000, 110, ""),
    (
        "TLS 1.2 renegotiation",
        4_000,
        8,
        "TooManyRenegotiationRequests",
    ),
    ("tickets of 1 kB", 9_000, 110, ""),
    ("tickets of 60 kB", 70_000, 410, ""),
    (
        "KeyUpdates, to a client",
        8_000,
        40,
        "TooManyKeyUpdateRequests",
    ),
    (
        "TLS 1.2 HelloRequests",
        8_000,
        8,
        "TooManyRenegotiationRequests",
    ),
    (
        "certificates of 1 MB, to a client",
        70_000,
        70,
        "HandshakePayloadTooLarge",
    ),
];
