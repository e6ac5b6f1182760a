//! The dimensions of the matrix, and the rules that restrict their values.

use harness::peers::configs::{ClientAuth, KeyType, Provider};

use crate::matrix::PAIRS;

/// A feature of connections, and its possible values.
pub(crate) struct Dimension {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [&'static str],
}

/// All dimensions. A new feature needs a line here, its rules below, and its implementation in
/// `ends.rs`.
#[rustfmt::skip] // a table
pub(crate) const DIMENSIONS: [Dimension; 12] = [
    Dimension { name: "ends", values: &PAIRS },
    Dimension { name: "provider", values: &["aws-lc-rs", "ring"] },
    Dimension { name: "versions", values: &VERSIONS },
    Dimension { name: "suite", values: &SUITES },
    Dimension { name: "group", values: &GROUPS },
    Dimension { name: "retry", values: &["no", "yes"] },
    Dimension { name: "key", values: &KEYS },
    Dimension { name: "client auth", values: &AUTHS },
    Dimension { name: "resumption", values: &["none", "stored", "tickets"] },
    Dimension { name: "early data", values: &["none", "accepted", "rejected"] },
    Dimension { name: "compression", values: &["none", "zlib", "brotli"] },
    Dimension { name: "raw keys", values: &["none", "server's", "client's", "both"] },
];

/// The versions of client and server.
const VERSIONS: [&str; 6] = [
    "1.3 and 1.3",
    "both and both",
    "both and 1.3",
    "1.2 and 1.2",
    "1.2 and both",
    "both and 1.2",
];
const TLS13: &[&str] = VERSIONS.split_at(3).0;
const TLS12: &[&str] = VERSIONS.split_at(3).1;

/// The TLS 1.3 suites, then those of TLS 1.2 with ECDSA, then with RSA.
const SUITES: [&str; 9] = [
    "TLS13_AES_128_GCM_SHA256",
    "TLS13_AES_256_GCM_SHA384",
    "TLS13_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];
const TLS13_SUITES: &[&str] = SUITES.split_at(3).0;
const ECDSA_SUITES: &[&str] = SUITES.split_at(3).1.split_at(3).0;
const RSA_SUITES: &[&str] = SUITES.split_at(6).1;

/// The groups of both providers, then one of aws-lc-rs, and its hybrids.
const GROUPS: [&str; 6] = [
    "X25519",
    "secp256r1",
    "secp384r1",
    "X25519MLKEM768",
    "secp256r1MLKEM768",
    "MLKEM768",
];
const ECDH_GROUPS: &[&str] = GROUPS.split_at(3).0;

const KEYS: [&str; 5] = ["P-256", "P-384", "P-521", "Ed25519", "RSA"];
const AUTHS: [&str; 4] = ["none", "optional, absent", "optional, present", "required"];
const PRESENTED: &[&str] = AUTHS.split_at(2).1;

/// If a dimension has one of the values in `when`, the other is restricted to those in `only`.
pub(crate) struct Rule {
    pub(crate) when: (&'static str, &'static [&'static str]),
    pub(crate) only: (&'static str, &'static [&'static str]),
}

const fn when(
    name: &'static str,
    values: &'static [&'static str],
    other: &'static str,
    only: &'static [&'static str],
) -> Rule {
    Rule {
        when: (name, values),
        only: (other, only),
    }
}

#[rustfmt::skip] // a table
pub(crate) const RULES: [Rule; 13] = [
    when("versions", TLS13, "suite", TLS13_SUITES),
    when("suite", TLS13_SUITES, "versions", TLS13),
    when("suite", ECDSA_SUITES, "key", &["P-256", "P-384", "P-521", "Ed25519"]),
    when("suite", RSA_SUITES, "key", &["RSA"]),
    // hybrids are for TLS 1.3 only
    when("versions", TLS12, "group", ECDH_GROUPS),
    when("versions", TLS12, "retry", &["no"]),
    when("versions", TLS12, "compression", &["none"]),
    when("versions", TLS12, "raw keys", &["none"]),
    when("raw keys", &["client's", "both"], "client auth", PRESENTED),
    // single use prevents replays of early data, so upstream accepts it with stored sessions only
    when("early data", &["accepted", "rejected"], "resumption", &["stored"]),
    when("early data", &["accepted", "rejected"], "versions", TLS13),
    // features that ring lacks
    when("provider", &["ring"], "group", ECDH_GROUPS),
    when("provider", &["ring"], "key", &["P-256", "P-384", "Ed25519", "RSA"]),
];

/// The position of the value in each dimension.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Case(pub(crate) [usize; DIMENSIONS.len()]);

impl Case {
    /// Returns the value of the dimension called `name`.
    pub(crate) fn value(&self, name: &str) -> &'static str {
        let position = position(name);
        DIMENSIONS[position].values[self.0[position]]
    }

    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.value(name) == value
    }

    pub(crate) fn provider(&self) -> Provider {
        match self.value("provider") {
            "aws-lc-rs" => Provider::AwsLc,
            _ => Provider::Ring,
        }
    }

    pub(crate) fn is_tls13(&self) -> bool {
        TLS13.contains(&self.value("versions"))
    }

    pub(crate) fn key_type(&self) -> KeyType {
        harness::peers::configs::KEY_TYPES[self.0[position("key")]]
    }

    /// True for the server, and for the client, if that side has a raw public key.
    pub(crate) fn raw_keys(&self) -> (bool, bool) {
        match self.value("raw keys") {
            "server's" => (true, false),
            "client's" => (false, true),
            "both" => (true, true),
            _ => (false, false),
        }
    }

    pub(crate) fn auth(&self) -> ClientAuth {
        harness::peers::configs::CLIENT_AUTHS[self.0[position("client auth")]]
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for dimension in &DIMENSIONS {
            write!(f, "{}: {}; ", dimension.name, self.value(dimension.name))?;
        }
        Ok(())
    }
}

pub(crate) fn position(name: &str) -> usize {
    let mut dimensions = DIMENSIONS.iter();
    let position = dimensions.position(|dimension| dimension.name == name);
    position.unwrap_or_else(|| panic!("no dimension is called {name}"))
}
