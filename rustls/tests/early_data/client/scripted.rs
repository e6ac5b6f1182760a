//! Resumption and early data against a scripted server. Upstream's client receives the same
//! mistakes; error and alert must match unless a test states otherwise.

use std::sync::Arc;

use harness::peers::clients::Client;
use harness::peers::configs::{self, Provider, Versions};
use harness::peers::endpoints::Endpoint;
use harness::scripted::{
    Body, Conversation, Identity, KEY_SHARE, Outcome, Script, bytes, extensions,
};
use harness::table;
use harness::wire::client_hello::{ALPN, COOKIE, ClientHello, EARLY_DATA, PRE_SHARED_KEY};
use harness::wire::{message, vector};
use rustls::PeerMisbehaved::*;
use rustls::{AlertDescription as Alert, CipherSuite, Error, HandshakeType, NamedGroup};

const EARLY: &[u8] = b"early data";
const NONCE: &[u8] = b"nonce";

macro_rules! config {
    ($module:ident, $identity:ident) => {{
        let provider = configs::$module::with_few_groups(Provider::Ring.$module());
        let certificate = &$identity.certificate;
        let mut config = configs::$module::client_trusting(certificate, Versions::Tls13, provider);
        config.enable_early_data = true;
        config.alpn_protocols = vec![b"h2".to_vec(), b"h3".to_vec()];
        Arc::new(config)
    }};
}

fn our_buffered(identity: &Identity) -> Client {
    Client::Buffered(config!(this, identity))
}

fn our_unbuffered(identity: &Identity) -> Client {
    Client::Unbuffered(config!(this, identity))
}

fn upstream(identity: &Identity) -> Client {
    Client::Upstream(config!(upstream, identity))
}

/// Starts a connection, which sends [`EARLY`] if early data may be sent.
fn start(client: &Client) -> Box<dyn Endpoint> {
    let mut end = client.connect_to("localhost".try_into().unwrap());
    end.send_early(EARLY);
    end
}

/// Creates a ticket that allows this much early data.
fn ticket(early_data: u32) -> Vec<u8> {
    let early_data = [bytes(EARLY_DATA, &early_data.to_be_bytes())];
    ticket_with(b"ticket", &extensions(&early_data, &[]))
}

fn ticket_with(ticket: &[u8], extensions: &[u8]) -> Vec<u8> {
    let body = [
        &600_u32.to_be_bytes()[..],
        &[0xff, 0xff, 0xff, 0xfe],
        &vector(1, NONCE),
        &vector(2, ticket),
        &vector(2, extensions),
    ];
    message(HandshakeType::NewSessionTicket.into(), &body.concat())
}

fn alpn(protocol: &[u8]) -> (u16, Body) {
    bytes(ALPN, &vector(2, &vector(1, protocol)))
}

/// The settings of two connections: the first leaves a ticket, and the second is with a scripted
/// server.
struct Resumption {
    /// The early data limit of the ticket.
    early_data: u32,
    script: Box<dyn Fn(Vec<u8>) -> Script>,
}

impl Resumption {
    fn new(change: impl Fn(&mut Script) + 'static) -> Self {
        Self {
            early_data: 100,
            script: Box::new(move |psk| {
                let mut script = Script::resuming(psk);
                script.encrypted_extensions = vec![alpn(b"h2")];
                change(&mut script);
                script
            }),
        }
    }

    fn without_early_data(mut self) -> Self {
        self.early_data = 0;
        self
    }

    fn run(&self, identity: &Identity, client: &Client) -> Conversation {
        let mut first = Script::new();
        first.encrypted_extensions = vec![alpn(b"h2")];
        first.post_handshake = vec![ticket(self.early_data)];
        let first = identity.converse(&mut *start(client), &first);
        assert_eq!(first.outcome, ACCEPTED);
        let script = (self.script)(first.ticket_psk(NONCE));
        identity.converse(&mut *start(client), &script)
    }

