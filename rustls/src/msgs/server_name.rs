//! The `server_name` extension of a ClientHello: RFC 6066 §3.

use alloc::vec::Vec;

use pki_types::{DnsName, ServerName};
use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};
use rustls_core::enums::{ExtensionType, ServerNameType};
use rustls_core::error::InvalidMessage;

use super::extension_block::{ExtensionWriter, Form, Value};
use super::extensions::read_value;

/// The content of the extension. Only a `DnsName` is ever sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerNamePayload<'a> {
    /// A host name.
    DnsName(DnsName<'a>),
    /// An IP address instead of a host name. RFC 6066 forbids that, but some clients send one. It
    /// is treated as no name.
    IpAddress,
    /// No host name, or one that is not a DNS name.
    Invalid,
}

impl<'a> Codec<'a> for ServerNamePayload<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let Self::DnsName(name) = self else {
            return;
        };
        let name = name.as_ref();
        // RFC 6066 §3: no trailing dot
        let name = name.strip_suffix('.').unwrap_or(name);
        with_length_prefix(bytes, LengthSize::U16, |bytes| {
            ServerNameType::HostName.encode(bytes);
            encode_bytes(bytes, LengthSize::U16, name.as_bytes());
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut list = r.prefixed(LengthSize::U16)?;
        // RFC 6066 §3: at least one name
        if !list.any_left() {
            return Err(InvalidMessage::IllegalEmptyList("ServerNames"));
        }

        let mut host_name = None;
        while list.any_left() {
            match ServerNameType::read(&mut list)? {
                ServerNameType::HostName => {
                    let name = read_value(&mut list, LengthSize::U16)?;
                    // RFC 6066 §3: at most one name of each type
                    if host_name.replace(name).is_some() {
                        return Err(InvalidMessage::InvalidServerName);
                    }
                }
                // the length of a name of an unknown type is unknown
                _ => {
                    list.rest();
                }
            }
        }
        Ok(match host_name.map(ServerName::try_from) {
            Some(Ok(ServerName::DnsName(name))) => Self::DnsName(name),
            Some(Ok(ServerName::IpAddress(_))) => Self::IpAddress,
            _ => Self::Invalid,
        })
    }
}

/// The form of a client's `server_name`. Only a `DnsName` is sent.
pub(super) struct HostName;

impl<'a> Form<'a, Option<ServerNamePayload<'a>>> for HostName {
    #[inline]
    fn encode(
        self,
        typ: ExtensionType,
        field: &Option<ServerNamePayload<'a>>,
        block: &mut ExtensionWriter<'_>,
    ) {
        if matches!(field, Some(ServerNamePayload::DnsName(_))) {
            Value.encode(typ, field, block);
        }
    }

    #[inline]
    fn read(
        self,
        typ: ExtensionType,
        field: &mut Option<ServerNamePayload<'a>>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        Value.read(typ, field, r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an extension with a single host name.
    fn read_host_name(name: &[u8]) -> ServerNamePayload<'static> {
        let mut body = Vec::new();
        with_length_prefix(&mut body, LengthSize::U16, |bytes| {
            ServerNameType::HostName.encode(bytes);
            encode_bytes(bytes, LengthSize::U16, name);
        });
        match ServerNamePayload::read_bytes(&body).unwrap() {
            ServerNamePayload::DnsName(name) => ServerNamePayload::DnsName(name.to_owned()),
            ServerNamePayload::IpAddress => ServerNamePayload::IpAddress,
            ServerNamePayload::Invalid => ServerNamePayload::Invalid,
        }
    }

    #[test]
    fn host_names_are_classified() {
        let name = DnsName::try_from("a_b.Example").unwrap();
        assert_eq!(
            read_host_name(b"a_b.Example"),
            ServerNamePayload::DnsName(name)
        );
        for address in ["10.0.0.1", "::1", "2001:db8::1"] {
            assert_eq!(
                read_host_name(address.as_bytes()),
                ServerNamePayload::IpAddress
            );
        }
        for name in [
            "a..example",
            "*.example",
            "-a.example",
            ".",
            "[::1]",
            "1.2.3",
            "a\0b",
            "\u{fc}",
        ] {
            assert_eq!(
                read_host_name(name.as_bytes()),
                ServerNamePayload::Invalid,
                "{name}"
            );
        }
    }

    #[test]
    fn a_trailing_dot_is_not_sent() {
        for name in ["example.com", "example.com."] {
            let name = ServerNamePayload::DnsName(DnsName::try_from(name).unwrap());
            assert_eq!(name.get_encoding(), b"\0\x0e\0\0\x0bexample.com");
        }
    }
}
