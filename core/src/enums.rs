//! The code points of the protocol, of one or two bytes, and properties of individual values.
//!
//! Unnamed values are kept as `Unknown`, so that they can be echoed, reported or ignored. The code
//! that handles a message decides which values are acceptable. [`Side`] and
//! [`KeyExchangeAlgorithm`] are not on the wire.

mod cipher_suite;
mod extension_type;
mod hpke;
#[cfg(test)]
mod tests;

use core::fmt;

pub use cipher_suite::CipherSuite;
pub use extension_type::ExtensionType;
pub use hpke::{HpkeAead, HpkeKdf, HpkeKem};

/// Defines a wire enum, its conversions from and to its integer, and its codec.
///
/// `Debug` prints the name of a known value, and `Name(0x..)` for an unknown one. With `named if`,
/// it prints names only for values for which the given function returns true.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident($integer:ident) $(named if $is_named:ident)? {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
            /// A value that has no name in this enum.
            Unknown($integer),
        }

        impl $name {
            /// Returns the value in wire format.
            #[inline]
            pub fn to_array(self) -> [u8; size_of::<$integer>()] {
                $integer::from(self).to_be_bytes()
            }

            /// Returns the name of the value, if it has one.
            pub fn as_str(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some(stringify!($variant)),)+
                    Self::Unknown(_) => None,
                }
            }
        }

        impl From<$integer> for $name {
            fn from(value: $integer) -> Self {
                match value {
                    $($value => Self::$variant,)+
                    other => Self::Unknown(other),
                }
            }
        }

        impl From<$name> for $integer {
            #[inline]
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant => $value,)+
                    $name::Unknown(other) => other,
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let name = self.as_str()$(.filter(|_| $is_named(self)))?;
                $crate::enums::debug_wire(f, name, stringify!($name), &$integer::from(*self))
            }
        }

        impl $crate::codec::Codec<'_> for $name {
            #[inline]
            fn encode(&self, bytes: &mut alloc::vec::Vec<u8>) {
                bytes.extend_from_slice(&self.to_array());
            }

            #[inline]
            fn read(
                r: &mut $crate::codec::Reader<'_>,
            ) -> Result<Self, $crate::error::InvalidMessage> {
                r.take_array(stringify!($name))
                    .map(|bytes| Self::from($integer::from_be_bytes(bytes)))
            }
        }
    };
}

use wire_enum;

fn debug_wire(
    f: &mut fmt::Formatter<'_>,
    name: Option<&str>,
    type_name: &str,
    value: &dyn fmt::LowerHex,
) -> fmt::Result {
    match name {
        Some(name) => f.write_str(name),
        None => write!(f, "{type_name}({value:#x})"),
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The endpoint that sends the ClientHello.
    Client,
    /// The endpoint that receives the ClientHello.
    Server,
}

impl Side {
    /// All labels.
    pub const LABELS: &'static [&'static str] = &["client", "server"];

    /// Returns a short, stable name for metrics: `client` or `server`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The family of a key exchange. In TLS 1.2, the cipher suite determines it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum KeyExchangeAlgorithm {
    /// Finite-field Diffie-Hellman with ephemeral keys.
    DHE,
    /// Elliptic-curve Diffie-Hellman with ephemeral keys. Also used for all other groups of TLS
    /// 1.3, such as those with ML-KEM.
    ECDHE,
}

wire_enum! {
    /// `ProtocolVersion`: RFC 9846 §4.2.2, with the values of SSL and DTLS.
    #[allow(non_camel_case_types)] // 0.23's names
    pub enum ProtocolVersion(u16) {
        /// SSL 2.0, prohibited by RFC 6176.
        SSLv2 = 0x0002,
        /// SSL 3.0, prohibited by RFC 7568.
        SSLv3 = 0x0300,
        /// TLS 1.0, deprecated by RFC 8996.
        TLSv1_0 = 0x0301,
        /// TLS 1.1, deprecated by RFC 8996.
        TLSv1_1 = 0x0302,
        /// TLS 1.2: RFC 5246.
        TLSv1_2 = 0x0303,
        /// TLS 1.3: RFC 9846.
        TLSv1_3 = 0x0304,
        /// DTLS 1.0, deprecated by RFC 8996.
        DTLSv1_0 = 0xfeff,
        /// DTLS 1.2: RFC 6347.
        DTLSv1_2 = 0xfefd,
        /// DTLS 1.3: RFC 9147.
        DTLSv1_3 = 0xfefc,
    }
}

