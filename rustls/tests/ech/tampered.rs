//! Changes each bit of a server's ECH messages in turn and compares both crates' clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::{Outcome, Script, bytes};

use crate::clients::Stack;
use crate::kit::{ECH, Peers, accepting_retry};

/// A message by its position, and the number of its last bytes to change. The bytes before those
/// are not specific to ECH.
struct Case {
    name: &'static str,
    script: Script,
    position: usize,
    len: usize,
}

fn cases(peers: &Peers) -> Vec<Case> {
    let mut rejecting = peers.rejecting();
    let list = peers.key.config.list();
    rejecting.encrypted_extensions.push(bytes(ECH, &list));
    // header, and the length of the extensions
    let encrypted_extensions = 4 + 2 + 4 + list.len();
    let hello = |script: &Script, position: usize| {
        let extensions = match script.retries.get(position) {
            Some(_) => 6 + 6 + 12,
            None => 6 + 4 + 4 + 32 + if script.retries.is_empty() { 0 } else { 33 },
        };
        4 + 2 + 32 + 33 + 3 + 2 + extensions
    };
    let retrying = peers.to_accept(accepting_retry());
    let mut cases = vec![
        Case {
            name: "ServerHello",
            len: hello(&peers.accepting(), 0),
            script: peers.accepting(),
            position: 0,
        },
        Case {
            name: "HelloRetryRequest",
            len: hello(&retrying, 0),
            script: retrying.clone(),
            position: 0,
        },
        Case {
            name: "ServerHello after a HelloRetryRequest",
            len: hello(&retrying, 1),
            script: retrying,
            position: 1,
        },
        Case {
            name: "EncryptedExtensions",
            script: rejecting,
            position: 1,
            len: encrypted_extensions,
        },
    ];
    for case in &mut cases {
        case.script.ech.as_mut().unwrap().is_tampered_with = true;
    }
    cases
}

fn summary(outcome: &Outcome) -> String {
    let error = outcome.error.as_deref().unwrap_or("accepted");
    // the retry configurations are not compared
    let end = error.find("(Some([").unwrap_or(error.len());
    format!("{} {:?}", &error[..end], outcome.alert)
}

#[test]
fn bit_by_bit() {
    let peers = Peers::new(PROVIDERS[0]);
    let mut different = BTreeMap::<(String, String), Vec<String>>::new();
    let mut count = 0;
    for case in cases(&peers) {
        for (at, bit) in product(4..case.len, [0, 3, 7]) {
            let mut script = case.script.clone();
            let position = case.position;
            script.corrupt = Arc::new(move |message, bytes| {
                if message == position {
                    bytes[at] ^= 1 << bit;
                }
            });
            let outcomes = [Stack::This, Stack::ThisUnbuffered, Stack::Upstream].map(|stack| {
                summary(
                    &peers
                        .run(stack, &peers.setup(), &script)
                        .conversation
                        .outcome,
                )
            });
            let [buffered, unbuffered, theirs] = outcomes;
            assert_eq!(buffered, unbuffered, "{} {at} {bit}", case.name);
            count += 1;
            if buffered != theirs {
                let where_ = format!("{} {at}.{bit}", case.name);
                different
                    .entry((buffered, theirs))
                    .or_default()
                    .push(where_);
            }
        }
    }
    assert!(count > 1200, "{count} cases");
    let mut used = BTreeSet::new();
    for ((ours, theirs), places) in &different {
        let covers = |deviation: &&Deviation| {
            ours.starts_with(deviation.ours) && theirs.starts_with(deviation.theirs)
        };
        let found = DEVIATIONS.iter().find(covers);
        let found = found.unwrap_or_else(|| panic!("ours {ours}\ntheirs {theirs}\n{places:?}"));
        used.insert(found.why);
    }
    assert_eq!(used.len(), DEVIATIONS.len(), "no longer seen: {used:?}");
}

/// An accepted difference and its reason. Both texts are prefixes of a [`summary`].
struct Deviation {
    ours: &'static str,
    theirs: &'static str,
    why: &'static str,
}

const DEVIATIONS: &[Deviation] = &[
    Deviation {
        ours: "PeerIncompatible(ServerDoesNotSupportTls12Or13) Some(ProtocolVersion)",
        theirs: "DecryptError",
        why: "RFC 9846 §4.2.3: legacy_version is 0x0303, in a HelloRetryRequest too",
    },
    Deviation {
        ours: "InvalidMessage(UnsupportedCompression) Some(IllegalParameter)",
        theirs: "InvalidMessage(UnsupportedCompression) Some(DecodeError)",
        why: "RFC 9846 §6.2: a field of the right form with a wrong value is an illegal_parameter",
    },
    Deviation {
        ours: "PeerMisbehaved(SelectedUnofferedCipherSuite) Some(IllegalParameter)",
        theirs: "PeerMisbehaved(SelectedUnofferedCipherSuite) Some(HandshakeFailure)",
        why: "RFC 9846 §4.2.3: a suite that was not offered is an illegal_parameter",
    },
    Deviation {
        ours: "PeerIncompatible(ServerRejectedEncryptedClientHello",
        theirs: "InvalidMessage(InvalidServerName) Some(DecodeError)",
        why: "RFC 9849 §6.1.7: a config with a bad public_name is ignored, the list is not malformed",
    },
    Deviation {
        ours: "InvalidMessage(MissingData(",
        theirs: "InvalidMessage(",
        why: "of two malformed fields, another is reported first",
    },
    Deviation {
        ours: "PeerIncompatible(ServerTlsVersionIsDisabledByOurConfig) Some(ProtocolVersion)",
        theirs: "InvalidMessage(TrailingData(\"Empty\")) Some(DecodeError)",
        why: "without supported_versions the version is decided before other extensions are read",
    },
    Deviation {
        ours: "PeerMisbehaved(EchAcceptanceVariedAfterRetry) Some(IllegalParameter)",
        theirs: "PeerMisbehaved(",
        why: "the confirmation is checked before the fields it covers",
    },
];
