//! The scenarios, and the rows of tables that show them.

/// Work of a client, with a server or alone.
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// The argument of the program: the kind, the size and the number of connections or requests.
    pub(crate) work: String,
    pub(crate) unit: Unit,
    /// The other processes, each of which gets the port of the one before. A proxy has a row of its
    /// own.
    pub(crate) servers: &'static [&'static str],
    pub(crate) place: Place,
}

impl Scenario {
    /// True if the client works alone, in memory, which it cannot without TLS.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.servers.is_empty()
    }

    pub(crate) fn has_proxy(&self) -> bool {
        self.servers.len() > 1
    }
}

/// The unit of results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// 10⁹ bytes. The program counts units of so many bytes.
    Gigabyte(usize),
    /// 1000 requests, or connections with a request each.
    Thousand,
}

/// The processors of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// The processors that the user chose.
    Chosen,
    One,
    /// Two, and a thread on each in every process.
    Both,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gigabyte(_) => "GB",
            Self::Thousand => "1000",
        }
    }

    /// Returns the number of units in what the program has done.
    pub(crate) fn of(self, done: u64) -> f64 {
        match self {
            Self::Gigabyte(bytes) => done as f64 * bytes as f64 / 1e9,
            Self::Thousand => done as f64 / 1e3,
        }
    }
}

/// The scenarios that compare one direction on one processor with both on two: where, those of one
/// direction, and the one of both.
pub(crate) const DUPLEX: [(&str, &[&str], &str); 2] = [
    ("over loopback", &[ONE_WAY], BOTH_WAYS),
    ("in memory", &[READING, WRITING], BOTH_IN_MEMORY),
];

const ONE_WAY: &str = "one direction, one processor";
const BOTH_WAYS: &str = "both directions, two processors";
const READING: &str = "in memory, reading, one processor";
const WRITING: &str = "in memory, writing, one processor";
const BOTH_IN_MEMORY: &str = "in memory, both, two processors";

/// Returns all scenarios, in the order of their rows.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |name: String, work: String, unit| {
        all.push(Scenario {
            name,
            work,
            unit,
            servers: &["server"],
            place: Place::Chosen,
        });
    };
    for kind in ["download", "upload", "echo"] {
        for (size, count) in [1, 16, 64, 256]
            .into_iter()
            .flat_map(|size| [(size, 1), (size, 100)])
        {
            let several = if count == 1 { "" } else { " × 100" };
            let name = format!("{kind} {size} KiB{several}");
            let work = format!("{kind}-{}-{count}", size << 10);
            add(name, work, Unit::Gigabyte(1));
        }
    }
    for (kind, name) in [("http1", "HTTP/1.1"), ("http2", "HTTP/2")] {
        let body = 16 << 20;
        let work = format!("{kind}-{body}-1");
        add(format!("{name} body"), work, Unit::Gigabyte(body));
        for (count, several) in [(1, ""), (100, " × 100")] {
            let work = format!("{kind}-100-{count}");
            add(format!("{name} requests{several}"), work, Unit::Thousand);
        }
    }
    for (kind, name) in [("churn", "full"), ("resumed", "resumed")] {
        let name = format!("connections, {name} handshakes");
        add(name, format!("{kind}-100-1"), Unit::Thousand);
    }
    for size in [16, 64] {
        let work = format!("download-{}-1", size << 10);
        add(format!("proxy {size} KiB"), work, Unit::Gigabyte(1));
    }
    for (name, kind) in [
        (ONE_WAY, "download"),
        (BOTH_WAYS, "duplex"),
        (READING, "reading"),
        (WRITING, "writing"),
        (BOTH_IN_MEMORY, "memory"),
    ] {
        let work = format!("{kind}-65536-1");
        add(name.to_owned(), work, Unit::Gigabyte(1));
    }
    for scenario in &mut all {
        if scenario.name.starts_with("proxy") {
            scenario.servers = &["server", "proxy"];
        } else if scenario.name.starts_with("in memory") {
            scenario.servers = &[];
        }
        scenario.place = match scenario.name.as_str() {
            ONE_WAY | READING | WRITING => Place::One,
            BOTH_WAYS | BOTH_IN_MEMORY => Place::Both,
            _ => Place::Chosen,
        };
    }
    all
}