wire_enum! {
    /// `ContentType` of a record: RFC 9846 §5.1.
    pub enum ContentType(u8) {
        /// `change_cipher_spec`: a real message in TLS 1.2; in TLS 1.3, a dummy that is sent for
        /// middleboxes and ignored by the receiver.
        ChangeCipherSpec = 0x14,
        /// `alert`.
        Alert = 0x15,
        /// `handshake`.
        Handshake = 0x16,
        /// `application_data`, and the outer type of every protected TLS 1.3 record.
        ApplicationData = 0x17,
        /// `heartbeat`: RFC 6520.
        Heartbeat = 0x18,
    }
}

wire_enum! {
    /// `HandshakeType`: RFC 9846 §4 and RFC 8879, with values of older versions.
    pub enum HandshakeType(u8) {
        /// `hello_request`: TLS 1.2 only.
        HelloRequest = 0,
        /// `client_hello`.
        ClientHello = 1,
        /// `server_hello`; in TLS 1.3, also a HelloRetryRequest.
        ServerHello = 2,
        /// `hello_verify_request`: DTLS only.
        HelloVerifyRequest = 3,
        /// `new_session_ticket`.
        NewSessionTicket = 4,
        /// `end_of_early_data`.
        EndOfEarlyData = 5,
        /// `hello_retry_request`: sent only in TLS 1.3 drafts; the final protocol sends
        /// `server_hello`. Errors name a HelloRetryRequest by this type.
        HelloRetryRequest = 6,
        /// `encrypted_extensions`.
        EncryptedExtensions = 8,
        /// `certificate`.
        Certificate = 11,
        /// `server_key_exchange`: TLS 1.2 only.
        ServerKeyExchange = 12,
        /// `certificate_request`.
        CertificateRequest = 13,
        /// `server_hello_done`: TLS 1.2 only.
        ServerHelloDone = 14,
        /// `certificate_verify`.
        CertificateVerify = 15,
        /// `client_key_exchange`: TLS 1.2 only.
        ClientKeyExchange = 16,
        /// `finished`.
        Finished = 20,
        /// `certificate_url`: RFC 6066 §5.
        CertificateURL = 21,
        /// `certificate_status`: RFC 6066 §8, TLS 1.2 only.
        CertificateStatus = 22,
        /// `key_update`.
        KeyUpdate = 24,
        /// `compressed_certificate`: RFC 8879.
        CompressedCertificate = 25,
        /// `message_hash`: never sent; replaces the first ClientHello in a transcript after a
        /// retry.
        MessageHash = 254,
    }
}

wire_enum! {
    /// `AlertLevel`: RFC 9846 §6. In TLS 1.3, the description implies it.
    pub enum AlertLevel(u8) {
        /// `warning`.
        Warning = 1,
        /// `fatal`.
        Fatal = 2,
    }
}

