//! `memory`: heap bytes of idle connections, and allocations of handshakes.

use std::thread;

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Api, MemoryArgs, RunArgs};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject};
use crate::workload::{Result, Role, Scenario};
use crate::{measure, this, upstream};

/// Heap bytes of one idle connection, including the connection type itself.
pub(crate) struct Idle {
    pub(crate) client: f64,
    pub(crate) server: f64,
}

/// One figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    connections: usize,
    #[serde(flatten)]
    figure: Figure,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Figure {
    Idle {
        role: Role,
        state: State,
        bytes_per_connection: f64,
    },
    Handshake {
        allocations_per_handshake: u64,
    },
    Thread {
        pool_bytes_per_thread: i64,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Fresh,
    AfterTraffic,
}

impl Job for MemoryArgs {
    type Row = Row;

    const NOTES: &'static str = "\
Heap bytes requested from Rust's global allocator; allocations in a provider's C code are not counted.
idle: includes the connection type, excludes shared data (configuration, sessions). used: after
1 MiB each way. handshake: both sides, including the creation of the connections.
thread: record buffers in a thread's pool while none of its connections uses any.";

    const UNIT: &'static str = "bytes";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        format!("{}, heap of an idle connection", self.suite)
    }

    fn check(&self) -> Result<()> {
        Scenario::each(&self.suite, &self.run, &self.connection).map(drop)
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let scenarios = Scenario::each(&self.suite, &self.run, &self.connection)?;
        let progress = measure::progress(
            format!("{} · memory", allocator.name()),
            scenarios.len() * CONTENDERS.len(),
        );
        let mut rows = Vec::new();
        for scenario in scenarios {
            for contender in CONTENDERS {
                let row = |api: Api, figure| Row {
                    subject: Subject::new(
                        "memory",
                        contender.name,
                        &scenario,
                        api.name(),
                        allocator,
                    ),
                    connections: self.connections,
                    figure,
                };
                let figures = figures(&contender, &scenario, self.connections)?;
                rows.extend(figures.into_iter().map(|(api, figure)| row(api, figure)));
                progress.inc(1);
            }
        }
        progress.finish_and_clear();
        Ok(rows)
    }
}

/// One implementation and its measuring functions.
struct Contender {
    name: &'static str,
    idle: fn(Api, &Scenario, usize, bool) -> Result<Idle>,
    handshake_allocations: fn(Api, &Scenario) -> Result<u64>,
    kept_by_thread: fn(&Scenario) -> Result<i64>,
}

const CONTENDERS: [Contender; 2] = [
    Contender {
        name: "this",
        idle: this::connection::heap::idle,
        handshake_allocations: this::connection::heap::handshake_allocations,
        kept_by_thread: this::connection::heap::kept_by_thread,
    },
    Contender {
        name: "upstream",
        idle: upstream::connection::heap::idle,
        handshake_allocations: upstream::connection::heap::handshake_allocations,
        kept_by_thread: upstream::connection::heap::kept_by_thread,
    },
];

