//! Changes one bit of a server's ECH messages at a time and compares both crates' clients.

use std::collections::{BTreeMap, BTreeSet};

use harness::peers::configs::{PROVIDERS, product};
use harness::scripted::{Outcome, Script};

use crate::ech::clients::Stack;
use crate::ech::kit::{ECH, Peers, accepting_retry, answering, changing};

/// Scripts by name, each with the position of a message and the number of its last bytes to change.
/// The bytes before those are not specific to ECH.
fn cases(peers: &Peers) -> Vec<(&'static str, Script, usize, usize)> {
    let list = peers.key.config.list();
    let rejecting = answering(peers.rejecting(), ECH, &list);
    let hello = |script: &Script, position: usize| {
        let extensions = match script.retries.get(position) {
            Some(_) => 6 + 6 + 12,
            None => 6 + 4 + 4 + 32 + if script.retries.is_empty() { 0 } else { 33 },
        };
        4 + 2 + 32 + 33 + 3 + 2 + extensions
    };
    let accepting = peers.accepting();
    let retrying = peers.to_accept(accepting_retry());
    let lens = [
        hello(&accepting, 0),
        hello(&retrying, 0),
        hello(&retrying, 1),
    ];
    let mut cases = vec![
        ("ServerHello", accepting, 0, lens[0]),
        ("HelloRetryRequest", retrying.clone(), 0, lens[1]),
        (
            "ServerHello after a HelloRetryRequest",
            retrying,
            1,
            lens[2],
        ),
        // header, and the length of the extensions
        ("EncryptedExtensions", rejecting, 1, 4 + 2 + 4 + list.len()),
    ];
    for (_, script, ..) in &mut cases {
        script.ech.as_mut().unwrap().is_tampered_with = true;
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
fn each_changed_bit_has_the_same_outcome_as_upstream() {
    let peers = Peers::new(PROVIDERS[0]);
    let mut different = BTreeMap::<(String, String), Vec<String>>::new();
    let mut count = 0;
    for (name, script, position, len) in cases(&peers) {
        for (at, bit) in product(4..len, [0, 3, 7]) {
            let script = changing(script.clone(), position, move |it| it[at] ^= 1 << bit);
            let stacks = [Stack::This, Stack::ThisUnbuffered, Stack::Upstream];
            let [buffered, unbuffered, theirs] = stacks.map(|stack| {
                let run = peers.run(stack, &peers.setup(), &script);
                summary(&run.conversation.outcome)
            });
            assert_eq!(buffered, unbuffered, "{name} {at} {bit}");
            count += 1;
            if buffered != theirs {
                let places = different.entry((buffered, theirs)).or_default();
                places.push(format!("{name} {at}.{bit}"));
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