wire_enum! {
    /// `AlertDescription`: RFC 9846 §B.2, except `general_error`, and RFC 9849.
    pub enum AlertDescription(u8) {
        /// `close_notify`: the sender sends no more data.
        CloseNotify = 0,
        /// `unexpected_message`: a message that is not allowed at this point.
        UnexpectedMessage = 10,
        /// `bad_record_mac`: a record that cannot be deprotected.
        BadRecordMac = 20,
        /// `decryption_failed_RESERVED`: no longer sent.
        DecryptionFailed = 21,
        /// `record_overflow`: a record that is too long.
        RecordOverflow = 22,
        /// `decompression_failure_RESERVED`: no longer sent.
        DecompressionFailure = 30,
        /// `handshake_failure`: no acceptable set of parameters.
        HandshakeFailure = 40,
        /// `no_certificate_RESERVED`: SSL 3.0 only.
        NoCertificate = 41,
        /// `bad_certificate`: corrupt, or with signatures that do not verify.
        BadCertificate = 42,
        /// `unsupported_certificate`: of a type that is not supported.
        UnsupportedCertificate = 43,
        /// `certificate_revoked`.
        CertificateRevoked = 44,
        /// `certificate_expired`: expired, or not valid at present.
        CertificateExpired = 45,
        /// `certificate_unknown`: unacceptable for some other reason.
        CertificateUnknown = 46,
        /// `illegal_parameter`: a well-formed field with an inadmissible value.
        IllegalParameter = 47,
        /// `unknown_ca`: no chain to a known trust anchor.
        UnknownCA = 48,
        /// `access_denied`: a valid certificate, rejected by policy.
        AccessDenied = 49,
        /// `decode_error`: a message that cannot be parsed.
        DecodeError = 50,
        /// `decrypt_error`: a signature, Finished value or binder that does not verify.
        DecryptError = 51,
        /// `export_restriction_RESERVED`: no longer sent.
        ExportRestriction = 60,
        /// `protocol_version`: a recognized version that is not supported.
        ProtocolVersion = 70,
        /// `insufficient_security`: no parameters strong enough.
        InsufficientSecurity = 71,
        /// `internal_error`: not the peer's fault.
        InternalError = 80,
        /// `inappropriate_fallback`: RFC 7507.
        InappropriateFallback = 86,
        /// `user_canceled`: aborted for a reason outside the protocol.
        UserCanceled = 90,
        /// `no_renegotiation_RESERVED`: TLS 1.2's refusal to renegotiate, a warning.
        NoRenegotiation = 100,
        /// `missing_extension`: an extension this handshake requires.
        MissingExtension = 109,
        /// `unsupported_extension`: an extension that was not offered, or not allowed in that
        /// message.
        UnsupportedExtension = 110,
        /// `certificate_unobtainable_RESERVED`: RFC 6066 §5.
        CertificateUnobtainable = 111,
        /// `unrecognized_name`: no server by that name.
        UnrecognisedName = 112,
        /// `bad_certificate_status_response`: an unacceptable OCSP response.
        BadCertificateStatusResponse = 113,
        /// `bad_certificate_hash_value_RESERVED`: RFC 6066 §5.
        BadCertificateHashValue = 114,
        /// `unknown_psk_identity`.
        UnknownPSKIdentity = 115,
        /// `certificate_required`: the client sent none.
        CertificateRequired = 116,
        /// `no_application_protocol`: the two sides support no common protocol.
        NoApplicationProtocol = 120,
        /// `ech_required`: RFC 9849, the server rejected ECH and the client insists on it.
        EncryptedClientHelloRequired = 121,
    }
}

wire_enum! {
    /// `NamedGroup`: RFC 9846 §4.3.7, RFC 7919 and the groups with ML-KEM.
    #[allow(non_camel_case_types)] // 0.23's names
    pub enum NamedGroup(u16) {
        /// NIST P-256.
        secp256r1 = 0x0017,
        /// NIST P-384.
        secp384r1 = 0x0018,
        /// NIST P-521.
        secp521r1 = 0x0019,
        /// X25519: RFC 7748.
        X25519 = 0x001d,
        /// X448: RFC 7748.
        X448 = 0x001e,
        /// The 2048-bit group of RFC 7919.
        FFDHE2048 = 0x0100,
        /// The 3072-bit group of RFC 7919.
        FFDHE3072 = 0x0101,
        /// The 4096-bit group of RFC 7919.
        FFDHE4096 = 0x0102,
        /// The 6144-bit group of RFC 7919.
        FFDHE6144 = 0x0103,
        /// The 8192-bit group of RFC 7919.
        FFDHE8192 = 0x0104,
        /// ML-KEM-512 alone: draft-ietf-tls-mlkem.
        MLKEM512 = 0x0200,
        /// ML-KEM-768 alone: draft-ietf-tls-mlkem.
        MLKEM768 = 0x0201,
        /// ML-KEM-1024 alone: draft-ietf-tls-mlkem.
        MLKEM1024 = 0x0202,
        /// P-256 with ML-KEM-768: draft-ietf-tls-ecdhe-mlkem.
        secp256r1MLKEM768 = 0x11eb,
        /// X25519 with ML-KEM-768: draft-ietf-tls-ecdhe-mlkem.
        X25519MLKEM768 = 0x11ec,
    }
}

impl NamedGroup {
    /// Returns the family of the group: `DHE` for the code points reserved by RFC 7919, `ECDHE` for
    /// all others.
    pub fn key_exchange_algorithm(self) -> KeyExchangeAlgorithm {
        match u16::from(self) {
            // RFC 7919 §2: 256 to 511 are finite-field groups
            0x0100..=0x01ff => KeyExchangeAlgorithm::DHE,
            _ => KeyExchangeAlgorithm::ECDHE,
        }
    }
}

