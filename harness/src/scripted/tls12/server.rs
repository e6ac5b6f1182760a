//! A TLS 1.2 server that follows a [`Script`].

use std::sync::Arc;

use rustls::crypto::ActiveKeyExchange;
use rustls::{
    AlertDescription, CipherSuite, ContentType, HandshakeType, NamedGroup, Side, SignatureScheme,
};

use super::Session;
use super::secrets::Secrets;
use crate::peers::endpoints::Endpoint;
use crate::scripted::key_schedule::Transcript;
use crate::scripted::records::{Joiner, Records};
use crate::scripted::server::{Corrupt, Extension, Hello, Identity, bytes, hello_message};
use crate::wire::client_hello::{ClientHello, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO};
use crate::wire::{self, message, plain_messages, u8_vec, u16_vec, vector};

/// An action of the server.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends the script's message of this type.
    Send(HandshakeType),
    /// Sends any message, and adds it to the transcript.
    Message(Vec<u8>),
    /// Sends any content, without adding it to the transcript.
    Raw(ContentType, Vec<u8>),
    /// Sends a change_cipher_spec and protects all records after it.
    ChangeCipherSpec,
    /// Delivers the records so far and reads the client's reply.
    Await,
}

/// The server's output: correct unless a test changes it.
#[derive(Clone)]
pub struct Script {
    pub steps: Vec<Step>,
    pub hello: Hello,
    pub group: NamedGroup,
    /// The certificates. `None` stands for the server's own.
    pub certificates: Vec<Option<Vec<u8>>>,
    /// The body of a CertificateStatus.
    pub status: Vec<u8>,
    /// Changes the parameters of the key exchange before they are signed.
    pub edit_params: fn(&mut Vec<u8>),
    /// Replaces the scheme in the message, but not in the signature.
    pub scheme: Option<SignatureScheme>,
    pub flip_signature: bool,
    /// The body of a CertificateRequest.
    pub request: Vec<u8>,
    pub lifetime_hint: u32,
    pub ticket: Vec<u8>,
    pub edit_verify_data: fn(&mut Vec<u8>),
    /// Changes each encoded message. The first argument is its index.
    pub corrupt: Corrupt,
    /// The resumed session, if any.
    pub resumes: Option<Session>,
}

impl Script {
    /// Creates a script for a full handshake without tickets.
    pub fn new() -> Self {
        use HandshakeType::*;
        Self {
            steps: vec![
                Step::Send(ServerHello),
                Step::Send(Certificate),
                Step::Send(ServerKeyExchange),
                Step::Send(ServerHelloDone),
                Step::Await,
                Step::ChangeCipherSpec,
                Step::Send(Finished),
                Step::Await,
            ],
            hello: Hello {
                legacy_version: 0x0303,
                random: [0x5e; 32],
                session_id: Some(vec![]),
                suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.into(),
                compression: 0,
                extensions: vec![
                    bytes(RENEGOTIATION_INFO, &[0]),
                    bytes(EXTENDED_MASTER_SECRET, &[]),
                ],
            },
            group: NamedGroup::X25519,
            certificates: vec![None],
            status: [&[1][..], &vector(3, b"response")].concat(),
            edit_params: |_| {},
            scheme: None,
            flip_signature: false,
            // ecdsa_sign and rsa_sign, the usual schemes, any authority
            request: [
                &u8_vec(&[64, 1])[..],
                &u16_vec(&[4, 3, 8, 4]),
                &u16_vec(&[]),
            ]
            .concat(),
            lifetime_hint: 3600,
            ticket: vec![0x71; 48],
            edit_verify_data: |_| {},
            corrupt: Arc::new(|_, _| {}),
            resumes: None,
        }
    }

    /// Creates a script that requests a client certificate.
    pub fn with_request() -> Self {
        Self::new().with_step(3, Step::Send(HandshakeType::CertificateRequest))
    }

    /// Adds a session ID to the ServerHello.
    pub fn with_session_id(mut self, id: &[u8]) -> Self {
        self.hello.session_id = Some(id.to_vec());
        self
    }

