//! `ECHConfigList`: the keys under which a server accepts Encrypted Client Hello (RFC 9849 §4).
//!
//! This module only parses and encodes; the `rustls` crate decides which entry a client uses. An
//! entry with an unknown version or an invalid `public_name` is kept as
//! [`EchConfigPayload::Unknown`]. Other malformed entries make the list invalid. `Debug` prints
//! bytes in hexadecimal, because errors contain retry configurations and print them.

use alloc::vec::Vec;
use core::fmt;

use pki_types::DnsName;

use crate::codec::{Codec, LengthSize, Reader, encode_bytes, encode_list, with_length_prefix};
use crate::enums::{EchVersion, ExtensionType, HpkeAead, HpkeKdf, HpkeKem};
use crate::error::InvalidMessage;

/// `ECHConfig`: one entry of an `ECHConfigList`.
#[derive(Clone, PartialEq)]
pub enum EchConfigPayload {
    /// An entry with the version of RFC 9849 and a valid `public_name`.
    V18(EchConfigContents),
    /// An entry that clients ignore: it has a different version, or its `public_name` is not a host
    /// name.
    Unknown {
        /// The version that the entry states.
        version: EchVersion,
        /// The contents of the entry, unparsed.
        contents: Vec<u8>,
    },
}

impl EchConfigPayload {
    /// Reads an `ECHConfigList` from `r`: its length prefix, then its entries.
    ///
    /// Returns [`InvalidMessage::IllegalEmptyList`] if the list has no entries, or the error from
    /// reading the length or an entry.
    pub fn read_list(r: &mut Reader<'_>) -> Result<Vec<Self>, InvalidMessage> {
        let list = r.prefixed(LengthSize::U16)?.list()?;
        if list.is_empty() {
            return Err(InvalidMessage::IllegalEmptyList("ECHConfigList"));
        }
        Ok(list)
    }

    /// Appends `list` as an `ECHConfigList` to `bytes`.
    pub fn encode_list(list: &[Self], bytes: &mut Vec<u8>) {
        encode_list(bytes, LengthSize::U16, list);
    }
}

impl fmt::Debug for EchConfigPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V18(contents) => f.debug_tuple("V18").field(contents).finish(),
            Self::Unknown { version, contents } => f
                .debug_struct("Unknown")
                .field("version", version)
                .field("contents", &Hex(contents))
                .finish(),
        }
    }
}

/// Prints bytes in hexadecimal.
struct Hex<'a>(&'a [u8]);

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Codec<'_> for EchConfigPayload {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::V18(contents) => {
                EchVersion::V18.encode(bytes);
                with_length_prefix(bytes, LengthSize::U16, |bytes| contents.encode(bytes));
            }
            Self::Unknown { version, contents } => {
                version.encode(bytes);
                encode_bytes(bytes, LengthSize::U16, contents);
            }
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let version = EchVersion::read(r)?;
        let contents = r.prefixed_bytes(LengthSize::U16)?;
        let unknown = || Self::Unknown {
            version,
            contents: contents.to_vec(),
        };
        Ok(match version {
            EchVersion::V18 => match EchConfigContents::read_bytes(contents) {
                Ok(parsed) => Self::V18(parsed),
                // RFC 9849 §6.1.7: ignore an ECHConfig whose public_name is not a valid host name
                Err(InvalidMessage::InvalidServerName) => unknown(),
                Err(error) => return Err(error),
            },
            _ => unknown(),
        })
    }
}

/// `ECHConfigContents`: a server's parameters for clients that encrypt their ClientHello.
#[derive(Clone, Debug, PartialEq)]
pub struct EchConfigContents {
    /// The server's HPKE public key and its algorithms.
    pub key_config: HpkeKeyConfig,
    /// The maximum length in bytes of the names that this server serves, for padding; zero if
    /// unknown.
    pub maximum_name_length: u8,
    /// The name that the server's certificate must be valid for if the server rejects ECH.
    pub public_name: DnsName<'static>,
    /// The extensions of the configuration, in wire order.
    pub extensions: Vec<EchConfigExtension>,
}