    /// Runs both of our clients, asserts that they behave in the same way, and returns what they
    /// did.
    fn ours(&self) -> Conversation {
        let identity = Identity::new(Provider::AwsLc.this());
        let buffered = self.run(&identity, &our_buffered(&identity));
        let unbuffered = self.run(&identity, &our_unbuffered(&identity));
        assert_eq!(unbuffered.outcome, buffered.outcome, "unbuffered");
        buffered
    }

    fn theirs(&self) -> Outcome {
        let identity = Identity::new(Provider::AwsLc.this());
        self.run(&identity, &upstream(&identity)).outcome
    }

    #[track_caller]
    fn is_accepted(&self) -> Conversation {
        let conversation = self.ours();
        assert_eq!(conversation.outcome, ACCEPTED);
        assert_eq!(self.theirs(), ACCEPTED);
        conversation
    }

    #[track_caller]
    fn is_refused(&self, what: &str, error: impl Into<Error>, alert: Alert) {
        let expected = refused(error, alert);
        assert_eq!(self.ours().outcome, expected, "ours, {what}");
        assert_eq!(self.theirs(), expected, "theirs, {what}");
    }
}

const ACCEPTED: Outcome = Outcome {
    error: None,
    alert: None,
};

fn refused(error: impl Into<Error>, alert: Alert) -> Outcome {
    Outcome {
        error: Some(format!("{:?}", error.into())),
        alert: Some(alert),
    }
}

/// Returns the types of the messages in the client's last flight.
fn flight(conversation: &Conversation) -> Vec<HandshakeType> {
    let messages = conversation.messages.iter();
    let types = messages.map(|message| HandshakeType::from(message[0]));
    let types = types.filter(|typ| *typ != HandshakeType::ClientHello);
    types.collect()
}

fn accept_early_data(script: &mut Script) {
    script.encrypted_extensions.push(bytes(EARLY_DATA, &[]));
}

#[test]
fn a_session_is_resumed_with_and_without_early_data() {
    let full = |script: &mut Script| {
        *script = Script::new();
        script.encrypted_extensions = vec![alpn(b"h3")];
    };
    let end = HandshakeType::EndOfEarlyData;
    let finished = HandshakeType::Finished;
    for (what, resumption, early_data, sent) in table! {
        "accepted": Resumption::new(accept_early_data), EARLY, &[end, finished][..];
        "rejected": Resumption::new(|_| {}), EARLY, &[finished];
        // RFC 9846 §4.3.10: a full handshake also rejects early data
        "a full handshake": Resumption::new(full), b"", &[finished];
        "not allowed": Resumption::new(|_| {}).without_early_data(), b"", &[finished];
    } {
        let conversation = resumption.is_accepted();
        assert_eq!(conversation.early_data, early_data, "{what}");
        assert_eq!(flight(&conversation), sent, "{what}");
        let hello = ClientHello::read(&conversation.messages[0]);
        let is_offered = hello.extension(EARLY_DATA).is_some();
        assert_eq!(is_offered, what != "not allowed", "{what}");
    }
}

#[test]
fn a_session_that_was_not_offered_is_not_resumed() {
    let identity = Identity::new(Provider::AwsLc.this());
    let error = UnsolicitedServerHelloExtension;
    let expected = refused(error, Alert::UnsupportedExtension);
    let script = Script::resuming(vec![0; 32]);
    for client in [our_buffered, our_unbuffered, upstream] {
        let mut end = start(&client(&identity));
        assert_eq!(identity.run(&mut *end, &script), expected);
    }
}

