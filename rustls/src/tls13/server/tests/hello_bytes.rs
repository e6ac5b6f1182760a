//! ClientHellos byte by byte, right and wrong.

use std::vec;
use std::vec::Vec;

pub(super) const SERVER_NAME: u16 = 0;
pub(super) const STATUS_REQUEST: u16 = 5;
pub(super) const SUPPORTED_GROUPS: u16 = 10;
pub(super) const SIGNATURE_ALGORITHMS: u16 = 13;
pub(super) const ALPN: u16 = 16;
pub(super) const CLIENT_CERTIFICATE_TYPE: u16 = 19;
pub(super) const SERVER_CERTIFICATE_TYPE: u16 = 20;
pub(super) const PADDING: u16 = 21;
pub(super) const PRE_SHARED_KEY: u16 = 41;
pub(super) const EARLY_DATA: u16 = 42;
pub(super) const SUPPORTED_VERSIONS: u16 = 43;
pub(super) const COOKIE: u16 = 44;
pub(super) const PSK_KEY_EXCHANGE_MODES: u16 = 45;
pub(super) const CERTIFICATE_AUTHORITIES: u16 = 47;
pub(super) const KEY_SHARE: u16 = 51;

pub(super) const X25519: u16 = 0x001d;
pub(super) const P256: u16 = 0x0017;
pub(super) const X448: u16 = 0x001e;

/// A ClientHello before it is put together.
#[derive(Clone)]
pub(super) struct Hello {
    pub(super) legacy_version: u16,
    pub(super) random: [u8; 32],
    pub(super) session_id: Vec<u8>,
    pub(super) cipher_suites: Vec<u16>,
    pub(super) compression: Vec<u8>,
    pub(super) extensions: Vec<(u16, Vec<u8>)>,
    /// What follows the extensions.
    pub(super) trailing: Vec<u8>,
}

impl Hello {
    /// One that every server likes.
    pub(super) fn new() -> Self {
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

    /// One that asks for a HelloRetryRequest.
    pub(super) fn without_share() -> Self {
        Self::new().with(KEY_SHARE, key_shares(&[]))
    }

    /// Sets the extension `typ`, in its place or at the end.
    pub(super) fn with(mut self, typ: u16, body: Vec<u8>) -> Self {
        match self.extensions.iter_mut().find(|(other, _)| *other == typ) {
            Some((_, old)) => *old = body,
            None => self.extensions.push((typ, body)),
        }
        self
    }

    pub(super) fn without(mut self, typ: u16) -> Self {
        self.extensions.retain(|(other, _)| *other != typ);
        self
    }

    /// Adds the extension `typ` at the end, there before or not.
    pub(super) fn and(mut self, typ: u16, body: Vec<u8>) -> Self {
        self.extensions.push((typ, body));
        self
    }

    pub(super) fn edit(mut self, edit: impl FnOnce(&mut Self)) -> Self {
        edit(&mut self);
        self
    }

    /// With pre-shared keys that nobody knows.
    pub(super) fn with_psk(self) -> Self {
        self.and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
            .and(PRE_SHARED_KEY, offered_psks(1, 1))
    }

    pub(super) fn with_early_data(self) -> Self {
        self.and(EARLY_DATA, vec![]).with_psk()
    }

    /// The handshake message.
    pub(super) fn message(&self) -> Vec<u8> {
        let mut body = self.legacy_version.to_be_bytes().to_vec();
        body.extend(self.random);
        body.extend(u8_vec(&self.session_id));
        body.extend(u16_vec(&u16s(&self.cipher_suites)));
        body.extend(u8_vec(&self.compression));
        let mut extensions = vec![];
        for (typ, extension) in &self.extensions {
            extensions.extend(typ.to_be_bytes());
            extensions.extend(u16_vec(extension));
        }
        body.extend(u16_vec(&extensions));
        body.extend(&self.trailing);
        message(1, &body)
    }

    /// The message in a record.
    pub(super) fn record(&self) -> Vec<u8> {
        record(0x16, &self.message())
    }
}

/// A handshake message.
pub(super) fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    [&[typ, 0][..], &u16_vec(body)].concat()
}

/// A record in the clear.
pub(super) fn record(typ: u8, payload: &[u8]) -> Vec<u8> {
    [&[typ, 3, 1][..], &u16_vec(payload)].concat()
}

pub(super) fn u8_vec(body: &[u8]) -> Vec<u8> {
    [&[body.len() as u8], body].concat()
}

pub(super) fn u16_vec(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u16).to_be_bytes(), body].concat()
}

pub(super) fn u16s(values: &[u16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect()
}

pub(super) fn key_shares(shares: &[(u16, &[u8])]) -> Vec<u8> {
    let entries = shares
        .iter()
        .map(|(group, share)| [&group.to_be_bytes(), &u16_vec(share)[..]].concat());
    u16_vec(&entries.collect::<Vec<_>>().concat())
}

pub(super) fn host_name(name: &[u8]) -> Vec<u8> {
    u16_vec(&[&[0], &u16_vec(name)[..]].concat())
}

pub(super) fn protocols(names: &[&[u8]]) -> Vec<u8> {
    u16_vec(
        &names
            .iter()
            .flat_map(|name| u8_vec(name))
            .collect::<Vec<_>>(),
    )
}

pub(super) fn offered_psks(identities: usize, binders: usize) -> Vec<u8> {
    let identity = [&u16_vec(b"ticket")[..], &[0, 0, 0, 1]].concat();
    let binder = u8_vec(&[7; 32]);
    [
        u16_vec(&identity.repeat(identities)),
        u16_vec(&binder.repeat(binders)),
    ]
    .concat()
}

/// The base point: a share whose secret is known to everybody.
pub(super) fn x25519_share() -> Vec<u8> {
    [&[9][..], &[0; 31]].concat()
}

/// The base point of P-256 (SEC 2 §2.4.2).
pub(super) fn p256_share() -> Vec<u8> {
    const X: u128 = 0x6b17_d1f2_e12c_4247_f8bc_e6e5_63a4_40f2;
    const X_LOW: u128 = 0x7703_7d81_2deb_33a0_f4a1_3945_d898_c296;
    const Y: u128 = 0x4fe3_42e2_fe1a_7f9b_8ee7_eb4a_7c0f_9e16;
    const Y_LOW: u128 = 0x2bce_3357_6b31_5ece_cbb6_4068_37bf_51f5;
    let coordinates = [X, X_LOW, Y, Y_LOW].map(u128::to_be_bytes);
    [&[4][..], &coordinates.concat()].concat()
}
