//! The buffers of a connection under any order of operations: what comes out must equal what went
//! in.

use rustls_core::record::HEADER_LEN;
use rustls_core::record::buffer::{OutgoingBuffer, ReceiveBuffer};

use super::MOST_OPERATIONS;
use crate::input::Input;

/// Receives records, opens them in place, and reads the plaintext.
pub(super) fn receive(input: &mut Input<'_>) {
    let mut buffer = ReceiveBuffer::default();
    // the bytes not yet received, not yet opened, not yet read
    let (mut wire, mut unopened, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    while input.begins_step(MOST_OPERATIONS) {
        match input.byte() % 16 {
            0..3 => {
                let len = input.len();
                wire.extend([23, 3, 3, (len >> 8) as u8, len as u8]);
                wire.extend((0..len).map(|at| (at >> 4) as u8 ^ at as u8 ^ input.steps as u8));
            }
            3..7 => {
                let most = input.len().min(wire.len());
                let read = buffer.receive(|room| {
                    assert!(!room.is_empty());
                    let len = most.min(room.len());
                    room[..len].copy_from_slice(&wire[..len]);
                    // a failed read adds nothing
                    if len == 0 { Err(()) } else { Ok(len) }
                });
                unopened.extend(wire.drain(..read.unwrap_or(0)));
            }
            7..11 => {
                let Some(&[.., high, low]) = unopened.first_chunk::<HEADER_LEN>() else {
                    continue;
                };
                let record_len = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
                if unopened.len() < record_len {
                    continue;
                }
                // the position of the plaintext in the record
                let start = HEADER_LEN + input.len().min(record_len - HEADER_LEN);
                let end = start + input.len().min(record_len - start);
                buffer.keep(record_len, start..end);
                unread.extend_from_slice(&unopened[start..end]);
                unopened.drain(..record_len);
            }
            11 | 12 => {
                let mut out = vec![0; input.len()];
                let len = buffer.read(&mut out);
                assert_eq!(len, out.len().min(unread.len()));
                assert!(out[..len] == unread[..len]);
                unread.drain(..len);
            }
            13 => {
                let chunk = buffer.chunk();
                assert_eq!(chunk.is_empty(), unread.is_empty());
                assert!(unread.starts_with(chunk));
                let len = input.len();
                let consumed = len.min(chunk.len());
                buffer.consume(len);
                unread.drain(..consumed);
            }
            _ => buffer.park(),
        }
        assert_eq!(buffer.unread(), unread.len());
        assert_eq!(buffer.all_opened(), unopened.is_empty());
        assert!(buffer.unopened() == unopened);
    }
    let mut out = vec![0; unread.len() + 1];
    assert_eq!(buffer.read(&mut out), unread.len());
    assert!(out[..unread.len()] == unread);
}

/// Writes bytes into reserved room or appends them, and takes them from the front.
pub(super) fn send(input: &mut Input<'_>) {
    let mut buffer = OutgoingBuffer::default();
    let mut pending = Vec::new();
    while input.begins_step(MOST_OPERATIONS) {
        match input.byte() % 4 {
            0 => {
                let bytes = vec![input.steps as u8; input.len()];
                buffer.append(&bytes);
                pending.extend(bytes);
            }
            1 => {
                let len = input.len();
                let room = buffer.room(len);
                assert_eq!(room.len(), len);
                room.fill(input.steps as u8);
                let used = input.len().min(len);
                buffer.commit(used);
                pending.extend(vec![input.steps as u8; used]);
            }
            _ => {
                let len = input.len();
                buffer.consume(len);
                pending.drain(..len.min(pending.len()));
            }
        }
        assert_eq!(buffer.len(), pending.len());
        assert_eq!(buffer.is_empty(), pending.is_empty());
        assert!(buffer.pieces().flatten().eq(&pending));
    }
}
