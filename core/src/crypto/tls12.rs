//! TLS 1.2 key derivation: the pseudorandom function (RFC 5246 §5).
//!
//! The key schedule supplies the labels and seeds, and keeps the derived secrets.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::hmac::{Hmac, Key, Tag};
use super::kx::ActiveKeyExchange;
use super::secret_bytes::SecretBytes;
use crate::error::Error;
use crate::versions::TLS12;

/// The TLS 1.2 PRF with one hash function.
pub trait Prf: Send + Sync {
    /// Completes the key exchange and derives `output` from its shared secret:
    /// `PRF(pre_master_secret, label, seed)`.
    ///
    /// `output` is the master secret (RFC 5246 §8.1, or RFC 7627 §4 if `seed` is a session hash).
    /// The pre-master secret never leaves this call. The default completes the exchange and calls
    /// [`for_secret`](Self::for_secret).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ActiveKeyExchange::complete_for_tls_version`].
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error> {
        let pre_master_secret = kx.complete_for_tls_version(peer_pub_key, &TLS12)?;
        self.for_secret(output, pre_master_secret.secret_bytes(), label, seed);
        Ok(())
    }

    /// Fills `output`, of any length, with `PRF(secret, label, seed)`.
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]);

    /// Prepares `secret` for several derivations. The default returns `None`, which means that
    /// preparing a secret saves nothing.
    ///
    /// A handshake derives the keys and both Finished messages from the master secret.
    fn prepare(&self, secret: &[u8]) -> Option<Box<dyn PreparedSecret>> {
        let _ = secret;
        None
    }

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// A secret prepared by a [`Prf`].
pub trait PreparedSecret: Send + Sync {
    /// Fills `output`, of any length, with `PRF(secret, label, seed)`.
    fn derive(&self, output: &mut [u8], label: &[u8], seed: &[u8]);
}

/// A [`Prf`] built from HMAC, as in RFC 5246 §5.
pub struct PrfUsingHmac<'a>(pub &'a dyn Hmac);

