//! A flight under construction: consecutive messages that one side sends under the same keys.

use alloc::vec::Vec;

use rustls_core::crypto::hash;

use super::transcript::Transcript;
use crate::error::Error;
use crate::handshake::transport::Transport;
use crate::msgs::{EncodeMessage, HANDSHAKE_HEADER_LEN};

/// The initial capacity in bytes if none is given. Flights with certificates or finite-field keys
/// are usually longer.
const USUAL_LEN: usize = 256;

/// Messages in one buffer. Each is added to the transcript as it is appended.
pub(crate) struct Flight<'a> {
    messages: Vec<u8>,
    transcript: &'a mut Transcript,
    /// The last error if a message could not be encoded. [`Self::send`] returns it.
    encoded: Result<(), Error>,
}

impl<'a> Flight<'a> {
    /// Creates a flight with `capacity`, the expected length in bytes. A longer flight reallocates.
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

    /// Appends `message`. If it cannot be encoded, the flight cannot be sent.
    pub(crate) fn add(&mut self, message: &impl EncodeMessage) {
        let start = self.messages.len();
        if let Err(error) = message.encode_message(&mut self.messages) {
            self.encoded = Err(error);
        }
        self.transcript.add(&self.messages[start..]);
    }

    /// Appends the message that `instead` returns for the body of `message`, or `message` itself if
    /// `instead` returns `None`.
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

    /// Returns the hash of all messages so far, including those of this flight.
    pub(crate) fn transcript_hash(&mut self) -> &hash::Output {
        self.transcript.current()
    }

    /// Takes all messages so far, including those of this flight, if they were kept. Messages added
    /// later are not kept.
    #[cfg(feature = "tls12")]
    pub(crate) fn take_messages(&mut self) -> Option<Vec<u8>> {
        self.transcript.take_messages()
    }

    /// Pauses the flight, so that the transcript can be moved.
    pub(crate) fn pause(self) -> PausedFlight {
        PausedFlight {
            messages: self.messages,
            encoded: self.encoded,
        }
    }

    /// Sends the flight under the current keys.
    ///
    /// # Errors
    ///
    /// Returns the error of [`EncodeMessage::encode_message`] if a message could not be encoded,
    /// and errors of [`Transport::send_handshake`].
    pub(crate) fn send(self, transport: &mut dyn Transport) -> Result<(), Error> {
        self.pause().send(transport)
    }
}

/// A flight that is continued later, with the same transcript.
pub(crate) struct PausedFlight {
    messages: Vec<u8>,
    encoded: Result<(), Error>,
}

impl PausedFlight {
    pub(crate) fn resume(self, transcript: &mut Transcript) -> Flight<'_> {
        Flight {
            messages: self.messages,
            transcript,
            encoded: self.encoded,
        }
    }

    /// Sends the flight, like [`Flight::send`].
    pub(crate) fn send(self, transport: &mut dyn Transport) -> Result<(), Error> {
        self.encoded?;
        transport.send_handshake(&self.messages)
    }
}
