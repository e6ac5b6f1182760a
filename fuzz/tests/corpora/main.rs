//! Replays the corpora of the fuzz targets, and further inputs generated here.

mod certificates;
mod connections;
mod ech;
mod messages;
mod sessions;

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use harness::wire::Noise;

/// Replays the archive of each target, which `fuzz/run --minimise` writes.
#[test]
fn every_input_of_every_corpus_passes() {
    for (name, _) in fuzz::TARGETS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{name}.tar"));
        let mut corpus = tar::Archive::new(File::open(path).unwrap());
        let mut inputs = 0;
        for entry in corpus.entries().unwrap() {
            let mut entry = entry.unwrap();
            println!("{name} {}", entry.path().unwrap().display());
            let mut input = Vec::new();
            entry.read_to_end(&mut input).unwrap();
            fuzz::run(name, &input);
            inputs += 1;
        }
        assert!(inputs > 100, "{name} has {inputs} inputs");
    }
}

#[test]
fn every_target_accepts_random_bytes_without_a_finding() {
    let mut noise = Noise::new(1);
    for (name, _) in fuzz::TARGETS {
        for _ in 0..50 {
            let len = noise.up_to(100);
            let input: Vec<u8> = (0..len).map(|_| noise.next() as u8).collect();
            println!("{name} {input:02x?}");
            fuzz::run(name, &input);
        }
    }
}

/// Random programs of operations, for every kind of connection that their first byte chooses.
#[test]
fn random_programs_cause_no_finding() {
    for (target, len) in [("split", 200), ("unbuffered", 150)] {
        let mut noise = Noise::new(5);
        for choice in (0..24).flat_map(|choice| [choice; 20]) {
            let program = (0..len).map(|_| noise.next() as u8);
            let input: Vec<u8> = [choice].into_iter().chain(program).collect();
            println!("{target} {input:?}");
            fuzz::run(target, &input);
        }
    }
}

/// Writes genuine inputs for each target into a subfolder of `GENUINE_INPUTS`:
/// `GENUINE_INPUTS=FOLDER cargo test -p fuzz --test corpora -- --ignored`. `fuzz/run --minimise`
/// selects from them.
#[test]
#[ignore = "it writes files"]
fn write_genuine_inputs() {
    let folder = env::var_os("GENUINE_INPUTS").expect("GENUINE_INPUTS names the output folder");
    for (target, inputs) in connections::inputs().into_iter().chain([
        ("certificates", certificates::inputs()),
        ("ech", ech::inputs()),
        ("messages", messages::inputs()),
        ("sessions", sessions::inputs()),
    ]) {
        let dir = Path::new(&folder).join(target);
        fs::create_dir_all(&dir).unwrap();
        for (name, input) in inputs {
            fs::write(dir.join(name), input).unwrap();
        }
    }
}
