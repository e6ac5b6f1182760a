//! `memory`: heap bytes of idle connections, and allocations of handshakes.

use std::thread;

use bench_allocator::Kind;
use serde::{Deserialize, Serialize};

use crate::cli::{Api, MemoryArgs, Provider};
use crate::plot::Bar;
use crate::progress::Progress;
use crate::suites::Suite;
use crate::table::{Align, Table};
use crate::workload::{Result, Scenario};
use crate::{this, upstream};

/// Heap bytes of one idle connection, the connection type itself included.
pub(crate) struct Idle {
    pub(crate) client: f64,
    pub(crate) server: f64,
}

/// One figure, as `--json` prints it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    bench: String,
    #[serde(rename = "impl")]
    implementation: String,
    provider: String,
    suite: String,
    api: String,
    allocator: String,
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
enum Role {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Fresh,
    AfterTraffic,
}

/// Measures, on the allocator that this process runs on.
pub(crate) fn measure(args: &MemoryArgs, allocator: Kind) -> Result<Vec<Row>> {
    let providers = args.connection.provider.providers();
    let suite = Suite::find(&args.suite, &providers)?;
    let identities = args.connection.key_type.identities();
    let progress = Progress::new();
    let mut rows = Vec::new();
    for provider in providers {
        let scenario = Scenario {
            provider,
            suite: suite.clone(),
            identities,
            max_fragment_size: args.connection.max_fragment_size,
            plaintext_size: 0,
        };
        for subject in SUBJECTS {
            progress.show(&format!("{} · {}", provider.name(), subject.name), 0.0);
            let row = |api: Api, figure| Row {
                bench: "memory".to_owned(),
                implementation: subject.name.to_owned(),
                provider: provider.name().to_owned(),
                suite: suite.name.clone(),
                api: api.name().to_owned(),
                allocator: allocator.name().to_owned(),
                figure,
            };
            let figures = figures(&subject, &scenario, args.connections)?;
            rows.extend(figures.into_iter().map(|(api, figure)| row(api, figure)));
        }
    }
    Ok(rows)
}

/// One implementation, and what its module measures.
struct Subject {
    name: &'static str,
    idle: fn(Api, &Scenario, usize, bool) -> Result<Idle>,
    handshake_allocations: fn(Api, &Scenario) -> Result<u64>,
    kept_by_thread: fn(&Scenario) -> Result<i64>,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "this",
        idle: this::connection::heap::idle,
        handshake_allocations: this::connection::heap::handshake_allocations,
        kept_by_thread: this::connection::heap::kept_by_thread,
    },
    Subject {
        name: "upstream",
        idle: upstream::connection::heap::idle,
        handshake_allocations: upstream::connection::heap::handshake_allocations,
        kept_by_thread: upstream::connection::heap::kept_by_thread,
    },
];

fn figures(
    subject: &Subject,
    scenario: &Scenario,
    connections: usize,
) -> Result<Vec<(Api, Figure)>> {
    let apis = [Api::Buffered, Api::Unbuffered];
    // one-time setup happens with a process's first connection and belongs to none
    for api in apis {
        (subject.idle)(api, scenario, 1, true)?;
    }
    let mut figures = Vec::new();
    for api in apis {
        for (state, used) in [(State::Fresh, false), (State::AfterTraffic, true)] {
            let idle = (subject.idle)(api, scenario, connections, used)?;
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
            allocations_per_handshake: (subject.handshake_allocations)(api, scenario)?,
        };
        figures.push((api, figure));
    }
    // on a thread that has had no connection before
    let kept = thread::scope(|scope| {
        let thread = scope.spawn(|| (subject.kept_by_thread)(scenario));
        thread.join()
    });
    let figure = Figure::Thread {
        pool_bytes_per_thread: kept.map_err(|_| "the measuring thread panicked")??,
    };
    figures.push((Api::Buffered, figure));
    Ok(figures)
}

