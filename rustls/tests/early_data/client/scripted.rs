//! Resumption and early data against a scripted server. Upstream's client receives the same
//! mistakes; error and alert must match unless a test says otherwise.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::scripted::{
    Body, Conversation, Identity, KEY_SHARE, Outcome, SUPPORTED_VERSIONS, Script, bytes, extensions,
};
use harness::wire::client_hello::{ClientHello, EARLY_DATA, PRE_SHARED_KEY};
use harness::wire::{message, vector};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription as Alert, CipherSuite, Error, HandshakeType, NamedGroup, PeerMisbehaved,
};

use super::clients::encode_early_data;

const ALPN: u16 = 16;
const EARLY: &[u8] = b"early data";
const NONCE: &[u8] = b"nonce";

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

macro_rules! config {
    ($tls:ident, $provider:ident, $identity:ident) => {{
        let mut provider = Provider::Ring.$provider();
        provider
            .kx_groups
            .retain(|group| [0x1d, 0x17].contains(&u16::from(group.name())));
        let mut roots = $tls::RootCertStore::empty();
        roots.add($identity.certificate.clone()).unwrap();
        let mut config = $tls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&$tls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.enable_early_data = true;
        config.alpn_protocols = vec![b"h2".to_vec(), b"h3".to_vec()];
        Arc::new(config)
    }};
}

fn our_config(identity: &Identity) -> Arc<rustls::ClientConfig> {
    config!(rustls, this, identity)
}

fn their_config(identity: &Identity) -> Arc<rustls_upstream::ClientConfig> {
    config!(rustls_upstream, upstream, identity)
}

/// Starts a connection and sends [`EARLY`] if early data may be sent.
type Start<'a> = Box<dyn Fn() -> Box<dyn Endpoint> + 'a>;

fn our_buffered(identity: &Identity) -> Start<'static> {
    let config = our_config(identity);
    Box::new(move || {
        let mut conn = rustls::ClientConnection::new(config.clone(), name()).unwrap();
        if let Some(mut early) = conn.early_data() {
            early.write_all(EARLY).unwrap();
        }
        Box::new(ThisBuffered::new(conn))
    })
}

fn our_unbuffered(identity: &Identity) -> Start<'static> {
    let config = our_config(identity);
    Box::new(move || {
        let mut conn = UnbufferedClientConnection::new(config.clone(), name()).unwrap();
        let output = encode_early_data(&mut conn, &[EARLY]);
        Box::new(ThisUnbuffered::with_output(conn, output))
    })
}

fn their_buffered(identity: &Identity) -> Start<'static> {
    let config = their_config(identity);
    Box::new(move || {
        let mut conn = rustls_upstream::ClientConnection::new(config.clone(), name()).unwrap();
        if let Some(mut early) = conn.early_data() {
            early.write_all(EARLY).unwrap();
        }
        Box::new(UpstreamBuffered::new(conn))
    })
}

/// A ticket that allows this much early data.
pub(super) fn ticket(early_data: u32) -> Vec<u8> {
    let body = [
        &600_u32.to_be_bytes()[..],
        &[0xff, 0xff, 0xff, 0xfe],
        &vector(1, NONCE),
        &vector(2, b"ticket"),
        &vector(
            2,
            &extensions(&[bytes(EARLY_DATA, &early_data.to_be_bytes())], &[]),
        ),
    ];
    message(HandshakeType::NewSessionTicket.into(), &body.concat())
}

fn alpn(protocol: &[u8]) -> (u16, Body) {
    bytes(ALPN, &vector(2, &vector(1, protocol)))
}

/// Two connections: the first leaves a ticket, the second meets a scripted server.
pub(super) struct Resumption {
    /// The early data limit of the ticket.
    early_data: u32,
    script: Box<dyn Fn(Vec<u8>) -> Script>,
}

