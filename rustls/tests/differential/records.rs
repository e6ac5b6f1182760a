//! Invalid records at every point of every flight: empty, oversized, badly padded, mistyped, of
//! wrong versions, alerts of every kind, change_cipher_spec, and floods of each.

use harness::comparison::Judge;
use harness::peers::configs::product;
use harness::providers::transparent::TAG;
use harness::scripted::recorded::flights::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, Framing, HANDSHAKE, Record, encode, frame, message,
};
use harness::scripted::recorded::{Scene, scenes};

pub(crate) fn compare(judge: &Judge) {
    let strange = [Framing::Tls12, Framing::Tls13].map(strange_records);
    for scene in scenes(false) {
        let strange = &strange[scene.framing() as usize];
        let count = scene.records(scene.flight()).len();
        for (at, (what, inserted)) in product(0..=count, strange) {
            judge.compare(&scene, &format!("{what} at {at}"), |flight| {
                let records = scene.records(flight);
                [
                    &encode(&records[..at]),
                    &inserted[..],
                    &encode(&records[at..]),
                ]
                .concat()
            });
        }
        for at in 0..count {
            changed(&scene, judge, at);
        }
    }
}

/// Returns unencrypted and encrypted records, each with a name for its anomaly.
fn strange_records(framing: Framing) -> Vec<(String, Vec<u8>)> {
    let mut strange = Vec::new();
    let mut add = |what: String, bytes: Vec<u8>| strange.push((what, bytes));
    // in the clear and protected
    for (typ, content) in contents() {
        let (start, len) = (&content[..content.len().min(8)], content.len());
        let what = format!("type {typ} {start:02x?} ({len})");
        let protected = Record::protected(framing, typ, &content);
        add(
            format!("{what} in the clear"),
            Record::plain(typ, &content).encode(),
        );
        add(format!("{what} protected"), protected.encode());
    }
    let protected = |typ, content: &[u8]| Record::protected(framing, typ, content);
    for count in [4, 5, 31, 32, 33] {
        for (what, record) in [
            ("empty application data", protected(APPLICATION_DATA, &[])),
            ("application data", protected(APPLICATION_DATA, b"x")),
            ("user_canceled", protected(ALERT, &[1, 90])),
            ("user_canceled in the clear", Record::plain(ALERT, &[1, 90])),
            (
                "change_cipher_spec",
                Record::plain(CHANGE_CIPHER_SPEC, &[1]),
            ),
            ("KeyUpdate", protected(HANDSHAKE, &message(24, &[0]))),
            (
                "KeyUpdate, asking",
                protected(HANDSHAKE, &message(24, &[1])),
            ),
        ] {
            add(format!("{count} of {what}"), record.encode().repeat(count));
        }
    }
    // padding and length of the protected content
    let padded = |content: &[u8], zeros| [content, &vec![0; zeros]].concat();
    let data = |len, behind: &[u8]| [&vec![b'x'; len], behind].concat();
    let most = 1 << 14;
    for (what, inner) in [
        ("nothing", vec![]),
        ("one zero", vec![0]),
        ("zeros", vec![0; 100]),
        ("data and a padding of 1", padded(b"x\x17", 1)),
        ("data and a padding of 300", padded(b"x\x17", 300)),
        ("an empty handshake record, padded", padded(&[22], 30)),
        ("the most padding", padded(&[23], most)),
        ("too much padding", padded(&[23], most + 1)),
        ("the most data", data(most, &[23])),
        ("too much data", data(most + 1, &[23])),
        ("too much data, padded", data(most + 1, &[23, 0, 0])),
        (
            "the longest ciphertext of TLS 1.3",
            padded(&[23], most + 256 - 17),
        ),
        ("a longer ciphertext", padded(&[23], most + 256 - 16)),
        (
            "the longest ciphertext of TLS 1.2",
            padded(&[23], most + 2048 - 17),
        ),
        ("a longer ciphertext still", padded(&[23], most + 2048 - 16)),
    ] {
        for outer in [APPLICATION_DATA, HANDSHAKE, ALERT] {
            let record = frame(outer, &[&inner[..], &TAG].concat());
            add(format!("{what} in a record of type {outer}"), record);
        }
    }
    for len in [0, 1, 15, 16] {
        add(
            format!("a ciphertext of {len} bytes"),
            frame(APPLICATION_DATA, &TAG[..len]),
        );
    }
    let headers: [(u8, &[u16]); 5] = [
        (
            HANDSHAKE,
            &[0x0300, 0x0301, 0x0304, 0x03ff, 0x0203, 0x0403, 0],
        ),
        (APPLICATION_DATA, &[0x0301, 0x0203]),
        (CHANGE_CIPHER_SPEC, &[0x0301, 0x0203]),
        (ALERT, &[0x0301, 0x0200]),
        (0, &[0x0303]),
    ];
    let unknown = [24, 25, 128, 255].map(|typ| (typ, &[0x0303][..]));
    for (typ, versions) in headers.into_iter().chain(unknown) {
        for version in versions {
            let header = [&[typ][..], &version.to_be_bytes()].concat();
            let record = [&header[..], &[0, 2, 1, 90]].concat();
            add(format!("header {header:02x?}"), record);
            add(format!("header {header:02x?}, cut"), header);
        }
    }
    strange
}

