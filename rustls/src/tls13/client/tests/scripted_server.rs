//! A TLS 1.3 server that follows a [`Script`].

use std::borrow::ToOwned;
use std::string::String;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer};

use super::clients::{Client, Outcome, provider, take_output};
use crate::conn::CommonState;
use crate::crypto::CryptoProvider;
use crate::enums::{
    AlertDescription, CipherSuite, ContentType, HandshakeType, NamedGroup, Side, SignatureScheme,
};
use crate::msgs::client_hello::ClientHello;
use crate::msgs::{HandshakeMessage, HandshakePayload};
use crate::sign::SigningKey;
use crate::suites::Tls13CipherSuite;
use crate::tls13::certificate_verify::signed_content;
use crate::tls13::key_schedule::{EarlySecret, finished_verify_data};
use crate::tls13::traffic::{set_receiving_secret, set_sending_secret};
use crate::tls13::transcript::Transcript;

/// An extension: its type, and its body or how to make it.
pub(super) type Extension = (u16, Body);

#[derive(Clone)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    /// The server's share of [`Script::group`].
    KeyShare,
}

pub(super) fn bytes(typ: u16, body: &[u8]) -> Extension {
    (typ, Body::Bytes(body.to_vec()))
}

/// A ServerHello, or a HelloRetryRequest.
#[derive(Clone)]
pub(super) struct Hello {
    pub(super) legacy_version: u16,
    pub(super) random: [u8; 32],
    /// The client's, unless set.
    pub(super) session_id: Option<Vec<u8>>,
    pub(super) suite: u16,
    pub(super) compression: u8,
    pub(super) extensions: Vec<Extension>,
}

/// See [`Script::corrupt`].
pub(super) type Corrupt = Arc<dyn Fn(usize, &mut Vec<u8>)>;

/// What the server says: right unless a test changes it.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) retries: Vec<Hello>,
    pub(super) server_hello: Hello,
    pub(super) group: NamedGroup,
    /// The messages after the ServerHello.
    pub(super) flight: Vec<HandshakeType>,
    pub(super) encrypted_extensions: Vec<Extension>,
    pub(super) request_context: Vec<u8>,
    pub(super) request_extensions: Vec<Extension>,
    pub(super) certificate_context: Vec<u8>,
    /// The certificates: `None` is the server's own.
    pub(super) certificates: Vec<(Option<Vec<u8>>, Vec<Extension>)>,
    pub(super) scheme: Option<SignatureScheme>,
    /// Changes the signature.
    pub(super) flip_signature: bool,
    pub(super) edit_verify_data: fn(&mut Vec<u8>),
    /// Changes each encoded message: told its position, 0 being the first HelloRetryRequest or the
    /// ServerHello.
    pub(super) corrupt: Corrupt,
    /// Appended to each HelloRetryRequest in its record.
    pub(super) after_retry: Vec<u8>,
    /// Appended to the ServerHello in its record.
    pub(super) after_server_hello: Vec<u8>,
    /// Appended to the Finished in its record.
    pub(super) after_finished: Vec<u8>,
    /// Sent under application keys, each in a record.
    pub(super) post_handshake: Vec<Vec<u8>>,
}

pub(super) const SUPPORTED_VERSIONS: u16 = 43;
pub(super) const KEY_SHARE: u16 = 51;
pub(super) const SUITE: CipherSuite = CipherSuite::TLS13_AES_128_GCM_SHA256;
const RETRY_RANDOM: [u8; 32] = crate::msgs::server_hello::HELLO_RETRY_REQUEST_RANDOM.0;

impl Script {
    pub(super) fn new() -> Self {
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
            post_handshake: Vec::new(),
        }
    }

    /// A HelloRetryRequest with these extensions beside supported_versions.
    pub(super) fn retry(&self, extensions: Vec<Extension>) -> Hello {
        Hello {
            random: RETRY_RANDOM,
            extensions: [vec![bytes(SUPPORTED_VERSIONS, &[3, 4])], extensions].concat(),
            ..self.server_hello.clone()
        }
    }

    /// One that asks for a share of secp256r1, which the ServerHello then has.
    pub(super) fn with_retry() -> Self {
        let mut script = Self::new();
        script.group = NamedGroup::secp256r1;
        script.retries = vec![script.retry(vec![bytes(KEY_SHARE, &[0, 23])])];
        script
    }

    pub(super) fn with_request() -> Self {
        let mut script = Self::new();
        script.flight.insert(1, HandshakeType::CertificateRequest);
        script
    }
}

