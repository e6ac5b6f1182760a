//! Application data sent through every API in which the caller provides the memory: short and long
//! buffers, vectors, and in place.

use std::fmt::Debug;
use std::ops::Range;

use rustls::client::EarlyDataError;
use rustls::crypto::cipher::InsufficientSizeError;
use rustls::split::Sender;
use rustls::unbuffered::{EncodeError, EncryptError, WriteTraffic};
use rustls::{InPlaceError, InPlaceRoom};

use super::input::Input;
use super::streams::Stream;

/// The most KeyUpdates in a row by an honest end.
pub(super) const MOST_UPDATES: usize = 8;

/// The data that an end has sent, and the part in transit.
#[derive(Default)]
pub(super) struct Sent {
    pub(super) outgoing: Vec<u8>,
    pub(super) stream: Stream,
    /// Early data.
    pub(super) early: Stream,
    pub(super) has_closed: bool,
    /// True if either end has failed.
    pub(super) has_failed: bool,
    /// KeyUpdates since the last application data.
    pub(super) updates: usize,
}

macro_rules! encrypts {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        /// An API that encrypts application data.
        pub(super) trait Encrypts {
            fn in_place_room(&self) -> InPlaceRoom;
            $(fn $name(&mut self, $($arg: $type),*) -> $out;)*
        }

        encrypts!(for WriteTraffic<'_, D>, <D>, $($name, ($($arg: $type),*), $out;)*);
        encrypts!(for Sender, <>, $($name, ($($arg: $type),*), $out;)*);
    };
    (for $of:ty, <$($d:ident)?>, $($name:ident, ($($arg:ident: $type:ty),*), $out:ty;)*) => {
        impl<$($d)?> Encrypts for $of {
            fn in_place_room(&self) -> InPlaceRoom {
                self.in_place_room()
            }

            $(fn $name(&mut self, $($arg: $type),*) -> $out {
                self.$name($($arg),*)
            })*
        }
    };
}

encrypts! {
    fn encrypt(plaintext: &[u8], out: &mut [u8]) -> Result<usize, EncryptError>;
    fn encrypt_to_vec(
        plaintext: &[u8],
        out: &mut Vec<u8>,
        used: usize
    ) -> Result<usize, EncryptError>;
    fn encrypt_in_place(
        buf: &mut [u8],
        payload: Range<usize>
    ) -> Result<Range<usize>, InPlaceError>;
}

impl Sent {
    /// Encrypts some of the stream through one of the APIs.
    pub(super) fn encrypt(&mut self, input: &mut Input<'_>, with: &mut impl Encrypts) {
        let way = input.byte();
        let plaintext = self.stream.next(input.len());
        let result = match way % 3 {
            0 => write(input, &mut self.outgoing, |out| {
                with.encrypt(&plaintext, out)
            }),
            1 => write_to_vec(input, &mut self.outgoing, |out, used| {
                with.encrypt_to_vec(&plaintext, out, used)
            }),
            _ => return self.encrypt_in_place(input, &plaintext, with),
        };
        match result {
            Ok(_) => self.count(&plaintext),
            // a vector can grow
            Err(EncryptError::InsufficientSize(_)) => assert_eq!(way % 3, 0),
            Err(EncryptError::EncryptExhausted) => assert!(self.is_over()),
        }
    }

    fn encrypt_in_place(
        &mut self,
        input: &mut Input<'_>,
        plaintext: &[u8],
        with: &mut impl Encrypts,
    ) {
        let room = with.in_place_room();
        let choice = input.byte();
        let [before, behind] =
            [(room.headroom, choice & 15), (room.tailroom, choice >> 4)].map(|(needed, choice)| {
                match choice {
                    0..8 => needed,
                    8..12 => needed + usize::from(choice),
                    12 => 0,
                    _ => needed - 1,
                }
            });
        let payload = before..before + plaintext.len();
        let mut buffer = [
            &vec![UNTOUCHED; before],
            plaintext,
            &vec![UNTOUCHED; behind],
        ]
        .concat();
        let unchanged = buffer.clone();
        let error = match with.encrypt_in_place(&mut buffer, payload.clone()) {
            Ok(record) => {
                if plaintext.is_empty() {
                    assert!(record.is_empty());
                } else {
                    let expected = before - room.headroom..payload.end + room.tailroom;
                    assert_eq!(record, expected);
                }
                assert_eq!(buffer[..record.start], unchanged[..record.start]);
                assert_eq!(buffer[record.end..], unchanged[record.end..]);
                self.outgoing.extend_from_slice(&buffer[record]);
                return self.count(plaintext);
            }
            Err(error) => error,
        };
        assert!(buffer == unchanged, "{error}");
        match error {
            InPlaceError::HeadroomTooShort { required } => {
                assert!(before < required && required == room.headroom);
            }
            InPlaceError::TailroomTooShort { required } => {
                assert!(behind < required && required == room.tailroom);
            }
            InPlaceError::PayloadTooLong { max } => {
                assert!(plaintext.len() > max && max == room.max_payload);
            }
            InPlaceError::OutputPending => {}
            InPlaceError::EncryptExhausted => assert!(self.is_over()),
            error => panic!("{error}"),
        }
    }

