//! The transcript hash (RFC 9846 §4.1): one hash over the messages of a handshake, headers
//! included.
//!
//! It starts once the hash function is known. A server knows it once it has chosen the cipher suite
//! for a ClientHello. A client stores its ClientHello until the server has chosen the suite. A
//! client that offers a session first assumes the session's hash, because its binder needs one.

use alloc::boxed::Box;
#[cfg(feature = "tls12")]
use alloc::vec::Vec;

use rustls_core::crypto::hash::{self, Hash, HashAlgorithm};

use crate::enums::HandshakeType;

/// The running hash over the handshake messages so far.
pub(crate) struct Transcript {
    hash: &'static dyn Hash,
    messages: Box<dyn hash::Context>,
    /// The cached result of [`Self::current`]; cleared when a message is added.
    latest: Option<hash::Output>,
    /// The messages themselves, while a TLS 1.2 CertificateVerify may still follow. Its signature
    /// may use a different hash function (RFC 5246 §7.4.8).
    #[cfg(feature = "tls12")]
    kept_messages: Option<Vec<u8>>,
}

impl Transcript {
    /// Starts with the encoded ClientHello, whose binders may be added later.
    pub(crate) fn start(hash: &'static dyn Hash, client_hello: &[u8]) -> Self {
        let mut transcript = Self {
            hash,
            messages: hash.start(),
            latest: None,
            #[cfg(feature = "tls12")]
            kept_messages: None,
        };
        transcript.add(client_hello);
        transcript
    }

    /// Like [`Self::start`], but keeps all messages until [`Self::take_messages`].
    #[cfg(feature = "tls12")]
    pub(crate) fn start_keeping(hash: &'static dyn Hash, client_hello: &[u8]) -> Self {
        let mut transcript = Self::start(hash, client_hello);
        transcript.kept_messages = Some(client_hello.to_vec());
        transcript
    }

    /// Takes all messages so far, if they were kept. Later messages are not kept.
    #[cfg(feature = "tls12")]
    pub(crate) fn take_messages(&mut self) -> Option<Vec<u8>> {
        self.kept_messages.take()
    }

    /// Adds one or more messages, headers included.
    pub(crate) fn add(&mut self, messages: &[u8]) {
        self.messages.update(messages);
        self.latest = None;
        #[cfg(feature = "tls12")]
        if let Some(kept) = &mut self.kept_messages {
            kept.extend_from_slice(messages);
        }
    }

    /// Returns the hash of all messages so far. More may follow.
    pub(crate) fn current(&mut self) -> &hash::Output {
        let messages = &self.messages;
        self.latest.get_or_insert_with(|| messages.fork_finish())
    }

    /// Returns an independent copy of the hash, without the kept messages.
    pub(crate) fn fork(&self) -> Self {
        Self {
            hash: self.hash,
            messages: self.messages.fork(),
            latest: None,
            #[cfg(feature = "tls12")]
            kept_messages: None,
        }
    }

    pub(crate) fn algorithm(&self) -> HashAlgorithm {
        self.hash.algorithm()
    }

    /// Replaces the first ClientHello with a message_hash. The caller adds the HelloRetryRequest
    /// next.
    pub(crate) fn replace_with_message_hash(&mut self) {
        // RFC 9846 §4.1: type, uint24 length, Hash(ClientHello1)
        let client_hello = self.messages.fork_finish();
        let client_hello = client_hello.as_ref();
        // at most 64 bytes
        let len = client_hello.len() as u8;
        self.messages = self.hash.start();
        self.add(&[HandshakeType::MessageHash.into(), 0, 0, len]);
        self.add(client_hello);
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use super::*;
    #[cfg(feature = "aws_lc_rs")]
    use crate::crypto::aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384;
    #[cfg(not(feature = "aws_lc_rs"))]
    use crate::crypto::ring::cipher_suite::TLS13_AES_256_GCM_SHA384;

    #[test]
    fn the_hash_covers_all_messages_in_order() {
        let hash = TLS13_AES_256_GCM_SHA384.common().hash_provider;
        let mut transcript = Transcript::start(hash, b"ClientHello");
        assert_eq!(
            transcript.current().as_ref(),
            hash.hash(b"ClientHello").as_ref()
        );

        transcript.add(b"ServerHello");
        transcript.add(b"");
        transcript.add(b"...");
        let all = hash.hash(b"ClientHelloServerHello...");
        assert_eq!(transcript.current().as_ref(), all.as_ref());
        assert_eq!(transcript.current().as_ref(), all.as_ref());
    }

    #[test]
    fn forks_are_independent() {
        let hash = TLS13_AES_256_GCM_SHA384.common().hash_provider;
        let mut transcript = Transcript::start(hash, b"ClientHello");
        transcript.current();
        let mut fork = transcript.fork();
        fork.add(b"...");
        transcript.add(b"ServerHello");
        let hash_of = |messages: &[u8]| hash.hash(messages).as_ref().to_vec();
        assert_eq!(fork.current().as_ref(), hash_of(b"ClientHello..."));
        assert_eq!(
            transcript.current().as_ref(),
            hash_of(b"ClientHelloServerHello")
        );
    }

    #[cfg(feature = "tls12")]
    #[test]
    fn messages_are_kept_until_they_are_taken() {
        let hash = TLS13_AES_256_GCM_SHA384.common().hash_provider;
        let mut transcript = Transcript::start(hash, b"ClientHello");
        transcript.add(b"ServerHello");
        assert_eq!(transcript.take_messages(), None);

        let mut transcript = Transcript::start_keeping(hash, b"ClientHello");
        transcript.add(b"ServerHello");
        assert_eq!(
            transcript.take_messages().as_deref(),
            Some(&b"ClientHelloServerHello"[..])
        );
        transcript.add(b"...");
        assert_eq!(transcript.take_messages(), None);
        let all = hash.hash(b"ClientHelloServerHello...");
        assert_eq!(transcript.current().as_ref(), all.as_ref());
    }

    #[test]
    fn a_retry_replaces_the_first_client_hello_with_its_hash() {
        let hash = TLS13_AES_256_GCM_SHA384.common().hash_provider;
        let mut transcript = Transcript::start(hash, b"ClientHello1");
        transcript.replace_with_message_hash();
        transcript.add(b"HelloRetryRequest");

        // RFC 9846 §4.1
        let synthetic = [
            &[254, 0, 0, 48][..],
            hash.hash(b"ClientHello1").as_ref(),
            b"HelloRetryRequest",
        ]
        .concat();
        assert_eq!(
            transcript.current().as_ref(),
            hash.hash(&synthetic).as_ref()
        );
    }
}