impl Resumption {
    pub(super) fn new(change: impl Fn(&mut Script) + 'static) -> Self {
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

    fn run(&self, identity: &Identity, start: &Start<'_>) -> Conversation {
        let mut first = Script::new();
        first.encrypted_extensions = vec![alpn(b"h2")];
        first.post_handshake = vec![ticket(self.early_data)];
        let first = identity.converse(&mut *start(), &first);
        assert_eq!(first.outcome, ACCEPTED);
        let script = (self.script)(first.ticket_psk(NONCE));
        identity.converse(&mut *start(), &script)
    }

    /// Both of our clients, which must agree.
    pub(super) fn ours(&self) -> Conversation {
        let identity = Identity::new(Provider::AwsLc.this());
        let buffered = self.run(&identity, &our_buffered(&identity));
        let unbuffered = self.run(&identity, &our_unbuffered(&identity));
        assert_eq!(unbuffered.outcome, buffered.outcome, "unbuffered");
        buffered
    }

    /// Our buffered client alone, for tests with many cases.
    pub(super) fn our_buffered(&self) -> Outcome {
        let identity = Identity::new(Provider::AwsLc.this());
        self.run(&identity, &our_buffered(&identity)).outcome
    }

    pub(super) fn theirs(&self) -> Outcome {
        let identity = Identity::new(Provider::AwsLc.this());
        self.run(&identity, &their_buffered(&identity)).outcome
    }

    #[track_caller]
    fn is_accepted(&self) -> Conversation {
        let conversation = self.ours();
        assert_eq!(conversation.outcome, ACCEPTED);
        assert_eq!(self.theirs(), ACCEPTED);
        conversation
    }

    #[track_caller]
    fn is_refused(&self, error: impl Into<Error>, alert: Alert) {
        let expected = refused(error, alert);
        assert_eq!(self.ours().outcome, expected, "ours");
        assert_eq!(self.theirs(), expected, "theirs");
    }
}

pub(super) const ACCEPTED: Outcome = Outcome {
    error: None,
    alert: None,
};

pub(super) fn refused(error: impl Into<Error>, alert: Alert) -> Outcome {
    Outcome {
        error: Some(format!("{:?}", error.into())),
        alert: Some(alert),
    }
}

fn unexpected(expected: &[HandshakeType], got_type: HandshakeType) -> Error {
    Error::InappropriateHandshakeMessage {
        expect_types: expected.to_vec(),
        got_type,
    }
}

/// The types of the messages in the client's last flight.
fn flight(conversation: &Conversation) -> Vec<HandshakeType> {
    let types = conversation
        .messages
        .iter()
        .map(|message| message[0].into());
    types
        .filter(|typ| *typ != HandshakeType::ClientHello)
        .collect()
}

pub(super) fn accept_early_data(script: &mut Script) {
    script.encrypted_extensions.push(bytes(EARLY_DATA, &[]));
}

#[test]
fn accepted_early_data_ends_with_end_of_early_data() {
    let conversation = Resumption::new(accept_early_data).is_accepted();
    assert_eq!(conversation.early_data, EARLY);
    assert_eq!(
        flight(&conversation),
        [HandshakeType::EndOfEarlyData, HandshakeType::Finished]
    );
}

#[test]
fn rejected_early_data_has_no_end_of_early_data() {
    let conversation = Resumption::new(|_| {}).is_accepted();
    assert_eq!(conversation.early_data, EARLY);
    assert_eq!(flight(&conversation), [HandshakeType::Finished]);
}

#[test]
fn a_session_may_be_resumed_without_early_data() {
    let conversation = Resumption::new(|_| {}).without_early_data().is_accepted();
    assert_eq!(conversation.early_data, b"");
    let hello = ClientHello::read(&conversation.messages[0]);
    assert_eq!(hello.extension(EARLY_DATA), None);
}

/// RFC 9846 §4.3.10: a full handshake also rejects early data.
#[test]
fn a_full_handshake_rejects_early_data() {
    let full = |script: &mut Script| {
        *script = Script::new();
        script.encrypted_extensions = vec![alpn(b"h3")];
    };
    let conversation = Resumption::new(full).is_accepted();
    assert_eq!(flight(&conversation), [HandshakeType::Finished]);
}

#[test]
fn the_selected_identity_is_one_of_those_offered() {
    for selected in [[0, 1], [1, 0], [0xff, 0xff]] {
        let change = move |script: &mut Script| {
            script.server_hello.extensions.pop();
            let extension = bytes(PRE_SHARED_KEY, &selected);
            script.server_hello.extensions.push(extension);
        };
        for resumption in [
            Resumption::new(change),
            Resumption::new(change).without_early_data(),
        ] {
            resumption.is_refused(PeerMisbehaved::SelectedInvalidPsk, Alert::IllegalParameter);
        }
    }
}

#[test]
fn a_session_that_was_not_offered_is_not_resumed() {
    let identity = Identity::new(Provider::AwsLc.this());
    let expected = refused(
        PeerMisbehaved::UnsolicitedServerHelloExtension,
        Alert::UnsupportedExtension,
    );
    let script = Script::resuming(vec![0; 32]);
    for start in [
        our_buffered(&identity),
        our_unbuffered(&identity),
        their_buffered(&identity),
    ] {
        assert_eq!(identity.run(&mut *start(), &script), expected);
    }
}

/// RFC 9846 §4.3.11: the suite must have the PSK's hash.
#[test]
fn a_suite_of_another_hash_does_not_resume() {
    Resumption::new(|script| {
        script.server_hello.suite = CipherSuite::TLS13_AES_256_GCM_SHA384.into();
    })
    .is_refused(
        PeerMisbehaved::ResumptionOfferedWithIncompatibleCipherSuite,
        Alert::IllegalParameter,
    );
}

fn chacha(script: &mut Script) {
    script.server_hello.suite = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256.into();
}

/// RFC 9846 §4.7.1: any suite with the session's hash can resume it, but then early data is not
/// accepted.
#[test]
fn another_suite_of_the_hash_resumes_without_early_data() {
    let resumption = Resumption::new(chacha);
    let conversation = resumption.ours();
    assert_eq!(conversation.outcome, ACCEPTED);
    assert_eq!(flight(&conversation), [HandshakeType::Finished]);
    // upstream refuses even that
    let varied = PeerMisbehaved::EarlyDataOfferedWithVariedCipherSuite;
    assert_eq!(
        resumption.theirs(),
        refused(varied, Alert::IllegalParameter)
    );
    Resumption::new(chacha).without_early_data().is_accepted();

    let accepting = Resumption::new(|script| {
        chacha(script);
        accept_early_data(script);
    });
    accepting.is_refused(
        PeerMisbehaved::EarlyDataOfferedWithVariedCipherSuite,
        Alert::IllegalParameter,
    );
}

/// RFC 9846 §4.3.11: a missing key_share is an illegal_parameter. Upstream sends missing_extension.
#[test]
fn a_resumed_handshake_needs_a_key_share() {
    let resumption = Resumption::new(|script| {
        script
            .server_hello
            .extensions
            .retain(|(typ, _)| *typ != KEY_SHARE);
    });
    let error = PeerMisbehaved::MissingKeyShare;
    let ours = resumption.ours().outcome;
    assert_eq!(ours, refused(error.clone(), Alert::IllegalParameter));
    let theirs = resumption.theirs();
    assert_eq!(theirs, refused(error, Alert::MissingExtension));
}

/// RFC 9846 §4.5: a server that resumes neither sends nor requests certificates.
#[test]
fn a_resumed_handshake_has_no_certificates() {
    for typ in [
        HandshakeType::Certificate,
        HandshakeType::CertificateRequest,
        HandshakeType::CertificateVerify,
        HandshakeType::EndOfEarlyData,
    ] {
        for accepts in [true, false] {
            Resumption::new(move |script| {
                if accepts {
                    accept_early_data(script);
                }
                script.flight.insert(1, typ);
            })
            .is_refused(
                unexpected(&[HandshakeType::Finished], typ),
                Alert::UnexpectedMessage,
            );
        }
    }
}

#[test]
fn early_data_is_accepted_only_if_it_was_offered() {
    Resumption::new(accept_early_data)
        .without_early_data()
        .is_refused(
            PeerMisbehaved::UnsolicitedEncryptedExtension,
            Alert::UnsupportedExtension,
        );
}

#[test]
fn early_data_is_accepted_only_with_the_session() {
    let resumption = Resumption::new(|script| {
        *script = Script::new();
        accept_early_data(script);
    });
    let error = PeerMisbehaved::EarlyDataExtensionWithoutResumption;
    let expected = refused(error, Alert::UnsupportedExtension);
    assert_eq!(resumption.ours().outcome, expected);
    // upstream's alert is under keys that this server lacks
    assert_eq!(resumption.theirs().error, expected.error);
}

/// RFC 9846 §4.3.10: early data requires the session's protocol.
#[test]
fn early_data_is_accepted_only_with_its_protocol() {
    for protocols in [vec![alpn(b"h3")], vec![]] {
        let resumption = Resumption::new(move |script| {
            script.encrypted_extensions.clone_from(&protocols);
            accept_early_data(script);
        });
        let outcome = resumption.ours().outcome;
        let error = "early data was accepted under another application protocol";
        assert_eq!(
            outcome,
            refused(Error::General(error.into()), Alert::IllegalParameter)
        );
        // upstream does not check it
        assert_eq!(resumption.theirs(), ACCEPTED);
    }
}

/// The server does not have the key of the accepted ticket.
#[test]
fn a_wrong_key_opens_nothing() {
    Resumption::new(|script| {
        script.psk = Some(vec![0x55; 32]);
    })
    .is_refused(Error::DecryptError, Alert::BadRecordMac);
}

#[test]
fn a_wrong_finished_is_refused_under_the_keys_of_early_data() {
    for accepts in [true, false] {
        Resumption::new(move |script| {
            if accepts {
                accept_early_data(script);
            }
            script.edit_verify_data = |data| data[0] ^= 1;
        })
        .is_refused(Error::DecryptError, Alert::DecryptError);
    }
}

fn retry_for_p256(script: &mut Script) {
    script.group = NamedGroup::secp256r1;
    script.retries = vec![script.retry(vec![bytes(KEY_SHARE, &[0, 23])])];
    script.retries[0]
        .extensions
        .retain(|(typ, _)| *typ != PRE_SHARED_KEY);
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
    assert_ne!(
        first.extension(PRE_SHARED_KEY),
        second.extension(PRE_SHARED_KEY)
    );

    Resumption::new(|script| {
        retry_for_p256(script);
        accept_early_data(script);
    })
    .is_refused(
        PeerMisbehaved::UnsolicitedEncryptedExtension,
        Alert::UnsupportedExtension,
    );
}

/// RFC 9846 §4.2.2: a session that does not fit the suite of a HelloRetryRequest is not offered
/// again.
#[test]
fn a_retry_with_another_hash_ends_the_offer() {
    let retry = |script: &mut Script| {
        script.server_hello.suite = CipherSuite::TLS13_AES_256_GCM_SHA384.into();
        retry_for_p256(script);
    };
    let full = Resumption::new(move |script| {
        *script = Script::new();
        retry(script);
    });
    let conversation = full.is_accepted();
    let second = ClientHello::read(&conversation.messages[1]);
    assert!(second.extension(PRE_SHARED_KEY).is_none());
    assert!(second.extension(EARLY_DATA).is_none());

    Resumption::new(retry).is_refused(
        PeerMisbehaved::UnsolicitedServerHelloExtension,
        Alert::UnsupportedExtension,
    );
}

/// RFC 9846 §4.3.1: early data needs TLS 1.3.
#[test]
fn early_data_is_not_sent_to_an_older_server() {
    let resumption = Resumption::new(|script| {
        script
            .server_hello
            .extensions
            .retain(|(typ, _)| *typ != SUPPORTED_VERSIONS);
    });
    let outcome = resumption.ours().outcome;
    assert!(outcome.error.is_some(), "{outcome:?}");
    assert_eq!(outcome, resumption.theirs());
}

/// Connects again with a ticket of `len` bytes. Returns for each ClientHello whether it offers the
/// ticket.
fn is_offered(len: usize, cookie: Option<usize>) -> Vec<bool> {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut offered = Vec::new();
    for start in [our_buffered(&identity), our_unbuffered(&identity)] {
        let mut first = Script::new();
        let body = [
            &600_u32.to_be_bytes()[..],
            &[0; 4],
            &vector(1, NONCE),
            &vector(2, &vec![7; len]),
            &[0, 0],
        ];
        first.post_handshake = vec![message(
            HandshakeType::NewSessionTicket.into(),
            &body.concat(),
        )];
        assert_eq!(identity.run(&mut *start(), &first), ACCEPTED);
        let mut full = Script::new();
        if let Some(cookie) = cookie {
            full.retries = vec![full.retry(vec![bytes(COOKIE, &vector(2, &vec![1; cookie]))])];
        }
        let conversation = identity.converse(&mut *start(), &full);
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

const COOKIE: u16 = 44;

/// A ticket that does not fit into a ClientHello is not offered, and the connection works without
/// it.
#[test]
fn tickets_that_do_not_fit_are_not_offered() {
    assert_eq!(is_offered(60_000, None), [true]);
    assert_eq!(is_offered(65_400, None), [false]);
    assert_eq!(is_offered(0xffff - 20, None), [false]);
    // nor one that does not fit beside a cookie
    assert_eq!(is_offered(30_000, Some(30_000)), [true, true]);
    assert_eq!(is_offered(40_000, Some(40_000)), [true, false]);
}