#[test]
fn wrong_resumptions_are_refused() {
    use Alert::{BadRecordMac, IllegalParameter, UnsupportedExtension};
    let accepting = |change: fn(&mut Script)| {
        Resumption::new(move |script| {
            change(script);
            accept_early_data(script);
        })
    };
    let not_offered = accepting(|_| {}).without_early_data();
    let after_a_retry = accepting(retry_for_p256);
    let retry_of_another_hash = Resumption::new(|script| {
        sha384(script);
        retry_for_p256(script);
    });
    let wrong_key = Resumption::new(|script| script.psk = Some(vec![0x55; 32]));
    let wrong: fn(&mut Script) = |script| script.edit_verify_data = |data| data[0] ^= 1;
    let unsolicited = || Error::from(UnsolicitedEncryptedExtension);
    for (what, resumption, error, alert) in table! {
        // RFC 9846 §4.3.11: the suite must have the PSK's hash
        "another hash": Resumption::new(sha384),
            ResumptionOfferedWithIncompatibleCipherSuite.into(), IllegalParameter;
        "another suite": accepting(chacha),
            EarlyDataOfferedWithVariedCipherSuite.into(), IllegalParameter;
        "early data, not offered": not_offered, unsolicited(), UnsupportedExtension;
        // the second ClientHello offers no early data
        "early data after a retry": after_a_retry, unsolicited(), UnsupportedExtension;
        // nor a session that does not match the suite
        "a session after a retry with another hash": retry_of_another_hash,
            UnsolicitedServerHelloExtension.into(), UnsupportedExtension;
        // the server does not have the key of the accepted ticket
        "a wrong key": wrong_key, Error::DecryptError, BadRecordMac;
        // the alert is under the keys of early data
        "Finished": accepting(wrong), Error::DecryptError, Alert::DecryptError;
        "Finished, rejecting": Resumption::new(wrong), Error::DecryptError, Alert::DecryptError;
    } {
        resumption.is_refused(what, error, alert);
    }
}

fn sha384(script: &mut Script) {
    script.server_hello.suite = CipherSuite::TLS13_AES_256_GCM_SHA384.into();
}

fn chacha(script: &mut Script) {
    script.server_hello.suite = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256.into();
}

/// RFC 9846 §4.7.1: any suite with the session's hash can resume it, but then early data is not
/// accepted.
#[test]
fn another_suite_with_the_same_hash_resumes_without_early_data() {
    let resumption = Resumption::new(chacha);
    let conversation = resumption.ours();
    assert_eq!(conversation.outcome, ACCEPTED);
    assert_eq!(flight(&conversation), [HandshakeType::Finished]);
    // upstream rejects even that
    let varied = EarlyDataOfferedWithVariedCipherSuite;
    let theirs = resumption.theirs();
    assert_eq!(theirs, refused(varied, Alert::IllegalParameter));
    Resumption::new(chacha).without_early_data().is_accepted();
}

/// Tries mistakes to which upstream reacts differently.
#[test]
fn wrong_resumptions_cause_alerts_that_differ_from_upstreams() {
    use Alert::{IllegalParameter, MissingExtension, UnsupportedExtension};
    // RFC 9846 §4.3.11: a missing key_share is an illegal_parameter
    let no_share = Resumption::new(|script| {
        let extensions = &mut script.server_hello.extensions;
        extensions.retain(|(typ, _)| *typ != KEY_SHARE);
    });
    assert_eq!(
        no_share.ours().outcome,
        refused(MissingKeyShare, IllegalParameter)
    );
    assert_eq!(
        no_share.theirs(),
        refused(MissingKeyShare, MissingExtension)
    );

    // early data is accepted only with the session
    let no_session = Resumption::new(|script| {
        *script = Script::new();
        accept_early_data(script);
    });
    let expected = refused(EarlyDataExtensionWithoutResumption, UnsupportedExtension);
    assert_eq!(no_session.ours().outcome, expected);
    // upstream's alert is under keys that this server lacks
    assert_eq!(no_session.theirs().error, expected.error);
}

