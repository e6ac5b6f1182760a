//! The sub-commands that measure. [`JOBS`] is the one list of them: help, arguments, the columns of
//! their tables, and their runs in `all`. Each has a file below and a section in
//! `document/template.md`.

pub(crate) mod bulk;
pub(crate) mod certificates;
pub(crate) mod duplex;
pub(crate) mod handshake;
pub(crate) mod load_connections;
pub(crate) mod load_handshakes;
pub(crate) mod memory;
pub(crate) mod offload;
pub(crate) mod primitives;
pub(crate) mod tcp;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::choices::Provider;
use crate::cli::{Common, Connection};
use crate::row::Row;
use crate::suites::Suite;
use crate::tables::{TO_BOTH, View};
use crate::workload::{Result, Scenario};

/// All sub-commands that measure, in the order of the help and of `all`.
pub(crate) static JOBS: &[Entry] = &[
    Entry::of::<bulk::Bulk>("bulk", "Throughput of an established connection")
        .shows("mb_per_s", "allocations_per_record", TO_BOTH)
        .in_all(&[
            "",
            "--plaintext-size=64",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "--allocator=system --working-set=WORKING_SET --threads=THREADS",
        ]),
    Entry::of::<tcp::Tcp>(
        "tcp",
        "Both ends over loopback TCP in one process, each on its own thread",
    )
    .shows(
        "mb_per_s",
        "cpu_s_per_gb system_calls_per_mb",
        "ratio_to_upstream",
    ),
    Entry::of::<duplex::Duplex>(
        "duplex",
        "Sends and receives at once on two threads: with a split connection, or one behind a mutex",
    )
    .shows("mb_per_s", "ratio_to_one_direction", ""),
    Entry::of::<memory::Memory>(
        "memory",
        "Heap bytes of idle connections and allocations per handshake",
    )
    .shows(
        "bytes_per_connection allocations_per_handshake pool_bytes_per_thread",
        "",
        "",
    ),
    Entry::of::<handshake::Handshake>("handshake", "Full handshakes, each side timed separately")
        .shows("handshakes_per_s", "allocations_per_handshake", TO_BOTH),
    Entry::of::<handshake::Handshake>(
        "handshake-resume",
        "Handshakes that resume sessions stored by the server",
    )
    .shows("handshakes_per_s", "allocations_per_handshake", TO_BOTH),
    Entry::of::<handshake::Handshake>(
        "handshake-ticket",
        "Handshakes that resume sessions from tickets that only the server can open",
    )
    .shows("handshakes_per_s", "allocations_per_handshake", TO_BOTH),
    Entry::of::<offload::Offload>(
        "offload",
        "The latency of connections whose thread makes handshakes with slow signatures",
    )
    .shows(
        "echo_p99_us",
        "echo_p50_us handshakes_per_s",
        "ratio_to_no_handshakes",
    ),
    Entry::of::<primitives::Primitives>(
        "primitives",
        "The cryptographic operations of a handshake, called in the provider's library directly",
    )
    .shows("ns_per_op", "", "")
    .across("provider"),
    Entry::of::<certificates::Certificates>(
        "certificates",
        "Certificate work with and without the caches that parse once and share",
    )
    .shows(
        "ns_per_op bytes_per_session",
        "allocations_per_op heap_bytes_per_op",
        "times_as_fast",
    ),
    Entry::of::<load_connections::LoadConnections>(
        "load connections",
        "Thousands of connections in one process: memory while idle and while data waits in all",
    )
    .shows("bytes_per_connection", "", "growth_bytes"),
    Entry::of::<load_handshakes::LoadHandshakes>(
        "load handshakes",
        "A million handshakes of every kind; reports whether the heap grows",
    )
    .shows("handshakes_per_s", "growth_bytes peak_bytes", "")
    .in_all(&["--count=100000"]),
];

/// The help of the sub-commands whose names have two words.
const LOAD: &str = "Many connections and many handshakes";

/// A sub-command that measures, with its arguments.
pub(crate) trait Job {
    /// The numbers of threads to measure with.
    fn threads(&self) -> &[usize] {
        &[1]
    }

    /// Returns the measurements, which this takes no time to list. Fails if there are none.
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>>;
}

