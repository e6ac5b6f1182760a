//! Notes on the bytes that an endpoint received. They extend a case's description where the
//! position of a change is not enough.

use crate::wire::{CHANGE_CIPHER_SPEC, HANDSHAKE, plain_messages, records};

const SERVER_HELLO: u8 = 2;

/// psk_key_exchange_modes.
const MODES: u8 = 45;
const PSK_DHE_KE: u8 = 1;

/// Returns the notes to append to the description of a case in which an endpoint receives these
/// bytes, which may be arbitrary.
pub fn noted(received: &[u8]) -> String {
    let records = records(received);
    let mut types = records.iter().map(|record| record.typ);
    let is_first = types.find(|typ| [CHANGE_CIPHER_SPEC, HANDSHAKE].contains(typ));
    let mut notes = String::new();
    if is_first == Some(CHANGE_CIPHER_SPEC) {
        notes += ": change_cipher_spec first";
    }
    if records.iter().any(|it| it.legacy_version == 0x0304) {
        notes += ": with version [03, 04]";
    }
    let messages = plain_messages(received);
    if let [SERVER_HELLO, _, _, _, 3, 4, ..] = messages[..] {
        notes += ": ServerHello of legacy_version 0x0304";
    }
    if has_modes_without_psk_dhe_ke(&messages) {
        notes += ": without psk_dhe_ke";
    }
    notes
}

/// True if there is a psk_key_exchange_modes without psk_dhe_ke.
fn has_modes_without_psk_dhe_ke(messages: &[u8]) -> bool {
    (0..messages.len()).any(|at| match messages[at..] {
        [0, MODES, high, low, len, ref rest @ ..] => {
            let is_whole = u16::from_be_bytes([high, low]) == u16::from(len) + 1;
            let modes = rest.get(..len.into()).filter(|_| is_whole);
            modes.is_some_and(|modes| !modes.contains(&PSK_DHE_KE))
        }
        _ => false,
    })
}