/// The rows as tables for people.
pub(crate) fn table(args: &MemoryArgs, rows: &[Row]) -> String {
    let mut text = String::new();
    for provider in Provider::ALL {
        let of_provider = rows.iter().filter(|row| row.provider == provider.name());
        let of_provider: Vec<_> = of_provider.collect();
        if of_provider.is_empty() {
            continue;
        }
        text += &format!(
            "{} · {} · {} connections\n\n{}\n{}\n",
            args.suite,
            provider.name(),
            args.connections,
            idle_table(&of_provider),
            other_table(&of_provider),
        );
    }
    text += "\
Heap bytes as asked for, through Rust's global allocator; what a provider's C code takes is not counted.
idle connection: the connection type included; what connections share (configuration, sessions) left out.
after traffic: 1 MiB each way. handshake: both sides, making the connections included.
thread: record buffers that a thread keeps for all its connections, when none of them is using any.
";
    text
}

fn idle_table(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        ("allocator", Align::Left),
        ("implementation", Align::Left),
        ("API", Align::Left),
        ("role", Align::Left),
        ("bytes, fresh", Align::Right),
        ("bytes, after traffic", Align::Right),
    ]);
    for row in rows {
        let Figure::Idle {
            role,
            state: State::Fresh,
            bytes_per_connection,
        } = row.figure
        else {
            continue;
        };
        let after_traffic = rows.iter().find_map(|other| match other.figure {
            Figure::Idle {
                role: other_role,
                state: State::AfterTraffic,
                bytes_per_connection,
            } if other_role == role && row.is_about_the_same(other) => Some(bytes_per_connection),
            _ => None,
        });
        let mut cells = row.first_cells();
        cells.extend([
            role.name().to_owned(),
            format!("{bytes_per_connection:.0}"),
            after_traffic.map_or_else(String::new, |bytes| format!("{bytes:.0}")),
        ]);
        table.push(cells);
    }
    table
}

fn other_table(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        ("allocator", Align::Left),
        ("implementation", Align::Left),
        ("API", Align::Left),
        ("figure", Align::Left),
        ("value", Align::Right),
    ]);
    for row in rows {
        let (name, value) = match row.figure {
            Figure::Idle { .. } => continue,
            Figure::Handshake {
                allocations_per_handshake,
            } => (
                "allocations per handshake",
                allocations_per_handshake.to_string(),
            ),
            Figure::Thread {
                pool_bytes_per_thread,
            } => ("bytes kept by a thread", pool_bytes_per_thread.to_string()),
        };
        let mut cells = row.first_cells();
        cells.extend([name.to_owned(), value]);
        table.push(cells);
    }
    table
}

impl Row {
    fn is_about_the_same(&self, other: &Self) -> bool {
        self.first_cells() == other.first_cells()
    }

    fn first_cells(&self) -> Vec<String> {
        vec![
            self.allocator.clone(),
            self.implementation.clone(),
            self.api.clone(),
        ]
    }
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The idle connections as bars.
pub(crate) fn bars(rows: &[Row]) -> Vec<Bar> {
    let mut bars: Vec<_> = rows
        .iter()
        .filter_map(|row| match row.figure {
            Figure::Idle {
                role,
                state: State::AfterTraffic,
                bytes_per_connection,
            } => Some(Bar {
                group: format!(
                    "{} · {} · {} {}",
                    row.provider,
                    row.allocator,
                    row.api,
                    role.name()
                ),
                series: row.implementation.clone(),
                value: bytes_per_connection,
            }),
            _ => None,
        })
        .collect();
    // rows come by implementation; bars of a group stand together
    bars.sort_by(|a, b| a.group.cmp(&b.group));
    bars
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

    // Bytes are counted process-wide, so other tests disturb the figures: what is asserted here is
    // which there are.
    #[test]
    fn every_figure_has_its_row() {
        let rows = measure(&args(), Kind::System).unwrap();
        for implementation in ["this", "upstream"] {
            let count = |wanted: fn(&Figure) -> bool| {
                let of_implementation = rows
                    .iter()
                    .filter(|row| row.implementation == implementation);
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
        assert_eq!(bars(&rows).len(), 8);
        let text = table(&args(), &rows);
        assert_eq!(
            text.matches("allocations per handshake").count(),
            4,
            "{text}"
        );
        assert!(text.contains("after traffic"), "{text}");
    }

    #[test]
    fn a_figure_is_named_after_what_it_is() {
        let row = Row {
            bench: "memory".to_owned(),
            implementation: "this".to_owned(),
            provider: "ring".to_owned(),
            suite: "TLS13_AES_128_GCM_SHA256".to_owned(),
            api: "buffered".to_owned(),
            allocator: "system".to_owned(),
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
