//! `load hostile`: the cost of hostile peers, for their own connection and for honest clients of
//! the same server.

mod alone;
pub(crate) mod attacker;
pub(crate) mod beside;
pub(crate) mod kinds;

use bench_allocator::Kind as Allocator;
use serde::{Deserialize, Serialize};

use self::alone::{Outcome, Victims};
use self::beside::{Beside, OneKind};
use self::kinds::{KINDS, Kind};
use crate::cli::{Api, LoadHostileArgs, Provider, RunArgs};
use crate::measure;
use crate::plot::Point;
use crate::report::{self, Cell, Job};
use crate::statistics::rounded;
use crate::workload::{Result, Role};

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    api: String,
    allocator: String,
    #[serde(flatten)]
    figure: Figure,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Figure {
    /// One hostile peer, alone.
    Alone {
        kind: String,
        victim: Role,
        records: usize,
        error: Option<String>,
        alert: Option<String>,
        /// Heap held by the connection between two calls, including itself.
        most_held_bytes: i64,
        /// Heap in use within a call.
        peak_bytes: i64,
        ns_per_record: f64,
        ns_per_byte: f64,
    },
    /// Honest and hostile clients at one server.
    Beside(Beside),
    /// The hostile clients of one kind.
    OneKind(OneKind),
}

impl Job for LoadHostileArgs {
    type Row = Row;

    const NOTES: &'static str = "\
alone: one peer of each kind and one connection, over memory. records: accepted by the connection, including the handshake,
until it ends with the error, the peer is done or has taken --steps steps. held: the most heap
of the connection between two calls, including itself and its buffers; peak: within a call, without buffers that its thread
keeps anyway. ns: CPU time of the connection.
beside: a single-threaded echo server over loopback TCP; honest clients repeatedly send 16 KiB, without and with
hostile clients of all kinds, which reconnect when disconnected. Allocations in C code are not counted.";

    const UNIT: &'static str = "bytes held";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        "hostile peers".to_owned()
    }

    fn check(&self) -> Result<()> {
        if self.kinds().is_empty() {
            let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
            let names = names.join("; ");
            return Err(format!("no kind has this in its name; the kinds are: {names}").into());
        }
        // two sockets for each client, and some for the process
        crate::socket::allow_files(2 * (self.hostile() + self.honest()) + KINDS.len() + 64)?;
        Ok(())
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        self.check()?;
        let providers = self.run.provider.providers();
        let label = format!("{} · hostile peers", allocator.name());
        let progress = measure::progress(label, providers.len() * IMPLEMENTATIONS.len() * 2);
        let mut rows = Vec::new();
        for provider in providers {
            for implementation in IMPLEMENTATIONS {
                let row = |figure| Row {
                    bench: "load-hostile".to_owned(),
                    implementation: implementation.to_owned(),
                    provider: provider.name().to_owned(),
                    api: Api::Buffered.name().to_owned(),
                    allocator: allocator.name().to_owned(),
                    figure,
                };
                rows.extend(self.alone(implementation, provider)?.into_iter().map(row));
                progress.inc(1);
                rows.extend(self.beside(implementation, provider)?.into_iter().map(row));
                progress.inc(1);
            }
        }
        progress.finish_and_clear();
        Ok(rows)
    }
}

const IMPLEMENTATIONS: [&str; 2] = ["this", "upstream"];

