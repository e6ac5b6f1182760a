//! Names, keys, certificates and common steps of the tests.

use std::rc::Rc;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider};
use harness::peers::pki;
use harness::scripted::ech::{Ech, EchKey};
use harness::scripted::{Conversation, Identity, Outcome, Script, bytes};
use harness::wire::client_hello::{ClientHello, KEY_SHARE};
use harness::wire::{message, u8_vec, u16_vec};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{AlertDescription, HandshakeType};

use crate::ech::clients::{Client, Config, Mode, OURS, Setup, Stack, THEIRS, stacks};

/// The inner name, which must never be visible.
pub(crate) const SECRET: &str = "the-inner-name.example";
/// The public name, which observers see.
pub(crate) const PUBLIC: &str = "public.example";

/// The mandatory suite (RFC 9849 §9): DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
pub(crate) const SUITE: (u16, u16, u16) = (0x0020, 1, 1);

/// The client's first application data, longer than any handshake message.
pub(crate) const DATA: &[u8] = b"application data that is for the inner server alone";

/// A server with certificates for both names, and an ECH key.
pub(crate) struct Peers {
    pub(crate) provider: Provider,
    pub(crate) identity: Identity,
    pub(crate) key: EchKey,
    pub(crate) public_certificate: CertificateDer<'static>,
    pub(crate) root: CertificateDer<'static>,
    /// The client's certificate and key.
    pub(crate) client: (CertificateDer<'static>, Vec<u8>),
}

/// Returns peers with each provider, and all clients.
pub(crate) fn peers_and_stacks() -> impl Iterator<Item = (Rc<Peers>, Stack)> {
    PROVIDERS.into_iter().flat_map(|provider| {
        let peers = Rc::new(Peers::new(provider));
        stacks().map(move |stack| (peers.clone(), stack))
    })
}

impl Peers {
    pub(crate) fn new(provider: Provider) -> Self {
        Self::with_key(provider, EchKey::new(7, PUBLIC, SUITE))
    }

    pub(crate) fn with_key(provider: Provider, ech_key: EchKey) -> Self {
        let root = pki::root("root", |_| {});
        let key = pki::key();
        let issue = |name: &str| {
            pki::leaf_of(&key, &root, |params| {
                params.subject_alt_names = rcgen::CertificateParams::new([name.to_string()])
                    .unwrap()
                    .subject_alt_names;
            })
        };
        Self {
            provider,
            identity: Identity::with_key(provider.this(), issue(SECRET), &key),
            key: ech_key,
            public_certificate: issue(PUBLIC),
            root: root.der().clone(),
            client: (issue("client.example"), key.serialize_der()),
        }
    }

    /// Returns client settings that offer ECH to this server.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            provider: self.provider,
            mode: Mode::Real(self.key.config.list()),
            root: self.root.clone(),
            server: SECRET.to_owned(),
            alpn: Vec::new(),
            client_auth: None,
            early_data: false,
            enable_sni: true,
            groups: Vec::new(),
        }
    }

    /// Returns client settings with another mode.
    pub(crate) fn setup_with(&self, mode: Mode) -> Setup {
        Setup {
            mode,
            ..self.setup()
        }
    }

    /// Builds the configuration of a client that offers ECH with this ECHConfigList.
    pub(crate) fn config_of(&self, stack: Stack, list: Vec<u8>) -> Result<Config, String> {
        stack.config(&self.setup_with(Mode::Real(list)))
    }

    /// Returns the settings of a GREASE client whose suite is the key's.
    pub(crate) fn greasing(&self) -> Setup {
        let config = &self.key.config;
        let (kdf, aead) = config.suites[0];
        self.setup_with(Mode::Grease(
            (config.kem, kdf, aead),
            config.public_key.clone(),
        ))
    }

    /// Creates a script that accepts ECH.
    pub(crate) fn accepting(&self) -> Script {
        self.to_accept(Script::new())
    }

    pub(crate) fn to_accept(&self, script: Script) -> Script {
        Script {
            ech: Some(Ech::accepting(&self.key)),
            ..script
        }
    }

    /// Creates a script that rejects ECH and presents the certificate of the public name.
    pub(crate) fn rejecting(&self) -> Script {
        self.to_reject(Script::new())
    }

    pub(crate) fn to_reject(&self, script: Script) -> Script {
        Script {
            ech: Some(Ech::rejecting(&self.key)),
            certificates: vec![(Some(self.public_certificate.to_vec()), Vec::new())],
            ..script
        }
    }

    /// Runs `script` with a new client.
    pub(crate) fn run(&self, stack: Stack, setup: &Setup, script: &Script) -> Run {
        self.run_with(&stack.config(setup).unwrap(), script)
    }

    /// Runs `script` with a configuration that may have sessions.
    pub(crate) fn run_with(&self, config: &Config, script: &Script) -> Run {
        let client = config.connect().unwrap();
        self.run_client(client, script)
    }

    /// Runs `script`, which accepts ECH, with each client.
    #[track_caller]
    pub(crate) fn accepted(&self, setup: &Setup, script: &Script) -> [Run; 3] {
        [Stack::This, Stack::ThisUnbuffered, Stack::Upstream].map(|stack| {
            let run = self.run(stack, setup, script);
            run.assert_accepted();
            run
        })
    }

    /// Asserts that both crates fail with this error and alert, through either API.
    #[track_caller]
    pub(crate) fn both_refuse(
        &self,
        setup: &Setup,
        script: &Script,
        error: impl Into<rustls::Error>,
        alert: AlertDescription,
    ) {
        let expected = refused(error, alert);
        self.expect(setup, script, &expected, &expected);
    }

    /// Like [`Self::both_refuse`], with the usual setup.
    #[track_caller]
    pub(crate) fn refused_by_both(
        &self,
        script: &Script,
        error: impl Into<rustls::Error>,
        alert: AlertDescription,
    ) {
        self.both_refuse(&self.setup(), script, error, alert);
    }

    /// Asserts our outcome, which RFC 9849 requires, and upstream's.
    #[track_caller]
    pub(crate) fn expect(&self, setup: &Setup, script: &Script, ours: &Outcome, theirs: &Outcome) {
        for stack in OURS {
            let run = self.run(*stack, setup, script);
            assert_eq!(run.conversation.outcome, *ours, "{stack:?}");
        }
        for stack in THEIRS {
            let run = self.run(*stack, setup, script);
            assert_eq!(run.conversation.outcome, *theirs, "{stack:?}");
        }
    }

    pub(crate) fn run_client(&self, mut client: Box<dyn Client>, script: &Script) -> Run {
        client.send(DATA);
        let status = client.ech_status();
        let is_early = ["Offered", "Grease", "NotOffered"].contains(&&status[..]);
        assert!(is_early, "{status}");
        let conversation = self.identity.converse(&mut *client, script);
        if script.ech.is_some() {
            assert!(
                !contains(&conversation.sent, SECRET.as_bytes()),
                "sent in the clear"
            );
        }
        if conversation.outcome.error.is_some() {
            assert!(
                conversation.plaintext.is_empty(),
                "application data after a failure"
            );
        }
        Run {
            conversation,
            client,
        }
    }
}

