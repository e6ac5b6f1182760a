//! TLS 1.3 key derivation: HKDF (RFC 5869) and HKDF-Expand-Label (RFC 9846 §7.1).
//!
//! The key schedule and QUIC ([`crate::quic`]) supply the labels and contexts, and keep the derived
//! secrets.

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::hmac::{Hmac, Key, Tag};
use super::kx::ActiveKeyExchange;
use super::secret_bytes::SecretBytes;
use crate::error::Error;
use crate::versions::TLS13;

/// HKDF with one hash function, in the forms that TLS 1.3 needs.
///
/// A `salt` of `None` means `HashLen` zero bytes (RFC 5869 §2.2).
pub trait Hkdf: Send + Sync {
    /// Returns `HKDF-Extract(salt, 0)`, where 0 is `HashLen` zero bytes (RFC 9846 §7.1).
    ///
    /// The result is the pseudorandom key, ready to expand.
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander>;

    /// Returns `HKDF-Extract(salt, secret)`.
    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander>;

    /// Completes the key exchange and extracts from its shared secret.
    ///
    /// Override it if the secret must not leave the provider's key store.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ActiveKeyExchange::complete_for_tls_version`].
    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, Error> {
        let shared = kx.complete_for_tls_version(peer_pub_key, &TLS13)?;
        Ok(self.extract_from_secret(salt, shared.secret_bytes()))
    }

    /// Uses `okm`, the output of an earlier expansion, as the pseudorandom key.
    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander>;

    /// Calls `expand` once with an expander for `okm`. The default creates it with
    /// [`expander_for_okm`](Self::expander_for_okm).
    ///
    /// Override it to save an allocation: most expanders are used in only one place.
    fn with_expander(&self, okm: &OkmBlock, expand: &mut dyn FnMut(&dyn HkdfExpander)) {
        expand(&*self.expander_for_okm(okm));
    }

    /// Returns `HMAC(key, message)` with the same hash function, for Finished messages (RFC 9846
    /// §4.5.3) and PSK binders (§4.3.11.2).
    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag;

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// HKDF-Expand (RFC 5869 §2.3) from one pseudorandom key, which stays inside the implementation.
pub trait HkdfExpander: Send + Sync {
    /// Fills `output` with `HKDF-Expand(PRK, info, output.len())`.
    ///
    /// `info` is the concatenation of its pieces.
    ///
    /// # Errors
    ///
    /// Returns [`OutputLengthError`] if `output` is longer than 255 times
    /// [`hash_len`](Self::hash_len). `output` is then unchanged.
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError>;

    /// Returns `HKDF-Expand(PRK, info, HashLen)`: one block, which is never too long.
    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock;

    /// Returns the length in bytes of the hash function's output, at most [`OkmBlock::MAX_LEN`].
    fn hash_len(&self) -> usize;
}

/// Returns `HKDF-Expand(PRK, info, N)` as a `T` made from `N` bytes, such as an
/// [`Iv`](super::cipher::Iv) or an [`AeadKey`](super::cipher::AeadKey).
///
/// # Panics
///
/// Panics if `N` is more than 255 times the hash function's output length.
pub fn expand<T, const N: usize>(expander: &dyn HkdfExpander, info: &[&[u8]]) -> T
where
    T: From<[u8; N]>,
{
    let mut okm = [0; N];
    expander
        .expand_slice(info, &mut okm)
        .expect("N is at most 255 * HashLen");
    let value = T::from(okm);
    okm.zeroize();
    value
}

/// Calls `expand` with `okm` as the pseudorandom key of `hkdf`.
///
/// The result may be copied. So `expand` should write secrets into their final places instead of
/// returning them, unless the caller erases the stack afterwards.
pub fn with_expander<T>(
    hkdf: &dyn Hkdf,
    okm: &OkmBlock,
    mut expand: impl FnMut(&dyn HkdfExpander) -> T,
) -> T {
    let mut expanded = None;
    hkdf.with_expander(okm, &mut |expander| expanded = Some(expand(expander)));
    // fall back to an expander if the provider did not call `expand`
    expanded.unwrap_or_else(|| expand(&*hkdf.expander_for_okm(okm)))
}

/// Returns `HKDF-Expand-Label(PRK, label, context, HashLen)` (RFC 9846 §7.1): one block.
///
/// `label` excludes the prefix "tls13 ".
///
/// # Panics
///
/// Panics if `label` is longer than 249 bytes or `context` longer than 255. Only exporter labels
/// come from the application, and they are checked beforehand.
pub fn expand_label_block(expander: &dyn HkdfExpander, label: &[u8], context: &[u8]) -> OkmBlock {
    let lengths = HkdfLabelLengths::new(expander.hash_len(), label, context);
    lengths.with_info(label, context, |info| expander.expand_block(info))
}

/// Fills `output` with `HKDF-Expand-Label(PRK, label, context, output.len())` (RFC 9846 §7.1).
///
/// `label` excludes the prefix "tls13 ".
///
/// # Errors
///
/// Returns [`OutputLengthError`] if `output` is longer than 255 times the hash function's output
/// length, if `label` is longer than 249 bytes, or if `context` is longer than 255.
pub fn expand_label_slice(
    expander: &dyn HkdfExpander,
    label: &[u8],
    context: &[u8],
    output: &mut [u8],
) -> Result<(), OutputLengthError> {
    let lengths = HkdfLabelLengths::checked(output.len(), label, context)?;
    lengths.with_info(label, context, |info| expander.expand_slice(info, output))
}

/// The fixed-size parts of `struct HkdfLabel`, without label and context.
///
/// ```text
///   uint16 length ‖ uint8 ‖ "tls13 " ‖ label ‖ uint8 ‖ context
/// ```
struct HkdfLabelLengths {
    output: [u8; 2],
    label: [u8; 1],
    context: [u8; 1],
}

impl HkdfLabelLengths {
    const PREFIX: &'static [u8] = b"tls13 ";

