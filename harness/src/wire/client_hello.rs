//! ClientHellos, byte by byte: building them, valid or not, and parsing them.

use crate::wire::{Reader, extensions, find_extension, message, record, u8_vec, u16_vec, u16s};

pub const SERVER_NAME: u16 = 0;
pub const STATUS_REQUEST: u16 = 5;
pub const SUPPORTED_GROUPS: u16 = 10;
pub const EC_POINT_FORMATS: u16 = 11;
pub const SIGNATURE_ALGORITHMS: u16 = 13;
pub const ALPN: u16 = 16;
pub const CLIENT_CERTIFICATE_TYPE: u16 = 19;
pub const SERVER_CERTIFICATE_TYPE: u16 = 20;
pub const PADDING: u16 = 21;
pub const EXTENDED_MASTER_SECRET: u16 = 23;
pub const SESSION_TICKET: u16 = 35;
pub const PRE_SHARED_KEY: u16 = 41;
pub const EARLY_DATA: u16 = 42;
pub const SUPPORTED_VERSIONS: u16 = 43;
pub const COOKIE: u16 = 44;
pub const PSK_KEY_EXCHANGE_MODES: u16 = 45;
pub const CERTIFICATE_AUTHORITIES: u16 = 47;
pub const KEY_SHARE: u16 = 51;
pub const TICKET_REQUEST: u16 = 58;
pub const RENEGOTIATION_INFO: u16 = 0xff01;

pub const X25519: u16 = 0x001d;
pub const P256: u16 = 0x0017;
pub const X448: u16 = 0x001e;

/// A ClientHello before encoding or after parsing.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientHello {
    pub legacy_version: u16,
    pub random: [u8; 32],
    pub session_id: Vec<u8>,
    pub cipher_suites: Vec<u16>,
    pub compression: Vec<u8>,
    pub extensions: Vec<(u16, Vec<u8>)>,
    /// The bytes after the extensions.
    pub trailing: Vec<u8>,
}

impl ClientHello {
    /// Returns a ClientHello that every server accepts.
    pub fn new() -> Self {
        Self {
            legacy_version: 0x0303,
            random: [1; 32],
            session_id: vec![5; 32],
            cipher_suites: vec![0x1301, 0x1302, 0x1303],
            compression: vec![0],
            extensions: vec![
                (SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0304]))),
                (SUPPORTED_GROUPS, u16_vec(&u16s(&[X25519, P256]))),
                (
                    SIGNATURE_ALGORITHMS,
                    u16_vec(&u16s(&[0x0403, 0x0804, 0x0807])),
                ),
                (KEY_SHARE, key_shares(&[(X25519, &x25519_share())])),
                (SERVER_NAME, host_name(b"localhost")),
            ],
            trailing: vec![],
        }
    }

    /// Returns a TLS 1.2 ClientHello that every server of that version accepts.
    pub fn tls12() -> Self {
        let mut hello = Self::new();
        hello.session_id.clear();
        // ECDHE with ECDSA and with RSA: AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305
        hello.cipher_suites = vec![0xc02b, 0xc02c, 0xcca9, 0xc02f, 0xc030, 0xcca8];
        hello
            .without(SUPPORTED_VERSIONS)
            .without(KEY_SHARE)
            .and(EC_POINT_FORMATS, u8_vec(&[0]))
            .and(EXTENDED_MASTER_SECRET, vec![])
            .and(RENEGOTIATION_INFO, u8_vec(&[]))
    }

    /// Returns a ClientHello without a key share, to which servers reply with a HelloRetryRequest.
    pub fn without_share() -> Self {
        Self::new().with(KEY_SHARE, key_shares(&[]))
    }

    /// Sets the extension `typ`: replaces it, or appends it.
    pub fn with(mut self, typ: u16, body: Vec<u8>) -> Self {
        match self.extensions.iter_mut().find(|(other, _)| *other == typ) {
            Some((_, old)) => *old = body,
            None => self.extensions.push((typ, body)),
        }
        self
    }

    pub fn without(mut self, typ: u16) -> Self {
        self.extensions.retain(|(other, _)| *other != typ);
        self
    }

    /// Appends the extension `typ`, even if it already exists.
    pub fn and(mut self, typ: u16, body: Vec<u8>) -> Self {
        self.extensions.push((typ, body));
        self
    }

    pub fn edit(mut self, edit: impl FnOnce(&mut Self)) -> Self {
        edit(&mut self);
        self
    }

    /// Adds a pre-shared key that no server knows.
    pub fn with_psk(self) -> Self {
        self.and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
            .and(PRE_SHARED_KEY, offered_psks(1, 1))
    }

    pub fn with_early_data(self) -> Self {
        self.and(EARLY_DATA, vec![]).with_psk()
    }

    /// Parses the handshake message.
    ///
    /// # Panics
    ///
    /// Panics if it is not exactly one ClientHello.
    pub fn read(message: &[u8]) -> Self {
        let mut body = Reader::of_message(message, 1);
        Self {
            legacy_version: body.u16(),
            random: body.bytes(32).try_into().unwrap(),
            session_id: body.vector(1).to_vec(),
            cipher_suites: read_u16s(body.vector(2)),
            compression: body.vector(1).to_vec(),
            extensions: body.extensions(),
            trailing: body.0.to_vec(),
        }
    }

    /// Returns the body of the first extension of type `typ`.
    pub fn extension(&self, typ: u16) -> Option<&[u8]> {
        find_extension(&self.extensions, typ)
    }

    /// Returns the types of the extensions in their order.
    pub fn extension_types(&self) -> Vec<u16> {
        self.extensions.iter().map(|(typ, _)| *typ).collect()
    }

    /// Returns the group and content of each key share; empty without the extension.
    pub fn key_shares(&self) -> Vec<(u16, Vec<u8>)> {
        let body = self.extension(KEY_SHARE);
        body.map_or_else(Vec::new, |body| Reader(body).extensions())
    }

    /// Encodes the handshake message.
    pub fn message(&self) -> Vec<u8> {
        let body = [
            &self.legacy_version.to_be_bytes()[..],
            &self.random,
            &u8_vec(&self.session_id),
            &u16_vec(&u16s(&self.cipher_suites)),
            &u8_vec(&self.compression),
            &u16_vec(&extensions(&self.extensions)),
            &self.trailing,
        ];
        message(1, &body.concat())
    }

    /// Encodes the message in a record.
    pub fn record(&self) -> Vec<u8> {
        record(0x16, &self.message())
    }
}

