//! Replays the corpora of the fuzz targets, and some inputs more that are made here.

use std::fs;
use std::path::{Path, PathBuf};

use harness::configs::KeyType;
use harness::wire::vector;
use harness::{Noise, fuzzed};
use rustls::compress::{BROTLI_COMPRESSOR, CompressionLevel, ZLIB_COMPRESSOR};

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

/// Makes the corpus of `compressed`: `cargo test -p rustls --test corpora -- --ignored`.
#[test]
#[ignore = "it writes files"]
fn compressed_corpus() {
    let dir = corpus("compressed");
    fs::create_dir_all(&dir).unwrap();
    let identities = KeyType::Ed25519.identities();
    for (side, who, chain) in [
        (0, "client", &identities.server.chain),
        (1, "server", &identities.client.chain),
    ] {
        let entry = [&vector(3, &chain[0])[..], &[0, 0]].concat();
        let certificate = [vec![0], vector(3, &entry)].concat();
        let len = certificate.len();
        for (algorithm, compressor) in [(0, ZLIB_COMPRESSOR), (2, BROTLI_COMPRESSOR)] {
            let compress = |bytes| {
                let compressed = compressor.compress(bytes, CompressionLevel::Amortized);
                compressed.unwrap()
            };
            let right = compress(certificate.clone());
            let mut flipped = right.clone();
            flipped[right.len() / 2] ^= 0x10;
            for (name, declared, bytes) in [
                ("genuine", len, right.clone()),
                ("longer", len - 1, right.clone()),
                ("shorter", len + 1, right.clone()),
                ("cut", len, right[..right.len() - 3].to_vec()),
                ("continued", len, [&right[..], b"more"].concat()),
                ("flipped", len, flipped),
                ("nothing", 0, Vec::new()),
                ("empty_chain", 4, compress(vec![0; 4])),
                ("full", 0xffff, compress(vec![0; 0xffff])),
                ("bomb", 0xffff, compress(vec![0; 1 << 20])),
            ] {
                let declared = u16::try_from(declared).unwrap().to_be_bytes();
                let input = [&[side | algorithm][..], &declared, &bytes].concat();
                let name = format!("{who}_{:?}_{name}", compressor.algorithm());
                fs::write(dir.join(name.to_lowercase()), input).unwrap();
            }
        }
    }
}
