//! The transcript hash (RFC 9846 §4.1): one hash over all handshake messages of a connection, headers
//! included.
//!
//! It starts when the cipher suite, and with it the hash function, is known. Until then a client keeps its
//! ClientHello; a server knows the suite when it has read the message.

use alloc::boxed::Box;
#[cfg(feature = "tls12")]
use alloc::vec::Vec;

use crate::crypto::hash::{self, Hash, HashAlgorithm};
use crate::enums::HandshakeType;

/// The running hash over the handshake messages so far.
pub(crate) struct Transcript {
    hash: &'static dyn Hash,
    messages: Box<dyn hash::Context>,
    /// What [`Self::current`] returned, while no message has come since.
    latest: Option<hash::Output>,
    /// The messages themselves, while a CertificateVerify of TLS 1.2 may come: the hash function of its
    /// signature need not be this one (RFC 5246 §7.4.8).
    #[cfg(feature = "tls12")]
    kept: Option<Vec<u8>>,
}

impl Transcript {
    /// Starts with the encoded ClientHello.
    pub(crate) fn start(hash: &'static dyn Hash, client_hello: &[u8]) -> Self {
        let mut transcript = Self {
            hash,
            messages: hash.start(),
            latest: None,
            #[cfg(feature = "tls12")]
            kept: None,
        };
        transcript.add(client_hello);
        transcript
    }

    /// The same, and keeps all messages until [`Self::take_kept`].
    #[cfg(feature = "tls12")]
    pub(crate) fn start_kept(hash: &'static dyn Hash, client_hello: &[u8]) -> Self {
        let mut transcript = Self::start(hash, client_hello);
        transcript.kept = Some(client_hello.to_vec());
        transcript
    }

    /// All messages so far, if they were kept. They are not kept any longer.
    #[cfg(feature = "tls12")]
    pub(crate) fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take()
    }

    /// Adds messages with their headers: one, or a flight of them.
    pub(crate) fn add(&mut self, messages: &[u8]) {
        self.messages.update(messages);
        self.latest = None;
        #[cfg(feature = "tls12")]
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(messages);
        }
    }

    /// The hash of all messages so far. More may follow.
    pub(crate) fn current(&mut self) -> &hash::Output {
        let messages = &self.messages;
        self.latest.get_or_insert_with(|| messages.fork_finish())
    }

    /// One of the same messages, which goes on independently, and keeps none.
    pub(crate) fn fork(&self) -> Self {
        Self {
            hash: self.hash,
            messages: self.messages.fork(),
            latest: None,
            #[cfg(feature = "tls12")]
            kept: None,
        }
    }

    /// Which hash function it is.
    pub(crate) fn algorithm(&self) -> HashAlgorithm {
        self.hash.algorithm()
    }

    /// Replaces what came so far, the first ClientHello, with a message_hash. The HelloRetryRequest is added
    /// after it.
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
    fn messages_are_hashed_in_a_row() {
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
    fn forks_go_on_independently() {
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
        assert_eq!(transcript.take_kept(), None);

        let mut transcript = Transcript::start_kept(hash, b"ClientHello");
        transcript.add(b"ServerHello");
        assert_eq!(
            transcript.take_kept().as_deref(),
            Some(&b"ClientHelloServerHello"[..])
        );
        transcript.add(b"...");
        assert_eq!(transcript.take_kept(), None);
        let all = hash.hash(b"ClientHelloServerHello...");
        assert_eq!(transcript.current().as_ref(), all.as_ref());
    }

    #[test]
    fn a_retry_leaves_the_hash_of_the_first_client_hello() {
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
