//! Lists that are short in practice, whatever the wire allows.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use rustls_core::codec::{Codec, Reader};
use rustls_core::error::InvalidMessage;

/// How many items a list holds without memory of its own.
const SHORT: usize = 16;

/// A list of small items, of which up to 16 take no memory of their own.
#[derive(Clone)]
pub(crate) enum ShortList<T> {
    /// The first of `items`, `len` of them; the others are copies to fill up.
    Short {
        items: [T; SHORT],
        len: usize,
    },
    Long(Vec<T>),
}

impl<'a, T: Codec<'a> + Copy> ShortList<T> {
    /// Reads items until no byte is left.
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut list = Self::default();
        while r.any_left() {
            list.push(T::read(r)?);
        }
        Ok(list)
    }
}

impl<T: Copy> ShortList<T> {
    fn push(&mut self, item: T) {
        match self {
            Self::Short { items, len } if *len < SHORT => {
                items[*len] = item;
                *len += 1;
            }
            Self::Short { items, .. } => {
                let mut all = items.to_vec();
                all.push(item);
                *self = Self::Long(all);
            }
            Self::Long(items) if items.is_empty() => {
                *self = Self::Short {
                    items: [item; SHORT],
                    len: 1,
                };
            }
            Self::Long(items) => items.push(item),
        }
    }
}

impl<T> Default for ShortList<T> {
    fn default() -> Self {
        Self::Long(Vec::new())
    }
}

impl<T> Deref for ShortList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Short { items, len } => &items[..*len],
            Self::Long(items) => items,
        }
    }
}

impl<T: Copy> FromIterator<T> for ShortList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<T: Copy, const N: usize> From<[T; N]> for ShortList<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T> From<Vec<T>> for ShortList<T> {
    fn from(items: Vec<T>) -> Self {
        Self::Long(items)
    }
}

impl<T: PartialEq> PartialEq for ShortList<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for ShortList<T> {}

impl<T: fmt::Debug> fmt::Debug for ShortList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_items_comes_back() {
        for len in 0..=3 * SHORT as u16 {
            let items: Vec<u16> = (0..len).collect();
            let list: ShortList<u16> = items.iter().copied().collect();
            assert_eq!(*list, *items);
            assert_eq!(list, ShortList::from(items.clone()));
            assert_eq!(
                matches!(list, ShortList::Short { .. }),
                (1..=SHORT).contains(&items.len())
            );

            let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_be_bytes()).collect();
            assert_eq!(ShortList::read(&mut Reader::new(&bytes)), Ok(list));
        }
    }

    #[test]
    fn lists_differ_by_their_items_and_length() {
        let list = |items: &[u8]| items.iter().copied().collect::<ShortList<u8>>();
        assert_ne!(list(&[1]), list(&[2]));
        assert_ne!(list(&[1]), list(&[1, 1]));
        assert_ne!(list(&[1]), list(&[]));
        assert_eq!(std::format!("{:?}", list(&[1, 2])), "[1, 2]");
    }

    #[test]
    fn a_list_that_is_cut_is_refused() {
        assert_eq!(
            ShortList::<u16>::read(&mut Reader::new(&[0, 1, 2])),
            Err(InvalidMessage::MissingData("u16"))
        );
    }
}
