//! A flight under construction: the messages that one side sends in a row under the same keys.

use alloc::vec::Vec;

use super::transcript::Transcript;
use crate::conn::transport::Transport;
use crate::crypto::hash;
use crate::error::Error;
use crate::msgs::{EncodeMessage, HANDSHAKE_HEADER_LEN};

/// How many bytes a flight has room for at first: enough for all but one that carries certificates.
const USUAL_LEN: usize = 256;

/// The messages in one buffer, each added to the transcript as it is appended.
pub(crate) struct Flight<'a> {
    messages: Vec<u8>,
    transcript: &'a mut Transcript,
    /// Whether all messages could be encoded.
    encoded: Result<(), Error>,
}

impl<'a> Flight<'a> {
    /// `capacity` is the expected length in bytes; a longer flight just needs more memory.
    pub(crate) fn with_capacity(capacity: usize, transcript: &'a mut Transcript) -> Self {
        Self {
            messages: Vec::with_capacity(capacity),
            transcript,
            encoded: Ok(()),
        }
    }

    pub(crate) fn new(transcript: &'a mut Transcript) -> Self {
        Self::with_capacity(USUAL_LEN, transcript)
    }

    /// Adds `message`. One that cannot be encoded keeps the flight from being sent.
    pub(crate) fn add(&mut self, message: &impl EncodeMessage) {
        let start = self.messages.len();
        if let Err(error) = message.encode_message(&mut self.messages) {
            self.encoded = Err(error);
        }
        self.transcript.add(&self.messages[start..]);
    }

    /// Adds what `instead` makes of the body of `message`, or `message` itself if that is nothing.
    pub(crate) fn add_instead<M: EncodeMessage>(
        &mut self,
        message: &impl EncodeMessage,
        instead: impl FnOnce(&[u8]) -> Option<M>,
    ) {
        let start = self.messages.len();
        if let Err(error) = message.encode_message(&mut self.messages) {
            self.encoded = Err(error);
            return;
        }
        if let Some(other) = instead(&self.messages[start + HANDSHAKE_HEADER_LEN..]) {
            self.messages.truncate(start);
            self.add(&other);
        } else {
            self.transcript.add(&self.messages[start..]);
        }
    }

    /// The hash of all messages so far, those of this flight included.
    pub(crate) fn transcript_hash(&mut self) -> &hash::Output {
        self.transcript.current()
    }

    /// All messages so far, those of this flight included, if they were kept. They are not kept any longer.
    #[cfg(feature = "tls12")]
    pub(crate) fn take_kept_messages(&mut self) -> Option<Vec<u8>> {
        self.transcript.take_kept()
    }

    /// Sends the flight under the present keys.
    ///
    /// # Errors
    ///
    /// Those of [`EncodeMessage::encode_message`], for any of its messages, and of
    /// [`Transport::send_handshake`].
    pub(crate) fn send(self, transport: &mut dyn Transport) -> Result<(), Error> {
        self.encoded?;
        transport.send_handshake(&self.messages)
    }
}
