//! ServerKeyExchange and ClientKeyExchange: RFC 5246 §7.4.3 and §7.4.7, RFC 8422 §5.4 and §5.7.
//!
//! The messages do not identify their key exchange; the cipher suite does.

use alloc::format;
use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{ECCurveType, HandshakeType, KeyExchangeAlgorithm, NamedGroup};
use rustls_core::error::{Error, InvalidMessage};
use rustls_core::ffdhe_groups::FfdheGroup;

use crate::msgs::EncodeMessage;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::client_hello::Random;
use crate::msgs::extensions::read_value;

#[derive(Clone, Debug)]
pub(crate) struct ServerKeyExchange<'a> {
    pub(crate) params: ServerKeyExchangeParams<'a>,
    /// The signature over both randoms and `params`: [`ServerKeyExchangeParams::signed_content`].
    pub(crate) signature: DigitallySignedStruct,
}

impl<'a> ServerKeyExchange<'a> {
    /// Reads the message for a suite with the key exchange `algorithm`.
    pub(crate) fn read(
        r: &mut Reader<'a>,
        algorithm: KeyExchangeAlgorithm,
    ) -> Result<Self, InvalidMessage> {
        Ok(Self {
            params: ServerKeyExchangeParams::read(r, algorithm)?,
            signature: DigitallySignedStruct::read(r)?,
        })
    }
}

impl EncodeMessage for ServerKeyExchange<'_> {
    const TYPE: HandshakeType = HandshakeType::ServerKeyExchange;
    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.params.encode(bytes);
        self.signature.encode(bytes);
    }

    fn check_inner_lengths(&self) -> Result<(), Error> {
        check_public(self.params.public(), self.params.algorithm())
    }
}

/// The part of a ServerKeyExchange that the server signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKeyExchangeParams<'a> {
    /// `ServerECDHParams`: RFC 8422 §5.4.
    Ecdhe {
        group: NamedGroup,
        /// `public`: the server's point; never empty in a decoded message.
        public: &'a [u8],
    },
    /// `ServerDHParams`: RFC 5246 §7.4.3.
    Dhe {
        /// `dh_p`, big-endian, as on the wire. Never empty in a decoded message.
        p: &'a [u8],
        /// `dh_g`.
        g: &'a [u8],
        /// `dh_Ys`.
        public: &'a [u8],
    },
}

impl<'a> ServerKeyExchangeParams<'a> {
    fn read(r: &mut Reader<'a>, algorithm: KeyExchangeAlgorithm) -> Result<Self, InvalidMessage> {
        match algorithm {
            KeyExchangeAlgorithm::ECDHE => {
                // RFC 8422 §5.4: explicit curves are not used
                if ECCurveType::read(r)? != ECCurveType::NamedCurve {
                    return Err(InvalidMessage::UnsupportedCurveType);
                }
                Ok(Self::Ecdhe {
                    group: NamedGroup::read(r)?,
                    // RFC 8422 §5.4, RFC 5246 §7.4.3: points and numbers have at least one byte
                    public: read_value(r, LengthSize::U8)?,
                })
            }
            KeyExchangeAlgorithm::DHE => Ok(Self::Dhe {
                p: read_value(r, LengthSize::U16)?,
                g: read_value(r, LengthSize::U16)?,
                public: read_value(r, LengthSize::U16)?,
            }),
            other => Err(InvalidMessage::UnsupportedKeyExchangeAlgorithm(other)),
        }
    }

    /// Creates the parameters for `group` with the server's public key.
    pub(crate) fn of_ffdhe(group: FfdheGroup<'a>, public: &'a [u8]) -> Self {
        Self::Dhe {
            p: group.p,
            g: group.g,
            public,
        }
    }

    pub(crate) fn algorithm(&self) -> KeyExchangeAlgorithm {
        match self {
            Self::Ecdhe { .. } => KeyExchangeAlgorithm::ECDHE,
            Self::Dhe { .. } => KeyExchangeAlgorithm::DHE,
        }
    }

    /// Returns the group if it is a finite-field group.
    pub(crate) fn ffdhe_group(&self) -> Option<FfdheGroup<'a>> {
        match self {
            Self::Ecdhe { .. } => None,
            Self::Dhe { p, g, .. } => Some(FfdheGroup::from_params_trimming_leading_zeros(p, g)),
        }
    }

    /// Returns the server's ephemeral public key.
    pub(crate) fn public(&self) -> &'a [u8] {
        match self {
            Self::Ecdhe { public, .. } | Self::Dhe { public, .. } => public,
        }
    }

    /// Returns the bytes covered by the signature (RFC 5246 §7.4.3). Encoding reproduces the bytes
    /// that were read.
    pub(crate) fn signed_content(&self, client_random: &Random, server_random: &Random) -> Vec<u8> {
        let mut content = Vec::with_capacity(2 * 32 + 4 + self.public().len());
        client_random.encode(&mut content);
        server_random.encode(&mut content);
        self.encode(&mut content);
        content
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Ecdhe { group, public } => {
                ECCurveType::NamedCurve.encode(bytes);
                group.encode(bytes);
                encode_bytes(bytes, LengthSize::U8, public);
            }
            Self::Dhe { p, g, public } => {
                for number in [p, g, public] {
                    encode_bytes(bytes, LengthSize::U16, number);
                }
            }
        }
    }
}

/// `ClientKeyExchange`: the client's ephemeral public key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClientKeyExchange<'a> {
    pub(crate) algorithm: KeyExchangeAlgorithm,
    /// The client's public key; never empty in a decoded message.
    pub(crate) public: &'a [u8],
}

impl<'a> ClientKeyExchange<'a> {
    /// Reads the message for a suite with the key exchange `algorithm`.
    pub(crate) fn read(
        r: &mut Reader<'a>,
        algorithm: KeyExchangeAlgorithm,
    ) -> Result<Self, InvalidMessage> {
        let public = read_value(r, public_width(algorithm))?;
        // 0.23 has a separate error for this
        if r.any_left() {
            return Err(InvalidMessage::InvalidDhParams);
        }
        Ok(Self { algorithm, public })
    }
}

impl EncodeMessage for ClientKeyExchange<'_> {
    const TYPE: HandshakeType = HandshakeType::ClientKeyExchange;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, public_width(self.algorithm), self.public);
    }

    fn check_inner_lengths(&self) -> Result<(), Error> {
        check_public(self.public, self.algorithm)
    }
}

/// Checks the length of a public key: an external provider's key may be too long for its length
/// field.
fn check_public(public: &[u8], algorithm: KeyExchangeAlgorithm) -> Result<(), Error> {
    let (len, most) = (public.len(), public_width(algorithm).max_len());
    if len > most {
        return Err(Error::General(format!(
            "a public key of {len} bytes cannot be sent in TLS 1.2: it may have {most} at most"
        )));
    }
    Ok(())
}

/// Returns the size of a public key's length prefix: one byte for points (RFC 8422 §5.7), two for
/// numbers (RFC 5246 §7.4.7.2).
fn public_width(algorithm: KeyExchangeAlgorithm) -> LengthSize {
    match algorithm {
        KeyExchangeAlgorithm::DHE => LengthSize::U16,
        _ => LengthSize::U8,
    }
}