/// Reads all of `bytes` as two-byte numbers.
pub fn read_u16s(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks(2).map(|pair| Reader(pair).u16()).collect()
}

/// Returns the body of a key_share extension.
pub fn key_shares(shares: &[(u16, &[u8])]) -> Vec<u8> {
    u16_vec(&extensions(shares))
}

/// Returns the body of a server_name extension with one name of type host_name.
pub fn host_name(name: &[u8]) -> Vec<u8> {
    u16_vec(&[&[0], &u16_vec(name)[..]].concat())
}

/// Returns the body of an application_layer_protocol_negotiation extension.
pub fn protocols(names: &[&[u8]]) -> Vec<u8> {
    u16_vec(
        &names
            .iter()
            .map(|name| u8_vec(name))
            .collect::<Vec<_>>()
            .concat(),
    )
}

/// Returns the body of a pre_shared_key extension with the given numbers of equal identities and
/// equal binders.
pub fn offered_psks(identities: usize, binders: usize) -> Vec<u8> {
    let identity = [&u16_vec(b"ticket")[..], &[0, 0, 0, 1]].concat();
    let binder = u8_vec(&[7; 32]);
    [
        u16_vec(&identity.repeat(identities)),
        u16_vec(&binder.repeat(binders)),
    ]
    .concat()
}

/// Returns the base point, a share whose private key is public.
pub fn x25519_share() -> Vec<u8> {
    [&[9][..], &[0; 31]].concat()
}

/// Returns the base point of P-256 (SEC 2 §2.4.2).
pub fn p256_share() -> Vec<u8> {
    const X: u128 = 0x6b17_d1f2_e12c_4247_f8bc_e6e5_63a4_40f2;
    const X_LOW: u128 = 0x7703_7d81_2deb_33a0_f4a1_3945_d898_c296;
    const Y: u128 = 0x4fe3_42e2_fe1a_7f9b_8ee7_eb4a_7c0f_9e16;
    const Y_LOW: u128 = 0x2bce_3357_6b31_5ece_cbb6_4068_37bf_51f5;
    let coordinates = [X, X_LOW, Y, Y_LOW].map(u128::to_be_bytes);
    [&[4][..], &coordinates.concat()].concat()
}
