//! Lists that are short in practice, although the wire format allows long ones.

use alloc::vec::Vec;
use core::ops::Deref;

use rustls_core::codec::{Codec, Reader};
use rustls_core::error::InvalidMessage;
use smallvec::SmallVec;

/// A list of code points. Up to 16, as many as a typical hello has, are stored inline.
pub(crate) type ShortList<T> = SmallVec<[T; 16]>;

/// A list that is read item by item.
pub(super) trait List: Deref<Target = [Self::Item]> {
    type Item;

    /// Creates a list with room for a few items.
    fn with_room() -> Self;

    fn push(&mut self, item: Self::Item);
}

impl<T> List for Vec<T> {
    type Item = T;

    #[inline]
    fn with_room() -> Self {
        // as much as the first `push` would allocate
        Self::with_capacity(4)
    }

    #[inline]
    fn push(&mut self, item: T) {
        self.push(item);
    }
}

impl<T> List for ShortList<T> {
    type Item = T;

    #[inline]
    fn with_room() -> Self {
        Self::new()
    }

    #[inline]
    fn push(&mut self, item: T) {
        self.push(item);
    }
}

/// Reads items until no byte is left.
pub(super) fn read_items<'a, L>(r: &mut Reader<'a>) -> Result<L, InvalidMessage>
where
    L: List,
    L::Item: Codec<'a>,
{
    let mut items = L::with_room();
    // collecting an iterator of results takes twice as many instructions
    while r.any_left() {
        items.push(L::Item::read(r)?);
    }
    Ok(items)
}

/// Reads two-byte code points until no byte is left, like [`read_items`] but faster.
pub(super) fn read_code_points<'a, T: Codec<'a> + From<u16>>(
    r: &mut Reader<'a>,
) -> Result<ShortList<T>, InvalidMessage> {
    let mut code_points = ShortList::new();
    let mut bytes = r.rest();
    while let [high, low, behind @ ..] = bytes {
        code_points.push(T::from(u16::from_be_bytes([*high, *low])));
        bytes = behind;
    }
    if !bytes.is_empty() {
        // the error names the type
        T::read(&mut Reader::new(bytes))?;
    }
    Ok(code_points)
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
            assert_eq!(read_code_points(&mut Reader::new(&bytes)), Ok(list));
        }
    }

    #[test]
    fn a_truncated_list_is_rejected() {
        for bytes in [&[0, 1, 2][..], &[0]] {
            let error = Err(InvalidMessage::MissingData("u16"));
            let mut r = Reader::new(bytes);
            assert_eq!(read_items::<ShortList<u16>>(&mut r), error);
            assert_eq!(read_code_points::<u16>(&mut Reader::new(bytes)), error);
        }
    }
}
