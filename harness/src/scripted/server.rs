//! A TLS 1.3 server that follows a [`Script`].

use std::sync::Arc;

use pki_types::{CertificateDer, PrivateKeyDer};
use rustls::crypto::CryptoProvider;
use rustls::sign::SigningKey;
use rustls::{
    AlertDescription, CipherSuite, ContentType, HandshakeType, NamedGroup, SignatureScheme,
};

use super::ech::{self, Ech, Opened};
use super::key_schedule::{Secret, Stage, Suite, Transcript, find_suite, signed_content};
use super::records::{Joiner, Records};
use crate::peers::endpoints::Endpoint;
use crate::wire::client_hello::{ClientHello, EARLY_DATA, PRE_SHARED_KEY};
pub use crate::wire::client_hello::{KEY_SHARE, SUPPORTED_VERSIONS};
use crate::wire::{self, extension, message, plain_messages, vector};

/// An extension: its type, and its body or the way to create it.
pub type Extension = (u16, Body);

#[derive(Clone)]
pub enum Body {
    Bytes(Vec<u8>),
    /// The server's share of [`Script::group`].
    KeyShare,
}

pub fn bytes(typ: u16, body: &[u8]) -> Extension {
    (typ, Body::Bytes(body.to_vec()))
}

/// A ServerHello, or a HelloRetryRequest.
#[derive(Clone)]
pub struct Hello {
    pub legacy_version: u16,
    pub random: [u8; 32],
    /// The session ID. If `None`, the client's.
    pub session_id: Option<Vec<u8>>,
    pub suite: u16,
    pub compression: u8,
    pub extensions: Vec<Extension>,
}

/// See [`Script::corrupt`].
pub type Corrupt = Arc<dyn Fn(usize, &mut Vec<u8>)>;

/// The server's output: correct unless a test changes it.
#[derive(Clone)]
pub struct Script {
    pub retries: Vec<Hello>,
    pub server_hello: Hello,
    pub group: NamedGroup,
    /// The messages after the ServerHello.
    pub flight: Vec<HandshakeType>,
    pub encrypted_extensions: Vec<Extension>,
    pub request_context: Vec<u8>,
    pub request_extensions: Vec<Extension>,
    pub certificate_context: Vec<u8>,
    /// The certificates. `None` stands for the server's own.
    pub certificates: Vec<(Option<Vec<u8>>, Vec<Extension>)>,
    pub scheme: Option<SignatureScheme>,
    /// Changes the signature.
    pub flip_signature: bool,
    pub edit_verify_data: fn(&mut Vec<u8>),
    /// Changes each encoded message. The first argument is its index, 0 being the first
    /// HelloRetryRequest or the ServerHello.
    pub corrupt: Corrupt,
    /// Appended to each HelloRetryRequest in its record.
    pub after_retry: Vec<u8>,
    /// Appended to the ServerHello in its record.
    pub after_server_hello: Vec<u8>,
    /// Appended to the Finished in its record.
    pub after_finished: Vec<u8>,
    /// The content of an alert after the flight, under the handshake key.
    pub alert: Option<[u8; 2]>,
    /// Sent under application keys, each in a record.
    pub post_handshake: Vec<Vec<u8>>,
    /// The key of the resumed session. The ServerHello must select it.
    pub psk: Option<Vec<u8>>,
    /// The key of a session with [`SUITE`], for opening early data and alerts.
    pub early_psk: Option<Vec<u8>>,
    /// The handling of encrypted_client_hello; `None` if the server does not support it.
    pub ech: Option<Ech>,
}

pub const SUITE: CipherSuite = CipherSuite::TLS13_AES_128_GCM_SHA256;
/// RFC 9846 §4.2.3: SHA-256 of "HelloRetryRequest".
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

