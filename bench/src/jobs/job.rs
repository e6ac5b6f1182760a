//! A sub-command that measures, and its run.

use clap::{ArgMatches, Args, Command};

use crate::arguments::{Common, Connection};
use crate::choices::Provider;
use crate::processes::print;
use crate::row::Row;
use crate::suites::Suite;
use crate::tables::View;
use crate::workload::{Result, Scenario};

/// An entry in the list of jobs.
pub(crate) struct Entry {
    /// The words on the command line.
    pub(crate) name: &'static str,
    /// The help, if it is not the documentation of the arguments.
    pub(crate) help: Option<&'static str>,
    /// The figures in the tables.
    pub(crate) view: View,
    /// The arguments of each run in `all`, which replaces the words in capitals.
    pub(crate) in_all: &'static [&'static str],
    pub(crate) arguments: fn(Command) -> Command,
    pub(crate) job: fn(&ArgMatches) -> clap::error::Result<Box<dyn Job>>,
}

impl Entry {
    /// The job `J`. Its tables have one of the figures `main`, those in `side_by_side` and those in
    /// `once`, as [`View`] describes.
    pub(super) const fn of<J: Job + Args + 'static>(
        name: &'static str,
        main: &'static str,
        side_by_side: &'static str,
        once: &'static str,
    ) -> Self {
        let view = View {
            main,
            side_by_side,
            once,
            ..View::GENERAL
        };
        Self {
            name,
            help: None,
            view,
            in_all: &[""],
            arguments: J::augment_args,
            job: |matches| Ok(Box::new(J::from_arg_matches(matches)?)),
        }
    }

    /// The value of `bench` in the rows.
    pub(crate) fn bench(&self) -> String {
        self.name.replace(' ', "-")
    }
}

/// A sub-command that measures, with its arguments.
pub(crate) trait Job {
    /// A note below the table.
    fn note(&self, _run: &Run) -> String {
        String::new()
    }

    /// Measures on the allocator of this process, and prints the rows.
    fn measure(&self, run: &Run) -> Result<()>;
}

/// The run of a job, with the settings that all jobs share.
pub(crate) struct Run {
    /// The value of `bench` in the rows.
    pub(crate) bench: String,
    pub(crate) common: Common,
}

impl Run {
    /// Prints `rows` for the parent process.
    pub(super) fn print(&self, rows: impl IntoIterator<Item = Row>) -> Result<()> {
        rows.into_iter().try_for_each(|row| print(&row.json()))
    }

    /// A row without figures, for this process's allocator.
    pub(super) fn row(&self, implementation: &str, provider: Provider) -> Row {
        let allocator = bench_allocator::selected();
        Row::new(&self.bench, implementation, provider, allocator)
    }

    /// Like [`Self::row`], for connections of `scenario` through `api`.
    pub(super) fn row_of(&self, implementation: &str, scenario: &Scenario, api: &str) -> Row {
        self.row(implementation, scenario.provider)
            .with("suite", &scenario.suite.name[..])
            .with("api", api)
    }

    /// The scenario that `connection` describes, for each provider.
    pub(super) fn scenarios(
        &self,
        connection: &Connection,
    ) -> Result<impl Iterator<Item = Scenario> + Clone + use<>> {
        let providers = self.common.providers.clone();
        let suite = Suite::find(&connection.suite)?;
        let key_type = suite.key_type();
        let scenarios = providers.into_iter();
        Ok(scenarios.map(move |provider| Scenario::new(provider, suite.clone(), key_type)))
    }
}

/// A function of both implementations, with their names.
pub(super) type Both<F> = [(&'static str, F); 2];

/// Names the function at a path in both implementations.
macro_rules! both {
    ($($path:ident)::+) => {
        [
            ("this", $crate::this::connection::$($path)::+),
            ("upstream", $crate::upstream::connection::$($path)::+),
        ]
    };
}
pub(super) use both;