/// RFC 9846 §4.3.10: early data requires the session's protocol.
#[test]
fn early_data_is_accepted_only_with_the_protocol_of_the_session() {
    for protocols in [vec![alpn(b"h3")], vec![]] {
        let resumption = Resumption::new(move |script| {
            script.encrypted_extensions.clone_from(&protocols);
            accept_early_data(script);
        });
        let error = "early data was accepted under another application protocol";
        let error = Error::General(error.into());
        assert_eq!(
            resumption.ours().outcome,
            refused(error, Alert::IllegalParameter)
        );
        // upstream does not check the protocol
        assert_eq!(resumption.theirs(), ACCEPTED);
    }
}

fn retry_for_p256(script: &mut Script) {
    script.group = NamedGroup::secp256r1;
    script.retries = vec![script.retry(vec![bytes(KEY_SHARE, &[0, 23])])];
    let extensions = &mut script.retries[0].extensions;
    extensions.retain(|(typ, _)| *typ != PRE_SHARED_KEY);
}

/// RFC 9846 §4.2.2, §4.3.10: the second ClientHello offers the session, but no early data.
#[test]
fn a_retry_ends_early_data() {
    let conversation = Resumption::new(retry_for_p256).is_accepted();
    assert_eq!(flight(&conversation), [HandshakeType::Finished]);
    let [first, second, ..] = &conversation.messages[..] else {
        panic!("{} messages", conversation.messages.len());
    };
    let (first, second) = (ClientHello::read(first), ClientHello::read(second));
    assert!(first.extension(EARLY_DATA).is_some());
    assert!(second.extension(EARLY_DATA).is_none());
    for hello in [&first, &second] {
        assert_eq!(hello.extensions.last().unwrap().0, PRE_SHARED_KEY);
    }
    let [first, second] = [&first, &second].map(|hello| hello.extension(PRE_SHARED_KEY));
    assert_ne!(first, second);
}

/// RFC 9846 §4.2.2: a session that does not match the suite of a HelloRetryRequest is not offered
/// again.
#[test]
fn no_session_is_offered_again_after_a_retry_with_another_hash() {
    let full = Resumption::new(|script| {
        *script = Script::new();
        sha384(script);
        retry_for_p256(script);
    });
    let conversation = full.is_accepted();
    let second = ClientHello::read(&conversation.messages[1]);
    assert!(second.extension(PRE_SHARED_KEY).is_none());
    assert!(second.extension(EARLY_DATA).is_none());
}

/// Connects again with a ticket of `len` bytes. Returns for each ClientHello whether it offers the
/// ticket.
fn is_offered(len: usize, cookie: Option<usize>) -> Vec<bool> {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut offered = Vec::new();
    for client in [our_buffered(&identity), our_unbuffered(&identity)] {
        let mut first = Script::new();
        first.post_handshake = vec![ticket_with(&vec![7; len], &[])];
        assert_eq!(identity.run(&mut *start(&client), &first), ACCEPTED);
        let mut full = Script::new();
        if let Some(cookie) = cookie {
            full.retries = vec![full.retry(vec![bytes(COOKIE, &vector(2, &vec![1; cookie]))])];
        }
        let conversation = identity.converse(&mut *start(&client), &full);
        assert_eq!(conversation.outcome, ACCEPTED);
        offered = conversation
            .messages
            .iter()
            .filter(|message| message[0] == HandshakeType::ClientHello.into())
            .map(|hello| ClientHello::read(hello).extension(PRE_SHARED_KEY).is_some())
            .collect();
    }
    offered
}

/// A ticket that does not fit into a ClientHello is not offered, and the connection works without
/// it.
#[test]
fn tickets_that_do_not_fit_are_not_offered() {
    assert_eq!(is_offered(60_000, None), [true]);
    assert_eq!(is_offered(65_400, None), [false]);
    assert_eq!(is_offered(0xffff - 20, None), [false]);
    // nor one that does not fit together with a cookie
    assert_eq!(is_offered(30_000, Some(30_000)), [true, true]);
    assert_eq!(is_offered(40_000, Some(40_000)), [true, false]);
}