impl LoadHostileArgs {
    /// The requested kinds.
    fn kinds(&self) -> Vec<&'static Kind> {
        let kinds = KINDS.iter();
        kinds
            .filter(|kind| kind.name.contains(&self.filter))
            .collect()
    }

    fn hostile(&self) -> usize {
        let scaled = self.hostile as f64 * self.time.multiplier;
        (scaled as usize).max(self.kinds().len())
    }

    fn honest(&self) -> usize {
        ((self.honest as f64 * self.time.multiplier) as usize).max(2)
    }

    fn steps(&self) -> usize {
        ((self.steps as f64 * self.time.multiplier) as usize).max(100)
    }

    /// Each kind, alone with a connection.
    fn alone(&self, implementation: &str, provider: Provider) -> Result<Vec<Figure>> {
        let victims = Victims::new(implementation, provider)?;
        let figures = self.kinds().into_iter().map(|kind| {
            let (outcome, _) =
                bench_allocator::count(|| alone::outcome(kind, &victims, self.steps()));
            Ok(alone_figure(kind, outcome?))
        });
        figures.collect()
    }

    fn beside(&self, implementation: &str, provider: Provider) -> Result<Vec<Figure>> {
        let kinds = self.kinds().into_iter();
        let kinds: Vec<_> = kinds.filter(|kind| kind.victim == Role::Server).collect();
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let plan = beside::Plan {
            kinds,
            hostile: self.hostile(),
            honest: self.honest(),
            seconds: (self.seconds * self.time.multiplier).max(0.2),
        };
        let (measured, _) = bench_allocator::count(|| plan.measure(implementation, provider));
        let (beside, by_kind) = measured?;
        let by_kind = by_kind.into_iter().map(Figure::OneKind);
        Ok([Figure::Beside(beside)]
            .into_iter()
            .chain(by_kind)
            .collect())
    }
}

fn alone_figure(kind: &Kind, outcome: Outcome) -> Figure {
    let ns = outcome.seconds * 1e9;
    let per = |count: usize| {
        if count == 0 {
            0.0
        } else {
            rounded(ns / count as f64, 2)
        }
    };
    Figure::Alone {
        kind: kind.name.to_owned(),
        victim: kind.victim,
        ns_per_record: per(outcome.records),
        ns_per_byte: per(outcome.bytes),
        records: outcome.records,
        error: outcome.error,
        alert: outcome.alert,
        most_held_bytes: outcome.held,
        peak_bytes: outcome.peak,
    }
}

impl report::Row for Row {
    fn heading(&self) -> String {
        let what = match &self.figure {
            Figure::Alone { victim, .. } => format!("one hostile peer, to a {}", victim.name()),
            Figure::Beside(beside) => format!(
                "{} honest clients beside {} hostile ones",
                beside.honest, beside.hostile
            ),
            Figure::OneKind(_) => "the hostile clients by kind".to_owned(),
        };
        format!("{what} · {}", self.provider)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![
            Cell::text("allocator", &self.allocator),
            Cell::text("implementation", &self.implementation),
            Cell::text("API", &self.api),
        ];
        match &self.figure {
            Figure::Alone {
                kind,
                records,
                error,
                alert,
                most_held_bytes,
                peak_bytes,
                ns_per_record,
                ns_per_byte,
                ..
            } => cells.extend([
                Cell::text("kind", kind),
                Cell::number("records", records.to_string()),
                Cell::number("held", most_held_bytes.to_string()),
                Cell::number("peak", peak_bytes.to_string()),
                Cell::number("ns/record", format!("{ns_per_record:.0}")),
                Cell::number("ns/byte", format!("{ns_per_byte:.2}")),
                Cell::text("error", error.as_deref().unwrap_or("–")),
                Cell::text("alert", alert.as_deref().unwrap_or("–")),
            ]),
            Figure::Beside(beside) => cells.extend(beside.cells()),
            Figure::OneKind(by_kind) => cells.extend(by_kind.cells()),
        }
        cells
    }

    /// Draws the heap held by a connection for each kind.
    fn point(&self) -> Option<Point> {
        let Figure::Alone {
            kind,
            most_held_bytes,
            ..
        } = &self.figure
        else {
            return None;
        };
        Some(Point {
            group: format!("{} · {} · {kind}", self.provider, self.api),
            series: self.implementation.clone(),
            threads: 1,
            value: *most_held_bytes as f64,
        })
    }
}
