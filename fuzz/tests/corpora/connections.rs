//! Inputs for connections: genuine flights, and programs that change them.

use fuzz::connections::{EDITS, scenes_of};
use harness::peers::roles::Role;
use harness::scripted::recorded::{Scene, scenes};

/// Inputs with their names.
type Inputs = Vec<(String, Vec<u8>)>;

/// The inputs of each target.
pub(crate) fn inputs() -> [(&'static str, Inputs); 4] {
    [
        ("client", of_scenes(&scenes_of(Role::Client), &[0, 7], 16)),
        ("server", of_scenes(&scenes_of(Role::Server), &[0, 7], 16)),
        ("differential", of_changes(&scenes(false))),
        ("quic", of_pairs()),
    ]
}

/// Each scene, unchanged for each second byte in `hows`, and with `ways` kinds of changes.
fn of_scenes(scenes: &[Scene], hows: &[u8], ways: u8) -> Inputs {
    let mut seeds = Vec::new();
    for (which, scene) in (0..).zip(scenes) {
        let name = name(scene);
        for how in hows {
            let input = [&[which, *how], &scene.rest()[..]].concat();
            seeds.push((format!("{name}_{how}"), input));
        }
        // a few kinds of changes, different ones for each scene
        for what in (0..ways).map(|way| (way * (16 / ways) + which) % 16) {
            let program = [what, which, 0, 6, 4, 1, 2, 3, 4];
            let input = [&[which, EDITS], &program[..]].concat();
            seeds.push((format!("{name}_edit_{what}"), input));
        }
    }
    seeds
}

fn name(scene: &Scene) -> String {
    let name = scene.name.to_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

/// Flights unchanged, with a byte removed, and with messages changed in some ways.
fn of_changes(scenes: &[Scene]) -> Inputs {
    let mut seeds = of_scenes(scenes, &[], 4);
    for (which, scene) in (0..).zip(scenes) {
        let name = name(scene);
        seeds.push((format!("{name}_whole"), vec![which, 0]));
        seeds.push((
            format!("{name}_spliced"),
            vec![which, 0, 0, 40 + which, 1, 0],
        ));
    }
    seeds
}

/// Pairs of each version and setup. They complete a handshake step by step and then do everything
/// else, genuine or not.
fn of_pairs() -> Inputs {
    const TO_CLIENT: u8 = 0;
    const TO_SERVER: u8 = 0x80;
    let handshake = [
        TO_SERVER,
        0x80 | 16,
        TO_CLIENT,
        16,
        16,
        16,
        0x80 | 16,
        0x80 | 16,
    ]
    .repeat(3);
    let packets = |updated: u8| {
        let of = move |to: u8, level: u8| [to | (96 + level), updated, 7, 0, 3, 4, 1, 2, 3, 4];
        (0..4).flat_map(move |level| [of(TO_SERVER, level), of(TO_CLIENT, level)].concat())
    };
    let mut seeds = Vec::new();
    for which in 0..12 {
        let mut whole = vec![which, 40];
        whole.extend(&handshake);
        whole.extend(packets(0));
        whole.extend([88, 88]);
        whole.extend(packets(2).chain(packets(3)));
        seeds.push((format!("whole_{which}"), whole));
        for what in 40..48 {
            let tampered = [
                &[which, 40, TO_SERVER, 0x80 | what, 0, 50, 1][..],
                &handshake,
            ];
            seeds.push((format!("to_server_{which}_{what}"), tampered.concat()));
            let tampered = [
                &[which, 40, TO_SERVER, 0x80 | 16, TO_CLIENT, what, 0, 50, 1][..],
                &handshake,
            ];
            seeds.push((format!("to_client_{which}_{what}"), tampered.concat()));
        }
        let after = [
            &[which, 40][..],
            &handshake,
            &[76, 24, 1, 0],
            &[0x80 | 76, 24, 1, 0],
        ];
        seeds.push((format!("key_update_{which}"), after.concat()));
        let early = [&[which, 40, 120][..], &handshake];
        seeds.push((format!("early_data_refused_{which}"), early.concat()));
    }
    seeds
}
