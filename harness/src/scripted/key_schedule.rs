//! The TLS 1.3 key schedule (RFC 9846 §7), for both scripted peers.
//!
//! It uses a provider's HKDF and HMAC, but none of the library's code above them.

use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::hash::Hash;
use rustls::crypto::tls13::{HkdfExpander, OkmBlock};
use rustls::{CipherSuite, Tls13CipherSuite};

use super::records::Keys;

/// A TLS 1.3 suite. The suites of a provider are static.
pub(super) type Suite = &'static Tls13CipherSuite;

/// Returns the suite of `provider` with this name.
pub(super) fn find_suite(provider: &rustls::crypto::CryptoProvider, name: CipherSuite) -> Suite {
    let mut suites = provider.cipher_suites.iter();
    let found = suites.find(|suite| suite.suite() == name);
    found.unwrap().tls13().unwrap()
}

/// The handshake messages so far, in either version.
pub(super) struct Transcript {
    hash: &'static dyn Hash,
    messages: Vec<u8>,
}

impl Transcript {
    /// Creates a transcript that begins with `messages`.
    pub(super) fn new(hash: &'static dyn Hash, messages: &[u8]) -> Self {
        let messages = messages.to_vec();
        Self { hash, messages }
    }

    /// RFC 5246 §7.4.8: the content that a client's CertificateVerify signs.
    pub(super) fn messages(&self) -> &[u8] {
        &self.messages
    }

    pub(super) fn add(&mut self, messages: &[u8]) {
        self.messages.extend_from_slice(messages);
    }

    pub(super) fn hash(&self) -> Vec<u8> {
        self.hash_with(&[])
    }

    /// Returns the hash including `message`, which is not added.
    pub(super) fn hash_with(&self, message: &[u8]) -> Vec<u8> {
        let messages = [&self.messages, message].concat();
        self.hash.hash(&messages).as_ref().to_vec()
    }

    /// RFC 9846 §4.1: before a HelloRetryRequest the ClientHello is replaced by its hash.
    pub(super) fn replace_with_message_hash(&mut self) {
        const MESSAGE_HASH: u8 = 254;
        self.messages = crate::wire::message(MESSAGE_HASH, &self.hash());
    }
}

/// One stage of the schedule: the output of an `HKDF-Extract`, from which secrets are derived.
pub(super) struct Stage {
    suite: Suite,
    pseudorandom_key: Box<dyn HkdfExpander>,
}

impl Stage {
    /// Returns the early secret, which is derived from zeros if there is no PSK.
    pub(super) fn early(suite: Suite, psk: Option<&[u8]>) -> Self {
        let hkdf = suite.hkdf_provider;
        Self {
            suite,
            pseudorandom_key: match psk {
                Some(psk) => hkdf.extract_from_secret(None, psk),
                None => hkdf.extract_from_zero_ikm(None),
            },
        }
    }

    /// Returns the handshake secret that follows the early secret.
    pub(super) fn into_handshake(self, shared_secret: &[u8]) -> Self {
        let salt = self.derived();
        let hkdf = self.suite.hkdf_provider;
        Self {
            pseudorandom_key: hkdf.extract_from_secret(Some(&salt), shared_secret),
            ..self
        }
    }

    /// RFC 9846 §4.3.11.2: the binder of a resumption PSK over the `truncated` hello.
    pub(super) fn binder(&self, truncated: &[u8]) -> Vec<u8> {
        let hash = self.suite.common.hash_provider;
        self.binder_of(hash.hash(truncated).as_ref())
    }

    /// Like [`Self::binder`], for the hash of the bytes.
    pub(super) fn binder_of(&self, transcript_hash: &[u8]) -> Vec<u8> {
        let of_nothing = self.suite.common.hash_provider.hash(&[]);
        let key = self.secret("res binder", of_nothing.as_ref());
        key.verify_data(transcript_hash)
    }

