//! A server of Encrypted Client Hello (RFC 9849) with a memory for every rule that a client must follow.
//!
//! ```text
//!   config ──── ECHConfigLists byte by byte, right and wrong, and the keys to open with
//!   reading ─── ClientHelloOuter to ClientHelloInner, strictly: what breaks a rule is not read
//!   rules ───── what the two of them, and those after a HelloRetryRequest, must have in common
//!   this file ─ one connection: what it opens, and how it confirms
//! ```
//!
//! Unlike the rest of the scripted peers this one checks what it reads: a server that is lenient shows nothing about
//! a client. HPKE is that of two providers, which must agree.

mod config;
mod reading;
mod rules;

pub use config::{Config, EchKey, SUITES, VERSION, config_list};
pub use reading::{Broken, EchExtension, Opened, read_extension};

use self::config::Openers;
use super::key_schedule::{Stage, Transcript};
use crate::client_hello::{ClientHello, PRE_SHARED_KEY};
use crate::wire::Reader;

/// encrypted_client_hello, RFC 9849 §11.1.
pub const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
/// ech_outer_extensions, RFC 9849 §11.1.
pub const ECH_OUTER_EXTENSIONS: u16 = 0xfd00;

/// The lengths of what stands before the last 8 bytes of ServerHello.random: header, version, 24 bytes of random.
const CONFIRMATION_AT: usize = 4 + 2 + 24;
const CONFIRMATION_LEN: usize = 8;

/// What a scripted server does with encrypted_client_hello.
#[derive(Clone)]
pub struct Ech {
    /// What it can open with.
    pub keys: Vec<EchKey>,
    /// Whether it goes on with ClientHelloInner, and confirms that: in a HelloRetryRequest, if that has an
    /// encrypted_client_hello of 8 bytes.
    pub accepts: bool,
    /// Whether what it says is changed on the way: the client may then go on as if it had been rejected.
    pub is_tampered_with: bool,
}

impl Ech {
    pub fn accepting(key: &EchKey) -> Self {
        Self {
            keys: vec![key.clone()],
            accepts: true,
            is_tampered_with: false,
        }
    }

    /// One that reads ClientHelloInner, and goes on with ClientHelloOuter.
    pub fn rejecting(key: &EchKey) -> Self {
        Self {
            accepts: false,
            ..Self::accepting(key)
        }
    }
}

/// One connection's part of it.
#[derive(Default)]
pub(super) struct Connection {
    context: Option<Context>,
    /// What could be read: of an initial ClientHello, and of the one after a HelloRetryRequest.
    pub(super) opened: Vec<Opened>,
}

/// The key that the first ClientHello was opened with.
struct Context {
    key: EchKey,
    extension: EchExtension,
    openers: Openers,
}

impl Connection {
    /// The ClientHello to go on with.
    ///
    /// # Panics
    ///
    /// If the client breaks a rule, or if it is to be accepted and none of the keys opens what it has encrypted.
    pub(super) fn choose(&mut self, ech: &Ech, message: &[u8]) -> Vec<u8> {
        if !self.opened.is_empty() && !ech.accepts {
            // RFC 9849 §7.1.1: nothing more is decrypted
            return message.to_vec();
        }
        if ech.is_tampered_with
            && let Some(context) = &self.context
            && read_extension(&ClientHello::read(message)).as_ref() == Ok(&context.extension)
        {
            return message.to_vec();
        }
        let opened = self
            .open(ech, message)
            .unwrap_or_else(|Broken(rule)| panic!("the client breaks {rule}"));
        assert!(opened.is_some() || !ech.accepts, "no key opens this");
        let inner = opened.as_ref().map(|opened| opened.inner.message());
        self.opened.extend(opened);
        let inner = inner.filter(|_| ech.accepts);
        inner.unwrap_or_else(|| message.to_vec())
    }

    fn open(&mut self, ech: &Ech, message: &[u8]) -> Result<Option<Opened>, Broken> {
        let outer = ClientHello::read(message);
        let extension = read_extension(&outer)?;
        if let Some(context) = &mut self.context {
            rules::check_second_extension(&context.extension, &extension)?;
            let Some(encoded) = context.openers.open(&outer, &extension) else {
                // RFC 9849 §7.1.1
                return Err(Broken(
                    "§6.1.5: the context of the first ClientHello is used",
                ));
            };
            let opened = Opened::read(outer, &context.key.config, extension, encoded)?;
            rules::check_second(&self.opened[0], &opened)?;
            return Ok(Some(opened));
        }
        for key in &ech.keys {
            let Some(mut openers) = key.openers(&extension)? else {
                continue;
            };
            let Some(encoded) = openers.open(&outer, &extension) else {
                continue;
            };
            let opened = Opened::read(outer, &key.config, extension.clone(), encoded)?;
            self.context = Some(Context {
                key: key.clone(),
                extension,
                openers,
            });
            return Ok(Some(opened));
        }
        Ok(None)
    }

    /// Checks the first binder of a ClientHelloInner that comes after `transcript`.
    ///
    /// # Panics
    ///
    /// If it is not that of `psk`.
    pub(super) fn check_binder(&self, psk: &[u8], transcript: &Transcript, hello: &[u8]) {
        let Some(opened) = self.opened.last() else {
            return;
        };
        let Some(body) = opened.inner.extension(PRE_SHARED_KEY) else {
            return;
        };
        if opened.inner.message() != hello {
            return;
        }
        let mut binders = Reader(body);
        binders.vector(2);
        let binders_len = binders.0.len();
        binders.number(2);
        let binder = binders.vector(1);
        let truncated = &hello[..hello.len() - binders_len];
        let stage = Stage::early(transcript.suite, Some(psk));
        let expected = stage.binder_of(&transcript.hash_with(truncated));
        assert_eq!(binder, expected, "the binder of ClientHelloInner");
    }

    /// Confirms in a ServerHello that ClientHelloInner was used (RFC 9849 §7.2).
    pub(super) fn confirm(&self, ech: &Ech, transcript: &Transcript, server_hello: &mut [u8]) {
        if ech.accepts {
            let at = CONFIRMATION_AT..CONFIRMATION_AT + CONFIRMATION_LEN;
            let place = &mut server_hello[at];
            place.fill(0);
            let confirmation =
                self.confirmation("ech accept confirmation", transcript, server_hello);
            server_hello[CONFIRMATION_AT..][..CONFIRMATION_LEN].copy_from_slice(&confirmation);
        }
    }

    /// The same in a HelloRetryRequest, if it has the extension for that (RFC 9849 §7.2.1).
    pub(super) fn confirm_retry(&self, ech: &Ech, transcript: &Transcript, retry: &mut [u8]) {
        let header = [&ENCRYPTED_CLIENT_HELLO.to_be_bytes()[..], &[0, 8]].concat();
        let found = retry.windows(header.len()).position(|at| at == header);
        if let Some(found) = found.filter(|_| ech.accepts) {
            let at = found + header.len()..found + header.len() + CONFIRMATION_LEN;
            retry[at.clone()].fill(0);
            let label = "hrr ech accept confirmation";
            let confirmation = self.confirmation(label, transcript, retry);
            retry[at].copy_from_slice(&confirmation);
        }
    }

    fn confirmation(&self, label: &str, transcript: &Transcript, message: &[u8]) -> Vec<u8> {
        // both confirmations are keyed by the random of the ClientHelloInner before them; it does not change
        let random = &self.opened[0].inner.random;
        let stage = Stage::early(transcript.suite, Some(random));
        stage.expand(label, &transcript.hash_with(message), CONFIRMATION_LEN)
    }
}

#[cfg(test)]
mod tests;