    /// The room in bytes for the encoding of every TLS label, with a hash of up to 48 bytes.
    const ONE_PIECE: usize = 96;

    fn new(hash_len: usize, label: &[u8], context: &[u8]) -> Self {
        // an external provider's expander may claim any length
        Self::checked(Ord::min(hash_len, OkmBlock::MAX_LEN), label, context)
            .expect("lengths fit the fields of struct HkdfLabel")
    }

    fn checked(output_len: usize, label: &[u8], context: &[u8]) -> Result<Self, OutputLengthError> {
        let too_long = |_| OutputLengthError;
        let output = u16::try_from(output_len).map_err(too_long)?;
        let label = u8::try_from(Self::PREFIX.len() + label.len()).map_err(too_long)?;
        let context = u8::try_from(context.len()).map_err(too_long)?;
        Ok(Self {
            output: output.to_be_bytes(),
            label: [label],
            context: [context],
        })
    }

    /// Calls `expand` with the encoding, as one piece if it fits into [`Self::ONE_PIECE`] bytes.
    /// Hashing one piece is faster than hashing six.
    fn with_info<T>(&self, label: &[u8], context: &[u8], expand: impl FnOnce(&[&[u8]]) -> T) -> T {
        let pieces: [&[u8]; 6] = [
            &self.output,
            &self.label,
            Self::PREFIX,
            label,
            &self.context,
            context,
        ];
        let mut encoded = [0; Self::ONE_PIECE];
        let mut rest = &mut encoded[..];
        for piece in pieces {
            let Some((start, behind)) = rest.split_at_mut_checked(piece.len()) else {
                return expand(&pieces);
            };
            start.copy_from_slice(piece);
            rest = behind;
        }
        let len = Self::ONE_PIECE - rest.len();
        expand(&[&encoded[..len]])
    }
}

/// One block (`HashLen` bytes) of output keying material. Zeroized on drop.
///
/// Moving a block may leave a copy behind that is never zeroized. `clone_from` leaves none.
pub struct OkmBlock {
    bytes: SecretBytes<{ Self::MAX_LEN }>,
    /// A single byte, to save memory: connections keep several blocks.
    len: u8,
}

impl OkmBlock {
    /// The maximum length of a block in bytes: the output length of SHA-512.
    pub const MAX_LEN: usize = 64;

    /// Copies a block.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` is longer than [`Self::MAX_LEN`].
    // a handshake creates many empty blocks, which need no copy
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let mut block = Self {
            bytes: SecretBytes::default(),
            len: bytes.len() as u8,
        };
        block.bytes.0[..bytes.len()].copy_from_slice(bytes);
        block
    }
}

impl Clone for OkmBlock {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes,
            len: self.len,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.bytes.0.copy_from_slice(&source.bytes.0);
        self.len = source.len;
    }
}

impl AsRef<[u8]> for OkmBlock {
    fn as_ref(&self) -> &[u8] {
        &self.bytes.0[..usize::from(self.len)]
    }
}

