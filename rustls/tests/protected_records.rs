//! Tests with real ciphers and with records that the peer did not send: changed, truncated,
//! replayed, reordered, from another connection, or unencrypted. Both APIs report upstream's error
//! and alert.

use harness::peers::configs::{self, KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::{Implementation, ROLES, Role, this, upstream};
use rustls::CipherSuite;

const KEY_TYPE: KeyType = KeyType::Ed25519;

const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// The error, the alert that the sender receives for it, and the data received before.
#[derive(Debug, PartialEq)]
struct Outcome {
    error: Option<String>,
    alert: Option<String>,
    received: Vec<u8>,
}

impl Outcome {
    fn refused(error: &str, alert: &str, received: &[u8]) -> Self {
        Self {
            error: Some(error.into()),
            alert: Some(format!("AlertReceived({alert})")),
            received: received.to_vec(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    provider: Provider,
    suite: CipherSuite,
    /// The role of the receiver.
    role: Role,
}

impl Setup {
    fn all() -> impl Iterator<Item = Self> {
        let setups = product3(PROVIDERS, SUITES, ROLES);
        setups.map(|(provider, suite, role)| Self {
            provider,
            suite,
            role,
        })
    }

    fn end(self, implementation: Implementation, role: Role) -> Box<dyn Endpoint> {
        let Self {
            provider, suite, ..
        } = self;
        implementation.end(
            || {
                let provider = configs::this::provider_of(provider, suite);
                this::Config::new(role, Versions::Tls13, provider, KEY_TYPE)
            },
            || {
                let provider = configs::upstream::provider_of(provider, suite);
                upstream::Config::new(role, Versions::Tls13, provider, KEY_TYPE)
            },
        )
    }

    /// Returns the receiver and upstream's sender, after the handshake.
    fn connected(self, receiver: Implementation) -> [Box<dyn Endpoint>; 2] {
        let mut receiver = self.end(receiver, self.role);
        let mut sender = self.end(Implementation::Upstream, self.role.other());
        self.role.handshake(&mut *receiver, &mut *sender);
        [receiver, sender]
    }

    /// Sends three records after `change` was applied to them.
    fn outcome(
        self,
        receiver: Implementation,
        change: &dyn Fn([Vec<u8>; 3]) -> Vec<u8>,
    ) -> Outcome {
        let [mut receiver, mut sender] = self.connected(receiver);
        let records = [&b"one"[..], b"two", b"three"].map(|data| {
            sender.send(data);
            sender.take_output()
        });
        let error = receiver.receive(&change(records)).err();
        let received = receiver.read_all();
        let alert = sender.receive(&receiver.take_output()).err();
        if error.is_some() {
            assert_eq!(receiver.process().err(), error, "the error repeats");
            assert!(receiver.take_output().is_empty(), "one alert is enough");
        }
        Outcome {
            error,
            alert,
            received,
        }
    }

    fn check(self, expected: &Outcome, change: impl Fn([Vec<u8>; 3]) -> Vec<u8>) {
        self.check_ours(expected, &change);
        let outcome = self.outcome(Implementation::Upstream, &change);
        assert_eq!(outcome, *expected, "{self:?} upstream");
    }

    /// Checks only this crate's outcome, because upstream's differs.
    fn check_ours(self, expected: &Outcome, change: &dyn Fn([Vec<u8>; 3]) -> Vec<u8>) {
        let receivers = [
            Implementation::Buffered,
            Implementation::OpeningInto,
            Implementation::Unbuffered,
        ];
        for receiver in receivers {
            let outcome = self.outcome(receiver, change);
            assert_eq!(outcome, *expected, "{self:?} {receiver:?}");
        }
    }
}

fn bad_record_mac(received: &[u8]) -> Outcome {
    Outcome::refused("DecryptError", "BadRecordMac", received)
}

#[test]
fn unchanged_records_are_accepted() {
    let expected = Outcome {
        error: None,
        alert: None,
        received: b"onetwothree".to_vec(),
    };
    Setup::all().for_each(|setup| setup.check(&expected, |records| records.concat()));
}

/// Changes one byte after the header: of content, type or tag.
#[test]
fn a_changed_byte_causes_bad_record_mac() {
    for setup in Setup::all().filter(|setup| setup.role == Role::Server) {
        for (at, mask) in product(5..5 + 3 + 1 + 16, [1, 0x80]) {
            setup.check(&bad_record_mac(b"one"), |mut records| {
                records[1][at] ^= mask;
                records.concat()
            });
        }
    }
}

/// RFC 9846 §5.2: the received header is the additional data. Upstream uses the header that it
/// expects.
#[test]
fn the_record_header_is_authenticated() {
    for setup in Setup::all() {
        // content type handshake, and a minor version
        for (at, value) in [(0, 22), (2, 1)] {
            setup.check_ours(&bad_record_mac(b"one"), &|mut records| {
                records[1][at] = value;
                records.concat()
            });
        }
        setup.check(&bad_record_mac(b"one"), |mut records| {
            records[1].truncate(5 + 19);
            records[1][4] = 19;
            records.concat()
        });
    }
}

#[test]
fn records_are_accepted_once_and_in_order() {
    for setup in Setup::all() {
        for (received, order) in [
            (&b"one"[..], &[0, 0, 1][..]),
            (b"onetwo", &[0, 1, 0]),
            (b"", &[1, 0]),
            (b"one", &[0, 2]),
        ] {
            setup.check(&bad_record_mac(received), |records| {
                let ordered = order.iter().map(|at| &records[*at][..]);
                ordered.collect::<Vec<_>>().concat()
            });
        }
    }
}

#[test]
fn records_of_another_connection_are_refused() {
    for setup in Setup::all() {
        let [_, mut other] = setup.connected(Implementation::Upstream);
        other.send(b"one");
        let record = other.take_output();
        setup.check(&bad_record_mac(b""), |_| record.clone());
    }
}

#[test]
fn records_shorter_than_a_tag_are_refused() {
    for setup in Setup::all() {
        for len in [0, 1, 15, 16] {
            setup.check(&bad_record_mac(b"one"), |[one, mut two, _]| {
                two.truncate(5 + usize::from(len));
                two[3..5].copy_from_slice(&[0, len]);
                [one, two].concat()
            });
        }
    }
}

/// RFC 9846 §5: once keys are in use, unencrypted records are not accepted.
#[test]
fn plaintext_records_are_refused_once_keys_are_in_use() {
    for setup in Setup::all() {
        for record in [
            &[23, 3, 3, 0, 3, 1, 2, 3][..],
            &[22, 3, 3, 0, 4, 0, 0, 0, 0],
            &[22, 3, 3, 0, 5, 24, 0, 0, 1, 0],
            &[21, 3, 3, 0, 2, 1, 0],
            &[21, 3, 3, 0, 2, 2, 40],
        ] {
            let expected = bad_record_mac(b"one");
            setup.check(&expected, |[one, ..]| [&one[..], record].concat());
        }
        let ccs = Outcome::refused(
            "InappropriateMessage { expect_types: [ApplicationData, Handshake], got_type: ChangeCipherSpec }",
            "UnexpectedMessage",
            b"one",
        );
        setup.check(&ccs, |[one, ..]| [&one[..], &[20, 3, 3, 0, 1, 1]].concat());
    }
}

/// RFC 9846 §5.2: a record of more than 2^14 + 256 bytes causes record_overflow, before decryption.
/// Upstream accepts up to 2^14 + 2048 bytes, and reports longer records differently.
#[test]
fn oversized_records_are_refused() {
    for setup in Setup::all() {
        for len in [(1 << 14) + 257, (1 << 14) + 2049, 0xffff_u16] {
            let expected = match len - (1 << 14) {
                ..=2048 => Outcome::refused("PeerSentOversizedRecord", "RecordOverflow", b"one"),
                // too long for any version
                _ => Outcome::refused("InvalidMessage(MessageTooLarge)", "DecodeError", b"one"),
            };
            let [high, low] = len.to_be_bytes();
            setup.check_ours(&expected, &|[one, ..]| {
                [&one[..], &[23, 3, 3, high, low]].concat()
            });
        }
    }
}
