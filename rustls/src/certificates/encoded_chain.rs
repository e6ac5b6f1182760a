//! A chain as one string of bytes: the certificates in order, each as opaque<1..2^24-1>.
//!
//! A [`PeerChain`](super::PeerChain) has an allocation for each certificate. A peer may send
//! thousands of certificates of one byte, which would then take many times their length. So a chain
//! is held in this form until its peer's signature has arrived. Encoded sessions contain this form,
//! too.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use rustls_core::codec::{LengthSize, Reader, encode_bytes};

use super::peer_chain::{ChainKind, PeerChain};
use crate::error::InvalidMessage;

/// The length in bytes of the length prefix of each certificate.
const PREFIX_LEN: usize = 3;

/// An encoded chain, in which each certificate is complete and not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EncodedChain<'a>(&'a [u8]);

impl<'a> EncodedChain<'a> {
    /// The chain of a peer without certificates.
    pub(crate) const EMPTY: Self = Self(&[]);

    /// Checks an encoded `list`, and returns it as a chain.
    ///
    /// # Errors
    ///
    /// Returns an error if a certificate is empty or cut off.
    pub(crate) fn read(list: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut rest = Reader::new(list);
        while rest.any_left() {
            if rest.prefixed_bytes(LengthSize::U24)?.is_empty() {
                return Err(InvalidMessage::IllegalEmptyValue);
            }
        }
        Ok(Self(list))
    }

    pub(crate) fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Iterates over the remaining certificates.
impl<'a> Iterator for EncodedChain<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let mut r = Reader::new(self.0);
        // the list was checked when it was decoded, or was encoded here, so this fails only at its
        // end
        let certificate = r.prefixed_bytes(LengthSize::U24).ok()?;
        self.0 = r.rest();
        Some(certificate)
    }
}

/// Returns the length of an encoded chain in bytes.
pub(crate) fn encoded_len<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> usize {
    certificates.map(|der| PREFIX_LEN + der.len()).sum()
}

/// Appends the encoded chain.
pub(crate) fn encode<'a>(certificates: impl Iterator<Item = &'a [u8]>, bytes: &mut Vec<u8>) {
    for der in certificates {
        encode_bytes(bytes, LengthSize::U24, der);
    }
}

/// The encoded chain of a peer that is not authenticated yet.
#[derive(Debug)]
pub(crate) struct WaitingChain {
    kind: ChainKind,
    list: Box<[u8]>,
}

impl WaitingChain {
    /// Creates a chain by copying certificates in DER, in one allocation.
    pub(crate) fn copy<'a>(
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Self {
        let mut list = Vec::with_capacity(encoded_len(certificates.clone()));
        encode(certificates, &mut list);
        Self {
            kind,
            list: list.into_boxed_slice(),
        }
    }

    /// Iterates over the certificates in DER.
    pub(crate) fn der(&self) -> EncodedChain<'_> {
        EncodedChain(&self.list)
    }

    /// Returns the end-entity certificate, if there is one.
    pub(crate) fn end_entity(&self) -> Option<CertificateDer<'_>> {
        self.der().next().map(CertificateDer::from)
    }

    /// Copies the chain. Call this only once the peer's signature has arrived.
    pub(crate) fn to_chain(&self) -> PeerChain {
        PeerChain::copy(self.kind, self.der())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_encoded_and_decoded() {
        let certificates = [&[7; 300][..], b"a", b"bc"];
        let mut bytes = Vec::new();
        encode(certificates.into_iter(), &mut bytes);
        assert_eq!(bytes.len(), encoded_len(certificates.into_iter()));
        assert!(EncodedChain::read(&bytes).unwrap().eq(certificates));
        assert_eq!(EncodedChain::read(&[]), Ok(EncodedChain::EMPTY));
        assert_eq!({ EncodedChain::EMPTY }.next(), None);
        // whole certificates may be missing, but not parts of one
        for len in 0..bytes.len() {
            let is_boundary = [0, 303, 307].contains(&len);
            assert_eq!(EncodedChain::read(&bytes[..len]).is_ok(), is_boundary);
        }
        EncodedChain::read(b"\0\0\0").unwrap_err();
    }

    #[test]
    fn a_waiting_chain_becomes_a_peer_chain() {
        let certificates = [&b"end entity"[..], b"issuer"];
        for kind in [ChainKind::X509, ChainKind::RawPublicKey] {
            let chain = WaitingChain::copy(kind, certificates.into_iter());
            assert_eq!(chain.list.len(), 3 + 10 + 3 + 6);
            assert_eq!(chain.end_entity().as_deref(), Some(&b"end entity"[..]));
            assert_eq!(chain.to_chain(), PeerChain::copy(kind, certificates));
            let empty = WaitingChain::copy(kind, [].into_iter());
            assert_eq!(empty.end_entity(), None);
        }
    }
}