/// Returns valid and invalid contents for each type.
fn contents() -> Vec<(u8, Vec<u8>)> {
    let mut contents: Vec<(u8, Vec<u8>)> = Vec::new();
    for typ in [0, 19, 20, 21, 22, 23, 24, 25, 255] {
        for content in [&[][..], &[0], &[1], &[1, 1], &[0; 4]] {
            contents.push((typ, content.to_vec()));
        }
    }
    for (level, description) in product(0..=3, [0, 10, 40, 41, 90, 100, 255]) {
        contents.push((ALERT, vec![level, description]));
    }
    contents.push((ALERT, vec![1, 0, 1, 0]));
    contents.push((ALERT, vec![1, 90, 1]));
    contents.push((HANDSHAKE, vec![24]));
    contents.push((HANDSHAKE, vec![24, 0, 0, 1]));
    contents.push((HANDSHAKE, vec![24, 0xff, 0xff, 0xff]));
    contents.push((HANDSHAKE, message(24, &[2])));
    contents.push((HANDSHAKE, message(99, &[0; (1 << 14) - 4])));
    contents.push((HANDSHAKE, message(99, &[0; (1 << 14) - 3])));
    contents.push((APPLICATION_DATA, vec![b'x'; 1 << 14]));
    contents
}

/// Replaces record `at` of the flight.
fn changed(scene: &Scene, judge: &Judge, at: usize) {
    let change = |what: &str, change: &dyn Fn(&mut Vec<Record>)| {
        judge.records(scene, &format!("record {at} {what}"), change);
    };
    change("missing", &|records| {
        records.remove(at);
    });
    change("twice", &|records| records.insert(at, records[at].clone()));
    change("empty", &|records| records[at].content.clear());
    change("with its protection inverted", &|records| {
        records[at].protected ^= true
    });
    for typ in [0, 20, 21, 22, 23, 24, 255] {
        change(&format!("of type {typ}"), &|records| records[at].typ = typ);
    }
    for with in at + 1..scene.records(scene.flight()).len() {
        change(&format!("swapped with {with}"), &|records| {
            records.swap(at, with)
        });
    }
    // RFC 9846 §5.1: legacy_record_version is ignored
    for version in [0, 0x0002, 0x0300, 0x0301, 0x0304, 0xfefd, 0xffff] {
        let version = u16::to_be_bytes(version);
        let what = format!("record {at} with version {version:02x?}");
        judge.compare(scene, &what, |flight| {
            let records = scene.records(flight);
            let mut record = records[at].encode();
            record[1..3].copy_from_slice(&version);
            [encode(&records[..at]), record, encode(&records[at + 1..])].concat()
        });
    }
    for padding in [1, 2, 255, 1000] {
        let what = format!("record {at} padded by {padding}");
        judge.compare(scene, &what, |flight| {
            let records = scene.records(flight).into_iter().enumerate();
            let encoded = records.map(|(i, record)| {
                if i != at || !record.protected {
                    return record.encode();
                }
                let (typ, zeros) = ([record.typ], vec![0; padding]);
                let inner = [&record.content[..], &typ, &zeros, &TAG].concat();
                frame(APPLICATION_DATA, &inner)
            });
            encoded.collect::<Vec<_>>().concat()
        });
    }
}
