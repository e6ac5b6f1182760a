//! The metrics: names, kinds, labels and help texts. [`Counters`](crate::Counters) and `Metrics`
//! share them.
//!
//! The values of most labels are known, so each combination of them has a number, its [`cell`]. The
//! labels of errors and alerts are not listed here: [`Named`] metrics are keyed by text.

use rustls::Side;
use rustls::client::EchStatus;
use rustls::observer::{
    Carrier, ClientCertificate, Direction, EarlyData, EarlyDataRejected, End, NotResumed,
    PeerChainCheck, TicketAction,
};

use crate::names::{GROUPS, KINDS, OTHER, SCHEMES, SUITES, VERSIONS, group, scheme, suite};

/// A metric whose labels have known values.
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [Label],
    pub(crate) help: &'static str,
}

/// A metric with a label from rustls's lists of errors or alerts.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) labels: [&'static str; 4],
    pub(crate) help: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number that only grows.
    Counter,
    /// A number of bytes that only grows.
    Bytes,
    /// A number that rises and falls.
    Gauge,
    /// Durations.
    Time,
}

/// A label and its values.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    /// A list that the documentation shows.
    Shown(&'static [&'static str]),
    /// A list that is too long for the documentation.
    Long(&'static [&'static str]),
    /// The number of values, and a function that returns the value at each position.
    Computed(usize, fn(usize) -> &'static str),
}

impl Label {
    const fn shown(name: &'static str, values: &'static [&'static str]) -> Self {
        let values = Values::Shown(values);
        Self { name, values }
    }

    const fn long(name: &'static str, values: &'static [&'static str]) -> Self {
        let values = Values::Long(values);
        Self { name, values }
    }

    /// Creates a label with the values that `value` returns for positions below `len`, followed by
    /// [`OTHER`].
    const fn computed(name: &'static str, len: usize, value: fn(usize) -> &'static str) -> Self {
        let values = Values::Computed(len + 1, value);
        Self { name, values }
    }

    /// Returns the number of values.
    pub(crate) const fn len(&self) -> usize {
        match self.values {
            Values::Shown(values) | Values::Long(values) => values.len(),
            Values::Computed(len, _) => len,
        }
    }

    pub(crate) fn value(&self, place: usize) -> &'static str {
        match self.values {
            Values::Shown(values) | Values::Long(values) => {
                values.get(place).copied().unwrap_or(OTHER)
            }
            Values::Computed(_, value) => value(place),
        }
    }
}

/// Returns `labels` without the first one, which means that there is nothing to count.
const fn after_first(labels: &'static [&'static str]) -> &'static [&'static str] {
    match labels {
        [_, rest @ ..] => rest,
        [] => labels,
    }
}

const SIDE: Label = Label::shown("side", Side::LABELS);
const CARRIER: Label = Label::shown("carrier", Carrier::LABELS);
const OUTCOME: Label = Label::shown("outcome", &["finished", "failed"]);
const VERSION: Label = Label::shown("version", &VERSIONS);
const KIND: Label = Label::shown("kind", &KINDS);
const SUITE: Label = Label::computed("cipher_suite", SUITES.len(), |place| {
    SUITES.get(place).map_or(OTHER, |it| suite(*it))
});
const GROUP: Label = Label::computed("group", GROUPS.len(), |place| {
    GROUPS.get(place).map_or(OTHER, |it| group(*it))
});
const SIGNER: Label = Label::shown("signer", Side::LABELS);
const SCHEME: Label = Label::computed("scheme", SCHEMES.len(), |place| {
    SCHEMES.get(place).map_or(OTHER, |it| scheme(*it))
});
const NOT_RESUMED: Label = Label::long("reason", NotResumed::LABELS);
const REJECTED: Label = Label::long("reason", EarlyDataRejected::LABELS);
const EARLY_DATA: Label = Label::shown("outcome", after_first(EarlyData::LABELS));
const ECH: Label = Label::shown("outcome", after_first(EchStatus::LABELS));
const CERTIFICATE: Label = Label::shown("certificate", after_first(ClientCertificate::LABELS));
const CHECK: Label = Label::shown("check", after_first(PeerChainCheck::LABELS));
const OPERATION: Label = Label::shown(
    "operation",
    &[
        "certificate",
        "session",
        "verification",
        "signature",
        "ticket",
    ],
);
const DIRECTION: Label = Label::shown("direction", Direction::LABELS);
const ACTION: Label = Label::shown("action", TicketAction::LABELS);
const STORED: Label = Label::shown("outcome", &["stored", "not_stored"]);
const END: Label = Label::shown("end", End::LABELS);

/// Defines the metrics and an [`Id`] for each.
macro_rules! metrics {
    ($($id:ident = $kind:ident $name:literal [$($label:ident),*] $help:literal;)*) => {
        /// The position of a metric in [`METRICS`].
        #[derive(Clone, Copy)]
        pub(crate) enum Id { $($id,)* }

        /// All metrics whose labels have known values.
        pub(crate) const METRICS: [Metric; [$(Id::$id),*].len()] = [$(Metric {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        },)*];
    };
}