/// A finished connection.
pub(crate) struct Run {
    pub(crate) conversation: Conversation,
    pub(crate) client: Box<dyn Client>,
}

impl Run {
    /// Asserts that the handshake used the inner name.
    #[track_caller]
    pub(crate) fn assert_accepted(&self) {
        assert_eq!(self.conversation.outcome, ACCEPTED);
        self.assert_status("Accepted");
        assert_eq!(self.conversation.plaintext, DATA);
    }

    #[track_caller]
    pub(crate) fn assert_status(&self, expected: &str) {
        assert_eq!(self.client.ech_status(), expected);
    }

    /// Returns the ClientHellos on the wire.
    pub(crate) fn outer(&self) -> Vec<ClientHello> {
        let messages = harness::wire::plain_messages(&self.conversation.sent);
        split_messages(&messages)
    }
}

/// Splits concatenated ClientHellos.
pub(crate) fn split_messages(mut messages: &[u8]) -> Vec<ClientHello> {
    let mut hellos = Vec::new();
    while let [1, high, middle, low, ..] = messages {
        let len = 4 + u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        let (hello, rest) = messages.split_at(len);
        hellos.push(ClientHello::read(hello));
        messages = rest;
    }
    hellos
}

pub(crate) const ACCEPTED: Outcome = Outcome {
    error: None,
    alert: None,
};

pub(crate) fn refused(error: impl Into<rustls::Error>, alert: AlertDescription) -> Outcome {
    Outcome {
        error: Some(format!("{:?}", error.into())),
        alert: Some(alert),
    }
}

/// Returns the outcome of a rejection without retry configurations.
pub(crate) fn rejected() -> Outcome {
    let error = rustls::PeerIncompatible::ServerRejectedEncryptedClientHello(None);
    refused(error, AlertDescription::EncryptedClientHelloRequired)
}

/// Creates a NewSessionTicket with this ticket and these extensions.
pub(crate) fn new_session_ticket(ticket: &[u8], extensions: &[u8]) -> Vec<u8> {
    let body = [
        &[0, 0, 0x0e, 0x10, 1, 2, 3, 4][..],
        &u8_vec(b"nonce"),
        &u16_vec(ticket),
        &u16_vec(extensions),
    ];
    message(HandshakeType::NewSessionTicket.into(), &body.concat())
}

/// The extension that allows early data.
pub(crate) const ALLOWS_EARLY_DATA: [u8; 8] = [0, 42, 0, 4, 0, 0, 0x40, 0];

/// Creates a script with an additional encrypted extension.
pub(crate) fn answering(mut script: Script, typ: u16, body: &[u8]) -> Script {
    script.encrypted_extensions.push(bytes(typ, body));
    script
}

/// Creates a script with a change to the message at `position`.
pub(crate) fn changing(
    mut script: Script,
    position: usize,
    change: impl Fn(&mut Vec<u8>) + 'static,
) -> Script {
    script.corrupt = Arc::new(move |at, message| {
        if at == position {
            change(message);
        }
    });
    script
}

pub(crate) fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// The type of the encrypted_client_hello extension.
pub(crate) use harness::scripted::ech::ENCRYPTED_CLIENT_HELLO as ECH;

/// Creates a script with a HelloRetryRequest that has a placeholder for a confirmation.
pub(crate) fn accepting_retry() -> Script {
    let mut script = Script::with_retry();
    script.retries[0].extensions.push(bytes(ECH, &[0; 8]));
    script
}

/// Returns the parts of a ClientHello without a session that a HelloRetryRequest without a cookie
/// must not change (RFC 9846 §4.2.2).
pub(crate) fn lasting(hello: &ClientHello) -> ClientHello {
    hello.clone().without(KEY_SHARE)
}

/// Returns the error for a certificate of `presented` if `expected` was requested.
pub(crate) fn not_valid_for(expected: &str, presented: &str) -> rustls::Error {
    rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForNameContext {
        expected: ServerName::try_from(expected.to_owned()).unwrap(),
        presented: vec![format!("DnsName({presented:?})")],
    })
}
