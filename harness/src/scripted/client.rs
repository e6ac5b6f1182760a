//! A TLS 1.3 client that has the right keys, and sends any message that a test chooses.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::sign::SigningKey;
use rustls::{CipherSuite, ContentType, HandshakeType, NamedGroup};

use super::key_schedule::{Secret, Stage, Transcript, find_suite, signed_content};
use super::records::{Joiner, Records};
use super::refused::{Refused, deliver};
use super::server_hello::ServerHello;
use crate::peers::endpoints::Endpoint;
use crate::wire::client_hello::{
    ClientHello, EARLY_DATA, KEY_SHARE, PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES, X25519, key_shares,
};
use crate::wire::{self, Reader, find_extension, message, record, u8_vec, u16_vec, vector};

/// A client that has read the server's flight up to Finished. The test decides what it sends next.
pub struct ScriptedClient {
    /// The server.
    pub server: Box<dyn Endpoint>,
    transcript: Transcript,
    sealing: Records,
    opening: Records,
    joiner: Joiner,
    client_handshake_traffic_secret: Secret,
    client_application_traffic_secret: Secret,
    server_application_traffic_secret: Secret,
    main_secret: Stage,
    /// True if the server selected the PSK.
    pub is_resumed: bool,
    /// The server's handshake messages after ServerHello.
    pub flight: Vec<Vec<u8>>,
    /// Application data from the server.
    pub plaintext: Vec<u8>,
}

/// A session that a client offers to resume.
#[derive(Clone)]
pub struct OfferedPsk {
    pub suite: CipherSuite,
    pub psk: Vec<u8>,
    /// Tickets and obfuscated ages. All tickets have the same PSK.
    pub identities: Vec<(Vec<u8>, u32)>,
    /// True to also offer early data, and to send with its key until
    /// [`ScriptedClient::end_early_data`].
    pub early_data: bool,
    /// The content of psk_key_exchange_modes.
    pub modes: Vec<u8>,
    /// Changes the body of pre_shared_key after the binders were computed.
    pub edit: Edit,
}

impl OfferedPsk {
    /// Creates an offer of one ticket.
    pub fn new(suite: CipherSuite, psk: Vec<u8>, ticket: &[u8], obfuscated_age: u32) -> Self {
        Self {
            suite,
            psk,
            identities: vec![(ticket.to_vec(), obfuscated_age)],
            early_data: false,
            modes: vec![1],
            edit: Arc::new(|_| {}),
        }
    }

    fn early_secret(&self, provider: &CryptoProvider) -> Stage {
        Stage::early(find_suite(provider, self.suite), Some(&self.psk))
    }

    /// Encodes `hello` as a handshake message, with this PSK offer as its last extension.
    fn add_to(&self, hello: ClientHello, provider: &CryptoProvider) -> Vec<u8> {
        let mut hello = hello.with(PSK_KEY_EXCHANGE_MODES, u8_vec(&self.modes));
        if self.early_data {
            hello = hello.with(EARLY_DATA, vec![]);
        }
        let identities = self.identities.iter();
        let identities = identities.map(|(id, age)| [u16_vec(id), age.to_be_bytes().into()]);
        let identities = u16_vec(&identities.flatten().collect::<Vec<_>>().concat());
        let stage = self.early_secret(provider);
        let binders = |binder: &[u8]| u16_vec(&u8_vec(binder).repeat(self.identities.len()));
        let mut body = [&identities[..], &binders(&stage.binder(&[]))].concat();
        let whole = hello.clone().and(PRE_SHARED_KEY, body.clone()).message();
        let end = whole.len() - (body.len() - identities.len());
        body = [identities, binders(&stage.binder(&whole[..end]))].concat();
        (self.edit)(&mut body);
        hello.and(PRE_SHARED_KEY, body).message()
    }
}

/// A change to the body of an extension.
pub type Edit = Arc<dyn Fn(&mut Vec<u8>)>;