metrics! {
    HandshakesBegun = Counter "tls_handshakes_begun_total" [SIDE, CARRIER]
        "Handshakes that have begun";
    HandshakesInProgress = Gauge "tls_handshakes_in_progress" [SIDE]
        "Handshakes that have begun and are not over";
    Handshakes = Counter "tls_handshakes_total" [SIDE, CARRIER, OUTCOME, VERSION, KIND]
        "Handshakes that are over";
    Duration = Time "tls_handshake_duration_seconds" [SIDE, OUTCOME, KIND]
        "Time from the start of a handshake to its end";
    OwnWork = Time "tls_handshake_own_work_seconds" [SIDE, OUTCOME, KIND]
        "Time that this side worked on a handshake";
    Wait = Time "tls_wait_seconds" [SIDE, OPERATION]
        "Time that a handshake waited for an asynchronous operation, if it did";
    Suites = Counter "tls_cipher_suites_total" [SIDE, SUITE]
        "Cipher suites of finished handshakes";
    Groups = Counter "tls_groups_total" [SIDE, GROUP]
        "Key exchange groups of finished handshakes";
    Signatures = Counter "tls_signatures_total" [SIDE, SIGNER, SCHEME]
        "Signature schemes of finished handshakes";
    NotResumed = Counter "tls_sessions_not_resumed_total" [SIDE, NOT_RESUMED]
        "Finished handshakes in which a session could have been resumed and was not";
    EarlyData = Counter "tls_early_data_total" [SIDE, EARLY_DATA]
        "Handshakes in which the client offered early data";
    EarlyDataRejected = Counter "tls_early_data_rejected_total" [SIDE, REJECTED]
        "Handshakes in which early data was rejected";
    Ech = Counter "tls_ech_total" [ECH]
        "Handshakes of clients with Encrypted ClientHello";
    ClientCertificates = Counter "tls_client_certificates_total" [SIDE, CERTIFICATE]
        "Finished handshakes in which the server requested a certificate";
    PeerChains = Counter "tls_peer_chains_total" [SIDE, CHECK]
        "Checks of the peer's certificates in finished handshakes";
    KeyUpdates = Counter "tls_key_updates_total" [SIDE, DIRECTION]
        "Updates of the keys of one direction";
    Tickets = Counter "tls_tickets_total" [ACTION]
        "Session tickets";
    TicketsRefused = Counter "tls_tickets_refused_total" [NOT_RESUMED]
        "Sessions that clients offered and this server did not resume";
    Sessions = Counter "tls_sessions_total" [SIDE, STORED]
        "Sessions given to their store";
    ConnectionsOpen = Gauge "tls_connections_open" [SIDE]
        "Connections that have begun and are not dropped";
    ConnectionsClosed = Counter "tls_connections_closed_total" [SIDE, END]
        "Connections that were dropped";
    ConnectionDuration = Time "tls_connection_duration_seconds" [SIDE]
        "Time from the creation of a connection until it was dropped";
    Records = Counter "tls_records_total" [SIDE, DIRECTION]
        "Records of connections that were dropped";
    Bytes = Bytes "tls_bytes_total" [SIDE, DIRECTION]
        "Bytes on the wire of connections that were dropped";
}

/// Connections that failed, by cause.
pub(crate) static FAILURES: Named = Named {
    name: "tls_failures_total",
    labels: ["side", "stage", "fault", "label"],
    help: "Connections that failed",
};

/// Alerts that ended connections.
pub(crate) static ALERTS: Named = Named {
    name: "tls_alerts_total",
    labels: ["side", "direction", "alert", ""],
    help: "Alerts that ended connections",
};

/// All metrics that are keyed by text.
pub(crate) static NAMED: [&Named; 2] = [&FAILURES, &ALERTS];

/// The index of each metric's first cell, followed by the total number of cells.
const FIRST_CELLS: [usize; METRICS.len() + 1] = {
    let mut firsts = [0; METRICS.len() + 1];
    let mut metric = 0;
    while metric < METRICS.len() {
        firsts[metric + 1] = firsts[metric] + METRICS[metric].cells();
        metric += 1;
    }
    firsts
};

/// The total number of cells.
pub(crate) const CELLS: usize = FIRST_CELLS[METRICS.len()];

impl Metric {
    /// Returns the number of combinations of its labels' values.
    const fn cells(&self) -> usize {
        let mut cells = 1;
        let mut label = 0;
        while label < self.labels.len() {
            cells *= self.labels[label].len();
            label += 1;
        }
        cells
    }
}