wire_enum! {
    /// `SignatureScheme`: RFC 9846 §4.3.3, and ML-DSA of draft-ietf-tls-mldsa.
    #[allow(non_camel_case_types)] // 0.23's names
    pub enum SignatureScheme(u16) {
        /// `rsa_pkcs1_sha1`.
        RSA_PKCS1_SHA1 = 0x0201,
        /// `ecdsa_sha1`.
        ECDSA_SHA1_Legacy = 0x0203,
        /// `rsa_pkcs1_sha256`.
        RSA_PKCS1_SHA256 = 0x0401,
        /// `ecdsa_secp256r1_sha256`.
        ECDSA_NISTP256_SHA256 = 0x0403,
        /// `rsa_pkcs1_sha384`.
        RSA_PKCS1_SHA384 = 0x0501,
        /// `ecdsa_secp384r1_sha384`.
        ECDSA_NISTP384_SHA384 = 0x0503,
        /// `rsa_pkcs1_sha512`.
        RSA_PKCS1_SHA512 = 0x0601,
        /// `ecdsa_secp521r1_sha512`.
        ECDSA_NISTP521_SHA512 = 0x0603,
        /// `rsa_pss_rsae_sha256`.
        RSA_PSS_SHA256 = 0x0804,
        /// `rsa_pss_rsae_sha384`.
        RSA_PSS_SHA384 = 0x0805,
        /// `rsa_pss_rsae_sha512`.
        RSA_PSS_SHA512 = 0x0806,
        /// `ed25519`.
        ED25519 = 0x0807,
        /// `ed448`.
        ED448 = 0x0808,
        /// `mldsa44`.
        ML_DSA_44 = 0x0904,
        /// `mldsa65`.
        ML_DSA_65 = 0x0905,
        /// `mldsa87`.
        ML_DSA_87 = 0x0906,
    }
}

impl SignatureScheme {
    /// Returns the kind of key that makes signatures with this scheme.
    ///
    /// Returns `Unknown` with the low byte of the scheme for ML-DSA and for unknown schemes.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        match self {
            Self::ED25519 => SignatureAlgorithm::ED25519,
            Self::ED448 => SignatureAlgorithm::ED448,
            Self::RSA_PSS_SHA256 | Self::RSA_PKCS1_SHA256 => SignatureAlgorithm::RSA,
            Self::RSA_PSS_SHA384 | Self::RSA_PKCS1_SHA384 => SignatureAlgorithm::RSA,
            Self::RSA_PSS_SHA512 | Self::RSA_PKCS1_SHA512 => SignatureAlgorithm::RSA,
            Self::RSA_PKCS1_SHA1 => SignatureAlgorithm::RSA,
            Self::ECDSA_NISTP256_SHA256
            | Self::ECDSA_NISTP384_SHA384
            | Self::ECDSA_NISTP521_SHA512
            | Self::ECDSA_SHA1_Legacy => SignatureAlgorithm::ECDSA,
            Self::ML_DSA_44 | Self::ML_DSA_65 | Self::ML_DSA_87 | Self::Unknown(_) => {
                let [_, low] = self.to_array();
                SignatureAlgorithm::Unknown(low)
            }
        }
    }

    /// True if TLS 1.3 allows the scheme in CertificateVerify. Unknown schemes are allowed unless
    /// their first byte is a TLS 1.2 hash.
    pub fn supported_in_tls13(&self) -> bool {
        match self {
            Self::ECDSA_NISTP256_SHA256
            | Self::ECDSA_NISTP384_SHA384
            | Self::ECDSA_NISTP521_SHA512 => true,
            // RFC 9846 §4.3.3: other pairs of a TLS 1.2 hash (0 to 6) and signature are only for
            // certificates, such as RSASSA-PKCS1-v1_5 and all pairs with SHA-1
            _ => self.to_array()[0] > 6,
        }
    }
}

wire_enum! {
    /// `SignatureAlgorithm`: RFC 5246 §7.4.1.4.1, with the two values of RFC 8422 §5.1.3.
    pub enum SignatureAlgorithm(u8) {
        /// `anonymous`: no signature.
        Anonymous = 0,
        /// `rsa`.
        RSA = 1,
        /// `dsa`.
        DSA = 2,
        /// `ecdsa`.
        ECDSA = 3,
        /// `ed25519`.
        ED25519 = 7,
        /// `ed448`.
        ED448 = 8,
    }
}

wire_enum! {
    /// `HashAlgorithm`: RFC 5246 §7.4.1.4.1.
    pub enum HashAlgorithm(u8) {
        /// `none`.
        NONE = 0,
        /// `md5`: RFC 1321.
        MD5 = 1,
        /// `sha1`: FIPS 180-4.
        SHA1 = 2,
        /// `sha224`: FIPS 180-4.
        SHA224 = 3,
        /// `sha256`: FIPS 180-4.
        SHA256 = 4,
        /// `sha384`: FIPS 180-4.
        SHA384 = 5,
        /// `sha512`: FIPS 180-4.
        SHA512 = 6,
    }
}