impl Drop for OkmBlock {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// The output is longer than HKDF allows, which is 255 blocks (RFC 5869 §2.3), or a label or
/// context is too long for HKDF-Expand-Label.
#[derive(Debug)]
pub struct OutputLengthError;

/// An [`Hkdf`] built from HMAC, as in RFC 5869.
pub struct HkdfUsingHmac<'a>(pub &'a dyn Hmac);

impl HkdfUsingHmac<'_> {
    /// RFC 5869 §2.2: `PRK = HMAC(salt, IKM)`.
    fn extract(&self, salt: Option<&[u8]>, ikm: &[u8]) -> Box<dyn HkdfExpander> {
        let salt = salt.unwrap_or_else(|| self.zeros());
        let prk = self.0.with_key(salt).sign(&[ikm]);
        Box::new(HkdfExpanderUsingHmac(self.0.with_key(prk.as_ref())))
    }

    /// Returns `HashLen` zero bytes.
    fn zeros(&self) -> &'static [u8] {
        &[0; Tag::MAX_LEN][..self.0.hash_output_len()]
    }
}

impl Hkdf for HkdfUsingHmac<'_> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract(salt, self.zeros())
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.extract(salt, secret)
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(HkdfExpanderUsingHmac(self.0.with_key(okm.as_ref())))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.0.with_key(key.as_ref()).sign(&[message])
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// The [`HkdfExpander`] of [`HkdfUsingHmac`]: an HMAC keyed with the pseudorandom key.
///
/// A provider with its own [`Hkdf`] can use its own key type as `K`, to avoid boxing the key.
pub struct HkdfExpanderUsingHmac<K = Box<dyn Key>>(K);

impl<K: Key> HkdfExpanderUsingHmac<K> {
    /// Creates an expander. `key` is the HMAC key made from the pseudorandom key.
    pub fn new(key: K) -> Self {
        Self(key)
    }

    /// Returns `T(i)` (RFC 5869 §2.3). `before` is `T(i-1)`, empty for the first block.
    ///
    /// # Panics
    ///
    /// Panics if the HMAC returns an empty tag, for example because its key store failed.
    /// Continuing would yield an all-zero key, or an empty secret.
    fn block(&self, before: &[u8], info: &[&[u8]], i: u8) -> Tag {
        let tag = self.0.sign_concat(before, info, &[i]);
        tag.assert_not_empty();
        tag
    }
}