    /// Creates a script that sends a ticket, which the client must have requested.
    pub fn with_ticket() -> Self {
        let mut script = Self::new().with_step(5, Step::Send(HandshakeType::NewSessionTicket));
        let announced = bytes(wire::client_hello::SESSION_TICKET, &[]);
        script.hello.extensions.push(announced);
        script
    }

    /// Creates a script that resumes `session`. It echoes the session's ID, or the client's if that
    /// is empty.
    pub fn resuming(session: Session) -> Self {
        let mut script = Self::new();
        script.hello.session_id = if session.id.is_empty() {
            None
        } else {
            Some(session.id.clone())
        };
        script.steps = vec![
            Step::Send(HandshakeType::ServerHello),
            Step::ChangeCipherSpec,
            Step::Send(HandshakeType::Finished),
            Step::Await,
        ];
        script.resumes = Some(session);
        script
    }

    pub fn with_step(mut self, at: usize, step: Step) -> Self {
        self.steps.insert(at, step);
        self
    }

    pub fn with_extension(mut self, extension: Extension) -> Self {
        self.hello.extensions.push(extension);
        self
    }

    pub fn edit(mut self, edit: impl FnOnce(&mut Self)) -> Self {
        edit(&mut self);
        self
    }
}

/// The outcome of a connection with a scripted server.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The client's error, as its debug output.
    pub error: Option<String>,
    /// The client's alert.
    pub alert: Option<AlertDescription>,
    /// The types of the client's handshake messages after its ClientHello.
    pub received: Vec<HandshakeType>,
    /// The client's messages, its ClientHello first.
    pub messages: Vec<Vec<u8>>,
    /// True if the client's Finished has arrived and was correct.
    pub client_finished: bool,
    /// Application data from the client.
    pub plaintext: Vec<u8>,
    /// The session, or `None` if no keys were derived.
    pub session: Option<Session>,
}

impl Identity {
    /// Runs `script` against `client`.
    pub fn run_tls12(&self, client: &mut dyn Endpoint, script: &Script) -> Outcome {
        let client_hello = plain_messages(&client.take_output());
        let hello = ClientHello::read(&client_hello);
        let suite = script.hello.suite.into();
        let randoms = [hello.random, script.hello.random];
        let secrets = Secrets::new(&self.provider, suite, randoms, script.resumes.as_ref());
        let mut server = Server {
            identity: self,
            script,
            kx: None,
            sealing: Records::default(),
            opening: Records::default(),
            joiner: Joiner::default(),
            transcript: Transcript::new(secrets.suite.common.hash_provider, &client_hello),
            secrets,
            outcome: Outcome {
                messages: vec![client_hello],
                ..Outcome::default()
            },
        };
        server.outcome.error = server.talk(client).err();
        server.read(&client.take_output());
        server.into_outcome()
    }
}

struct Server<'a> {
    identity: &'a Identity,
    script: &'a Script,
    kx: Option<Box<dyn ActiveKeyExchange>>,
    secrets: Secrets,
    sealing: Records,
    opening: Records,
    joiner: Joiner,
    transcript: Transcript,
    outcome: Outcome,
}