wire_enum! {
    /// `CertificateCompressionAlgorithm`: RFC 8879 §3.
    pub enum CertificateCompressionAlgorithm(u16) {
        /// `zlib`: RFC 1950.
        Zlib = 1,
        /// `brotli`: RFC 7932.
        Brotli = 2,
        /// `zstd`: RFC 8878.
        Zstd = 3,
    }
}

wire_enum! {
    /// `CertificateType`: RFC 7250. The default without negotiation is X.509.
    #[derive(Default)]
    pub enum CertificateType(u8) {
        /// `X509`: a chain of certificates.
        #[default]
        X509 = 0,
        /// `RawPublicKey`: a bare SubjectPublicKeyInfo.
        RawPublicKey = 2,
    }
}

wire_enum! {
    /// `ClientCertificateType`: RFC 5246 §7.4.4, and RFC 8422 §5.5, which deprecates the last two.
    pub enum ClientCertificateType(u8) {
        /// `rsa_sign`.
        RsaSign = 1,
        /// `dss_sign`.
        DssSign = 2,
        /// `rsa_fixed_dh`.
        RsaFixedDh = 3,
        /// `dss_fixed_dh`.
        DssFixedDh = 4,
        /// `rsa_ephemeral_dh_RESERVED`.
        RsaEphemeralDh = 5,
        /// `dss_ephemeral_dh_RESERVED`.
        DssEphemeralDh = 6,
        /// `fortezza_dms_RESERVED`.
        FortezzaDms = 20,
        /// `ecdsa_sign`, which also covers EdDSA.
        EcdsaSign = 64,
        /// `rsa_fixed_ecdh`.
        RsaFixedEcdh = 65,
        /// `ecdsa_fixed_ecdh`.
        EcdsaFixedEcdh = 66,
    }
}

wire_enum! {
    /// `CompressionMethod`: RFC 3749. Only `Null` is ever negotiated.
    pub enum Compression(u8) {
        /// `null`.
        Null = 0,
        /// `DEFLATE`.
        Deflate = 1,
        /// `LZS`: RFC 3943.
        Lzs = 64,
    }
}

wire_enum! {
    /// `ECCurveType` of TLS 1.2's ServerKeyExchange: RFC 8422 §5.4.
    pub enum ECCurveType(u8) {
        /// `explicit_prime`: deprecated.
        ExplicitPrime = 1,
        /// `explicit_char2`: deprecated.
        ExplicitChar2 = 2,
        /// `named_curve`: the only one in use.
        NamedCurve = 3,
    }
}

wire_enum! {
    /// `ECPointFormat`: RFC 8422 §5.1.2.
    pub enum ECPointFormat(u8) {
        /// `uncompressed`: the only one in use.
        Uncompressed = 0,
        /// `ansiX962_compressed_prime`: deprecated.
        AnsiX962CompressedPrime = 1,
        /// `ansiX962_compressed_char2`: deprecated.
        AnsiX962CompressedChar2 = 2,
    }
}

wire_enum! {
    /// `NameType` of the `server_name` extension: RFC 6066 §3.
    pub enum ServerNameType(u8) {
        /// `host_name`.
        HostName = 0,
    }
}

wire_enum! {
    /// `CertificateStatusType`: RFC 6066 §8.
    pub enum CertificateStatusType(u8) {
        /// `ocsp`.
        Ocsp = 1,
    }
}

wire_enum! {
    /// `KeyUpdateRequest`: RFC 9846 §4.7.3.
    pub enum KeyUpdateRequest(u8) {
        /// `update_not_requested`: only the sender's keys change.
        UpdateNotRequested = 0,
        /// `update_requested`: the receiver must reply with its own KeyUpdate.
        UpdateRequested = 1,
    }
}

wire_enum! {
    /// `PskKeyExchangeMode`: RFC 9846 §4.3.9.
    pub enum PskKeyExchangeMode(u8) {
        /// `psk_ke`: the pre-shared key alone.
        PskKe = 0,
        /// `psk_dhe_ke`: with an ephemeral key exchange.
        PskDheKe = 1,
    }
}

wire_enum! {
    /// The version of an ECHConfig, which is also the code point of its extension: RFC 9849.
    pub enum EchVersion(u16) {
        /// The version of RFC 9849. The name comes from draft 18, which has the same code point.
        V18 = 0xfe0d,
    }
}
