//! Replays the corpora of the fuzz targets, and further inputs generated here.

mod certificates;
mod ech;

use std::path::{Path, PathBuf};
use std::{env, fs};

use harness::{Noise, fuzzed};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(target)
}

#[test]
fn every_input_of_every_corpus() {
    for (name, _) in fuzzed::TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpus(name)).unwrap() {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            fuzzed::run(name, &fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{name} has no corpus");
    }
}

#[test]
fn noise() {
    let mut noise = Noise::new(1);
    for (name, _) in fuzzed::TARGETS {
        for _ in 0..50 {
            let len = noise.up_to(100);
            let input: Vec<u8> = (0..len).map(|_| noise.next() as u8).collect();
            println!("{name} {input:02x?}");
            fuzzed::run(name, &input);
        }
    }
}

/// Writes genuine inputs for each target into a subfolder of `GENUINE_INPUTS`:
/// `GENUINE_INPUTS=FOLDER cargo test -p rustls --test corpora -- --ignored`. `fuzz/run --minimise`
/// selects from them.
#[test]
#[ignore = "it writes files"]
fn genuine_inputs() {
    let folder = env::var_os("GENUINE_INPUTS").expect("GENUINE_INPUTS names the output folder");
    let recorded = ["client", "server", "quic", "differential"];
    let recorded = recorded.map(|target| (target, fuzzed::seeds(target)));
    for (target, inputs) in recorded.into_iter().chain([
        ("certificates", certificates::inputs()),
        ("ech", ech::inputs()),
        ("messages", fuzzed::messages::genuine()),
        ("sessions", fuzzed::sessions::genuine()),
    ]) {
        let dir = Path::new(&folder).join(target);
        fs::create_dir_all(&dir).unwrap();
        for (name, input) in inputs {
            fs::write(dir.join(name), input).unwrap();
        }
    }
}
