//! Replays the corpora of the fuzz targets, and some inputs more that are made here.

use std::fs;
use std::path::{Path, PathBuf};

use harness::configs::KeyType;
use harness::scripted::ech::{Config, EchKey, config_list};
use harness::wire::vector;
use harness::{Noise, fuzzed, pki};
use rcgen::string::BmpString;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, DnValue, IsCa, KeyUsagePurpose, SanType,
    SerialNumber, date_time_ymd,
};
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

/// Makes the corpus of `certificate`: `cargo test -p rustls --test corpora -- --ignored`.
#[test]
#[ignore = "it writes files"]
fn certificate_corpus() {
    let dir = corpus("certificate");
    fs::create_dir_all(&dir).unwrap();
    for (name, der) in certificates() {
        fs::write(dir.join(name), der).unwrap();
    }
}

/// Certificates that between them have each property in each of its forms.
fn certificates() -> [(&'static str, Vec<u8>); 4] {
    let plain = |_: &mut CertificateParams| ();
    let full = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(1969, 1, 1);
        params.not_after = date_time_ymd(2050, 1, 1);
        params.serial_number = Some(SerialNumber::from(vec![0x80; 20]));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.is_ca = IsCa::ExplicitNoCa;
        let text = |text: &str| text.to_owned().try_into().unwrap();
        params.subject_alt_names = vec![
            SanType::DnsName(text("*.example.com")),
            SanType::Rfc822Name(text("ann@example.com")),
            SanType::URI(text("https://example.com/")),
            SanType::IpAddress("192.0.2.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
            SanType::OtherName((vec![1, 3, 6, 1], "other".into())),
        ];
    };
    let named = |params: &mut CertificateParams| {
        let name = &mut params.distinguished_name;
        name.push(DnType::CountryName, "NO");
        name.push(DnType::CommonName, "\u{c5}se \0, \"x\"");
        let bmp = BmpString::try_from("bmp\u{20ac}").unwrap();
        name.push(DnType::OrganizationName, DnValue::BmpString(bmp));
        let teletex = "teletex".try_into().unwrap();
        name.push(DnType::LocalityName, DnValue::TeletexString(teletex));
        name.push(DnType::CustomDnType(vec![1, 2, 3]), "x");
    };
    let root = pki::root("Root", |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(3));
    });
    [
        ("plain", pki::leaf(&root, plain).to_vec()),
        ("full", pki::leaf(&root, full).to_vec()),
        ("named", pki::leaf(&root, named).to_vec()),
        ("authority", root.der().to_vec()),
    ]
}

/// Makes the corpus of `ech`: `cargo test -p rustls --test corpora -- --ignored`.
#[test]
#[ignore = "it writes files"]
fn ech_corpus() {
    let dir = corpus("ech");
    fs::create_dir_all(&dir).unwrap();
    for (name, input) in ech_inputs() {
        fs::write(dir.join(name), input).unwrap();
    }
}

fn ech_inputs() -> Vec<(String, Vec<u8>)> {
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
    for message in 0..4 {
        let last = [3, message, 0xff, 0xff, 1, message, 0, 30, 0x80];
        inputs.push((format!("changes_{message}"), last.to_vec()));
    }
    inputs.push(("no_changes".to_owned(), vec![3]));
    inputs
}

/// Each byte of them changed, and each cut; then several bytes of any input.
#[test]
fn damaged_ech_inputs() {
    let mut noise = Noise::new(3);
    for (_, input) in ech_inputs() {
        for _ in 0..20 {
            let mut changed = input.clone();
            for _ in 0..noise.up_to(4) {
                let at = noise.up_to(changed.len()) - 1;
                changed[at] = noise.next() as u8;
            }
            fuzzed::run("ech", &changed);
        }
    }
    for (name, input) in ech_inputs() {
        if name.starts_with("retry_all") || name.starts_with("list") {
            for at in 1..input.len() {
                fuzzed::run("ech", &input[..at]);
                let mut damaged = input.clone();
                for change in [0x01, 0x80, 0xff] {
                    damaged[at] = input[at] ^ change;
                    fuzzed::run("ech", &damaged);
                }
            }
        }
    }
}

/// Each byte of a certificate changed, and the certificate cut at each.
#[test]
fn damaged_certificates() {
    for (_, der) in certificates() {
        for index in 0..der.len() {
            fuzzed::run("certificate", &der[..index]);
            let mut damaged = der.clone();
            for change in [0x01, 0x02, 0x20, 0x80, 0xff] {
                damaged[index] = der[index] ^ change;
                fuzzed::run("certificate", &damaged);
            }
        }
    }
}

/// Several bytes of a genuine certificate changed, taken out or put in.
#[test]
fn certificates_changed_in_many_places() {
    let mut noise = Noise::new(7);
    for (_, der) in certificates() {
        for _ in 0..2_000 {
            let mut changed = der.clone();
            for _ in 0..noise.up_to(4) {
                let index = noise.up_to(changed.len()) - 1;
                match noise.up_to(3) {
                    1 => drop(changed.remove(index)),
                    2 => changed.insert(index, noise.next() as u8),
                    _ => changed[index] = noise.next() as u8,
                }
            }
            fuzzed::run("certificate", &changed);
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