/// A measurement on the allocator of this process.
pub(crate) type Step<'a> = Box<dyn Fn() -> Result<Vec<Row>> + 'a>;

/// A place in the list of jobs.
pub(crate) struct Entry {
    /// The words on the command line.
    pub(crate) name: &'static str,
    help: &'static str,
    pub(crate) view: View,
    /// The arguments of each run in `all`. [`crate::all`] replaces the words in capitals.
    pub(crate) in_all: &'static [&'static str],
    arguments: fn(Command) -> Command,
    job: fn(&ArgMatches) -> clap::error::Result<Box<dyn Job>>,
}

impl Entry {
    const fn of<J: Job + Args + 'static>(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            view: View::GENERAL,
            in_all: &[""],
            arguments: J::augment_args,
            job: |matches| Ok(Box::new(J::from_arg_matches(matches)?)),
        }
    }

    /// The figures in the tables; see [`View`].
    const fn shows(
        mut self,
        main: &'static str,
        side_by_side: &'static str,
        once: &'static str,
    ) -> Self {
        (self.view.main, self.view.side_by_side, self.view.once) = (main, side_by_side, once);
        self
    }

    const fn across(mut self, key: &'static str) -> Self {
        self.view.across = key;
        self
    }

    const fn in_all(mut self, runs: &'static [&'static str]) -> Self {
        self.in_all = runs;
        self
    }

    /// The value of `bench` in the rows.
    pub(crate) fn bench(&self) -> String {
        self.name.replace(' ', "-")
    }
}

/// Adds all jobs to `command`.
pub(crate) fn add_to(command: Command) -> Command {
    JOBS.iter().fold(command, |command, entry| {
        let (group, word) = entry.name.split_once(' ').unwrap_or(("", entry.name));
        let job = (entry.arguments)(Command::new(word));
        let job = Common::augment_args(job).about(entry.help);
        if group.is_empty() {
            command.subcommand(job)
        } else if command.find_subcommand(group).is_some() {
            command.mut_subcommand(group, |group| group.subcommand(job))
        } else {
            let group = Command::new(group).about(LOAD).subcommand(job);
            command.subcommand(group.subcommand_required(true).arg_required_else_help(true))
        }
    })
}

/// A job that the command line requests.
pub(crate) struct Chosen {
    pub(crate) job: Box<dyn Job>,
    pub(crate) run: Run,
}

impl Chosen {
    /// Returns the job in `matches`, unless another sub-command was chosen.
    pub(crate) fn of(mut matches: &ArgMatches) -> clap::error::Result<Option<Self>> {
        let mut words = Vec::new();
        while let Some((word, inner)) = matches.subcommand() {
            words.push(word);
            matches = inner;
        }
        let Some(entry) = JOBS.iter().find(|entry| entry.name == words.join(" ")) else {
            return Ok(None);
        };
        let common = Common::from_arg_matches(matches)?;
        let (job, bench) = ((entry.job)(matches)?, entry.bench());
        Ok(Some(Self {
            job,
            run: Run { bench, common },
        }))
    }
}

/// The run of a job: all that its arguments do not determine.
pub(crate) struct Run {
    /// The value of `bench` in the rows.
    pub(crate) bench: String,
    pub(crate) common: Common,
}

impl Run {
    /// A row without figures, for this process's allocator.
    pub(crate) fn row(&self, implementation: &str, provider: Provider) -> Row {
        Row::new(
            &self.bench,
            implementation,
            provider,
            bench_allocator::selected(),
        )
    }

    /// The same, for connections of `scenario` through `api`.
    pub(crate) fn row_of(&self, implementation: &str, scenario: &Scenario, api: &str) -> Row {
        self.row(implementation, scenario.provider)
            .with("suite", &scenario.suite.name[..])
            .with("api", api)
    }

    /// The scenario that `connection` describes, for each provider.
    pub(crate) fn scenarios(&self, connection: &Connection) -> Result<Vec<Scenario>> {
        let providers = self.common.providers();
        let suite = Suite::find(&connection.suite, &providers)?;
        let key_type = suite.key_type(connection.key_type)?;
        let scenarios = providers.into_iter().map(|provider| Scenario {
            max_fragment_size: connection.max_fragment_size,
            ..Scenario::new(provider, suite.clone(), key_type)
        });
        Ok(scenarios.collect())
    }
}
