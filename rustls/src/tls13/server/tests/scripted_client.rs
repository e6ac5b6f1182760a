//! A client that does what a test says: correct keys, and whatever messages.

use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use super::hello_bytes::{Hello, KEY_SHARE, X25519, key_shares, message};
use super::peers::{Provider, Server};
use crate::crypto::SupportedKxGroup;
use crate::crypto::tls13::OkmBlock;
use crate::enums::{ContentType, HandshakeType, NamedGroup, ProtocolVersion, Side};
use crate::msgs::{HandshakeMessage, HandshakePayload};
use crate::record::receiver::RecordReceiver;
use crate::record::sender::RecordSender;
use crate::sign::SigningKey;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};
use crate::tls13::certificate_verify::signed_content;
use crate::tls13::key_schedule::{
    EarlySecret, MainSecret, finished_verify_data, next_application_traffic_secret, ticket_psk,
    traffic_key,
};
use crate::tls13::transcript::Transcript;

pub(super) struct ScriptedClient {
    pub(super) server: Box<dyn Server>,
    suite: &'static Tls13CipherSuite,
    transcript: Transcript,
    sender: RecordSender,
    receiver: RecordReceiver,
    client_handshake_traffic_secret: OkmBlock,
    client_application_traffic_secret: OkmBlock,
    server_application_traffic_secret: OkmBlock,
    main_secret: MainSecret,
    /// Handshake messages of the server after ServerHello.
    pub(super) flight: Vec<Vec<u8>>,
    /// Application data of the server.
    pub(super) plaintext: Vec<u8>,
}

impl ScriptedClient {
    /// Gets as far as the server's Finished with `hello`, whose key share it replaces.
    pub(super) fn new(mut server: Box<dyn Server>, provider: Provider, hello: Hello) -> Self {
        let provider = provider.ours();
        let is_x25519 = |group: &&&dyn SupportedKxGroup| group.name() == NamedGroup::X25519;
        let kx = provider
            .kx_groups
            .iter()
            .find(is_x25519)
            .unwrap()
            .start()
            .unwrap();
        let hello = hello
            .with(KEY_SHARE, key_shares(&[(X25519, kx.pub_key())]))
            .message();

        server
            .feed(&super::hello_bytes::record(0x16, &hello))
            .unwrap();
        let mut received = server.output();
        let mut receiver = RecordReceiver::new();
        let server_hello = loop {
            let opened = receiver.open(&mut received).unwrap().unwrap();
            let payload = received[opened.payload].to_vec();
            received.drain(..opened.record_len);
            if opened.typ == ContentType::Handshake {
                break payload;
            }
        };
        let message = HandshakeMessage::read(&server_hello).unwrap();
        let HandshakePayload::ServerHello(parsed) = message.payload else {
            panic!("no ServerHello but {:?}", message.typ);
        };
        let suite = provider
            .cipher_suites
            .iter()
            .filter_map(SupportedCipherSuite::tls13)
            .find(|suite| suite.common.suite == parsed.cipher_suite)
            .unwrap();

        let mut transcript = Transcript::start(suite.common.hash_provider, &hello);
        transcript.add(&server_hello);
        let share = parsed.extensions.key_share.unwrap();
        let secret = EarlySecret::new(suite, None)
            .into_handshake_secret(kx, share.payload)
            .unwrap();
        let to_server_hello = transcript.current();
        let client_handshake_traffic_secret =
            secret.client_handshake_traffic_secret(&to_server_hello);
        let server_handshake_traffic_secret =
            secret.server_handshake_traffic_secret(&to_server_hello);
        set_receiving(&mut receiver, suite, &server_handshake_traffic_secret);

        // the flight is read up to Finished; what follows is under the next key
        let mut flight = vec![];
        while flight
            .last()
            .is_none_or(|last: &Vec<u8>| last[0] != HandshakeType::Finished.into())
        {
            let opened = receiver.open(&mut received).unwrap().unwrap();
            if opened.typ == ContentType::Handshake {
                receiver.push_handshake(&received[opened.payload]).unwrap();
            }
            received.drain(..opened.record_len);
            while let Some(message) = receiver.next_handshake_message().unwrap() {
                transcript.add(&message);
                flight.push(message);
            }
        }
        let secret = secret.into_main_secret();
        let to_finished = transcript.current();
        let mut client = Self {
            server,
            suite,
            sender: RecordSender::new(),
            receiver,
            client_application_traffic_secret: secret
                .client_application_traffic_secret_0(&to_finished),
            server_application_traffic_secret: secret
                .server_application_traffic_secret_0(&to_finished),
            main_secret: secret,
            transcript,
            client_handshake_traffic_secret,
            flight,
            plaintext: vec![],
        };
        set_receiving(
            &mut client.receiver,
            suite,
            &client.server_application_traffic_secret,
        );
        set_sending(
            &mut client.sender,
            suite,
            &client.client_handshake_traffic_secret,
        );
        client.receive(&mut received);
        client
    }

    /// Opens what the server has sent, after its Finished.
    fn receive(&mut self, received: &mut [u8]) {
        let mut at = 0;
        while let Some(opened) = self.receiver.open(&mut received[at..]).unwrap() {
            let payload = &received[at..][opened.payload];
            match opened.typ {
                ContentType::Handshake => self.receiver.push_handshake(payload).unwrap(),
                ContentType::ApplicationData => self.plaintext.extend(payload),
                _ => {}
            }
            at += opened.record_len;
            while let Some(message) = self.receiver.next_handshake_message().unwrap() {
                if message[0] == HandshakeType::KeyUpdate.into() {
                    self.update_receiving_key();
                }
                self.flight.push(message);
            }
        }
    }

