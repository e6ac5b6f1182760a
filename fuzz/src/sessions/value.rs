//! A second parser of a server's session, written from the comment that documents the format.

use std::str;

pub(super) const SESSION_13: u16 = 0x0304;
const SESSION_12: u16 = 0x0303;

/// A session of either version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Session {
    pub(super) version: u16,
    pub(super) suite: u16,
    pub(super) secret: Vec<u8>,
    pub(super) age_add: u32,
    pub(super) max_early_data_size: u32,
    pub(super) carrier: u8,
    pub(super) extended_master_secret: Option<bool>,
    pub(super) issued_at: u64,
    pub(super) authenticated_at: u64,
    pub(super) client_auth: [u8; 32],
    pub(super) server_auth: [u8; 32],
    pub(super) alpn_protocol: Vec<u8>,
    pub(super) server_name: String,
    pub(super) application_data: Vec<u8>,
    pub(super) client_chain: Vec<Vec<u8>>,
}

/// The remaining bytes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self, width: usize) -> Option<u64> {
        let bytes = self.bytes(width)?.iter();
        Some(bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn vector(&mut self, width: usize) -> Option<&'a [u8]> {
        let len = self.number(width)?;
        self.bytes(len as usize)
    }
}

impl Session {
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let mut rest = Rest(value);
        let r = &mut rest;
        (r.number(1)? == 5).then_some(())?;
        let version = r.number(2)? as u16;
        let suite = r.number(2)? as u16;
        let is_tls13 = match version {
            SESSION_13 => true,
            SESSION_12 => false,
            _ => return None,
        };
        let secret = match is_tls13 {
            true => r.vector(1).filter(|psk| !psk.is_empty())?,
            false => r.bytes(48)?,
        };
        let mut session = Self {
            version,
            suite,
            secret: secret.to_vec(),
            ..Self::default()
        };
        if is_tls13 {
            session.age_add = r.number(4)? as u32;
            session.max_early_data_size = r.number(4)? as u32;
            session.carrier = r.number(1)? as u8;
            [0, 1, 2, 29].contains(&session.carrier).then_some(())?;
        } else {
            let is_extended = r.number(1)?;
            (is_extended < 2).then_some(())?;
            session.extended_master_secret = Some(is_extended == 1);
        }
        session.issued_at = r.number(8)?;
        session.authenticated_at = r.number(8)?;
        session.client_auth = r.bytes(32)?.try_into().ok()?;
        session.server_auth = r.bytes(32)?.try_into().ok()?;
        session.alpn_protocol = r.vector(1)?.to_vec();
        session.server_name = str::from_utf8(r.vector(1)?).ok()?.to_owned();
        session.application_data = r.vector(2)?.to_vec();
        // the verifier accepts everybody, and has no rules
        let client_acceptance = r.vector(1)?;
        [0, 48].contains(&client_acceptance.len()).then_some(())?;
        let mut chain = Rest(r.vector(3)?);
        while !chain.0.is_empty() {
            let certificate = chain.vector(3).filter(|it| !it.is_empty())?;
            session.client_chain.push(certificate.to_vec());
        }
        rest.0.is_empty().then_some(session)
    }
}
