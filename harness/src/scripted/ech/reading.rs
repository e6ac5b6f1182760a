//! Strict decoding of ClientHelloOuter to ClientHelloInner (RFC 9849 §5.1, §7.1).

use super::config::Config;
use super::{ECH_OUTER_EXTENSIONS, ENCRYPTED_CLIENT_HELLO, rules};
use crate::wire::client_hello::{ClientHello, read_u16s};
use crate::wire::{Reader, message, u16_vec};

/// The rule of RFC 9849 that the client breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken(pub &'static str);

/// Fails with the broken `rule` unless it `holds`.
pub(super) fn require(holds: bool, rule: &'static str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(rule)) }
}

/// encrypted_client_hello of type `outer`, RFC 9849 §5.
#[derive(Clone, Debug, PartialEq)]
pub struct EchExtension {
    /// KDF and AEAD.
    pub suite: (u16, u16),
    pub config_id: u8,
    pub enc: Vec<u8>,
    pub payload: Vec<u8>,
}

impl EchExtension {
    /// Encodes the body of the extension.
    pub fn encoded(&self) -> Vec<u8> {
        let (kdf, aead) = self.suite;
        [
            &[OUTER][..],
            &kdf.to_be_bytes(),
            &aead.to_be_bytes(),
            &[self.config_id],
            &u16_vec(&self.enc),
            &u16_vec(&self.payload),
        ]
        .concat()
    }

    /// ClientHelloOuterAAD, RFC 9849 §5.2.
    pub(super) fn outer_aad(&self, outer: &ClientHello) -> Vec<u8> {
        let zeros = Self {
            payload: vec![0; self.payload.len()],
            ..self.clone()
        };
        let hello = outer.clone().with(ENCRYPTED_CLIENT_HELLO, zeros.encoded());
        // without the header of the message
        hello.message().split_off(4)
    }
}

const OUTER: u8 = 0;
/// The whole body of the extension in ClientHelloInner.
const INNER: [u8; 1] = [1];

/// Reads encrypted_client_hello in a ClientHelloOuter.
///
/// # Errors
///
/// Returns an error if the extension is missing, occurs more than once, or is malformed.
pub fn read_extension(outer: &ClientHello) -> Result<EchExtension, Broken> {
    let count = |typ| {
        let types = outer.extension_types();
        types.iter().filter(|other| **other == typ).count()
    };
    require(
        count(ENCRYPTED_CLIENT_HELLO) == 1,
        "§5: ClientHelloOuter has the extension, once",
    )?;
    require(
        count(ECH_OUTER_EXTENSIONS) == 0,
        "§5.1: no ech_outer_extensions in ClientHelloOuter",
    )?;
    let body = outer.extension(ENCRYPTED_CLIENT_HELLO).unwrap_or_default();
    require(
        body.first() == Some(&OUTER),
        "§5: ClientHelloOuter has the outer variant",
    )?;
    let mut body = Reader(&body[1..]);
    let extension = EchExtension {
        suite: (body.u16(), body.u16()),
        config_id: body.number(1) as u8,
        enc: body.vector(2).to_vec(),
        payload: body.vector(2).to_vec(),
    };
    require(body.is_empty(), "§5: nothing follows the payload")?;
    require(
        !extension.payload.is_empty(),
        "§5: the payload is not empty",
    )?;
    Ok(extension)
}

/// An opened ClientHello.
#[derive(Clone, Debug)]
pub struct Opened {
    pub outer: ClientHello,
    pub extension: EchExtension,
    /// EncodedClientHelloInner with its padding, as encrypted.
    pub encoded: Vec<u8>,
    pub padding_len: usize,
    /// The extensions referenced by ech_outer_extensions.
    pub outer_extensions: Vec<u16>,
    /// The ClientHelloInner before encoding.
    pub inner: ClientHello,
}

impl Opened {
    /// Reverses the encoding, and checks the two ClientHellos and their consistency.
    pub(super) fn read(
        outer: ClientHello,
        config: &Config,
        extension: EchExtension,
        encoded: Vec<u8>,
    ) -> Result<Self, Broken> {
        let mut inner = ClientHello::read(&message(1, &encoded));
        let padding = std::mem::take(&mut inner.trailing);
        // each violation is an illegal_parameter for a server
        require(
            padding.iter().all(|&byte| byte == 0),
            "§5.1: the padding is of zeros",
        )?;
        require(
            inner.session_id.is_empty(),
            "§5.1: legacy_session_id is left out of EncodedClientHelloInner",
        )?;
        inner.session_id.clone_from(&outer.session_id);
        let outer_extensions = expand(&mut inner, &outer)?;
        let opened = Self {
            padding_len: padding.len(),
            outer,
            extension,
            encoded,
            outer_extensions,
            inner,
        };
        rules::check(&opened, config)?;
        Ok(opened)
    }
}

/// Replaces ech_outer_extensions with the extensions of `outer`, following RFC 9849, Appendix A;
/// returns their types.
fn expand(inner: &mut ClientHello, outer: &ClientHello) -> Result<Vec<u16>, Broken> {
    let is_it = |(typ, _): &(u16, Vec<u8>)| *typ == ECH_OUTER_EXTENSIONS;
    let Some(at) = inner.extensions.iter().position(is_it) else {
        return Ok(Vec::new());
    };
    let (_, body) = inner.extensions.remove(at);
    require(
        !inner.extensions.iter().any(is_it),
        "§5.1: a single ech_outer_extensions",
    )?;
    let mut body = Reader(&body);
    let list = body.vector(1);
    require(
        body.is_empty() && list.len() >= 2 && list.len() % 2 == 0,
        "§5.1: OuterExtensions has 2 to 254 bytes",
    )?;
    let types = read_u16s(list);

    let mut rest = outer.extensions.iter();
    for (i, typ) in types.iter().enumerate() {
        require(
            *typ != ENCRYPTED_CLIENT_HELLO,
            "§5.1: OuterExtensions does not refer to encrypted_client_hello",
        )?;
        let Some(found) = rest.find(|(other, _)| other == typ) else {
            return Err(Broken(
                "§5.1: OuterExtensions refers to existing extensions, once, in their order",
            ));
        };
        inner.extensions.insert(at + i, found.clone());
    }
    Ok(types)
}

/// True if this is a valid extension of a ClientHelloInner.
pub(super) fn is_inner(body: Option<&[u8]>) -> bool {
    body == Some(&INNER[..])
}