impl ScriptedClient {
    scripted_client!();

    /// Runs the handshake up to the server's Finished with `hello`, whose key share is replaced.
    ///
    /// # Panics
    ///
    /// Panics if the server rejects it.
    pub fn new(server: Box<dyn Endpoint>, provider: &CryptoProvider, hello: ClientHello) -> Self {
        Self::offering(server, provider, hello, None).unwrap()
    }

    /// Like [`Self::new`], with a session to resume.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects it.
    pub fn offering(
        mut server: Box<dyn Endpoint>,
        provider: &CryptoProvider,
        hello: ClientHello,
        offer: Option<&OfferedPsk>,
    ) -> Result<Self, Refused> {
        let is_x25519 = |group: &&&dyn SupportedKxGroup| group.name() == NamedGroup::X25519;
        let group = provider.kx_groups.iter().find(is_x25519).unwrap();
        let kx = group.start().unwrap();
        let hello = hello.with(KEY_SHARE, key_shares(&[(X25519, kx.pub_key())]));
        let hello = match offer {
            Some(offer) => offer.add_to(hello, provider),
            None => hello.message(),
        };

        let records = record(ContentType::Handshake.into(), &hello);
        let received = deliver(&records, &mut *server, &mut Records::default())?;
        let mut received = received.iter();
        let is_handshake = |record: &&wire::Record| record.typ == ContentType::Handshake.into();
        let server_hello = &received.find(is_handshake).unwrap().payload;
        let mut messages = Reader(server_hello);
        let read = ServerHello::read(&mut messages);
        assert!(messages.is_empty(), "bytes after the ServerHello");
        let suite = find_suite(provider, read.suite);
        let mut share = Reader(read.extension(KEY_SHARE).unwrap());
        assert_eq!(share.u16(), X25519);
        let is_resumed = read.extension(PRE_SHARED_KEY).is_some();

        let mut transcript = Transcript::new(suite.common.hash_provider, &hello);
        let early = offer.map(|offer| offer.early_secret(provider).early_traffic_secret(&hello));
        transcript.add(server_hello);
        let shared = kx.complete(share.vector(2)).unwrap();
        let psk = offer
            .filter(|_| is_resumed)
            .map(|offer| offer.psk.as_slice());
        let stage = Stage::early(suite, psk).into_handshake(shared.secret_bytes());
        let hellos = transcript.hash();
        let mut opening = Records::default();
        opening.set_key(&stage.secret("s hs traffic", &hellos));

        // read up to Finished; the records that follow are under the next key
        let (mut flight, mut joiner) = (Vec::<Vec<u8>>::new(), Joiner::default());
        let is_finished = |last: &Vec<u8>| last[0] == HandshakeType::Finished.into();
        while !flight.last().is_some_and(is_finished) {
            let (typ, payload) = opening.open(received.next().unwrap()).unwrap();
            if typ == ContentType::Handshake {
                joiner.push(&payload);
            }
            while let Some(message) = joiner.next() {
                transcript.add(&message);
                flight.push(message);
            }
        }
        let client_handshake_traffic_secret = stage.secret("c hs traffic", &hellos);
        let main_secret = stage.into_main();
        let finished = transcript.hash();
        let mut client = Self {
            server,
            client_application_traffic_secret: main_secret.secret("c ap traffic", &finished),
            server_application_traffic_secret: main_secret.secret("s ap traffic", &finished),
            client_handshake_traffic_secret,
            main_secret,
            transcript,
            sealing: Records::default(),
            opening,
            joiner,
            is_resumed,
            flight,
            plaintext: Vec::new(),
        };
        client
            .opening
            .set_key(&client.server_application_traffic_secret);
        let with_early_data = offer.is_some_and(|offer| offer.early_data);
        client.sealing.set_key(match &early {
            Some(early) if with_early_data => early,
            _ => &client.client_handshake_traffic_secret,
        });
        client.receive(received.as_slice());
        Ok(client)
    }

