//! Public keys and algorithm identifiers (RFC 5280 §4.1.1.2, §4.1.2.7).

use alloc::boxed::Box;
use core::fmt;

use pki_types::SubjectPublicKeyInfoDer;
use x509_cert::der::asn1::BitStringRef;
use x509_cert::der::{Decode, Reader, SliceReader};

use super::element::Element;
use super::error::Malformed;
use super::oid::Oid;
use super::span::Span;

/// The public key of a certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    der: Box<[u8]>,
    algorithm: AlgorithmIdentifier,
    key: Span,
}

impl PublicKey {
    /// Returns the DER of a `SubjectPublicKeyInfo`.
    pub fn subject_public_key_info(&self) -> SubjectPublicKeyInfoDer<'_> {
        SubjectPublicKeyInfoDer::from(&*self.der)
    }

    /// Returns the algorithm of the key, with its parameters, such as the curve.
    pub fn algorithm(&self) -> &AlgorithmIdentifier {
        &self.algorithm
    }

    /// Returns the key itself in the format of its algorithm, such as a point or an `RSAPublicKey`.
    pub fn key(&self) -> &[u8] {
        self.key.of(&self.der)
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let (algorithm, key_len) = reader.sequence(|reader| {
            let algorithm = AlgorithmIdentifier::read_next(reader)?;
            let key = BitStringRef::decode(reader)?;
            match key.as_bytes() {
                Some(_) => Ok((algorithm, key.byte_len())),
                None => Err(Malformed::Rule("a key that is no whole number of bytes")),
            }
        })?;
        let end = reader.position();
        reader.finish()?;
        Ok(Self {
            der: der.into(),
            algorithm,
            key: Span::new((end - key_len)?, end),
        })
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// An algorithm with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlgorithmIdentifier {
    oid: Oid,
    parameters: Option<Box<[u8]>>,
}

impl AlgorithmIdentifier {
    /// Returns the identifier of the algorithm.
    pub fn oid(&self) -> &Oid {
        &self.oid
    }

    /// Returns the DER of the parameters, if any; a NULL counts as parameters.
    pub fn parameters(&self) -> Option<&[u8]> {
        self.parameters.as_deref()
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let algorithm = Self::read_next(&mut reader)?;
        reader.finish()?;
        Ok(algorithm)
    }

    fn read_next(reader: &mut SliceReader<'_>) -> Result<Self, Malformed> {
        reader.sequence(|reader| {
            let oid = Oid::read(reader)?;
            let parameters = if reader.is_finished() {
                None
            } else {
                Some(Element::read(reader)?.der.into())
            };
            Ok(Self { oid, parameters })
        })
    }
}
