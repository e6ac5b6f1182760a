//! The rules of comparisons with upstream: notes on received bytes, and texts that agree.

use harness::comparison::{agree, noted};
use harness::wire::record;

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
/// psk_key_exchange_modes.
const MODES: u8 = 45;

#[test]
fn notes_describe_the_bytes() {
    let of_messages = |bytes: &[u8]| noted(&record(HANDSHAKE, bytes));
    assert_eq!(of_messages(&[0, MODES, 0, 2, 1, 0]), ": without psk_dhe_ke");
    assert_eq!(of_messages(&[0, MODES, 0, 3, 2, 0, 1]), "");
    assert_eq!(
        of_messages(&[2, 0, 0, 2, 3, 4]),
        ": ServerHello of legacy_version 0x0304"
    );
    assert_eq!(of_messages(&[2, 0, 0, 2, 3, 3]), "");
    // truncated, or not a vector
    assert_eq!(of_messages(&[0, MODES, 0, 3, 2, 0]), "");
    assert_eq!(of_messages(&[0, MODES, 0, 3, 1, 0, 0]), "");
    let ccs = record(CHANGE_CIPHER_SPEC, &[1]);
    let message = record(HANDSHAKE, &[0; 4]);
    assert_eq!(
        noted(&[&ccs[..], &message].concat()),
        ": change_cipher_spec first"
    );
    assert_eq!(noted(&[&message[..], &ccs].concat()), "");
    assert_eq!(noted(&[22, 3, 4, 0, 1, 0]), ": with version [03, 04]");
    assert_eq!(noted(b"not a record"), "");
}

#[test]
fn only_a_general_error_may_continue_in_parentheses() {
    assert!(agree("fine", "fine"));
    assert!(agree("a General(\"b\") c", "a General(\"b\") c"));
    assert!(agree("a General(\"b (more)\") c", "a General(\"b\") c"));
    for (ours, theirs) in [
        ("fine", "General(\"b\")"),
        ("General(\"b\")", "fine"),
        ("General(\"b\")", "General(\"b (more)\")"),
        ("General(\"b: more\")", "General(\"b\")"),
        ("General(\"b\") c", "General(\"b\") d"),
        ("a General(\"b\")", "General(\"b\")"),
        ("General(\"b\")", "General(\"b\") General(\"b\")"),
    ] {
        assert!(!agree(ours, theirs), "{ours} {theirs}");
    }
}
