//! How many instructions the hot paths and a handshake take.
mod callgrind;
mod workloads;

use std::path::Path;

type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let functions = args.iter().any(|arg| arg == "--functions");
    let filter = args
        .iter()
        .find(|arg| !arg.starts_with("--"))
        .cloned()
        .unwrap_or_default();
    if args.iter().any(|arg| arg == "--counted") {
        workloads::run_all(&filter);
        return Ok(());
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    let (names, profiles) = callgrind::run(&["--counted", &filter], &dir)?;
    println!(
        "{:<40} {:>10} {:>10} {:>12}",
        "", "library", "binding", "foreign"
    );
    for (line, profile) in names.lines().zip(&profiles) {
        let (name, operations) = line.split_once(' ').unwrap();
        let operations: f64 = operations.parse()?;
        let per = |count: u64| count as f64 / operations;
        println!(
            "{name:<40} {:>10.1} {:>10.1} {:>12.1}",
            per(profile.library),
            per(profile.binding),
            per(profile.foreign)
        );
        if functions {
            let mut all: Vec<_> = profile.functions.iter().collect();
            all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for ((function, file), count) in all {
                let from = file.rsplit_once("/library/").map_or(&file[..], |(_, f)| f);
                let from = from.rsplit_once("/registry/src/").map_or(from, |(_, f)| f);
                println!("    {:>8.1}  {function}  [{from}]", per(*count));
            }
        }
    }
    Ok(())
}