    /// Sends EndOfEarlyData and switches to the handshake key.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects it.
    pub fn end_early_data(&mut self) -> Result<(), Refused> {
        self.send(&message(HandshakeType::EndOfEarlyData.into(), &[]))?;
        self.start_handshake();
        Ok(())
    }

    /// Switches to the handshake key, as after early data that was rejected.
    pub fn start_handshake(&mut self) {
        self.sealing.set_key(&self.client_handshake_traffic_secret);
    }

    /// Returns the selected suite.
    pub fn suite(&self) -> CipherSuite {
        self.client_handshake_traffic_secret.suite.common.suite
    }

    /// True if the server accepted early data in its EncryptedExtensions.
    pub fn early_data_accepted(&self) -> bool {
        let typ = HandshakeType::EncryptedExtensions.into();
        let extensions = Reader::of_message(&self.flight[0], typ).extensions();
        find_extension(&extensions, EARLY_DATA).is_some()
    }

    /// Opens records that the server sent after its Finished.
    fn receive(&mut self, received: &[wire::Record]) {
        for record in received {
            let (typ, payload) = self.opening.open(record).unwrap();
            match typ {
                ContentType::Handshake => self.joiner.push(&payload),
                ContentType::ApplicationData => self.plaintext.extend(payload),
                _ => {}
            }
            while let Some(message) = self.joiner.next() {
                if message[0] == HandshakeType::KeyUpdate.into() {
                    let next = self.server_application_traffic_secret.next();
                    self.opening.set_key(&next);
                    self.server_application_traffic_secret = next;
                }
                self.flight.push(message);
            }
        }
    }

    /// Returns the client's next Finished.
    pub fn finished(&self) -> Vec<u8> {
        let secret = &self.client_handshake_traffic_secret;
        let verify_data = secret.verify_data(&self.transcript.hash());
        message(HandshakeType::Finished.into(), &verify_data)
    }

    /// Switches to application keys.
    pub fn start_traffic(&mut self) {
        self.sealing
            .set_key(&self.client_application_traffic_secret);
    }

    /// Returns the PSK of the ticket with this nonce, once Finished has been sent.
    pub fn ticket_psk(&self, nonce: &[u8]) -> Vec<u8> {
        let transcript = self.transcript.hash();
        let resumption_secret = self.main_secret.secret("res master", &transcript);
        resumption_secret.ticket_psk(nonce)
    }

    /// Switches to the next sending key, after a KeyUpdate was sent.
    pub fn update_sending_key(&mut self) {
        self.client_application_traffic_secret = self.client_application_traffic_secret.next();
        self.start_traffic();
    }

    /// Completes the handshake as a correct client does.
    ///
    /// # Errors
    ///
    /// Returns an error if the server rejects the Finished.
    pub fn finish(&mut self) -> Result<(), Refused> {
        let finished = self.finished();
        self.send(&finished)?;
        self.start_traffic();
        Ok(())
    }

    /// Encodes a Certificate for `chain`, with `extensions` for each entry.
    pub fn certificate(context: &[u8], chain: &[&[u8]], extensions: &[u8]) -> Vec<u8> {
        let entries = chain
            .iter()
            .flat_map(|cert| [vector(3, cert), u16_vec(extensions)]);
        let entries = entries.collect::<Vec<_>>().concat();
        let body = [u8_vec(context), vector(3, &entries)].concat();
        message(HandshakeType::Certificate.into(), &body)
    }

    /// Encodes a CertificateVerify by `key` over the messages so far.
    pub fn certificate_verify(&self, key: &dyn SigningKey, scheme: u16) -> Vec<u8> {
        let signer = key.choose_scheme(&[scheme.into()]).unwrap();
        let content = signed_content("client", &self.transcript.hash());
        Self::certificate_verify_of(scheme, &signer.sign(&content).unwrap())
    }
}
