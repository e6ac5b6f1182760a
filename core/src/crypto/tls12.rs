//! The key derivation of TLS 1.2: its pseudorandom function (RFC 5246 §5).
//!
//! The handshake owns labels, seeds and the derived secrets.

use alloc::boxed::Box;

use super::hmac::Hmac;
use super::kx::ActiveKeyExchange;
use crate::error::Error;
use crate::versions::TLS12;

/// The PRF of TLS 1.2 with one hash function.
pub trait Prf: Send + Sync {
    /// Completes the key exchange and derives `output` from its shared secret:
    /// `PRF(pre_master_secret, label, seed)`.
    ///
    /// `output` is the master secret (RFC 5246 §8.1, or RFC 7627 §4 if `seed` is a session hash).
    /// The pre-master secret never leaves this call.
    ///
    /// # Errors
    ///
    /// The errors of [`ActiveKeyExchange::complete_for_tls_version`].
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error>;

    /// Fills `output`, of any length, with `PRF(secret, label, seed)`.
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]);

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// The [`Prf`] that RFC 5246 §5 builds from an HMAC.
pub struct PrfUsingHmac<'a>(pub &'a dyn Hmac);

impl Prf for PrfUsingHmac<'_> {
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error> {
        let pre_master_secret = kx.complete_for_tls_version(peer_pub_key, &TLS12)?;
        p_hash(
            self.0,
            output,
            pre_master_secret.secret_bytes(),
            [label, seed],
        );
        Ok(())
    }

    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        p_hash(self.0, output, secret, [label, seed]);
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// `P_hash` of RFC 5246 §5, with its seed in two pieces:
///
/// ```text
///   A(1) = HMAC(secret, seed)          A(i) = HMAC(secret, A(i-1))
///   output = HMAC(secret, A(1) + seed) + HMAC(secret, A(2) + seed) + ...   truncated
/// ```
fn p_hash(hmac: &dyn Hmac, output: &mut [u8], secret: &[u8], seed: [&[u8]; 2]) {
    let key = hmac.with_key(secret);
    let mut blocks = output.chunks_mut(key.tag_len());
    let Some(mut block) = blocks.next() else {
        return;
    };

    let mut a = key.sign(&seed);
    loop {
        let tag = key.sign_concat(a.as_ref(), &seed, &[]);
        block.copy_from_slice(&tag.as_ref()[..block.len()]);
        block = match blocks.next() {
            Some(next) => next,
            None => return,
        };
        a = key.sign(&[a.as_ref()]);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::toy::ToyHmac;
    use super::*;
    use crate::crypto::SharedSecret;
    use crate::enums::NamedGroup;
    use crate::error::PeerMisbehaved;

    #[test]
    fn output_is_the_truncated_sequence_of_the_rfc() {
        let hmac = |parts: &[&[u8]]| ToyHmac.with_key(b"secret").sign(parts).as_ref().to_vec();
        let mut expected = Vec::new();
        let mut a = hmac(&[b"labelseed"]);
        for _ in 0..3 {
            expected.extend(hmac(&[&a, b"labelseed"]));
            a = hmac(&[&a]);
        }

        for len in 0..expected.len() {
            let mut output = alloc::vec![0; len];
            PrfUsingHmac(&ToyHmac).for_secret(&mut output, b"secret", b"label", b"seed");
            assert_eq!(output, expected[..len], "{len} bytes");
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