/// Returns the cell of the metric `id` for a combination of label values. `places` contains the
/// position of each value in the list of its label.
pub(crate) fn cell<const N: usize>(id: Id, places: [usize; N]) -> usize {
    let labels = METRICS[id as usize].labels;
    debug_assert_eq!(labels.len(), N);
    let mut cell = 0;
    for (label, place) in labels.iter().zip(places) {
        cell = cell * label.len() + place.min(label.len() - 1);
    }
    FIRST_CELLS[id as usize] + cell
}

/// Returns the metric of a cell, and the names and values of its labels.
pub(crate) fn labels_of_cell(cell: usize) -> (&'static Metric, Vec<(&'static str, &'static str)>) {
    static ALL: [Metric; METRICS.len()] = METRICS;
    let place = FIRST_CELLS.partition_point(|first| *first <= cell) - 1;
    let metric = &ALL[place];
    let mut index = cell - FIRST_CELLS[place];
    let mut labels = Vec::with_capacity(metric.labels.len());
    for label in metric.labels.iter().rev() {
        labels.push((label.name, label.value(index % label.len())));
        index /= label.len();
    }
    labels.reverse();
    (metric, labels)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rustls::observer::Durations;

    use super::*;

    /// Returns the table of the documentation.
    fn table() -> String {
        let mut table = String::from("| metric | type | labels | meaning |\n|---|---|---|---|\n");
        // values are listed where a label first has them
        let mut seen = HashSet::new();
        let mut row = |name: &str, kind: &str, labels: String, help: &str| {
            table += &format!("| `{name}` | {kind} | {labels} | {help} |\n");
        };
        for metric in &METRICS {
            let kind = match metric.kind {
                Kind::Counter | Kind::Bytes => "counter",
                Kind::Gauge => "gauge",
                Kind::Time => "durations",
            };
            let labels = metric.labels.iter().map(described);
            let labels = labels.map(|(name, all)| match seen.insert(all.clone()) {
                true => all,
                false => name,
            });
            row(
                metric.name,
                kind,
                labels.collect::<Vec<_>>().join(", "),
                metric.help,
            );
        }
        for named in NAMED {
            let labels = named.labels.iter().filter(|label| !label.is_empty());
            let labels: Vec<_> = labels.map(|label| format!("`{label}`")).collect();
            row(named.name, "counter", labels.join(", "), named.help);
        }
        table
    }

    /// Returns the label's name, and its name with its values if the documentation shows them.
    fn described(label: &Label) -> (String, String) {
        let values = (0..label.len()).map(|place| label.value(place));
        let values: Vec<_> = values.filter(|value| *value != OTHER).collect();
        let name = format!("`{}`", label.name);
        match label.values {
            Values::Shown(_) => (name.clone(), format!("{name} ({})", values.join(", "))),
            Values::Long(_) | Values::Computed(..) => (name.clone(), name),
        }
    }

    /// If this fails, replace `catalog.md` with the printed table. Dashboards depend on metrics,
    /// labels and their values: add new ones, but never change or remove one.
    #[test]
    fn the_documentation_lists_all_metrics() {
        let table = table();
        assert!(table == include_str!("catalog.md"), "\n{table}");
    }

    /// The position of a wait is the position of its label.
    #[test]
    fn waits_are_in_the_order_of_their_labels() {
        let waits = Durations::default().waits().map(|(label, _)| label);
        assert!(waits.eq((0..OPERATION.len()).map(|place| OPERATION.value(place))));
    }

    #[test]
    fn each_cell_has_labels_of_its_own() {
        let mut all = HashSet::new();
        for cell in 0..CELLS {
            let (metric, labels) = labels_of_cell(cell);
            assert!(all.insert((metric.name, labels)), "{cell}");
        }
        assert_eq!(cell(Id::HandshakesBegun, [0, 0]), 0);
        assert_eq!(cell(Id::Bytes, [1, 1]), CELLS - 1);
        let (metric, labels) = labels_of_cell(cell(Id::Handshakes, [1, 0, 1, 1, 3]));
        assert_eq!(metric.name, "tls_handshakes_total");
        let expected = [
            ("side", "server"),
            ("carrier", "records"),
            ("outcome", "failed"),
            ("version", "1.3"),
            ("kind", "resumed_by_storage"),
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn names_and_labels_are_valid_for_prometheus() {
        let is_name = |name: &str| name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        for metric in &METRICS {
            assert!(is_name(metric.name) && metric.name.starts_with("tls_"));
            let suffix = match metric.kind {
                Kind::Counter | Kind::Bytes => "_total",
                Kind::Gauge => "",
                Kind::Time => "_seconds",
            };
            assert!(metric.name.ends_with(suffix), "{}", metric.name);
            for label in metric.labels {
                assert!(is_name(label.name));
                let mut values = HashSet::new();
                for place in 0..label.len() {
                    let value = label.value(place);
                    assert!(!value.contains(['"', '\\', '\n']), "{value}");
                    assert!(values.insert(value), "{} {value}", label.name);
                }
            }
        }
    }
}
