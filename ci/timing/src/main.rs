//! Tests whether the time to reject a forgery depends on a secret. Only a report: no check
//! depends on its figures.
//!
//! Each line is an operation on one of two inputs. Most are wrong in a secret's first or last byte:
//! a comparison that stops at the first difference takes longer for the latter. Others present a
//! chain that the other side knows, or does not.

// compiled twice on purpose: once for each library
#![allow(clippy::duplicate_mod)]

mod controls;
mod dudect;
mod forgery;
mod known_chains;
mod this;
mod upstream;

use std::process::ExitCode;

use clap::Parser;
use harness::peers::configs::{PROVIDERS, Provider};
pub(crate) use harness::peers::pairs::Result;

use crate::dudect::{Finding, Subject};

const NOTES: &str = "
The method is dudect's (Reparaz, Balasch, Verbauwhede 2017): inputs drawn at random, Welch's t over all measurements and
over those below each of a hundred limits, and of the spreads; t is the one farthest from 0. Up to ±4.5 is chance, more means
a difference in time between the two inputs. The controls show that a real difference is found and no false one.
ns: the median of both inputs. Difference: between the means in the test that found t (squared if the spreads
differ). This is evidence for this machine and build, not a proof.";

/// Reports whether the time to reject a forgery depends on where it is wrong, in this library and
/// in rustls 0.23
#[derive(Parser)]
struct Args {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    filter: String,

    /// The number of measurements of a cheap operation; expensive ones get a tenth
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1000..))]
    measurements: u64,

    /// Only this provider: aws-lc-rs or ring
    #[arg(long)]
    provider: Option<Provider>,
}

/// An operation and its description.
struct Case {
    operation: String,
    /// The inputs of class 0 and class 1.
    inputs: [&'static str; 2],
    /// The provider of the cryptography, if any.
    provider: Option<Provider>,
    /// The cost of one measurement, including preparation, in units of a cheap one.
    cost: u64,
    build: Box<dyn Fn() -> Result<Subject>>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("timing: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let providers = args
        .provider
        .map_or_else(|| PROVIDERS.to_vec(), |one| vec![one]);
    let all = cases(&providers);
    let chosen = chosen(&all, &args.filter)?;
    println!(
        "{:<62} {:<48} {:<9} {:<10} {:>7} {:>12} {:>9} {:>8} {:>10}",
        "operation",
        "inputs",
        "library",
        "provider",
        "ns",
        "measurements",
        "t of all",
        "t",
        "difference"
    );
    for (number, (name, case)) in (0..).zip(chosen) {
        let measurements = Ord::max(args.measurements / case.cost, 1000) as usize;
        let found = dudect::measure(&mut (case.build)()?, measurements, number)
            .map_err(|error| format!("{name}, {}: {error}", case.operation))?;
        println!("{}", line(name, case, &found));
    }
    println!("{NOTES}");
    Ok(())
}

/// All cases with the names of their libraries, those of the same operation adjacent.
fn cases(providers: &[Provider]) -> Vec<(&'static str, Case)> {
    let named = |name, cases: Vec<Case>| cases.into_iter().map(move |case| (name, case));
    let mut all: Vec<_> = named("control", controls::cases()).collect();
    all.extend(named("this", this::cases(providers)));
    all.extend(named("this", known_chains::cases(providers)));
    all.extend(named("upstream", upstream::cases(providers)));
    let order: Vec<_> = all.iter().map(|(_, case)| case.operation.clone()).collect();
    all.sort_by_key(|(_, case)| order.iter().position(|known| *known == case.operation));
    all
}

/// Returns the cases whose operation contains `filter`, in upper or lower case.
fn chosen<'a>(
    all: &'a [(&'static str, Case)],
    filter: &str,
) -> Result<Vec<&'a (&'static str, Case)>> {
    let filter = filter.to_lowercase();
    let matches = |case: &Case| case.operation.to_lowercase().contains(&filter);
    let chosen: Vec<_> = all.iter().filter(|(_, case)| matches(case)).collect();
    if chosen.is_empty() {
        let mut known: Vec<_> = all.iter().map(|(_, case)| &case.operation[..]).collect();
        known.dedup();
        let known = known.join("\n  ");
        return Err(format!("no operation contains \"{filter}\"; there are:\n  {known}").into());
    }
    Ok(chosen)
}

fn line(library: &str, case: &Case, found: &Finding) -> String {
    /// The limit below which t is due to chance, as used by the method's authors.
    const CHANCE: f64 = 4.5;
    let found_one = if found.t.abs() > CHANCE { " *" } else { "" };
    format!(
        "{:<62} {:<48} {library:<9} {:<10} {:>7.0} {:>12} {:>+9.1} {:>+8.1} {:>+10.1}{found_one}",
        case.operation,
        case.inputs.join(" / "),
        case.provider.map_or("-", Provider::name),
        found.median,
        found.measurements,
        found.t_of_all,
        found.t,
        found.difference,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each builder checks that the unchanged input is accepted and the wrong ones are rejected.
    #[test]
    fn every_case_can_be_measured() {
        let all = cases(&PROVIDERS);
        for (name, case) in &all {
            let mut subject = (case.build)().unwrap_or_else(|error| {
                panic!("{name}, {}: {error}", case.operation);
            });
            for class in [0, 1, 1, 0] {
                subject(class).unwrap();
            }
            let found = dudect::measure(&mut subject, 1000, 1).unwrap();
            assert_eq!(found.measurements, 1000);
            // any value
            assert!(found.t.is_finite() && found.t_of_all.is_finite());
            assert!(line(name, case, &found).contains(&case.inputs.join(" / ")));
        }
        for library in ["control", "this", "upstream"] {
            assert!(all.iter().any(|(name, _)| *name == library), "{library}");
        }
        for provider in [None, Some(Provider::AwsLc), Some(Provider::Ring)] {
            assert!(all.iter().any(|(_, case)| case.provider == provider));
        }
    }

    #[test]
    fn operations_are_chosen_by_a_part_of_their_name() {
        let all = cases(&PROVIDERS);
        for part in [
            "Finished", "binder", "ticket", "TLS 1.2", "fleet", "session",
        ] {
            let chosen = chosen(&all, part).unwrap();
            assert!(chosen.len() < all.len(), "{part}");
        }
        let error = chosen(&all, "rot13").err().unwrap().to_string();
        assert!(error.contains("PSK binder"), "{error}");
    }
}
