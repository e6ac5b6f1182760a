//! Genuine messages.

use std::collections::BTreeSet;

use fuzz::messages::{FINISHED, conversations};
use harness::peers::roles::ROLES;
use harness::scripted::recorded::flights::HANDSHAKE;

/// Each message at its own place, with the following ones.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut inputs: Vec<(String, Vec<u8>)> = Vec::new();
    for (number, conversation) in conversations().iter().enumerate() {
        for side in ROLES {
            for (position, message) in conversation.messages(side).iter().enumerate() {
                let body = match message.typ {
                    HANDSHAKE => &message.content[4..],
                    _ => &message.content[..],
                };
                let how = 0b1100 | position as u8 & 3 | 0x50;
                let which = (number << 1) as u8 | side as u8;
                let input = [&[which, position as u8, 0, how][..], body].concat();
                // the same message in another conversation finds little
                let is_new = inputs.iter().all(|(_, before)| {
                    which & 1 != before[0] & 1 || before[4..] != *body || body.len() < 20
                });
                if is_new {
                    let name = format!("{side:?}_{number:02}_{position:02}").to_lowercase();
                    inputs.push((name, input));
                }
            }
        }
    }
    inputs
}

#[test]
fn genuine_inputs_have_every_message() {
    let types: BTreeSet<u8> = conversations()
        .iter()
        .flat_map(|it| ROLES.map(|side| it.messages(side)).concat())
        .filter(|message| message.typ == HANDSHAKE)
        .map(|message| message.content[0])
        .collect();
    let expected = vec![1, 2, 4, 5, 8, 11, 12, 13, 14, 15, 16, FINISHED, 22, 24, 25];
    assert_eq!(types.into_iter().collect::<Vec<_>>(), expected);
    for (name, input) in inputs() {
        println!("{name}");
        fuzz::messages(&input);
    }
}