impl Script {
    pub fn new() -> Self {
        Self {
            retries: Vec::new(),
            server_hello: Hello {
                legacy_version: 0x0303,
                random: [0x5e; 32],
                session_id: None,
                suite: SUITE.into(),
                compression: 0,
                extensions: vec![
                    bytes(SUPPORTED_VERSIONS, &[3, 4]),
                    (KEY_SHARE, Body::KeyShare),
                ],
            },
            group: NamedGroup::X25519,
            flight: vec![
                HandshakeType::EncryptedExtensions,
                HandshakeType::Certificate,
                HandshakeType::CertificateVerify,
                HandshakeType::Finished,
            ],
            encrypted_extensions: Vec::new(),
            request_context: Vec::new(),
            request_extensions: vec![bytes(13, &[0, 4, 4, 3, 8, 4])],
            certificate_context: Vec::new(),
            certificates: vec![(None, Vec::new())],
            scheme: None,
            flip_signature: false,
            edit_verify_data: |_| {},
            corrupt: Arc::new(|_, _| {}),
            after_retry: Vec::new(),
            after_server_hello: Vec::new(),
            after_finished: Vec::new(),
            alert: None,
            post_handshake: Vec::new(),
            psk: None,
            early_psk: None,
            ech: None,
        }
    }

    /// Creates a script that resumes the session with this `psk`, which is the first session that
    /// the client offers.
    pub fn resuming(psk: Vec<u8>) -> Self {
        let mut script = Self::new();
        script
            .server_hello
            .extensions
            .push(bytes(PRE_SHARED_KEY, &[0, 0]));
        script.flight = vec![HandshakeType::EncryptedExtensions, HandshakeType::Finished];
        script.early_psk = Some(psk.clone());
        script.psk = Some(psk);
        script
    }

    /// Also accepts early data.
    pub fn accepting_early_data(mut self) -> Self {
        self.encrypted_extensions.push(bytes(EARLY_DATA, &[]));
        self
    }

    /// Returns a HelloRetryRequest with these extensions after supported_versions.
    pub fn retry(&self, extensions: Vec<Extension>) -> Hello {
        Hello {
            random: RETRY_RANDOM,
            extensions: [vec![bytes(SUPPORTED_VERSIONS, &[3, 4])], extensions].concat(),
            ..self.server_hello.clone()
        }
    }

    /// Creates a script that requests a share for secp256r1, which the ServerHello then uses.
    pub fn with_retry() -> Self {
        let mut script = Self::new();
        script.group = NamedGroup::secp256r1;
        script.retries = vec![script.retry(vec![bytes(KEY_SHARE, &[0, 23])])];
        script
    }

    pub fn with_request() -> Self {
        let mut script = Self::new();
        script.flight.insert(1, HandshakeType::CertificateRequest);
        script
    }
}

/// The key and certificate of scripted servers.
pub struct Identity {
    /// Self-signed, for `localhost`.
    pub certificate: CertificateDer<'static>,
    pub(super) key: Arc<dyn SigningKey>,
    pub(super) provider: CryptoProvider,
}

/// The outcome of a connection with a scripted server.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    /// The client's error, as its debug output.
    pub error: Option<String>,
    /// The client's alert.
    pub alert: Option<AlertDescription>,
}

/// A complete connection with a scripted server.
#[derive(Default)]
pub struct Conversation {
    pub outcome: Outcome,
    /// The client's handshake messages: its ClientHello, the second one after a retry, and its
    /// flight. If ECH is accepted, the hellos are the inner ones.
    pub messages: Vec<Vec<u8>>,
    /// The opened contents of encrypted ClientHellos.
    pub opened: Vec<Opened>,
    /// All bytes from the client, in wire format.
    pub sent: Vec<u8>,
    /// Early data, if the script has the key.
    pub early_data: Vec<u8>,
    /// Application data from the client.
    pub plaintext: Vec<u8>,
    resumption_secret: Option<Secret>,
}

impl Conversation {
    /// Returns the PSK of the ticket with this nonce.
    ///
    /// # Panics
    ///
    /// Panics if the client has not finished.
    pub fn ticket_psk(&self, nonce: &[u8]) -> Vec<u8> {
        self.resumption_secret.as_ref().unwrap().ticket_psk(nonce)
    }
}

impl Identity {
    /// Creates an identity with a new key, whose servers use the groups and ciphers of `provider`.
    pub fn new(provider: CryptoProvider) -> Self {
        let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        Self::with_key(
            provider,
            generated.cert.der().clone(),
            &generated.signing_key,
        )
    }

    /// Creates an identity with the given key and its certificate.
    pub fn with_key(
        provider: CryptoProvider,
        certificate: CertificateDer<'static>,
        key: &rcgen::KeyPair,
    ) -> Self {
        let key_der = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Self {
            certificate,
            key: provider.key_provider.load_private_key(key_der).unwrap(),
            provider,
        }
    }