impl EchConfigContents {
    /// True if an extension is mandatory. This library does not support any, so it must then ignore
    /// the entry.
    pub fn has_mandatory_extension(&self) -> bool {
        self.extensions.iter().any(EchConfigExtension::is_mandatory)
    }

    /// True if two extensions have the same type, which RFC 9849 §4.2 forbids.
    pub fn has_duplicate_extension(&self) -> bool {
        // sort them, because a hostile list may hold thousands
        let types = self.extensions.iter().map(|it| it.extension_type);
        let mut types: Vec<u16> = types.collect();
        types.sort_unstable();
        !types.is_sorted_by(|earlier, later| earlier < later)
    }
}

impl Codec<'_> for EchConfigContents {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.key_config.encode(bytes);
        self.maximum_name_length.encode(bytes);
        encode_bytes(bytes, LengthSize::U8, self.public_name.as_ref().as_bytes());
        encode_list(bytes, LengthSize::U16, &self.extensions);
    }

    /// Returns [`InvalidMessage::InvalidServerName`] if only `public_name` is wrong: it is not a
    /// host name, but the rest is well-formed.
    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let key_config = HpkeKeyConfig::read(r)?;
        let maximum_name_length = u8::read(r)?;
        let public_name = r.prefixed_bytes(LengthSize::U8)?;
        let extensions = r.prefixed(LengthSize::U16)?.list()?;
        Ok(Self {
            key_config,
            maximum_name_length,
            public_name: host_name(public_name).ok_or(InvalidMessage::InvalidServerName)?,
            extensions,
        })
    }
}

/// Reads `name` as a host name that cannot be mistaken for an IPv4 address (RFC 9849 §6.1.7).
fn host_name(name: &[u8]) -> Option<DnsName<'static>> {
    let last_label = name.rsplit(|byte| *byte == b'.').next()?;
    let looks_numeric = match last_label {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if looks_numeric {
        return None;
    }
    // host names consist of letters, digits and hyphens; DNS names may have underscores
    if name.contains(&b'_') {
        return None;
    }
    DnsName::try_from(name).ok().map(|name| name.to_owned())
}

/// `HpkeKeyConfig`: an HPKE public key, its identifier and its algorithms.
#[derive(Clone, PartialEq)]
pub struct HpkeKeyConfig {
    /// The server's identifier for this key.
    pub config_id: u8,
    /// The key encapsulation mechanism.
    pub kem_id: HpkeKem,
    /// The key, encoded for its mechanism; at least one byte.
    pub public_key: Vec<u8>,
    /// The symmetric suites for this key, at least one. The client chooses.
    pub symmetric_cipher_suites: Vec<HpkeSymmetricCipherSuite>,
}

impl fmt::Debug for HpkeKeyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HpkeKeyConfig")
            .field("config_id", &self.config_id)
            .field("kem_id", &self.kem_id)
            .field("public_key", &Hex(&self.public_key))
            .field("symmetric_cipher_suites", &self.symmetric_cipher_suites)
            .finish()
    }
}

impl Codec<'_> for HpkeKeyConfig {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.config_id);
        self.kem_id.encode(bytes);
        encode_bytes(bytes, LengthSize::U16, &self.public_key);
        encode_list(bytes, LengthSize::U16, &self.symmetric_cipher_suites);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let config_id = u8::read(r)?;
        let kem_id = HpkeKem::read(r)?;
        let public_key = r.prefixed_bytes(LengthSize::U16)?.to_vec();
        if public_key.is_empty() {
            return Err(InvalidMessage::IllegalEmptyValue);
        }
        let symmetric_cipher_suites = r
            .prefixed(LengthSize::U16)?
            .list::<HpkeSymmetricCipherSuite>()?;
        if symmetric_cipher_suites.is_empty() {
            return Err(InvalidMessage::IllegalEmptyList(
                "HpkeSymmetricCipherSuites",
            ));
        }
        Ok(Self {
            config_id,
            kem_id,
            public_key,
            symmetric_cipher_suites,
        })
    }
}

/// `HpkeSymmetricCipherSuite`: the symmetric half of an HPKE suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpkeSymmetricCipherSuite {
    /// The key derivation function.
    pub kdf_id: HpkeKdf,
    /// The authenticated encryption.
    pub aead_id: HpkeAead,
}