fn figures(
    contender: &Contender,
    scenario: &Scenario,
    connections: usize,
) -> Result<Vec<(Api, Figure)>> {
    let apis = [Api::Buffered, Api::Unbuffered];
    // one-time setup happens with a process's first connection and belongs to none
    for api in apis {
        (contender.idle)(api, scenario, 1, true)?;
    }
    let mut figures = Vec::new();
    for api in apis {
        for (state, used) in [(State::Fresh, false), (State::AfterTraffic, true)] {
            let idle = (contender.idle)(api, scenario, connections, used)?;
            for (role, bytes) in [(Role::Client, idle.client), (Role::Server, idle.server)] {
                let figure = Figure::Idle {
                    role,
                    state,
                    bytes_per_connection: bytes,
                };
                figures.push((api, figure));
            }
        }
    }
    for api in apis {
        let figure = Figure::Handshake {
            allocations_per_handshake: (contender.handshake_allocations)(api, scenario)?,
        };
        figures.push((api, figure));
    }
    // a fresh thread, which has had no connection
    let kept = thread::scope(|scope| {
        let thread = scope.spawn(|| (contender.kept_by_thread)(scenario));
        thread.join()
    });
    let figure = Figure::Thread {
        pool_bytes_per_thread: kept.map_err(|_| "the measuring thread panicked")??,
    };
    figures.push((Api::Buffered, figure));
    Ok(figures)
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["connections"];

    fn heading(&self) -> String {
        format!(
            "{} · {} · {} connections",
            self.subject.suite, self.subject.provider, self.connections
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let (name, value) = match self.figure {
            Figure::Idle {
                role,
                state,
                bytes_per_connection,
            } => {
                let state = match state {
                    State::Fresh => "new",
                    State::AfterTraffic => "used",
                };
                let name = format!("bytes of an idle {}, {state}", role.name());
                (name, format!("{bytes_per_connection:.0}"))
            }
            Figure::Handshake {
                allocations_per_handshake,
            } => (
                "allocations per handshake".to_owned(),
                allocations_per_handshake.to_string(),
            ),
            Figure::Thread {
                pool_bytes_per_thread,
            } => (
                "bytes kept by a thread".to_owned(),
                pool_bytes_per_thread.to_string(),
            ),
        };
        let mut cells = self.subject.cells();
        cells.extend([Cell::text("figure", name), Cell::number("value", value)]);
        cells
    }

    /// Only idle connections are drawn.
    fn point(&self) -> Option<Point> {
        let Figure::Idle {
            role,
            state: State::AfterTraffic,
            bytes_per_connection,
        } = self.figure
        else {
            return None;
        };
        let what = format!(" {}", role.name());
        Some(self.subject.point(&what, 1, bytes_per_connection))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args() -> MemoryArgs {
        let line = ["bench", "memory", "--connections=2", "--provider=aws-lc-rs"];
        match Cli::try_parse_from(line).unwrap().command {
            Command::Memory(args) => args,
            other => panic!("{other:?}"),
        }
    }

    // Other tests disturb the process-wide byte counts, so only the set of figures is asserted.
    #[test]
    fn every_figure_has_its_row() {
        let rows = args().measure(Kind::System).unwrap();
        for implementation in ["this", "upstream"] {
            let count = |wanted: fn(&Figure) -> bool| {
                let of_implementation = rows
                    .iter()
                    .filter(|row| row.subject.implementation == implementation);
                of_implementation.filter(|row| wanted(&row.figure)).count()
            };
            // two APIs, two roles, two states
            assert_eq!(count(|figure| matches!(figure, Figure::Idle { .. })), 8);
            assert_eq!(
                count(|figure| matches!(figure, Figure::Handshake { .. })),
                2
            );
            assert_eq!(count(|figure| matches!(figure, Figure::Thread { .. })), 1);
        }
        assert_eq!(rows.iter().filter_map(report::Row::point).count(), 8);
        let text = report::tables(&rows);
        assert_eq!(
            text.matches("allocations per handshake").count(),
            4,
            "{text}"
        );
        assert!(text.contains("bytes of an idle server, used"), "{text}");
    }

    #[test]
    fn figures_are_named_and_serialised() {
        let row = Row {
            subject: Subject {
                bench: "memory".to_owned(),
                implementation: "this".to_owned(),
                provider: "ring".to_owned(),
                suite: "TLS13_AES_128_GCM_SHA256".to_owned(),
                api: "buffered".to_owned(),
                allocator: "system".to_owned(),
            },
            connections: 1,
            figure: Figure::Idle {
                role: Role::Server,
                state: State::AfterTraffic,
                bytes_per_connection: 2300.0,
            },
        };
        let line = serde_json::to_string(&row).unwrap();
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["role"], "server");
        assert_eq!(json["state"], "after-traffic");
        assert_eq!(json["bytes_per_connection"], 2300.0);
        let read: Row = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
}
