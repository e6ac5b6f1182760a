//! Counts the instructions of the hot paths and of handshakes. The counts hardly depend on the
//! machine and its load, so a slowdown of five percent shows.
//!
//! ```text
//! cargo bench -p bench --bench instructions         # all workloads, compared with expected.json
//!     -- receive/64                                 # only workloads with this in their name
//!     -- --record                                   # updates expected.json
//! ```
//!
//! The program needs valgrind and runs itself under its tool callgrind.
//!
//! **Counted** are the instructions of this library: all code from Rust sources, inlined or not.
//! The Rust code of the cryptographic libraries (`binding`) and of this bench is excluded. C,
//! assembly and system code (`foreign`) depend on the features of the processor: AEADs, `memcpy`
//! and its replacements, `malloc`, the dynamic linker. So does Rust code of ring. `binding` and
//! `foreign` are shown, but not compared. The line tables, which `[profile.bench]` enables, give
//! the source file of each instruction.
//!
//! Figures for sending and receiving are per record; 16 records are counted after a warm-up. A
//! handshake figure is for one side of a full handshake, or of one resumed from a ticket. It
//! includes creating the connection and storing tickets. The certificate has an Ed25519 key, so its
//! length is the same in each run. Keys and randoms differ between runs, which changes a figure by
//! less than one percent. A handshake named `async` may wait for callbacks, but has none for which
//! it waits. One named `observed` has an observer, `rustls_observe::Counters`, and includes the end
//! of the connection.
//!
//! A figure more than 5 % above the one in `expected.json` is a failure. Other compilers generate
//! other code: if `rustc --version` differs from the file's, the bound is 20 %. On other
//! architectures nothing is compared. `callgrind_annotate` lists the functions that take the
//! instructions; the profiles are in `target/tmp/instructions`.
//!
//! A benchmark harness such as gungraun counts a benchmark function as a whole, including the AEAD,
//! and needs a separately installed runner. This program attributes the instructions instead.

mod callgrind;
mod profile;
mod workloads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use clap::Parser;
use profile::Profile;
use serde::{Deserialize, Serialize};

type Result<T> = core::result::Result<T, Box<dyn core::error::Error>>;

/// Counts the instructions of this library's hot paths and handshakes and compares them with the
/// recorded ones.
#[derive(Parser)]
#[command(name = "instructions")]
struct Args {
    /// Only the workloads whose names contain this
    #[arg(default_value = "", conflicts_with = "record")]
    filter: String,

    /// Update the file of expected figures
    #[arg(long)]
    record: bool,

    /// Run the workloads; for the process under callgrind
    #[arg(long, hide = true)]
    counted: bool,

    /// Accepted because `cargo bench` passes it
    #[arg(long, hide = true)]
    bench: bool,
}

/// The contents of the file of expected figures.
#[derive(Deserialize, Serialize)]
struct Expected {
    rustc: String,
    architecture: String,
    /// By workload.
    instructions: BTreeMap<String, f64>,
}

/// A workload with its counts.
struct Counted {
    name: String,
    operations: f64,
    profile: Profile,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.counted {
        workloads::run_all(&args.filter);
        return ExitCode::SUCCESS;
    }
    if !args.bench {
        println!("instructions: run this with `cargo bench`, which optimises");
        return ExitCode::SUCCESS;
    }
    match count(&args).and_then(|counted| report(&args, &counted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count(args: &Args) -> Result<Vec<Counted>> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    let (names, profiles) = callgrind::run(&["--counted", &args.filter], &directory)?;
    let names: Vec<_> = names.lines().collect();
    if names.is_empty() {
        return Err(format!("no workload has \"{}\" in its name", args.filter).into());
    }
    if names.len() != profiles.len() {
        let (names, profiles) = (names.len(), profiles.len());
        return Err(format!("callgrind wrote {profiles} profiles of {names}").into());
    }
    let counted = names.into_iter().zip(profiles).map(|(line, profile)| {
        let (name, operations) = line.split_once(' ').ok_or("a workload without a count")?;
        Ok(Counted {
            name: name.to_owned(),
            operations: operations.parse()?,
            profile,
        })
    });
    counted.collect()
}

fn report(args: &Args, counted: &[Counted]) -> Result<()> {
    if args.record {
        return record(counted);
    }
    let mut expected: Expected = serde_json::from_str(&fs::read_to_string(expected_file())?)?;
    let bound = expected.bound();
    println!(
        "{:<34} {:>9} {:>9} {:>8} {:>9} {:>9}",
        "", "expected", "library", "", "binding", "foreign"
    );
    let mut wrong = Vec::new();
    for counted in counted {
        let [library, binding, foreign] = counted.per_operation();
        let expected = expected.instructions.remove(&counted.name);
        let expected = expected.unwrap_or(f64::NAN);
        let change = library / expected - 1.0;
        println!(
            "{:<34} {expected:>9.1} {library:>9.1} {:>+7.1}% {binding:>9.1} {foreign:>9.0}",
            counted.name,
            100.0 * change,
        );
        // a workload that is not in the file has a change of NaN
        if bound.is_some_and(|bound| change.is_nan() || change > bound) {
            wrong.push(counted.name.clone());
        }
    }
    if args.filter.is_empty() {
        wrong.extend(expected.instructions.into_keys());
    }
    if !wrong.is_empty() {
        let wrong = wrong.join(", ");
        return Err(format!(
            "above the expected figure, not in the file, or removed: {wrong}\n\
             (`-- --record` accepts the new figures)"
        )
        .into());
    }
    Ok(())
}

fn record(counted: &[Counted]) -> Result<()> {
    let instructions = counted.iter().map(|counted| {
        let [library, ..] = counted.per_operation();
        (counted.name.clone(), library)
    });
    let expected = Expected {
        rustc: RUSTC.to_owned(),
        architecture: env::consts::ARCH.to_owned(),
        instructions: instructions.collect(),
    };
    let file = expected_file();
    fs::write(&file, serde_json::to_string_pretty(&expected)? + "\n")?;
    println!("{} workloads in {}", counted.len(), file.display());
    Ok(())
}

/// The version of the compiler in use.
const RUSTC: &str = env!("BENCH_COMPILER");

impl Expected {
    const BOUND: f64 = 0.05;
    const BOUND_OF_OTHER_COMPILERS: f64 = 0.2;

    /// The accepted excess over the expected figures; `None` if they are of another architecture.
    fn bound(&self) -> Option<f64> {
        let (rustc, architecture) = (&self.rustc, &self.architecture);
        if architecture != env::consts::ARCH {
            println!("The recorded figures are of {architecture}: nothing is compared.");
            None
        } else if rustc != RUSTC {
            println!(
                "The recorded figures are of {rustc}, this is {RUSTC}: accepting up to 20 % more."
            );
            Some(Self::BOUND_OF_OTHER_COMPILERS)
        } else {
            Some(Self::BOUND)
        }
    }
}

impl Counted {
    /// Instructions of the library, the bindings and foreign code per operation, to one decimal
    /// place.
    fn per_operation(&self) -> [f64; 3] {
        let profile = &self.profile;
        [profile.library, profile.binding, profile.foreign]
            .map(|instructions| (10.0 * instructions as f64 / self.operations).round() / 10.0)
    }
}

fn expected_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions/expected.json")
}