impl Server<'_> {
    fn talk(&mut self, client: &mut dyn Endpoint) -> Result<(), String> {
        let mut flight = Vec::new();
        let mut sent = 0;
        for step in &self.script.steps {
            match step {
                Step::Send(typ) => {
                    let mut message = self.message(*typ);
                    (self.script.corrupt)(sent, &mut message);
                    sent += 1;
                    self.transcript.add(&message);
                    flight.extend(self.sealing.seal(ContentType::Handshake, &message));
                }
                Step::Message(message) => {
                    self.transcript.add(message);
                    flight.extend(self.sealing.seal(ContentType::Handshake, message));
                }
                Step::Raw(typ, content) => flight.extend(self.sealing.seal(*typ, content)),
                Step::ChangeCipherSpec => {
                    flight.extend(self.sealing.seal(ContentType::ChangeCipherSpec, &[1]));
                    // without keys, the following records stay in the clear
                    if let Some(keys) = self.secrets.keys(Side::Server) {
                        self.sealing.set_key(keys);
                    }
                }
                Step::Await => {
                    client.receive(&std::mem::take(&mut flight))?;
                    self.read(&client.take_output());
                }
            }
        }
        client.receive(&flight)
    }

    /// Returns the script's message of type `typ`.
    fn message(&mut self, typ: HandshakeType) -> Vec<u8> {
        let script = self.script;
        let body = match typ {
            HandshakeType::ServerHello => {
                return hello_message(&script.hello, &self.outcome.messages[0], &[]);
            }
            HandshakeType::Certificate => {
                let own = || self.identity.certificate.to_vec();
                let chain = script.certificates.iter();
                let entries = chain.map(|entry| vector(3, &entry.clone().unwrap_or_else(own)));
                vector(3, &entries.collect::<Vec<_>>().concat())
            }
            HandshakeType::CertificateStatus => script.status.clone(),
            HandshakeType::ServerKeyExchange => self.key_exchange(),
            HandshakeType::CertificateRequest => script.request.clone(),
            HandshakeType::ServerHelloDone | HandshakeType::HelloRequest => vec![],
            HandshakeType::NewSessionTicket => [
                &script.lifetime_hint.to_be_bytes()[..],
                &u16_vec(&script.ticket),
            ]
            .concat(),
            HandshakeType::Finished => {
                // without keys the Finished is wrong in any case
                let data = self.secrets.verify_data(Side::Server, &self.transcript);
                let mut data = data.unwrap_or_else(|| vec![0; 12]);
                (script.edit_verify_data)(&mut data);
                data
            }
            other => panic!("cannot build a {other:?}"),
        };
        message(typ.into(), &body)
    }

    /// RFC 8422 §5.4: a ServerKeyExchange of ECDHE.
    fn key_exchange(&mut self) -> Vec<u8> {
        const NAMED_CURVE: u8 = 3;
        let script = self.script;
        let groups = &self.identity.provider.kx_groups;
        let group = groups.iter().find(|group| group.name() == script.group);
        let kx = group.unwrap().start().unwrap();
        let group = u16::from(script.group).to_be_bytes();
        let mut params = [&[NAMED_CURVE][..], &group, &u8_vec(kx.pub_key())].concat();
        (script.edit_params)(&mut params);
        self.kx = Some(kx);

        let content = [&self.secrets.randoms.concat()[..], &params].concat();
        let flips = script.flip_signature;
        let signed = self.identity.signed(&content, script.scheme, flips);
        [params, signed].concat()
    }

    /// Reads the client's records until one cannot be opened.
    fn read(&mut self, output: &[u8]) {
        for record in wire::records(output) {
            let Ok((typ, content)) = self.opening.open(&record) else {
                return;
            };
            match typ {
                ContentType::Alert => self.outcome.alert = Some(content[1].into()),
                ContentType::ApplicationData => self.outcome.plaintext.extend(content),
                ContentType::ChangeCipherSpec => {
                    if let Some(keys) = self.secrets.keys(Side::Client) {
                        self.opening.set_key(keys);
                    }
                }
                _ => self.joiner.push(&content),
            }
            while let Some(message) = self.joiner.next() {
                self.handle(message);
            }
        }
    }

    fn handle(&mut self, message: Vec<u8>) {
        let typ = HandshakeType::from(message[0]);
        if typ == HandshakeType::Finished
            && let Some(due) = self.secrets.verify_data(Side::Client, &self.transcript)
        {
            self.outcome.client_finished = message[4..] == due;
        }
        self.transcript.add(&message);
        if typ == HandshakeType::ClientKeyExchange
            && let Some(kx) = self.kx.take()
        {
            let shared = kx.complete(&message[5..]).unwrap();
            let extended = |(typ, _): &Extension| *typ == EXTENDED_MASTER_SECRET;
            let extended = self.script.hello.extensions.iter().any(extended);
            let hash = extended.then(|| self.transcript.hash());
            self.secrets.agree(shared.secret_bytes(), hash);
        }
        self.outcome.received.push(typ);
        self.outcome.messages.push(message);
    }

    fn into_outcome(self) -> Outcome {
        let session = |master_secret| Session {
            id: self.script.hello.session_id.clone().unwrap_or_default(),
            ticket: self.script.ticket.clone(),
            master_secret,
        };
        Outcome {
            session: self.secrets.master.map(session),
            ..self.outcome
        }
    }
}
