//! Extension blocks as tables, one row for each extension that a message may carry.
//!
//! A row has the extension's type, its field, and the form of its body:
//!
//! ```text
//!   Cookie => cookie: Option<&'a [u8]> as NonEmpty(U16),
//! ```
//!
//! From the rows, [`extension_block!`] derives the fields and the code that sends and reads them.
//! General forms are below. A form for one kind of payload is next to that payload. An extension is
//! sent only if its field is set.

use alloc::vec::Vec;

use rustls_core::codec::{
    Codec, LengthSize, Reader, encode_bytes, encode_list, with_length_prefix,
};
use rustls_core::enums::ExtensionType;
use rustls_core::error::InvalidMessage;

use super::extensions::{
    ExtensionContext, read_code_list, read_empty, read_extensions, read_list, read_value,
};
use super::short_list::{List, ShortList, read_items};

/// Defines a struct of extensions, and implements [`ExtensionBlock`] for it.
///
/// The order of the rows is the order of [`ExtensionBlock::encode_all`]. A row may have several
/// types, such as old and new code points. The fields after `besides` are not encoded in the block.
macro_rules! extension_block {
    (
        $(#[$meta:meta])*
        pub(crate) struct $name:ident<$lt:lifetime> in $context:ident {
            $(
                $(#[$row_meta:meta])*
                $($typ:ident)|+ => $field:ident: $field_type:ty as $form:expr,
            )+
        }
        besides {
            $($(#[$other_meta:meta])* $other:ident: $other_type:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub(crate) struct $name<$lt> {
            $($(#[$row_meta])* pub(crate) $field: $field_type,)+
            $($(#[$other_meta])* pub(crate) $other: $other_type,)*
        }

        impl<$lt> $crate::msgs::extension_block::ExtensionBlock<$lt> for $name<$lt> {
            const CONTEXT: $crate::msgs::extensions::ExtensionContext =
                $crate::msgs::extensions::ExtensionContext::$context;

            const TYPES: &'static [rustls_core::enums::ExtensionType] =
                &[$($(rustls_core::enums::ExtensionType::$typ,)+)+];

            fn encode_all(
                &self,
                block: &mut $crate::msgs::extension_block::ExtensionWriter<'_>,
            ) {
                use $crate::msgs::extension_block::Form;

                $($(
                    $form.encode(rustls_core::enums::ExtensionType::$typ, &self.$field, block);
                )+)+
            }

            fn encode_one(
                &self,
                typ: rustls_core::enums::ExtensionType,
                block: &mut $crate::msgs::extension_block::ExtensionWriter<'_>,
            ) {
                use $crate::msgs::extension_block::Form;

                match typ {
                    $($(
                        rustls_core::enums::ExtensionType::$typ => $form.encode(
                            rustls_core::enums::ExtensionType::$typ,
                            &self.$field,
                            block,
                        ),
                    )+)+
                    _ => {}
                }
            }

            fn set_rows(&self) -> u32 {
                use $crate::msgs::extension_block::Field;

                let (mut rows, mut row) = (0, 1_u32);
                $($(
                    rows |= row * u32::from(
                        self.$field.is_set(rustls_core::enums::ExtensionType::$typ),
                    );
                    row <<= 1;
                )+)+
                let _ = row;
                rows
            }

            // inlined, because each block is read in one place
            #[inline]
            fn read_one(
                &mut self,
                typ: rustls_core::enums::ExtensionType,
                r: &mut rustls_core::codec::Reader<$lt>,
            ) -> Result<bool, rustls_core::error::InvalidMessage> {
                use $crate::msgs::extension_block::Form;

                match typ {
                    $(
                        $(rustls_core::enums::ExtensionType::$typ)|+ => {
                            $form.read(typ, &mut self.$field, r)?;
                        }
                    )+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

pub(super) use extension_block;

/// The extensions of a message.
pub(super) trait ExtensionBlock<'a> {
    /// The message that carries the block.
    const CONTEXT: ExtensionContext;

    /// The types of all rows, in order.
    const TYPES: &'static [ExtensionType];

    /// Appends the extensions whose fields are set to `block`.
    fn encode_all(&self, block: &mut ExtensionWriter<'_>);

    /// Appends the extension `typ` to `block` if its field is set.
    fn encode_one(&self, typ: ExtensionType, block: &mut ExtensionWriter<'_>);

    /// Returns one bit for each type in [`Self::TYPES`], starting with the lowest bit: 1 if the
    /// row's field is set.
    fn set_rows(&self) -> u32;

    /// Reads the body of the extension `typ` into its field. Returns false, and reads nothing, if
    /// no row has this type.
    fn read_one(&mut self, typ: ExtensionType, r: &mut Reader<'a>) -> Result<bool, InvalidMessage>;

    /// Appends the whole block, with its length, to `bytes`.
    fn encode_block(&self, bytes: &mut Vec<u8>) {
        encode_extensions(bytes, |block| self.encode_all(block));
    }

    /// Reads the whole block. Ignores extensions without a row. Returns the types of all
    /// extensions, in order.
    fn read_block(
        &mut self,
        r: &mut Reader<'a>,
    ) -> Result<ShortList<ExtensionType>, InvalidMessage> {
        read_extensions(r, Self::CONTEXT, |typ, body| {
            if !self.read_one(typ, body)? {
                body.rest();
            }
            Ok(())
        })
    }

    /// Reads the whole block. Returns `unknown` if an extension has no row.
    fn read_closed_block(
        &mut self,
        r: &mut Reader<'a>,
        unknown: InvalidMessage,
    ) -> Result<(), InvalidMessage> {
        read_extensions(r, Self::CONTEXT, |typ, body| {
            if self.read_one(typ, body)? {
                Ok(())
            } else {
                Err(unknown)
            }
        })?;
        Ok(())
    }
}

/// Appends an extension block to `bytes`: its length, and the extensions that `body` adds.
pub(super) fn encode_extensions(bytes: &mut Vec<u8>, body: impl FnOnce(&mut ExtensionWriter<'_>)) {
    with_length_prefix(bytes, LengthSize::U16, |bytes| {
        body(&mut ExtensionWriter::new(bytes))
    });
}

/// Adds extensions to a block.
pub(super) struct ExtensionWriter<'b>(&'b mut Vec<u8>);

impl<'b> ExtensionWriter<'b> {
    /// Creates a writer that appends to `bytes`.
    pub(super) fn new(bytes: &'b mut Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Adds the extension `typ`, with the body that `body` appends.
    #[inline]
    pub(super) fn add(&mut self, typ: ExtensionType, body: impl FnOnce(&mut Vec<u8>)) {
        typ.encode(self.0);
        with_length_prefix(self.0, LengthSize::U16, body);
    }
}

/// The field of an extension.
pub(super) trait Field {
    /// True if the field has a value for the extension `typ`.
    fn is_set(&self, typ: ExtensionType) -> bool;
}

impl<T> Field for Option<T> {
    #[inline]
    fn is_set(&self, _: ExtensionType) -> bool {
        self.is_some()
    }
}

impl Field for bool {
    #[inline]
    fn is_set(&self, _: ExtensionType) -> bool {
        *self
    }
}

/// Converts between the body of an extension and a field of type `F`.
pub(super) trait Form<'a, F> {
    /// Adds the extension `typ` to `block` if `field` is set.
    fn encode(self, typ: ExtensionType, field: &F, block: &mut ExtensionWriter<'_>);

    /// Reads the body of the extension `typ` into `field`.
    fn read(
        self,
        typ: ExtensionType,
        field: &mut F,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage>;
}

/// The form of an empty body. The field is true if the extension is present.
pub(super) struct Flag;

impl Form<'_, bool> for Flag {
    #[inline]
    fn encode(self, typ: ExtensionType, field: &bool, block: &mut ExtensionWriter<'_>) {
        if *field {
            block.add(typ, |_| ());
        }
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut bool,
        r: &mut Reader<'_>,
    ) -> Result<(), InvalidMessage> {
        read_empty(r)?;
        *field = true;
        Ok(())
    }
}

/// The form of a body that is a single structure.
pub(super) struct Value;

impl<'a, T: Codec<'a>> Form<'a, Option<T>> for Value {
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<T>, block: &mut ExtensionWriter<'_>) {
        if let Some(value) = field {
            block.add(typ, |bytes| value.encode(bytes));
        }
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<T>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(T::read(r)?);
        Ok(())
    }
}

/// The form of a vector of structures. Reading an empty one returns
/// [`InvalidMessage::IllegalEmptyList`] with the name.
pub(super) struct Items(pub(super) LengthSize, pub(super) &'static str);

impl<'a, L> Form<'a, Option<L>> for Items
where
    L: List,
    L::Item: Codec<'a>,
{
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<L>, block: &mut ExtensionWriter<'_>) {
        encode_items(self.0, typ, field.as_deref(), block);
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<L>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(read_list(r, self.0, self.1)?);
        Ok(())
    }
}

/// The form of a vector of structures, which may be empty.
pub(super) struct MaybeEmpty(pub(super) LengthSize);

impl<'a, L> Form<'a, Option<L>> for MaybeEmpty
where
    L: List,
    L::Item: Codec<'a>,
{
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<L>, block: &mut ExtensionWriter<'_>) {
        encode_items(self.0, typ, field.as_deref(), block);
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<L>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(read_items(&mut r.prefixed(self.0)?)?);
        Ok(())
    }
}

/// The form of a vector of two-byte code points, like [`Items`].
pub(super) struct Codes(pub(super) LengthSize, pub(super) &'static str);

impl<'a, T: Codec<'a> + From<u16>> Form<'a, Option<ShortList<T>>> for Codes {
    #[inline]
    fn encode(
        self,
        typ: ExtensionType,
        field: &Option<ShortList<T>>,
        block: &mut ExtensionWriter<'_>,
    ) {
        encode_items(self.0, typ, field.as_deref(), block);
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<ShortList<T>>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(read_code_list(r, self.0, self.1)?);
        Ok(())
    }
}

/// The form of an opaque vector, which may be empty.
pub(super) struct Opaque(pub(super) LengthSize);

impl<'a> Form<'a, Option<&'a [u8]>> for Opaque {
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<&'a [u8]>, block: &mut ExtensionWriter<'_>) {
        if let Some(contents) = field {
            block.add(typ, |bytes| encode_bytes(bytes, self.0, contents));
        }
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<&'a [u8]>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(r.prefixed_bytes(self.0)?);
        Ok(())
    }
}

/// The form of an opaque vector. Reading an empty one returns
/// [`InvalidMessage::IllegalEmptyValue`].
pub(super) struct NonEmpty(pub(super) LengthSize);

impl<'a> Form<'a, Option<&'a [u8]>> for NonEmpty {
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<&'a [u8]>, block: &mut ExtensionWriter<'_>) {
        Opaque(self.0).encode(typ, field, block);
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<&'a [u8]>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(read_value(r, self.0)?);
        Ok(())
    }
}

/// The form of a body that is not parsed.
pub(super) struct Unparsed;

impl<'a> Form<'a, Option<&'a [u8]>> for Unparsed {
    #[inline]
    fn encode(self, typ: ExtensionType, field: &Option<&'a [u8]>, block: &mut ExtensionWriter<'_>) {
        if let Some(body) = field {
            block.add(typ, |bytes| bytes.extend_from_slice(body));
        }
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<&'a [u8]>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(r.rest());
        Ok(())
    }
}

/// Adds the extension `typ`, whose body is a vector of `items`, to `block`.
#[inline]
pub(super) fn encode_items<'a>(
    size: LengthSize,
    typ: ExtensionType,
    items: Option<&[impl Codec<'a>]>,
    block: &mut ExtensionWriter<'_>,
) {
    if let Some(items) = items {
        block.add(typ, |bytes| encode_list(bytes, size, items));
    }
}
