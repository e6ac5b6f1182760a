//! The permitted uses of a certificate's key (RFC 5280 §4.2.1.3, §4.2.1.9, §4.2.1.12).

use alloc::boxed::Box;
use core::fmt;

use x509_cert::der::asn1::BitStringRef;
use x509_cert::der::{Decode, Reader, SliceReader};

use super::error::Malformed;
use super::oid::Oid;

/// The permitted uses of a key.
///
/// Holds the bits of `KeyUsage`, except those that RFC 5280 does not define.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyUsages(u16);

impl KeyUsages {
    /// `digitalSignature`: signatures other than those on certificates and CRLs, as in TLS
    /// handshakes.
    pub fn digital_signature(self) -> bool {
        self.has(0)
    }

    /// `contentCommitment`, formerly nonRepudiation: signatures that commit the signer.
    pub fn content_commitment(self) -> bool {
        self.has(1)
    }

    /// `keyEncipherment`: encryption of keys.
    pub fn key_encipherment(self) -> bool {
        self.has(2)
    }

    /// `dataEncipherment`: encryption of data.
    pub fn data_encipherment(self) -> bool {
        self.has(3)
    }

    /// `keyAgreement`: key agreement, for example static Diffie-Hellman.
    pub fn key_agreement(self) -> bool {
        self.has(4)
    }

    /// `keyCertSign`: signatures on certificates.
    pub fn key_cert_sign(self) -> bool {
        self.has(5)
    }

    /// `cRLSign`: signatures on certificate revocation lists.
    pub fn crl_sign(self) -> bool {
        self.has(6)
    }

    /// `encipherOnly`: with keyAgreement, encryption only.
    pub fn encipher_only(self) -> bool {
        self.has(7)
    }

    /// `decipherOnly`: with keyAgreement, decryption only.
    pub fn decipher_only(self) -> bool {
        self.has(8)
    }

    fn has(self, bit: u16) -> bool {
        self.0 & (1 << bit) != 0
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let bits = BitStringRef::from_der(der)?;
        let bits = (0..NAMES.len()).filter(|bit| bits.get(*bit) == Some(true));
        Ok(Self(bits.fold(0, |usages, bit| usages | 1 << bit)))
    }
}

/// The names in RFC 5280, by bit number.
const NAMES: [&str; 9] = [
    "digitalSignature",
    "contentCommitment",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
];

impl fmt::Debug for KeyUsages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (0..).zip(NAMES).filter(|(bit, _)| self.has(*bit));
        f.debug_set().entries(names.map(|(_, name)| name)).finish()
    }
}

/// The permitted purposes of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExtendedKeyUsages(Box<[Oid]>);

impl ExtendedKeyUsages {
    /// Iterates over the purposes in the order in which the certificate lists them.
    pub fn iter(&self) -> impl Iterator<Item = &Oid> {
        self.0.iter()
    }

    /// True if `purpose` itself is listed, regardless of [`any`](Self::any).
    pub fn contains(&self, purpose: &Oid) -> bool {
        self.0.contains(purpose)
    }

    /// True if TLS server authentication (`id-kp-serverAuth`) is listed.
    pub fn server_auth(&self) -> bool {
        self.has(SERVER_AUTH)
    }

    /// True if TLS client authentication (`id-kp-clientAuth`) is listed.
    pub fn client_auth(&self) -> bool {
        self.has(CLIENT_AUTH)
    }

    /// True if any purpose is permitted (`anyExtendedKeyUsage`).
    pub fn any(&self) -> bool {
        self.has(ANY)
    }

    fn has(&self, purpose: &[u8]) -> bool {
        self.0.iter().any(|oid| oid.as_bytes() == purpose)
    }

    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let purposes = reader.sequence(|reader| Oid::read_all(reader))?;
        reader.finish()?;
        // RFC 5280 §4.2.1.12: at least one
        if purposes.is_empty() {
            return Err(Malformed::Rule("an empty list of purposes"));
        }
        Ok(Self(purposes.into()))
    }
}

