//! A server for Encrypted Client Hello (RFC 9849) that checks every rule that a client must follow.
//!
//! ```text
//!   config ──── ECHConfigLists byte by byte, valid or not, and the keys to open with
//!   reading ─── ClientHelloOuter to ClientHelloInner, strictly: a broken rule is an error
//!   rules ───── the consistency of the two, and of those after a HelloRetryRequest
//!   this file ─ one connection: opening and confirming
//! ```
//!
//! Unlike the other scripted peers this one checks its input, because a lenient server would prove
//! nothing about a client. It runs HPKE on two providers, which must agree.

mod config;
mod reading;
mod rules;

pub use config::{Config, EchKey, SUITES, VERSION, config_list};
pub use reading::{Broken, EchExtension, Opened, read_extension};

use self::config::Openers;
use super::key_schedule::{Stage, Suite, Transcript};
use crate::wire::Reader;
use crate::wire::client_hello::{ClientHello, PRE_SHARED_KEY};

/// encrypted_client_hello, RFC 9849 §11.1.
pub const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
/// ech_outer_extensions, RFC 9849 §11.1.
pub const ECH_OUTER_EXTENSIONS: u16 = 0xfd00;

/// The length of the fields before the last 8 bytes of ServerHello.random: header, version, 24
/// bytes of random.
const CONFIRMATION_AT: usize = 4 + 2 + 24;
const CONFIRMATION_LEN: usize = 8;

/// A scripted server's handling of encrypted_client_hello.
#[derive(Clone)]
pub struct Ech {
    /// The keys with which the server can decrypt.
    pub keys: Vec<EchKey>,
    /// True to continue with ClientHelloInner and to confirm it. A HelloRetryRequest confirms it if
    /// it has an encrypted_client_hello of 8 bytes.
    pub accepts: bool,
    /// True if the server's messages are changed in transit. The client may then continue as if it
    /// had been rejected.
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

    /// Creates a server that reads ClientHelloInner, but continues with ClientHelloOuter.
    pub fn rejecting(key: &EchKey) -> Self {
        Self {
            accepts: false,
            ..Self::accepting(key)
        }
    }
}

/// The state of one connection.
#[derive(Default)]
pub(super) struct Connection {
    context: Option<Context>,
    /// The opened first ClientHello, and the one after a HelloRetryRequest.
    pub(super) opened: Vec<Opened>,
}

/// The key that opened the first ClientHello.
struct Context {
    key: EchKey,
    extension: EchExtension,
    openers: Openers,
}

impl Connection {
    /// Returns the ClientHello to continue with.
    ///
    /// # Panics
    ///
    /// Panics if the client breaks a rule, or if the server must accept and none of its keys opens
    /// the payload.
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
        assert!(opened.is_some() || !ech.accepts, "no key opens the payload");
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

    /// Checks the first binder of a ClientHelloInner that follows `transcript`.
    ///
    /// # Panics
    ///
    /// Panics if the binder does not belong to the PSK in `stage`.
    pub(super) fn check_binder(&self, stage: &Stage, transcript: &Transcript, hello: &[u8]) {
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
        let expected = stage.binder_of(&transcript.hash_with(truncated));
        assert_eq!(binder, expected, "the binder of ClientHelloInner");
    }

    /// Confirms in a ServerHello that ClientHelloInner was used (RFC 9849 §7.2).
    pub(super) fn confirm(&self, suite: Suite, transcript: &Transcript, hello: &mut [u8]) {
        let label = "ech accept confirmation";
        self.confirm_at(CONFIRMATION_AT, label, suite, transcript, hello);
    }

    /// Confirms in a HelloRetryRequest, if it has the extension for this (RFC 9849 §7.2.1).
    pub(super) fn confirm_retry(&self, suite: Suite, transcript: &Transcript, retry: &mut [u8]) {
        let header = [&ENCRYPTED_CLIENT_HELLO.to_be_bytes()[..], &[0, 8]].concat();
        if let Some(found) = retry.windows(header.len()).position(|at| at == header) {
            let label = "hrr ech accept confirmation";
            self.confirm_at(found + header.len(), label, suite, transcript, retry);
        }
    }

    fn confirm_at(
        &self,
        at: usize,
        label: &str,
        suite: Suite,
        transcript: &Transcript,
        message: &mut [u8],
    ) {
        message[at..][..CONFIRMATION_LEN].fill(0);
        // the random of ClientHelloInner keys both confirmations; it does not change after a retry
        let random = &self.opened[0].inner.random;
        let hash = transcript.hash_with(message);
        let confirmation = Stage::early(suite, Some(random)).expand(label, &hash, CONFIRMATION_LEN);
        message[at..][..CONFIRMATION_LEN].copy_from_slice(&confirmation);
    }
}

#[cfg(test)]
mod tests;
