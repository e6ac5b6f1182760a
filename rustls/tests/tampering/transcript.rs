//! The bytes on the wire that both ends authenticate once their handshakes are complete.
//!
//! They do not include record boundaries of unencrypted messages, nor records that are dropped:
//! alerts and, in TLS 1.3, unencrypted change_cipher_spec. A server that rejects early data also
//! drops all records up to the Finished. Every byte of other protected records is included.

use harness::wire::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, Record, records};

use crate::tampering::kinds::Kind;

/// Returns the authenticated bytes of `sent` and of `delivered`. With `skips`, the only protected
/// record is the one with the Finished.
pub(crate) fn authenticated(
    kind: &Kind,
    skips: bool,
    sent: &[u8],
    delivered: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let mut sent = records(sent);
    // an incomplete record is not read
    let mut delivered = records(delivered);
    if skips {
        // the first one is the early data
        let early = sent.iter().position(|it| it.typ == APPLICATION_DATA);
        sent.remove(early.expect("there is early data"));
        let finished = sent.iter().find(|it| it.typ == APPLICATION_DATA).cloned();
        delivered.retain(|it| it.typ != APPLICATION_DATA || Some(it) == finished.as_ref());
    }
    (bytes(kind, &sent), bytes(kind, &delivered))
}

fn bytes(kind: &Kind, records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut is_protected = false;
    for record in records {
        match record.typ {
            _ if is_protected => bytes.extend(record.to_bytes()),
            HANDSHAKE => bytes.extend(&record.payload),
            CHANGE_CIPHER_SPEC if kind.is_tls13() => {}
            // RFC 5246 §7.1: a change_cipher_spec comes between messages, and everything after it
            // is encrypted
            CHANGE_CIPHER_SPEC => {
                is_protected = true;
                bytes.push(CHANGE_CIPHER_SPEC);
            }
            ALERT => {}
            _ => bytes.extend(record.to_bytes()),
        }
    }
    bytes
}