impl Codec<'_> for HpkeSymmetricCipherSuite {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let Self { kdf_id, aead_id } = self;
        kdf_id.encode(bytes);
        aead_id.encode(bytes);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let (kdf_id, aead_id) = (Codec::read(r)?, Codec::read(r)?);
        Ok(Self { kdf_id, aead_id })
    }
}

/// `ECHConfigExtension`: no extension is defined yet, so none is interpreted.
#[derive(Clone, PartialEq, Eq)]
pub struct EchConfigExtension {
    /// The type, from the registry of ECH configuration extensions.
    pub extension_type: u16,
    /// The contents, not interpreted.
    pub data: Vec<u8>,
}

impl EchConfigExtension {
    /// True if a client that does not know the extension must ignore the whole entry.
    pub fn is_mandatory(&self) -> bool {
        // RFC 9849 §4.2: the high-order bit of the type marks mandatory extensions
        self.extension_type & 0x8000 != 0
    }
}

impl fmt::Debug for EchConfigExtension {
    /// Prints the data in hexadecimal, because no extension is interpreted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct UnknownExtension<'a>(&'a EchConfigExtension);

        impl fmt::Debug for UnknownExtension<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("UnknownExtension")
                    .field("typ", &ExtensionType::from(self.0.extension_type))
                    .field("payload", &Hex(&self.0.data))
                    .finish()
            }
        }

        f.debug_tuple("Unknown")
            .field(&UnknownExtension(self))
            .finish()
    }
}

