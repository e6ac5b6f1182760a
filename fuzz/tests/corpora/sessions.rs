//! Sessions and tickets, genuine or changed.

use fuzz::sessions::scenes;
use harness::wire::Noise;

/// Genuine sessions and tickets, and changed ones.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut inputs = Vec::new();
    for (number, scene) in scenes().iter().enumerate() {
        let name = format!("{:?}_{number}", scene.version).to_lowercase();
        let choice = number as u8 + 2;
        inputs.push((name.clone(), [&[choice][..], &scene.value].concat()));
        // a byte of each field, and the end
        let fields = [
            0, 2, 4, 5, 6, 54, 60, 62, 63, 68, 76, 90, 108, 112, 140, 144, 162,
        ];
        for at in fields
            .into_iter()
            .map(|at| at.min(scene.value.len() as u16 - 1))
        {
            let [high, low] = at.to_be_bytes();
            let input = vec![choice | 0x80, high, low, 2, 1];
            inputs.push((format!("{name}_{at:03}"), input));
        }
        let [high, low] = (scene.value.len() as u16 - 2).to_be_bytes();
        inputs.push((format!("{name}_cut"), vec![choice | 0x80, high, low, 1, 0]));
    }
    for which in 0..2 {
        inputs.push((format!("ticket_{which}"), vec![which, 0x80]));
        inputs.push((
            format!("ticket_{which}_changed"),
            vec![which, 0x82, 0, 9, 2, 1],
        ));
    }
    inputs
}

#[test]
fn genuine_sessions_cause_no_finding() {
    for (name, input) in inputs() {
        println!("{name}");
        fuzz::sessions(&input);
    }
}

/// Changes every byte of each session in some ways.
#[test]
fn changed_sessions_cause_no_finding() {
    for (number, scene) in scenes().iter().enumerate() {
        for at in 0..scene.value.len() as u16 {
            let [high, low] = at.to_be_bytes();
            for change in [0x01, 0x80, 0xff] {
                fuzz::sessions(&[number as u8 + 0x82, high, low, 2, change]);
            }
            fuzz::sessions(&[number as u8 + 0x82, high, low, 1, 0]);
        }
    }
}

#[test]
fn random_bytes_cause_no_finding() {
    let mut noise = Noise::new(9);
    for _ in 0..500 {
        let input: Vec<u8> = (0..30).map(|_| noise.next() as u8).collect();
        println!("{input:?}");
        fuzz::sessions(&input);
    }
}