    /// Runs `script` against `client`.
    pub fn run(&self, client: &mut dyn Endpoint, script: &Script) -> Outcome {
        self.converse(client, script).outcome
    }

    /// Signs `content`. Returns the encoded `scheme` (by default the real one) and the signature,
    /// which is wrong if `flips` is true.
    pub(super) fn signed(
        &self,
        content: &[u8],
        scheme: Option<SignatureScheme>,
        flips: bool,
    ) -> Vec<u8> {
        let schemes = [SignatureScheme::ECDSA_NISTP256_SHA256];
        let signer = self.key.choose_scheme(&schemes).unwrap();
        let mut signature = signer.sign(content).unwrap();
        *signature.last_mut().unwrap() ^= u8::from(flips);
        let scheme = scheme.unwrap_or_else(|| signer.scheme());
        [&u16::from(scheme).to_be_bytes()[..], &vector(2, &signature)].concat()
    }

    /// Like [`Self::run`], but returns all details.
    pub fn converse(&self, client: &mut dyn Endpoint, script: &Script) -> Conversation {
        let selected = script.server_hello.suite.into();
        let suites = &mut self.provider.cipher_suites.iter();
        let is_known = suites.any(|suite| suite.tls13().is_some() && suite.suite() == selected);
        // the client will reject any other suite, without keys
        let suite = find_suite(&self.provider, if is_known { selected } else { SUITE });
        let mut server = Server {
            identity: self,
            suite,
            sealing: Records::default(),
            opening: Records::default(),
            previous: None,
            next_keys: Vec::new(),
            skips: false,
            joiner: Joiner::default(),
            transcript: Transcript::new(suite.common.hash_provider, &[]),
            main_secret: None,
            ech: ech::Connection::default(),
            conversation: Conversation::default(),
        };
        server.conversation.outcome.error = server.talk(client, script).err();
        let output = server.take(client);
        server.read(&output);
        server.conversation.opened = server.ech.opened;
        server.conversation
    }
}

struct Server<'a> {
    identity: &'a Identity,
    suite: Suite,
    sealing: Records,
    opening: Records,
    /// The previous key, which a client still uses if it fails between its Finished and the next
    /// key.
    previous: Option<Records>,
    /// The client's next keys, in reverse order: the handshake key if there is early data, the
    /// application key.
    next_keys: Vec<Secret>,
    /// True to skip records that cannot be opened: early data that was rejected.
    skips: bool,
    joiner: Joiner,
    transcript: Transcript,
    main_secret: Option<Stage>,
    ech: ech::Connection,
    conversation: Conversation,
}

