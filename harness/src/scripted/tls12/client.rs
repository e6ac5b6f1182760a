//! A TLS 1.2 client that has the right keys, and sends any message that a test chooses.

use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{CipherSuite, ContentType, HandshakeType, Side};

use super::Session;
use super::secrets::Secrets;
use crate::peers::endpoints::Endpoint;
use crate::scripted::key_schedule::Transcript;
use crate::scripted::records::{Joiner, Keys, Records};
use crate::scripted::refused::{Refused, deliver};
use crate::scripted::server_hello::ServerHello;
use crate::wire::client_hello::{ClientHello, EXTENDED_MASTER_SECRET};
use crate::wire::{self, Reader, find_extension, message, record, u8_vec, vector};

/// A client that has read the server's first flight. The test decides what it sends next.
pub struct ScriptedClient {
    /// The server.
    pub server: Box<dyn Endpoint>,
    pub suite: CipherSuite,
    /// The server's handshake messages, starting with ServerHello.
    pub flight: Vec<Vec<u8>>,
    /// The extensions in its ServerHello.
    pub extensions: Vec<(u16, Vec<u8>)>,
    pub session_id: Vec<u8>,
    /// Application data from the server.
    pub plaintext: Vec<u8>,
    /// Non-fatal alerts from the server: level and description.
    pub alerts: Vec<Vec<u8>>,
    /// True if the server's Finished has arrived and was correct.
    pub server_finished: bool,
    provider: CryptoProvider,
    secrets: Secrets,
    transcript: Transcript,
    sealing: Records,
    opening: Records,
    joiner: Joiner,
}

impl ScriptedClient {
    scripted_client!();

    /// Sends `hello` and reads the reply, with the keys of `session` if the server resumes it.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects it.
    pub fn new(
        mut server: Box<dyn Endpoint>,
        provider: &CryptoProvider,
        hello: &ClientHello,
        session: Option<&Session>,
    ) -> Result<Self, Refused> {
        let hello_message = hello.message();
        let records = record(ContentType::Handshake.into(), &hello_message);
        let received = deliver(&records, &mut *server, &mut Records::default())?;

        let server_hello = received.first().unwrap();
        let read = ServerHello::read(&mut Reader(&server_hello.payload));
        let randoms = [hello.random, read.random];
        let secrets = Secrets::new(provider, read.suite, randoms, session);
        let mut client = Self {
            server,
            suite: read.suite,
            flight: Vec::new(),
            extensions: read.extensions,
            session_id: read.session_id,
            plaintext: Vec::new(),
            alerts: Vec::new(),
            server_finished: false,
            provider: provider.clone(),
            transcript: Transcript::new(secrets.suite.common.hash_provider, &hello_message),
            secrets,
            sealing: Records::default(),
            opening: Records::default(),
            joiner: Joiner::default(),
        };
        client.receive(&received);
        Ok(client)
    }

    /// Opens records from the server.
    fn receive(&mut self, received: &[wire::Record]) {
        for record in received {
            let (typ, content) = self.opening.open(record).unwrap();
            match typ {
                ContentType::Handshake => self.joiner.push(&content),
                ContentType::ApplicationData => self.plaintext.extend(content),
                ContentType::Alert => self.alerts.push(content),
                ContentType::ChangeCipherSpec => {
                    let keys = self.keys(Side::Server);
                    self.opening.set_key(keys);
                }
                _ => {}
            }
            while let Some(message) = self.joiner.next() {
                if message[0] == HandshakeType::Finished.into() {
                    let due = self.secrets.verify_data(Side::Server, &self.transcript);
                    self.server_finished = message[4..] == due.unwrap();
                }
                self.transcript.add(&message);
                self.flight.push(message);
            }
        }
    }

    fn keys(&self, sender: Side) -> Keys {
        self.secrets.keys(sender).expect("keys were agreed on")
    }

    /// Returns the server's message of this type.
    pub fn message_of(&self, typ: HandshakeType) -> Option<&[u8]> {
        let mut flight = self.flight.iter();
        let found = flight.find(|message| message[0] == typ.into());
        found.map(Vec::as_slice)
    }

    /// Sends a change_cipher_spec and protects all records after it.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects it.
    pub fn change_cipher_spec(&mut self) -> Result<(), Refused> {
        self.send_raw(ContentType::ChangeCipherSpec, &[1])?;
        self.protect();
        Ok(())
    }

    /// Protects all further records, without sending a change_cipher_spec.
    pub fn protect(&mut self) {
        let keys = self.keys(Side::Client);
        self.sealing.set_key(keys);
    }

    /// Creates the ClientKeyExchange of ECDHE and derives the keys from the transcript including
    /// it.
    pub fn key_exchange(&mut self) -> Vec<u8> {
        let params = self.message_of(HandshakeType::ServerKeyExchange).unwrap();
        let mut params = Reader::of_message(params, HandshakeType::ServerKeyExchange.into());
        let _named_curve = params.number(1);
        let group = params.u16();
        let theirs = params.vector(1);
        let groups = &self.provider.kx_groups;
        let group = groups.iter().find(|ours| u16::from(ours.name()) == group);
        let kx = group.unwrap().start().unwrap();
        let typ = HandshakeType::ClientKeyExchange.into();
        let message = message(typ, &u8_vec(kx.pub_key()));
        let shared = kx.complete(theirs).unwrap();

        let extended = find_extension(&self.extensions, EXTENDED_MASTER_SECRET);
        let hash = extended.map(|_| self.transcript.hash_with(&message));
        self.secrets.agree(shared.secret_bytes(), hash);
        message
    }

    /// Returns the client's next Finished.
    pub fn finished(&self) -> Vec<u8> {
        let data = self.secrets.verify_data(Side::Client, &self.transcript);
        message(
            HandshakeType::Finished.into(),
            &data.expect("keys were agreed on"),
        )
    }

    /// Completes a full or resumed handshake as a correct client without a certificate does.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects it.
    pub fn finish(&mut self) -> Result<(), Refused> {
        if !self.is_resumed() {
            let key_exchange = self.key_exchange();
            self.send(&key_exchange)?;
        }
        self.change_cipher_spec()?;
        let finished = self.finished();
        self.send(&finished)
    }

    /// True if the server replied with an abbreviated handshake.
    pub fn is_resumed(&self) -> bool {
        self.message_of(HandshakeType::ServerHelloDone).is_none()
    }

    /// Returns the session to resume, once the handshake is complete.
    pub fn session(&self) -> Session {
        let ticket = self.message_of(HandshakeType::NewSessionTicket);
        // after header, lifetime and length
        let ticket = ticket.map_or(&[][..], |message| &message[4 + 4 + 2..]);
        Session {
            id: self.session_id.clone(),
            ticket: ticket.to_vec(),
            master_secret: self.secrets.master.expect("keys were agreed on"),
        }
    }

    /// Encodes a Certificate for `chain`.
    pub fn certificate(chain: &[&[u8]]) -> Vec<u8> {
        let entries: Vec<u8> = chain.iter().flat_map(|cert| vector(3, cert)).collect();
        message(HandshakeType::Certificate.into(), &vector(3, &entries))
    }

    /// Encodes a CertificateVerify by `key` over the messages so far.
    pub fn certificate_verify(&self, key: &dyn SigningKey, scheme: u16) -> Vec<u8> {
        let signer = key.choose_scheme(&[scheme.into()]).unwrap();
        let signature = signer.sign(self.transcript.messages()).unwrap();
        Self::certificate_verify_of(scheme, &signature)
    }
}
