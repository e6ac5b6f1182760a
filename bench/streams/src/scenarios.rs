//! The scenarios, and the rows of tables that show them.

/// Work of a client with a server.
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// The argument of the program: the kind, the size and the number of connections or requests.
    pub(crate) work: String,
    pub(crate) unit: Unit,
    /// True if there is a proxy between them, which has a row of its own.
    pub(crate) has_proxy: bool,
    pub(crate) place: Place,
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

/// The names of the scenarios that compare one direction on one processor with both on two.
pub(crate) const ONE_WAY: &str = "one direction, one processor";
pub(crate) const DUPLEX: &str = "both directions, two processors";

/// Returns all scenarios, in the order of their rows.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut add = |name: String, work: String, unit| {
        all.push(Scenario {
            name,
            work,
            unit,
            has_proxy: false,
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
    for (name, kind) in [(ONE_WAY, "download"), (DUPLEX, "duplex")] {
        let work = format!("{kind}-65536-1");
        add(name.to_owned(), work, Unit::Gigabyte(1));
    }
    for scenario in &mut all {
        scenario.has_proxy = scenario.name.starts_with("proxy");
        scenario.place = match scenario.name.as_str() {
            ONE_WAY => Place::One,
            DUPLEX => Place::Both,
            _ => Place::Chosen,
        };
    }
    all
}
