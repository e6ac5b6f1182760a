//! Inputs for Encrypted Client Hello from servers and the DNS.

use harness::scripted::ech::{Config, EchKey, config_list};
use harness::wire::Noise;

/// Configuration lists, answers, and changed versions of both.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let keys = [(0x10, 1, 1), (0x11, 2, 2), (0x12, 3, 3), (0x20, 1, 1)];
    let keys = keys.map(|suite| EchKey::new(7, "public.example", suite).config);
    let unknown = Config {
        version: 0xfe0c,
        ..keys[3].clone()
    };
    let mandatory = Config {
        extensions: vec![(0x1a1a, vec![1; 3]), (0x9a9a, vec![])],
        ..keys[3].clone()
    };
    let address = Config {
        public_name: b"192.0.2.1".to_vec(),
        ..keys[3].clone()
    };
    let all = [&unknown, &mandatory, &address, &keys[3]];
    let mut lists = vec![("all".to_owned(), config_list(&all))];
    for config in &keys {
        lists.push((format!("kem_{:x}", config.kem), config.list()));
    }
    let mut inputs = Vec::new();
    for (name, list) in lists {
        inputs.push((format!("list_{name}"), [&[0][..], &list].concat()));
        inputs.push((format!("retry_{name}"), [&[1][..], &list].concat()));
    }
    for len in [0, 7, 8, 9] {
        inputs.push((
            format!("confirmation_{len}"),
            [vec![2], vec![0xa5; len]].concat(),
        ));
    }
    for server in 3..7 {
        for message in 0..4 {
            let last = [server, message, 0xff, 0xff, 1, message, 0, 30, 0x80];
            inputs.push((format!("changes_{server}_{message}"), last.to_vec()));
        }
        inputs.push((format!("no_changes_{server}"), vec![server]));
    }
    inputs
}

/// Changes each byte and truncates at each, then changes several bytes of any input.
#[test]
fn damaged_inputs_cause_no_finding() {
    let mut noise = Noise::new(3);
    for (_, input) in inputs() {
        for _ in 0..20 {
            let mut changed = input.clone();
            for _ in 0..noise.up_to(4) {
                let at = noise.up_to(changed.len()) - 1;
                changed[at] = noise.next() as u8;
            }
            fuzz::run("ech", &changed);
        }
    }
    for (name, input) in inputs() {
        if name.starts_with("retry_all") || name.starts_with("list") {
            for at in 1..input.len() {
                fuzz::run("ech", &input[..at]);
                let mut damaged = input.clone();
                for change in [0x01, 0x80, 0xff] {
                    damaged[at] = input[at] ^ change;
                    fuzz::run("ech", &damaged);
                }
            }
        }
    }
}