impl Codec<'_> for EchConfigExtension {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.extension_type.encode(bytes);
        encode_bytes(bytes, LengthSize::U16, &self.data);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            extension_type: u16::read(r)?,
            data: r.prefixed_bytes(LengthSize::U16)?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Builds an ECHConfig byte by byte from the parts that tests vary.
    fn ech_config(public_name: &[u8], key: &[u8], suites: &[u8], extensions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xfe, 0x0d];
        with_length_prefix(&mut bytes, LengthSize::U16, |bytes| {
            bytes.extend_from_slice(&[7, 0x00, 0x20]);
            encode_bytes(bytes, LengthSize::U16, key);
            encode_bytes(bytes, LengthSize::U16, suites);
            bytes.push(42);
            encode_bytes(bytes, LengthSize::U8, public_name);
            encode_bytes(bytes, LengthSize::U16, extensions);
        });
        bytes
    }

    const KEY: &[u8] = &[1, 2, 3];
    const SUITES: &[u8] = &[0, 1, 0, 3, 0, 2, 0, 2];

    fn contents(extensions: Vec<EchConfigExtension>) -> EchConfigContents {
        EchConfigContents {
            key_config: HpkeKeyConfig {
                config_id: 7,
                kem_id: HpkeKem::DHKEM_X25519_HKDF_SHA256,
                public_key: KEY.to_vec(),
                symmetric_cipher_suites: vec![
                    HpkeSymmetricCipherSuite {
                        kdf_id: HpkeKdf::HKDF_SHA256,
                        aead_id: HpkeAead::CHACHA20_POLY_1305,
                    },
                    HpkeSymmetricCipherSuite {
                        kdf_id: HpkeKdf::HKDF_SHA384,
                        aead_id: HpkeAead::AES_256_GCM,
                    },
                ],
            },
            maximum_name_length: 42,
            public_name: DnsName::try_from("public.example").unwrap(),
            extensions,
        }
    }

    #[test]
    fn a_config_round_trips() {
        let bytes = ech_config(b"public.example", KEY, SUITES, &[0x00, 5, 0, 1, 9]);
        let config = EchConfigPayload::V18(contents(vec![EchConfigExtension {
            extension_type: 5,
            data: vec![9],
        }]));
        assert_eq!(EchConfigPayload::read_bytes(&bytes).as_ref(), Ok(&config));
        assert_eq!(config.get_encoding(), bytes);
    }

    #[test]
    fn an_unknown_version_round_trips_unparsed() {
        let bytes = [0xfe, 0x0c, 0, 2, 8, 9];
        let config = EchConfigPayload::Unknown {
            version: EchVersion::Unknown(0xfe0c),
            contents: vec![8, 9],
        };
        assert_eq!(EchConfigPayload::read_bytes(&bytes).as_ref(), Ok(&config));
        assert_eq!(config.get_encoding(), bytes);
    }

    #[test]
    fn a_list_round_trips() {
        let list = vec![
            EchConfigPayload::Unknown {
                version: EchVersion::Unknown(1),
                contents: vec![],
            },
            EchConfigPayload::V18(contents(vec![])),
        ];
        let mut bytes = Vec::new();
        EchConfigPayload::encode_list(&list, &mut bytes);
        assert_eq!(
            usize::from(bytes[0]) << 8 | usize::from(bytes[1]),
            bytes.len() - 2
        );
        assert_eq!(
            EchConfigPayload::read_list(&mut Reader::new(&bytes)),
            Ok(list)
        );
    }

    #[test]
    fn an_empty_list_is_rejected() {
        assert_eq!(
            EchConfigPayload::read_list(&mut Reader::new(&[0, 0])),
            Err(InvalidMessage::IllegalEmptyList("ECHConfigList"))
        );
    }

    #[test]
    fn an_entry_with_an_invalid_public_name_is_unknown() {
        for name in [
            "",
            "1.2.3.4",
            "a..b",
            ".a",
            "a.1",
            "a.0x",
            "a.0X1f",
            "::1",
            "a b",
            "-a.example",
            "a-.example",
            "a_b.example",
            "a.example.",
        ] {
            let bytes = ech_config(name.as_bytes(), KEY, SUITES, &[]);
            let config = EchConfigPayload::read_bytes(&bytes).unwrap();
            assert!(
                matches!(
                    config,
                    EchConfigPayload::Unknown {
                        version: EchVersion::V18,
                        ..
                    }
                ),
                "{name:?} was accepted"
            );
            assert_eq!(config.get_encoding(), bytes);
        }
        for name in ["a", "a.0y", "a.1b", "1.example", "xn--nxasmq6b.example"] {
            let bytes = ech_config(name.as_bytes(), KEY, SUITES, &[]);
            assert!(
                matches!(
                    EchConfigPayload::read_bytes(&bytes),
                    Ok(EchConfigPayload::V18(_))
                ),
                "{name:?} was rejected"
            );
        }
    }

    #[test]
    fn empty_fields_are_rejected() {
        assert_eq!(
            EchConfigPayload::read_bytes(&ech_config(b"a.b", &[], SUITES, &[])),
            Err(InvalidMessage::IllegalEmptyValue)
        );
        assert_eq!(
            EchConfigPayload::read_bytes(&ech_config(b"a.b", KEY, &[], &[])),
            Err(InvalidMessage::IllegalEmptyList(
                "HpkeSymmetricCipherSuites"
            ))
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = ech_config(b"public.example", KEY, SUITES, &[0x80, 1, 0, 1, 9]);
        for len in 0..bytes.len() {
            assert!(
                EchConfigPayload::read_bytes(&bytes[..len]).is_err(),
                "truncated to {len}"
            );
        }
        let contents = &bytes[4..];
        for len in 0..contents.len() {
            let mut cut = vec![0xfe, 0x0d];
            encode_bytes(&mut cut, LengthSize::U16, &contents[..len]);
            assert!(
                EchConfigPayload::read_bytes(&cut).is_err(),
                "contents truncated to {len}"
            );
        }
    }

    #[test]
    fn bytes_after_the_contents_are_rejected() {
        let mut bytes = ech_config(b"a.b", KEY, SUITES, &[]);
        bytes.push(0);
        bytes[3] += 1;
        assert!(matches!(
            EchConfigPayload::read_bytes(&bytes),
            Err(InvalidMessage::TrailingData(_))
        ));
    }

    #[test]
    fn mandatory_and_duplicate_extensions_are_detected() {
        let extension = |extension_type| EchConfigExtension {
            extension_type,
            data: vec![],
        };
        let plain = contents(vec![extension(1), extension(0x7fff)]);
        assert!(!plain.has_mandatory_extension());
        assert!(!plain.has_duplicate_extension());
        assert!(contents(vec![extension(1), extension(0x8000)]).has_mandatory_extension());
        assert!(contents(vec![extension(1), extension(2), extension(1)]).has_duplicate_extension());
    }
}