impl<K: Key> HkdfExpander for HkdfExpanderUsingHmac<K> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        // RFC 5869 §2.3: L <= 255 * HashLen
        let hash_len = self.hash_len();
        if hash_len == 0 || output.len().div_ceil(hash_len) > usize::from(u8::MAX) {
            return Err(OutputLengthError);
        }
        let mut done = 0;
        let mut t = Tag::new(&[]);
        for i in 1..=u8::MAX {
            let missing = &mut output[done..];
            if missing.is_empty() {
                break;
            }
            t = self.block(t.as_ref(), info, i);
            let len = Ord::min(missing.len(), t.as_ref().len());
            missing[..len].copy_from_slice(&t.as_ref()[..len]);
            done += len;
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        OkmBlock::new(self.block(&[], info, 1).as_ref())
    }

    fn hash_len(&self) -> usize {
        self.0.tag_len()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::toy::{EmptyTags, ToyHmac};
    use super::*;
    use crate::crypto::SharedSecret;
    use crate::enums::NamedGroup;

    fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        ToyHmac.with_key(key).sign(parts).as_ref().to_vec()
    }

    #[test]
    fn extract_and_expand_follow_the_rfc() {
        let prk = hmac(b"salt", &[b"ikm"]);
        let mut expected = hmac(&prk, &[b"info\x01"]);
        for i in 2..=3 {
            let t = expected[expected.len() - ToyHmac::LEN..].to_vec();
            expected.extend(hmac(&prk, &[&t, b"info", &[i]]));
        }

        let expander = HkdfUsingHmac(&ToyHmac).extract_from_secret(Some(b"salt"), b"ikm");
        for len in 0..=expected.len() {
            let mut output = alloc::vec![0; len];
            expander.expand_slice(&[b"in", b"fo"], &mut output).unwrap();
            assert_eq!(output, expected[..len], "{len} bytes");
        }
        assert_eq!(
            expander.expand_block(&[b"info"]).as_ref(),
            &expected[..ToyHmac::LEN]
        );
        let array: [u8; 20] = expand(&*expander, &[b"info"]);
        assert_eq!(array, expected[..20]);
    }

    #[test]
    fn absent_salt_and_zero_ikm_are_hash_len_zeros() {
        let zeros = &[0; ToyHmac::LEN][..];
        let block = |expander: Box<dyn HkdfExpander>| expander.expand_block(&[]).as_ref().to_vec();
        let hkdf = HkdfUsingHmac(&ToyHmac);
        assert_eq!(
            block(hkdf.extract_from_zero_ikm(None)),
            block(hkdf.extract_from_secret(Some(zeros), zeros))
        );
        assert_ne!(
            block(hkdf.extract_from_zero_ikm(None)),
            block(hkdf.extract_from_secret(Some(zeros), &[]))
        );
    }

    #[test]
    fn output_is_limited_to_255_blocks() {
        let expander = HkdfUsingHmac(&ToyHmac).extract_from_zero_ikm(None);
        let mut output = alloc::vec![0; 255 * ToyHmac::LEN + 1];
        assert!(expander.expand_slice(&[], &mut output).is_err());
        assert!(output.iter().all(|byte| *byte == 0));

        output.pop();
        expander.expand_slice(&[], &mut output).unwrap();
        assert_ne!(output[254 * ToyHmac::LEN..], [0; ToyHmac::LEN]);
    }

    #[test]
    #[should_panic = "empty tag"]
    fn empty_tags_never_yield_a_key_of_zeros() {
        let expander = HkdfUsingHmac(&EmptyTags).extract_from_zero_ikm(None);
        let _ = expander.expand_slice(&[b"info"], &mut [0; 16]);
    }

    #[test]
    #[should_panic = "empty tag"]
    fn empty_tags_never_yield_an_empty_secret() {
        let expander = HkdfUsingHmac(&EmptyTags).extract_from_zero_ikm(None);
        expander.expand_block(&[b"info"]);
    }

    #[test]
    fn label_encoding_matches_the_rfc() {
        let expander = HkdfUsingHmac(&ToyHmac).extract_from_zero_ikm(None);
        let mut by_label = [0; 12];
        expand_label_slice(&*expander, b"iv", b"ctx", &mut by_label).unwrap();
        let by_hand: [u8; 12] = expand(&*expander, &[b"\x00\x0c\x08tls13 iv\x03ctx"]);
        assert_eq!(by_label, by_hand);

        assert_eq!(
            expand_label_block(&*expander, b"key", b"").as_ref(),
            expander
                .expand_block(&[b"\x00\x10\x09tls13 key\x00"])
                .as_ref()
        );

        // label and context as one piece, and as several
        for len in [0, 81, 82, 83, 84, 200] {
            let context = alloc::vec![7; len];
            expand_label_slice(&*expander, b"iv", &context, &mut by_label).unwrap();
            let head = [
                0, 12, 8, b't', b'l', b's', b'1', b'3', b' ', b'i', b'v', len as u8,
            ];
            let by_hand: [u8; 12] = expand(&*expander, &[&head, &context]);
            assert_eq!(by_label, by_hand, "{len}");
        }

        assert!(expand_label_slice(&*expander, &[0; 249], &[0; 255], &mut by_label).is_ok());
        assert!(expand_label_slice(&*expander, &[0; 250], &[], &mut by_label).is_err());
        assert!(expand_label_slice(&*expander, &[], &[0; 256], &mut by_label).is_err());
    }

    #[test]
    fn secrets_are_derived_from_a_key_exchange_or_earlier_output() {
        struct Exchange;

        impl ActiveKeyExchange for Exchange {
            fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
                Ok(peer_pub_key.into())
            }

            fn pub_key(&self) -> &[u8] {
                b"ours"
            }

            fn group(&self) -> NamedGroup {
                // RFC 9846 §7.4.1: TLS 1.3 keeps leading zeros
                NamedGroup::FFDHE2048
            }
        }

        let hkdf = HkdfUsingHmac(&ToyHmac);
        let salt = Some(&b"salt"[..]);
        let by_exchange = hkdf
            .extract_from_kx_shared_secret(salt, Box::new(Exchange), b"\0shared")
            .unwrap()
            .expand_block(&[b"info"]);
        let by_secret = hkdf
            .extract_from_secret(salt, b"\0shared")
            .expand_block(&[b"info"]);
        assert_eq!(by_exchange.as_ref(), by_secret.as_ref());

        let okm = OkmBlock::new(b"earlier output");
        assert_eq!(
            hkdf.expander_for_okm(&okm)
                .expand_block(&[b"info"])
                .as_ref(),
            hmac(b"earlier output", &[b"info\x01"])
        );
        assert_eq!(
            hkdf.hmac_sign(&okm, b"message").as_ref(),
            hmac(b"earlier output", &[b"message"])
        );
        assert!(!hkdf.fips());
    }
}