impl Server<'_> {
    fn talk(&mut self, client: &mut dyn Endpoint, script: &Script) -> Result<(), String> {
        let output = self.take(client);
        let mut client_hello = self.read_hello(script, &output);
        let early_opening = self.read_early(script, &client_hello, &output);
        let accepts_ech = script.ech.as_ref().is_some_and(|ech| ech.accepts);
        for (i, retry) in script.retries.iter().enumerate() {
            let mut message = hello_message(retry, &client_hello, &[]);
            if i == 0 {
                self.transcript.replace_with_message_hash();
            }
            if accepts_ech {
                self.ech
                    .confirm_retry(self.suite, &self.transcript, &mut message);
            }
            (script.corrupt)(i, &mut message);
            self.transcript.add(&message);
            client.receive(&self.seal(&[&message[..], &script.after_retry].concat()))?;
            let output = self.take(client);
            client_hello = self.read_hello(script, &output);
        }

        let early = Stage::early(self.suite, script.psk.as_deref());
        let offered = ClientHello::read(&client_hello)
            .extension(EARLY_DATA)
            .is_some();
        let mut answered = script.encrypted_extensions.iter();
        let accepts = offered && answered.any(|(typ, _)| *typ == EARLY_DATA);

        let (share, shared) = self.exchange(&client_hello, script.group);
        let mut server_hello = hello_message(&script.server_hello, &client_hello, &share);
        let mut sent = script.retries.len();
        if accepts_ech {
            self.ech
                .confirm(self.suite, &self.transcript, &mut server_hello);
        }
        (script.corrupt)(sent, &mut server_hello);
        self.transcript.add(&server_hello);
        let mut flight = self.seal(&[&server_hello[..], &script.after_server_hello].concat());

        let stage = early.into_handshake(&shared);
        let hellos = self.transcript.hash();
        let server_secret = stage.secret("s hs traffic", &hellos);
        let client_secret = stage.secret("c hs traffic", &hellos);
        self.sealing.set_key(&server_secret);
        match early_opening {
            Some(opening) if accepts => {
                self.opening = opening;
                // a client that rejects the flight may have switched to the handshake key
                self.previous = Some(Records::under(&client_secret));
                self.next_keys.push(client_secret);
            }
            // a client that fails before it learns of the rejection sends its alert under the early
            // data key
            rejected => {
                self.previous = rejected;
                self.opening.set_key(&client_secret);
                self.skips = true;
            }
        }

        for typ in &script.flight {
            let body = self.body(*typ, script, &server_secret);
            let mut message = message((*typ).into(), &body);
            sent += 1;
            (script.corrupt)(sent, &mut message);
            self.transcript.add(&message);
            if *typ == HandshakeType::Finished {
                message.extend_from_slice(&script.after_finished);
            }
            flight.extend(self.seal(&message));
        }
        if let Some(alert) = script.alert {
            flight.extend(self.sealing.seal(ContentType::Alert, &alert));
        }
        let stage = stage.into_main();
        let finished = self.transcript.hash();
        self.next_keys
            .insert(0, stage.secret("c ap traffic", &finished));
        let server_traffic_secret = stage.secret("s ap traffic", &finished);
        self.main_secret = Some(stage);

        client.receive(&flight)?;
        let output = self.take(client);
        self.read(&output);
        self.sealing.set_key(&server_traffic_secret);
        for message in &script.post_handshake {
            client.receive(&self.seal(message))?;
        }
        Ok(())
    }

    /// Takes the client's pending output.
    fn take(&mut self, client: &mut dyn Endpoint) -> Vec<u8> {
        let output = client.take_output();
        self.conversation.sent.extend_from_slice(&output);
        output
    }

    /// Reads the ClientHello in `output` and adds it to the transcript.
    fn read_hello(&mut self, script: &Script, output: &[u8]) -> Vec<u8> {
        let sent = plain_messages(output);
        let hello = match &script.ech {
            Some(ech) => self.ech.choose(ech, &sent),
            None => sent,
        };
        if let Some(psk) = &script.psk {
            let stage = Stage::early(self.suite, Some(psk));
            self.ech.check_binder(&stage, &self.transcript, &hello);
        }
        self.transcript.add(&hello);
        self.conversation.messages.push(hello.clone());
        hello
    }

    fn seal(&mut self, messages: &[u8]) -> Vec<u8> {
        self.sealing.seal(ContentType::Handshake, messages)
    }

    /// Returns the body of the script's message of type `typ`.
    fn body(&self, typ: HandshakeType, script: &Script, server_secret: &Secret) -> Vec<u8> {
        match typ {
            HandshakeType::EncryptedExtensions => {
                vector(2, &extensions(&script.encrypted_extensions, &[]))
            }
            HandshakeType::CertificateRequest => [
                vector(1, &script.request_context),
                vector(2, &extensions(&script.request_extensions, &[])),
            ]
            .concat(),
            HandshakeType::Certificate => self.certificate(script),
            HandshakeType::CertificateVerify => self.certificate_verify(script),
            HandshakeType::Finished => {
                let mut verify_data = server_secret.verify_data(&self.transcript.hash());
                (script.edit_verify_data)(&mut verify_data);
                verify_data
            }
            HandshakeType::EndOfEarlyData => Vec::new(),
            other => panic!("cannot build a {other:?}"),
        }
    }

    /// Returns the server's share and the shared secret, which are all zeros if the client sent no
    /// share for the group.
    fn exchange(&self, client_hello: &[u8], group: NamedGroup) -> (Vec<u8>, Vec<u8>) {
        let shares = ClientHello::read(client_hello).key_shares();
        let theirs = shares.iter().find(|share| share.0 == u16::from(group));
        let groups = &self.identity.provider.kx_groups;
        let ours = groups.iter().find(|ours| ours.name() == group);
        let (share, shared) = match (ours, theirs) {
            (Some(ours), Some((_, theirs))) => {
                let done = ours.start_and_complete(theirs).unwrap();
                (done.pub_key, done.secret.secret_bytes().to_vec())
            }
            _ => (vec![4; 65], vec![0; 32]),
        };
        (extension(group.into(), &share), shared)
    }

    fn certificate(&self, script: &Script) -> Vec<u8> {
        let own = || self.identity.certificate.to_vec();
        let entries = script
            .certificates
            .iter()
            .flat_map(|(certificate, of_entry)| {
                let certificate = certificate.clone().unwrap_or_else(own);
                [
                    vector(3, &certificate),
                    vector(2, &extensions(of_entry, &[])),
                ]
            });
        let entries = entries.collect::<Vec<_>>().concat();
        [vector(1, &script.certificate_context), vector(3, &entries)].concat()
    }

    fn certificate_verify(&self, script: &Script) -> Vec<u8> {
        let content = signed_content("server", &self.transcript.hash());
        let flips = script.flip_signature;
        self.identity.signed(&content, script.scheme, flips)
    }

    /// Reads the records after a ClientHello, which carry early data. Returns the key for any
    /// further early data.
    fn read_early(&mut self, script: &Script, hello: &[u8], output: &[u8]) -> Option<Records> {
        let psk = script.early_psk.as_deref()?;
        let suite = find_suite(&self.identity.provider, SUITE);
        let secret = Stage::early(suite, Some(psk)).early_traffic_secret(hello);
        let mut opening = Records::under(&secret);
        let protected = wire::records(output).into_iter();
        let protected =
            protected.filter(|record| record.typ == ContentType::ApplicationData.into());
        for record in protected {
            let (_, content) = opening.open(&record).unwrap();
            self.conversation.early_data.extend(content);
        }
        Some(opening)
    }

    /// Reads the client's records until one cannot be opened.
    fn read(&mut self, output: &[u8]) {
        for record in wire::records(output) {
            let mut opened = self.opening.open(&record);
            if let (Err(_), Some(previous)) = (&opened, &mut self.previous) {
                opened = previous.open(&record);
            }
            let (typ, content) = match opened {
                Ok(opened) => opened,
                Err(_) if self.skips => continue,
                Err(_) => return,
            };
            match typ {
                ContentType::Alert => self.conversation.outcome.alert = Some(content[1].into()),
                ContentType::Handshake => self.joiner.push(&content),
                // application data under the last key, the application key
                ContentType::ApplicationData if self.next_keys.is_empty() => {
                    self.conversation.plaintext.extend(content);
                }
                ContentType::ApplicationData => self.conversation.early_data.extend(content),
                _ => {}
            }
            while let Some(message) = self.joiner.next() {
                self.handle(message);
            }
        }
    }

    fn handle(&mut self, message: Vec<u8>) {
        let typ = HandshakeType::from(message[0]);
        self.transcript.add(&message);
        self.conversation.messages.push(message);
        let changes = [HandshakeType::EndOfEarlyData, HandshakeType::Finished];
        if changes.contains(&typ)
            && let Some(key) = self.next_keys.pop()
        {
            self.previous = Some(std::mem::take(&mut self.opening));
            self.opening.set_key(&key);
            self.skips = false;
        }
        if typ == HandshakeType::Finished {
            let secret = |main: &Stage| main.secret("res master", &self.transcript.hash());
            self.conversation.resumption_secret = self.main_secret.as_ref().map(secret);
        }
    }
}

pub(super) fn hello_message(hello: &Hello, client_hello: &[u8], share: &[u8]) -> Vec<u8> {
    let session_id = hello.session_id.clone();
    let session_id = session_id.unwrap_or_else(|| ClientHello::read(client_hello).session_id);
    let body = [
        &hello.legacy_version.to_be_bytes()[..],
        &hello.random,
        &vector(1, &session_id),
        &hello.suite.to_be_bytes(),
        &[hello.compression],
        &vector(2, &extensions(&hello.extensions, share)),
    ]
    .concat();
    message(HandshakeType::ServerHello.into(), &body)
}

/// Encodes extensions; `share` replaces [`Body::KeyShare`].
pub fn extensions(extensions: &[Extension], share: &[u8]) -> Vec<u8> {
    let encoded = extensions.iter().map(|(typ, body)| match body {
        Body::Bytes(bytes) => extension(*typ, bytes),
        Body::KeyShare => extension(*typ, share),
    });
    encoded.collect::<Vec<_>>().concat()
}