    /// Counts `plaintext`, the next part of the stream, as sent.
    fn count(&mut self, plaintext: &[u8]) {
        assert!(plaintext.is_empty() || !self.is_over());
        self.stream.sent += plaintext.len();
        if !plaintext.is_empty() {
            self.updates = 0;
        }
    }

    /// True if nothing more can be sent.
    pub(super) fn is_over(&self) -> bool {
        self.has_closed || self.has_failed
    }
}

/// The error if nothing was written.
pub(super) trait Refusal: Debug {
    /// The sufficient length.
    fn required_size(&self) -> Option<usize>;
}

impl Refusal for InsufficientSizeError {
    fn required_size(&self) -> Option<usize> {
        Some(self.required_size)
    }
}

macro_rules! refusal {
    ($($error:ident::$with_size:ident),*) => {$(
        impl Refusal for $error {
            fn required_size(&self) -> Option<usize> {
                match self {
                    Self::$with_size(error) => error.required_size(),
                    _ => None,
                }
            }
        }
    )*};
}

refusal!(
    EncryptError::InsufficientSize,
    EncodeError::InsufficientSize,
    EarlyDataError::Encrypt
);

/// Lets `write` write into a buffer whose length the input chooses, and appends the result to
/// `outgoing`. A buffer that is too short must stay unchanged, and the reported length must be
/// right.
pub(super) fn write<E: Refusal>(
    input: &mut Input<'_>,
    outgoing: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<usize, E> {
    let choice = input.byte();
    let mut room = match choice & 3 {
        0 => 0,
        1 => input.len(),
        _ => 1 << 10,
    };
    loop {
        let mut out = vec![UNTOUCHED; room];
        let error = match write(&mut out) {
            Ok(len) => {
                assert!(is_untouched(&out[len..]));
                outgoing.extend_from_slice(&out[..len]);
                return Ok(len);
            }
            Err(error) => error,
        };
        assert!(is_untouched(&out), "{error:?}");
        let is_postponed = choice & 0x0c == 0x0c;
        let Some(required) = error.required_size().filter(|_| !is_postponed) else {
            return Err(error);
        };
        assert!(required > room, "{required} > {room}");
        let again = write(&mut vec![0; required - 1]).unwrap_err();
        assert_eq!(again.required_size(), Some(required));
        room = required + usize::from(choice >> 4);
    }
}

/// Does the same with a vector, after some of its content.
pub(super) fn write_to_vec<E: Refusal>(
    input: &mut Input<'_>,
    outgoing: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>, usize) -> Result<usize, E>,
) -> Result<usize, E> {
    let (len, used) = (usize::from(input.byte()), usize::from(input.byte()));
    let mut out = vec![UNTOUCHED; len];
    let written = write(&mut out, used);
    let kept = Ord::min(len, used);
    assert!(is_untouched(&out[..kept]));
    match &written {
        Ok(0) => {}
        Ok(written) => {
            assert!(out[kept..used].iter().all(|&byte| byte == 0));
            outgoing.extend_from_slice(&out[used..used + written]);
        }
        Err(_) => assert_eq!(out.len(), len),
    }
    written
}

/// The initial bytes of a buffer to write to.
const UNTOUCHED: u8 = 0xa5;

fn is_untouched(bytes: &[u8]) -> bool {
    const BLOCK: [u8; 1 << 10] = [UNTOUCHED; 1 << 10];
    bytes
        .chunks(BLOCK.len())
        .all(|chunk| chunk == &BLOCK[..chunk.len()])
}