/// The keys and certificate that all scripted servers have.
pub(super) struct Identity {
    pub(super) certificate: CertificateDer<'static>,
    key: Arc<dyn SigningKey>,
    provider: CryptoProvider,
}

impl Identity {
    pub(super) fn new() -> Self {
        let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key_der = PrivateKeyDer::Pkcs8(generated.signing_key.serialize_der().into());
        let provider = provider();
        Self {
            certificate: generated.cert.der().clone(),
            key: provider.key_provider.load_private_key(key_der).unwrap(),
            provider,
        }
    }

    /// Runs `script` against `client`.
    pub(super) fn run(&self, client: &mut dyn Client, script: &Script) -> Outcome {
        let mut server = Server {
            identity: self,
            common: CommonState::new(Side::Server),
            transcript: None,
            alert: None,
        };
        let error = server.talk(client, script).err();
        server.read_alert(&client.output());
        Outcome {
            error,
            alert: server.alert,
        }
    }

    fn suite(&self) -> &'static Tls13CipherSuite {
        let suites = &self.provider.cipher_suites;
        let suite = suites.iter().find(|suite| suite.suite() == SUITE);
        suite.unwrap().tls13().unwrap()
    }
}

struct Server<'a> {
    identity: &'a Identity,
    common: CommonState,
    transcript: Option<Transcript>,
    alert: Option<AlertDescription>,
}

impl Server<'_> {
    fn talk(&mut self, client: &mut dyn Client, script: &Script) -> Result<(), String> {
        let suite = self.identity.suite();
        let mut client_hello = plain_messages(&client.output());
        for (i, retry) in script.retries.iter().enumerate() {
            let mut message = hello_message(retry, &client_hello, &[]);
            (script.corrupt)(i, &mut message);
            match &mut self.transcript {
                None => {
                    let hash = suite.common.hash_provider;
                    let mut transcript = Transcript::start(hash, &client_hello);
                    transcript.replace_with_message_hash();
                    self.transcript = Some(transcript);
                }
                Some(transcript) => transcript.add(&client_hello),
            }
            self.transcript.as_mut().unwrap().add(&message);
            self.common
                .send_handshake(&[message, script.after_retry.clone()].concat());
            client.input(&self.output())?;
            client_hello = plain_messages(&client.output());
        }
        match &mut self.transcript {
            None => {
                let hash = suite.common.hash_provider;
                self.transcript = Some(Transcript::start(hash, &client_hello));
            }
            Some(transcript) => transcript.add(&client_hello),
        }

        let (share, shared) = self.exchange(&client_hello, script.group);
        let mut server_hello = hello_message(&script.server_hello, &client_hello, &share);
        let mut sent = script.retries.len();
        (script.corrupt)(sent, &mut server_hello);
        self.transcript.as_mut().unwrap().add(&server_hello);
        self.common
            .send_handshake(&[server_hello, script.after_server_hello.clone()].concat());

        let secret = EarlySecret::new(suite, None).into_handshake_secret_with_shared(&shared);
        let hellos = self.transcript.as_ref().unwrap().current();
        let client_secret = secret.client_handshake_traffic_secret(&hellos);
        let server_secret = secret.server_handshake_traffic_secret(&hellos);
        set_sending_secret(suite, &server_secret, &mut self.common);
        set_receiving_secret(suite, &client_secret, &mut self.common).unwrap();

        for typ in &script.flight {
            let body = match *typ {
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
                    let hash = self.transcript.as_ref().unwrap().current();
                    let mut verify_data = finished_verify_data(suite, &server_secret, &hash)
                        .as_ref()
                        .to_vec();
                    (script.edit_verify_data)(&mut verify_data);
                    verify_data
                }
                other => panic!("no way to make a {other:?}"),
            };
            let mut message = message((*typ).into(), &body);
            sent += 1;
            (script.corrupt)(sent, &mut message);
            self.transcript.as_mut().unwrap().add(&message);
            if *typ == HandshakeType::Finished {
                message.extend_from_slice(&script.after_finished);
            }
            self.common.send_handshake(&message);
        }
        client.input(&self.output())?;

        let main_secret = secret.into_main_secret();
        let finished = self.transcript.as_ref().unwrap().current();
        self.read_alert(&client.output());
        let client_secret = main_secret.client_application_traffic_secret_0(&finished);
        let server_secret = main_secret.server_application_traffic_secret_0(&finished);
        set_sending_secret(suite, &server_secret, &mut self.common);
        set_receiving_secret(suite, &client_secret, &mut self.common).unwrap();
        for message in &script.post_handshake {
            self.common.send_handshake(message);
            client.input(&self.output())?;
        }
        Ok(())
    }

    /// The server's share, and the shared secret. Of a group that the client has no share of: zeros.
    fn exchange(&self, client_hello: &[u8], group: NamedGroup) -> (Vec<u8>, Vec<u8>) {
        let hello = read_client_hello(client_hello);
        let shares = hello.extensions.key_shares.as_ref().unwrap();
        let theirs = shares.iter().find(|share| share.group == group);
        let groups = &self.identity.provider.kx_groups;
        let ours = groups.iter().find(|ours| ours.name() == group);
        let (share, shared) = match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let done = ours.start_and_complete(theirs.payload).unwrap();
                (done.pub_key, done.secret.secret_bytes().to_vec())
            }
            _ => (vec![4; 65], vec![0; 32]),
        };
        let group = u16::from(group).to_be_bytes();
        ([&group[..], &vector(2, &share)].concat(), shared)
    }

    fn certificate(&self, script: &Script) -> Vec<u8> {
        let entries: Vec<u8> = script
            .certificates
            .iter()
            .flat_map(|(certificate, entry_extensions)| {
                let own = || self.identity.certificate.to_vec();
                let certificate = certificate.clone().unwrap_or_else(own);
                [
                    vector(3, &certificate),
                    vector(2, &extensions(entry_extensions, &[])),
                ]
                .concat()
            })
            .collect();
        [vector(1, &script.certificate_context), vector(3, &entries)].concat()
    }

    fn certificate_verify(&self, script: &Script) -> Vec<u8> {
        let content = signed_content(Side::Server, &self.transcript.as_ref().unwrap().current());
        let schemes = [SignatureScheme::ECDSA_NISTP256_SHA256];
        let signer = self.identity.key.choose_scheme(&schemes).unwrap();
        let mut signature = signer.sign(content.as_ref()).unwrap();
        if script.flip_signature {
            let last = signature.len() - 1;
            signature[last] ^= 1;
        }
        let scheme = script.scheme.unwrap_or_else(|| signer.scheme());
        [&u16::from(scheme).to_be_bytes()[..], &vector(2, &signature)].concat()
    }

    fn output(&mut self) -> Vec<u8> {
        take_output(&mut self.common)
    }

    /// Notes the alert among these records from the client.
    fn read_alert(&mut self, records: &[u8]) {
        let mut rest = records.to_vec();
        while let Ok(Some(record)) = self.common.receiver.open(&mut rest) {
            if record.typ == ContentType::Alert {
                self.alert = Some(rest[record.payload][1].into());
            }
            rest.drain(..record.record_len);
        }
    }
}

