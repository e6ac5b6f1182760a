//! A contender's process: it measures one scenario, prints two numbers, and ends.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fmt};

use crate::work::measure;
use crate::{Contender, Result, Scenario, Setup, Work};

/// Measures the scenario that the arguments name: variant, scenario, milliseconds, folder of the
/// certificates. Prints the values of client and server.
pub fn run<C: Contender>() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match run_with::<C>(&arguments) {
        Ok([client, server]) => {
            println!("{client} {server}");
            ExitCode::SUCCESS
        }
        Err(error) if error.is::<Unsupported>() => {
            eprintln!("{error}");
            ExitCode::from(UNSUPPORTED as u8)
        }
        Err(error) => {
            eprintln!("{}: {error}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a process whose library cannot do the work.
pub const UNSUPPORTED: i32 = 3;

/// The reason why a library cannot do the work.
#[derive(Debug)]
pub struct Unsupported(pub &'static str);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Unsupported {}

fn run_with<C: Contender>(arguments: &[String]) -> Result<[f64; 2]> {
    let [variant, name, milliseconds, folder] = arguments else {
        return Err("expected: variant, scenario, milliseconds, folder".into());
    };
    let scenario = Scenario::all()
        .into_iter()
        .find(|known| known.name() == *name);
    let scenario = scenario.ok_or("there is no such scenario")?;
    let setup = Setup {
        scenario,
        resumes: scenario.work == Work::Ticket,
        variant: variant.clone(),
        trusts_root: true,
        folder: folder.into(),
    };
    measure::<C>(&setup, Duration::from_millis(milliseconds.parse()?))
}
