//! Peers that have the right keys, and send any message that a test chooses to an
//! [`Endpoint`](crate::peers::endpoints::Endpoint).
//!
//! Except for [`ech`], they check nothing. They have their own key schedule and record protection;
//! ciphers, hash functions and key exchange come from a provider. [`recorded`] has flights from
//! genuine peers, to change and replay.

/// The methods that exist in the scripted clients for both versions.
macro_rules! scripted_client {
    () => {
        /// Receives the server's pending output.
        pub fn receive_output(&mut self) {
            let received = self.server.take_output();
            self.receive(&wire::records(&received));
        }

        /// Sends the next handshake messages, and receives the response.
        ///
        /// # Errors
        ///
        /// Returns an error if the server rejects them.
        pub fn send(&mut self, messages: &[u8]) -> Result<(), Refused> {
            self.transcript.add(messages);
            self.send_raw(ContentType::Handshake, messages)
        }

        /// Sends any type of content, without adding it to the transcript.
        ///
        /// # Errors
        ///
        /// Returns an error if the server rejects it.
        pub fn send_raw(&mut self, typ: ContentType, payload: &[u8]) -> Result<(), Refused> {
            let records = self.sealing.seal(typ, payload);
            let answer = deliver(&records, &mut *self.server, &mut self.opening)?;
            self.receive(&answer);
            Ok(())
        }

        /// Returns the application data that the server received.
        pub fn received_by_server(&mut self) -> Vec<u8> {
            self.server.read_all()
        }

        /// Returns the types of the handshake messages received.
        pub fn flight_types(&self) -> Vec<HandshakeType> {
            let types = self.flight.iter().map(|message| message[0].into());
            types.collect()
        }

        /// Encodes a CertificateVerify with any signature.
        pub fn certificate_verify_of(scheme: u16, signature: &[u8]) -> Vec<u8> {
            let body = [&scheme.to_be_bytes()[..], &wire::u16_vec(signature)].concat();
            message(HandshakeType::CertificateVerify.into(), &body)
        }
    };
}

mod client;
pub mod ech;
mod key_schedule;
pub mod recorded;
mod records;
mod refused;
mod server;
mod server_hello;
mod ticket;
pub mod tls12;

pub use client::{Edit, OfferedPsk, ScriptedClient};
pub use refused::Refused;
pub use server::{
    Body, Conversation, Corrupt, Extension, Hello, Identity, KEY_SHARE, Outcome, SUITE,
    SUPPORTED_VERSIONS, Script, bytes, extensions,
};
pub use ticket::Ticket;