    /// Returns the client_early_traffic_secret after this ClientHello.
    pub(super) fn early_traffic_secret(&self, client_hello: &[u8]) -> Secret {
        let hash = self.suite.common.hash_provider.hash(client_hello);
        self.secret("c e traffic", hash.as_ref())
    }

    /// Returns the main secret that follows the handshake secret.
    pub(super) fn into_main(self) -> Self {
        let salt = self.derived();
        let hkdf = self.suite.hkdf_provider;
        Self {
            pseudorandom_key: hkdf.extract_from_zero_ikm(Some(&salt)),
            ..self
        }
    }

    /// Returns `Derive-Secret(., label, Messages)`, given the hash of the messages.
    pub(super) fn secret(&self, label: &str, transcript_hash: &[u8]) -> Secret {
        let len = self.suite.common.hash_provider.output_len();
        Secret {
            suite: self.suite,
            bytes: self.expand(label, transcript_hash, len),
        }
    }

    /// Returns `HKDF-Expand-Label(., label, context, len)`.
    pub(super) fn expand(&self, label: &str, context: &[u8], len: usize) -> Vec<u8> {
        expand_label(&*self.pseudorandom_key, label, context, len)
    }

    fn derived(&self) -> Vec<u8> {
        let of_nothing = self.suite.common.hash_provider.hash(&[]);
        self.secret("derived", of_nothing.as_ref()).bytes
    }
}

/// A secret of the schedule, and the values derived from it.
#[derive(Clone)]
pub(super) struct Secret {
    pub(super) suite: Suite,
    bytes: Vec<u8>,
}

impl Secret {
    /// RFC 9846 §7.2: the traffic secret after a KeyUpdate.
    pub(super) fn next(&self) -> Self {
        Self {
            suite: self.suite,
            bytes: self.expand("traffic upd", &[], self.bytes.len()),
        }
    }

    /// RFC 9846 §4.5.3: the verify_data of a Finished.
    pub(super) fn verify_data(&self, transcript_hash: &[u8]) -> Vec<u8> {
        let key = OkmBlock::new(&self.expand("finished", &[], self.bytes.len()));
        let tag = self.suite.hkdf_provider.hmac_sign(&key, transcript_hash);
        tag.as_ref().to_vec()
    }

    /// RFC 9846 §4.7.1: the PSK of the ticket with this nonce.
    pub(super) fn ticket_psk(&self, nonce: &[u8]) -> Vec<u8> {
        self.expand("resumption", nonce, self.bytes.len())
    }

    fn expand(&self, label: &str, context: &[u8], len: usize) -> Vec<u8> {
        let hkdf = self.suite.hkdf_provider;
        let expander = hkdf.expander_for_okm(&OkmBlock::new(&self.bytes));
        expand_label(&*expander, label, context, len)
    }
}

impl From<&Secret> for Keys {
    /// RFC 9846 §7.3: the key and IV of a traffic secret.
    fn from(secret: &Secret) -> Self {
        let aead = secret.suite.aead_alg;
        let key = || AeadKey::new(&secret.expand("key", &[], aead.key_len()));
        let iv = || Iv::copy(&secret.expand("iv", &[], 12));
        Self {
            encrypter: aead.encrypter(key(), iv()),
            decrypter: aead.decrypter(key(), iv()),
            hides_type: true,
        }
    }
}

/// Computes `HKDF-Expand-Label` of RFC 9846 §7.1.
fn expand_label(from: &dyn HkdfExpander, label: &str, context: &[u8], len: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let info = [
        (len as u16).to_be_bytes().to_vec(),
        crate::wire::u8_vec(label.as_bytes()),
        crate::wire::u8_vec(context),
    ]
    .concat();
    let mut output = vec![0; len];
    from.expand_slice(&[&info], &mut output).unwrap();
    output
}

/// RFC 9846 §4.5.2: the content that a CertificateVerify signs.
pub(super) fn signed_content(signer: &str, transcript_hash: &[u8]) -> Vec<u8> {
    let context = format!("TLS 1.3, {signer} CertificateVerify");
    [&[b' '; 64], context.as_bytes(), &[0], transcript_hash].concat()
}