/// The handshake messages in unprotected records.
pub(super) fn plain_messages(records: &[u8]) -> Vec<u8> {
    let mut messages = Vec::new();
    let mut rest = records;
    while let [typ, _, _, high, low, after @ ..] = rest {
        let (payload, after) = after.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        if *typ == u8::from(ContentType::Handshake) {
            messages.extend_from_slice(payload);
        }
        rest = after;
    }
    messages
}

pub(super) fn read_client_hello(message: &[u8]) -> ClientHello<'_> {
    match HandshakeMessage::read(message).unwrap().payload {
        HandshakePayload::ClientHello(hello) => hello,
        other => panic!("{other:?}"),
    }
}

fn hello_message(hello: &Hello, client_hello: &[u8], share: &[u8]) -> Vec<u8> {
    let echo = read_client_hello(client_hello).legacy_session_id;
    let session_id = hello.session_id.clone();
    let session_id = session_id.unwrap_or_else(|| echo.as_ref().to_vec());
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

pub(super) fn extensions(extensions: &[Extension], share: &[u8]) -> Vec<u8> {
    extensions
        .iter()
        .flat_map(|(typ, body)| {
            let body = match body {
                Body::Bytes(bytes) => bytes,
                Body::KeyShare => share,
            };
            [&typ.to_be_bytes()[..], &vector(2, body)].concat()
        })
        .collect()
}

/// A vector behind a length of `width` bytes.
pub(super) fn vector(width: usize, body: &[u8]) -> Vec<u8> {
    let len = body.len().to_be_bytes();
    [&len[len.len() - width..], body].concat()
}

pub(super) fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    [&[typ][..], &vector(3, body)].concat()
}
