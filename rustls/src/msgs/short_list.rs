//! Lists that are short in practice, whatever the wire format allows.

use alloc::vec::Vec;
use core::ops::Deref;

use rustls_core::codec::{Codec, Reader};
use rustls_core::error::InvalidMessage;
use smallvec::SmallVec;

/// A list of code points. Up to 16, the number in usual hellos, are stored inline.
pub(crate) type ShortList<T> = SmallVec<[T; 16]>;

/// A list that is read item by item.
pub(super) trait List<T>: Default + Deref<Target = [T]> {
    fn push(&mut self, item: T);
}

impl<T> List<T> for Vec<T> {
    #[inline]
    fn push(&mut self, item: T) {
        self.push(item);
    }
}

impl<T> List<T> for ShortList<T> {
    #[inline]
    fn push(&mut self, item: T) {
        self.push(item);
    }
}

/// Reads items until no byte is left.
pub(super) fn read_items<'a, T: Codec<'a>, L: List<T>>(
    r: &mut Reader<'a>,
) -> Result<L, InvalidMessage> {
    let mut items = L::default();
    // collecting an iterator of results takes twice as many instructions
    while r.any_left() {
        items.push(T::read(r)?);
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_items_round_trips() {
        for len in 0..=48u16 {
            let bytes: Vec<u8> = (0..len).flat_map(u16::to_be_bytes).collect();
            let list: ShortList<u16> = read_items(&mut Reader::new(&bytes)).unwrap();
            assert!(list.iter().copied().eq(0..len));
            assert_eq!(list.spilled(), len > 16);
        }
    }

    #[test]
    fn a_truncated_list_is_rejected() {
        assert_eq!(
            read_items::<u16, ShortList<_>>(&mut Reader::new(&[0, 1, 2])),
            Err(InvalidMessage::MissingData("u16"))
        );
    }
}