    fn update_receiving_key(&mut self) {
        self.server_application_traffic_secret =
            next_application_traffic_secret(self.suite, &self.server_application_traffic_secret);
        set_receiving(
            &mut self.receiver,
            self.suite,
            &self.server_application_traffic_secret,
        );
    }

    /// Takes in what the server wants to send.
    pub(super) fn receive_output(&mut self) {
        let mut received = self.server.output();
        self.receive(&mut received);
    }

    /// Seals `payload` into a record of type `typ`.
    pub(super) fn seal(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let mut record = vec![0; self.sender.sealed_len(payload.len())];
        self.sender.seal(typ, payload.into(), &mut record).unwrap();
        record
    }

    /// Sends handshake messages, as if they were in order, and takes in the answer.
    ///
    /// Returns the server's error, and what it sent: an alert is its description.
    pub(super) fn send(&mut self, messages: &[u8]) -> Result<(), Refused> {
        self.transcript.add(messages);
        self.send_raw(ContentType::Handshake, messages)
    }

    /// The same for any type of content, and without the transcript.
    pub(super) fn send_raw(&mut self, typ: ContentType, payload: &[u8]) -> Result<(), Refused> {
        let record = self.seal(typ, payload);
        let result = self.server.feed(&record);
        let mut answer = self.server.output();
        match result {
            Ok(()) => {
                self.receive(&mut answer);
                Ok(())
            }
            Err(error) => {
                let opened = self.receiver.open(&mut answer).unwrap();
                let alert = opened.map(|opened| answer[opened.payload].to_vec());
                Err(Refused { error, alert })
            }
        }
    }

    /// The Finished that is due.
    pub(super) fn finished(&self) -> Vec<u8> {
        let verify_data = finished_verify_data(
            self.suite,
            &self.client_handshake_traffic_secret,
            &self.transcript.current(),
        );
        message(HandshakeType::Finished.into(), verify_data.as_ref())
    }

    /// From now on application keys are used.
    pub(super) fn start_traffic(&mut self) {
        set_sending(
            &mut self.sender,
            self.suite,
            &self.client_application_traffic_secret,
        );
    }

    /// The key of the ticket with this nonce, once Finished was sent.
    pub(super) fn ticket_psk(&self, nonce: &[u8]) -> OkmBlock {
        let resumption_secret = self
            .main_secret
            .resumption_secret(&self.transcript.current());
        ticket_psk(self.suite, &resumption_secret, nonce)
    }

    /// Goes on with the next key, as a KeyUpdate was sent.
    pub(super) fn update_sending_key(&mut self) {
        self.client_application_traffic_secret =
            next_application_traffic_secret(self.suite, &self.client_application_traffic_secret);
        self.start_traffic();
    }

    /// Finishes the handshake as a good client would.
    pub(super) fn finish(&mut self) -> Result<(), Refused> {
        let finished = self.finished();
        self.send(&finished)?;
        self.start_traffic();
        Ok(())
    }

    /// A Certificate for `chain`, with `extensions` for each certificate.
    pub(super) fn certificate(context: &[u8], chain: &[&[u8]], extensions: &[u8]) -> Vec<u8> {
        let entries: Vec<u8> = chain
            .iter()
            .flat_map(|cert| {
                let len = (cert.len() as u16).to_be_bytes();
                [
                    &[0][..],
                    &len,
                    cert,
                    &super::hello_bytes::u16_vec(extensions),
                ]
                .concat()
            })
            .collect();
        let list = [&[0][..], &super::hello_bytes::u16_vec(&entries)].concat();
        let body = [super::hello_bytes::u8_vec(context), list].concat();
        message(HandshakeType::Certificate.into(), &body)
    }

    /// A CertificateVerify by `key`, for what was sent so far.
    pub(super) fn certificate_verify(&self, key: &dyn SigningKey, scheme: u16) -> Vec<u8> {
        let signer = key.choose_scheme(&[scheme.into()]).unwrap();
        let content = signed_content(Side::Client, &self.transcript.current());
        Self::certificate_verify_of(scheme, &signer.sign(content.as_ref()).unwrap())
    }

    pub(super) fn certificate_verify_of(scheme: u16, signature: &[u8]) -> Vec<u8> {
        let body = [
            &scheme.to_be_bytes(),
            &super::hello_bytes::u16_vec(signature)[..],
        ]
        .concat();
        message(HandshakeType::CertificateVerify.into(), &body)
    }

    /// The types of the handshake messages received since ServerHello.
    pub(super) fn flight_types(&self) -> Vec<HandshakeType> {
        self.flight
            .iter()
            .map(|message| message[0].into())
            .collect()
    }
}

/// How a server refused something.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) error: std::string::String,
    /// Level and description, if one was sent.
    pub(super) alert: Option<Vec<u8>>,
}

fn set_receiving(
    receiver: &mut RecordReceiver,
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
) {
    let (key, iv) = traffic_key(suite, secret);
    let decrypter = suite.aead_alg.decrypter(key, iv);
    receiver
        .set_decrypter(decrypter, ProtocolVersion::TLSv1_3)
        .unwrap();
}

fn set_sending(sender: &mut RecordSender, suite: &'static Tls13CipherSuite, secret: &OkmBlock) {
    let (key, iv) = traffic_key(suite, secret);
    let encrypter = suite.aead_alg.encrypter(key, iv);
    sender.set_encrypter(encrypter, ProtocolVersion::TLSv1_3, u64::MAX);
}