impl Prf for PrfUsingHmac<'_> {
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        p_hash(&*self.0.with_key(secret), output, label, seed);
    }

    fn prepare(&self, secret: &[u8]) -> Option<Box<dyn PreparedSecret>> {
        Some(Box::new(PreparedHmac(self.0.with_key(secret))))
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// A secret for a PRF that is built from an HMAC, stored as the HMAC key.
pub struct PreparedHmac<K>(pub K);

impl<K: Key> PreparedSecret for PreparedHmac<K> {
    fn derive(&self, output: &mut [u8], label: &[u8], seed: &[u8]) {
        p_hash(&self.0, output, label, seed);
    }
}

/// The room in bytes for `A(i) + label + seed` in a handshake, with any hash function.
const USUAL_LEN: usize = 160;

/// Computes `P_hash` of RFC 5246 §5 with the seed `label + seed`, where `key` is the secret:
///
/// ```text
///   A(1) = HMAC(secret, seed)          A(i) = HMAC(secret, A(i-1))
///   output = HMAC(secret, A(1) + seed) + HMAC(secret, A(2) + seed) + ...   truncated
/// ```
///
/// # Panics
///
/// Panics if the HMAC returns an empty tag, for example because its key store failed. Continuing
/// would yield no output, or a secret that is the same for all connections.
pub(crate) fn p_hash<K: Key + ?Sized>(key: &K, output: &mut [u8], label: &[u8], seed: &[u8]) {
    // hashing one piece is faster than hashing three. The length is not 0, so that an empty A(i)
    // has another one, and is found below
    let a_len = key.tag_len().clamp(1, Tag::MAX_LEN);
    let len = a_len + label.len() + seed.len();
    let mut usual = Zeroizing::new(SecretBytes::<USUAL_LEN>::default());
    let mut long = Zeroizing::new(Vec::new());
    let a_and_seed = match usual.0.get_mut(..len) {
        Some(usual) => usual,
        None => {
            long.resize(len, 0);
            &mut long[..]
        }
    };
    a_and_seed[a_len..][..label.len()].copy_from_slice(label);
    a_and_seed[a_len + label.len()..].copy_from_slice(seed);

    let mut a = key.sign(&[&a_and_seed[a_len..]]);
    a.assert_not_empty();
    let mut blocks = output.chunks_mut(a.as_ref().len()).peekable();
    while let Some(block) = blocks.next() {
        let tag = if a.as_ref().len() == a_len {
            a_and_seed[..a_len].copy_from_slice(a.as_ref());
            key.sign(&[a_and_seed])
        } else {
            // the tag length differs from what the provider claims
            a.assert_not_empty();
            key.sign(&[a.as_ref(), label, seed])
        };
        // an empty tag makes this slice panic, at no extra cost
        block.copy_from_slice(&tag.as_ref()[..block.len()]);
        if blocks.peek().is_some() {
            a = key.sign(&[a.as_ref()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::sync::atomic::AtomicUsize;
    use core::sync::atomic::Ordering::Relaxed;
    use std::panic::catch_unwind;

    use super::super::toy::{EmptyTags, ToyHmac};
    use super::*;
    use crate::crypto::SharedSecret;
    use crate::enums::NamedGroup;
    use crate::error::PeerMisbehaved;

    #[test]
    fn output_of_any_length_matches_the_rfc() {
        let hmac = |parts: &[&[u8]]| ToyHmac.with_key(b"secret").sign(parts).as_ref().to_vec();
        // messages on either side of the usual length
        let longest = USUAL_LEN - ToyHmac::LEN - b"label".len();
        for seed in [b"seed".to_vec(), vec![7; longest], vec![7; longest + 1]] {
            let mut expected = Vec::new();
            let mut a = hmac(&[b"label", &seed]);
            for _ in 0..3 {
                expected.extend(hmac(&[&a, b"label", &seed]));
                a = hmac(&[&a]);
            }

            let prf = PrfUsingHmac(&ToyHmac);
            let prepared = prf.prepare(b"secret").unwrap();
            for len in 0..expected.len() {
                let mut output = vec![0; len];
                prf.for_secret(&mut output, b"secret", b"label", &seed);
                assert_eq!(output, expected[..len], "{len} bytes");
                output.fill(0);
                prepared.derive(&mut output, b"label", &seed);
                assert_eq!(output, expected[..len], "{len} bytes, prepared");
            }
        }
    }

    #[test]
    #[should_panic = "empty tag"]
    fn empty_tags_never_yield_a_secret() {
        PrfUsingHmac(&EmptyTags).for_secret(&mut [0; 48], b"secret", b"label", b"seed");
    }

    /// A key store that fails once. A provider may state a wrong tag length, too.
    struct FailsOnce {
        calls: AtomicUsize,
        fails_at: usize,
        tag_len: usize,
    }

    impl Key for FailsOnce {
        fn sign_concat(&self, _: &[u8], _: &[&[u8]], _: &[u8]) -> Tag {
            match self.calls.fetch_add(1, Relaxed) == self.fails_at {
                true => Tag::new(&[]),
                false => Tag::new(&[7; 16]),
            }
        }

        fn tag_len(&self) -> usize {
            self.tag_len
        }
    }

    #[test]
    fn no_call_may_return_an_empty_tag() {
        for tag_len in [16, 0, 99] {
            // A(1), the first block, A(2), the second block, and none
            for fails_at in 0..5 {
                let calls = AtomicUsize::new(0);
                let key = FailsOnce {
                    calls,
                    fails_at,
                    tag_len,
                };
                let derive = || p_hash(&key, &mut [0; 32], b"label", b"seed");
                let is_derived = catch_unwind(derive).is_ok();
                assert_eq!(is_derived, fails_at == 4, "{tag_len} {fails_at}");
            }
        }
    }

    #[test]
    fn key_exchange_derives_the_master_secret() {
        struct Exchange;

        impl ActiveKeyExchange for Exchange {
            fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
                match peer_pub_key {
                    [] => Err(PeerMisbehaved::InvalidKeyShare.into()),
                    share => Ok(share.into()),
                }
            }

            fn pub_key(&self) -> &[u8] {
                b"ours"
            }

            fn group(&self) -> NamedGroup {
                // RFC 5246 §8.1.2: only these groups strip leading zeros
                NamedGroup::FFDHE2048
            }
        }

        let prf = PrfUsingHmac(&ToyHmac);
        let mut expected = [0; 48];
        prf.for_secret(&mut expected, b"secret", b"label", b"seed");
        let mut output = [0; 48];
        prf.for_key_exchange(
            &mut output,
            Box::new(Exchange),
            b"\0\0secret",
            b"label",
            b"seed",
        )
        .unwrap();
        assert_eq!(output, expected);

        let failed = prf.for_key_exchange(&mut output, Box::new(Exchange), &[], b"label", b"seed");
        assert_eq!(failed, Err(PeerMisbehaved::InvalidKeyShare.into()));
        assert!(!prf.fips());
    }
}