/// The contents of the object identifier 1.3.6.1.5.5.7.3.1.
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
/// The contents of the object identifier 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
/// The contents of the object identifier 2.5.29.37.0.
const ANY: &[u8] = &[0x55, 0x1d, 0x25, 0];

/// The basic constraints of a certificate (RFC 5280 §4.2.1.9), which state whether it belongs to a
/// CA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BasicConstraints {
    /// True if the certificate belongs to a CA, which may issue other certificates.
    pub ca: bool,
    /// The maximum number of intermediate certificates between this one and the end entity's, not
    /// counting self-issued ones.
    pub path_len_constraint: Option<u32>,
}

impl BasicConstraints {
    pub(super) fn read(der: &[u8]) -> Result<Self, Malformed> {
        let mut reader = SliceReader::new(der)?;
        let constraints = reader.sequence(|reader| {
            Ok::<_, Malformed>(Self {
                // an explicit FALSE is not DER, but many certificates have it
                ca: reader.decode::<Option<bool>>()?.unwrap_or(false),
                path_len_constraint: reader.decode()?,
            })
        })?;
        reader.finish()?;
        Ok(constraints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_usage_bit_has_its_name() {
        for (bit, name) in NAMES.into_iter().enumerate() {
            let mut der = [3, 3, 7, 0, 0];
            der[3 + bit / 8] = 0x80 >> (bit % 8);
            let usages = KeyUsages::read(&der).unwrap();
            assert_eq!(alloc::format!("{usages:?}"), alloc::format!("{{{name:?}}}"));
            let each = [
                usages.digital_signature(),
                usages.content_commitment(),
                usages.key_encipherment(),
                usages.data_encipherment(),
                usages.key_agreement(),
                usages.key_cert_sign(),
                usages.crl_sign(),
                usages.encipher_only(),
                usages.decipher_only(),
            ];
            assert_eq!(each.iter().position(|is| *is), Some(bit));
            assert_eq!(each.iter().filter(|is| **is).count(), 1);
        }
        // no bits, and bits without names
        assert_eq!(KeyUsages::read(&[3, 1, 0]).unwrap(), KeyUsages(0));
        assert_eq!(
            KeyUsages::read(&[3, 4, 0, 0, 0x7f, 0xff]).unwrap(),
            KeyUsages(0)
        );
        // unused bits are ignored
        assert_eq!(
            KeyUsages::read(&[3, 2, 7, 0xff]).unwrap(),
            KeyUsages::read(&[3, 2, 7, 0x80]).unwrap()
        );
    }

    #[test]
    fn malformed_usages_are_rejected() {
        for der in [
            &[][..],
            &[3, 0],
            &[3, 2, 8, 0],
            &[3, 2, 0],
            &[3, 2, 0, 0, 0],
            &[4, 2, 0, 0],
        ] {
            KeyUsages::read(der).unwrap_err();
        }
        let empty = &[0x30, 0][..];
        for der in [empty, &[0x30, 3, 2, 1, 1], &[0x30, 3, 6, 1, 0x2a, 0]] {
            ExtendedKeyUsages::read(der).unwrap_err();
        }
    }

    #[test]
    fn basic_constraints_are_parsed() {
        for (der, ca, path_len_constraint) in [
            (&[0x30, 0][..], false, None),
            (&[0x30, 3, 1, 1, 0], false, None),
            (&[0x30, 3, 1, 1, 0xff], true, None),
            (&[0x30, 6, 1, 1, 0xff, 2, 1, 0], true, Some(0)),
            (&[0x30, 7, 1, 1, 0xff, 2, 2, 1, 0], true, Some(256)),
        ] {
            let expected = BasicConstraints {
                ca,
                path_len_constraint,
            };
            assert_eq!(BasicConstraints::read(der).unwrap(), expected);
        }
        for der in [
            &[][..],
            &[0x30, 3, 1, 1, 1],
            &[0x30, 3, 2, 1, 0xff],
            &[0x30, 4, 2, 2, 0, 1],
            &[0x30, 6, 2, 1, 0, 1, 1, 0xff],
            &[0x30, 0, 0],
        ] {
            BasicConstraints::read(der).unwrap_err();
        }
    }
}
