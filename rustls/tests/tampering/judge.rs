//! One plan tried on ends of this crate and of upstream: what must not happen does not, and what an end of this crate
//! answers is what one of upstream in its place answers, or [`harness::deviations`] says why not.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use harness::configs::Provider;
use harness::deviations::{DEVIATIONS, Deviation, deviation};

use crate::conversation::{Alert, Conversation, Outcome, Told, UPSTREAM_PANICKED};
use crate::kinds::{Api, Kind, Pair};
use crate::plans::Plan;

/// How often what comes of chance may come out otherwise.
pub(crate) const TRIES: usize = 10;

/// Ends of one kind.
pub(crate) struct Ends {
    pub(crate) upstream: Pair,
    /// This crate's client, in either API, and upstream's server.
    clients: [Pair; 2],
    servers: [Pair; 2],
    both: [Pair; 2],
}

impl Ends {
    pub(crate) fn new(kind: Kind, provider: Provider) -> Self {
        use Api::{Buffered, Unbuffered, Upstream};
        let pair = |client, server| Pair::new(kind, provider, [client, server]);
        Self {
            upstream: pair(Upstream, Upstream),
            clients: [pair(Buffered, Upstream), pair(Unbuffered, Upstream)],
            servers: [pair(Upstream, Buffered), pair(Upstream, Unbuffered)],
            both: [pair(Buffered, Unbuffered), pair(Unbuffered, Buffered)],
        }
    }
}

/// Collects what happened.
#[derive(Default)]
pub(crate) struct Judge(Mutex<Findings>);

#[derive(Default)]
struct Findings {
    plans: usize,
    conversations: usize,
    comparisons: usize,
    panics_of_upstream: usize,
    /// By what happened: how often, and where for example.
    happened: BTreeMap<String, (usize, Vec<String>)>,
    /// By which of [`MORE`].
    used: BTreeMap<usize, usize>,
}

impl Judge {
    /// Tries the plan on ends, of which those of this crate are chosen by `number`.
    pub(crate) fn judge(&self, ends: &Ends, plan: &Plan, number: usize) {
        self.0.lock().unwrap().plans += 1;
        let api = number % 2;
        let (client, server) = (&ends.clients[api], &ends.servers[api]);
        let Some(theirs) = self.run(&ends.upstream, plan) else {
            return;
        };
        if let Some(ours) = self.run(client, plan) {
            self.compare(&ours, &theirs, [client, &ends.upstream], 0, plan);
        }
        if let Some(ours) = self.run(server, plan) {
            self.compare(&ours, &theirs, [server, &ends.upstream], 1, plan);
        }
        self.run(&ends.both[api], plan);
    }

    /// Tries it again, for ends that must not both go on, and a client that is to say this.
    pub(crate) fn refused(&self, ends: &Ends, plan: &Plan, number: usize, expected: &str) {
        let api = number % 2;
        for pair in [&ends.clients[api], &ends.servers[api], &ends.both[api]] {
            let Some(told) = self.run(pair, plan) else {
                continue;
            };
            let [client, server] = told.outcomes.each_ref().map(|it| it.error.as_deref());
            if client.is_none() && server.is_none() {
                self.note(format!("{:?} went on", pair.apis), plan);
            }
            if !client.unwrap_or_default().contains(expected) {
                self.note(format!("{:?}: client {client:?}", pair.apis), plan);
            }
        }
    }

    /// What must not happen is noted.
    pub(crate) fn run(&self, pair: &Pair, plan: &Plan) -> Option<Told> {
        self.count();
        let conversation = || {
            Conversation::new(pair, plan.middle(pair))
                .at(plan.pace)
                .run()
        };
        match panic::catch_unwind(AssertUnwindSafe(conversation)) {
            Ok(told) => Some(told),
            Err(panic) => {
                self.panicked(pair, &*panic, &format!("{plan:?}"));
                None
            }
        }
    }

    /// Compares what came of the end that is this crate's in one conversation, and upstream's in the other.
    fn compare(&self, ours: &Told, theirs: &Told, pairs: [&Pair; 2], end: usize, plan: &Plan) {
        let [untouched, other] = pairs.map(Pair::untouched);
        if ours.applied != theirs.applied || !plan.compares(end == 0, untouched, other) {
            return;
        }
        self.compared();
        let (mut ours, mut theirs) = (vec![&ours.outcomes[end]], vec![&theirs.outcomes[end]]);
        if self.is_like(&ours, &theirs, plan) {
            return;
        }
        let again: Vec<_> = (1..TRIES)
            .filter_map(|_| Some([self.run(pairs[0], plan)?, self.run(pairs[1], plan)?]))
            .collect();
        for told in &again {
            ours.push(&told[0].outcomes[end]);
            theirs.push(&told[1].outcomes[end]);
        }
        if !self.is_like(&ours, &theirs, plan) {
            let side = ["client", "server"][end];
            let (our_name, their_name) = (ours[0].name(), theirs[0].name());
            let what = if our_name == their_name {
                format!("{side}\n  ours   {:?}\n  theirs {:?}", ours[0], theirs[0])
            } else {
                format!("{side}\n  ours   {our_name}\n  theirs {their_name}")
            };
            self.note(what, plan);
        }
    }

    /// Whether any two are alike, or not for a reason.
    fn is_like(&self, ours: &[&Outcome], theirs: &[&Outcome], plan: &Plan) -> bool {
        let mut pairs = ours
            .iter()
            .flat_map(|ours| theirs.iter().map(move |theirs| (*ours, *theirs)));
        pairs.any(|(ours, theirs)| {
            ours.is_like(theirs) || self.is_meant(&ours.name(), &theirs.name(), &plan.name)
        })
    }

    /// Whether there is a reason for answers, as `error / alert`, that differ.
    pub(crate) fn is_meant(&self, ours: &str, theirs: &str, case: &str) -> bool {
        let covers = |it: &Deviation| covers(it, ours, theirs, case);
        if DEVIATIONS.iter().any(covers) {
            return true;
        }
        let found = MORE.iter().position(covers);
        if let Some(found) = found {
            *self.0.lock().unwrap().used.entry(found).or_default() += 1;
        }
        found.is_some()
    }

    fn note(&self, what: String, plan: &Plan) {
        self.differ(what, &format!("{plan:?}"));
    }

    /// A conversation is to begin.
    pub(crate) fn count(&self) {
        self.0.lock().unwrap().conversations += 1;
    }

    pub(crate) fn compared(&self) {
        self.0.lock().unwrap().comparisons += 1;
    }

    /// A conversation of these ends has ended in a panic.
    pub(crate) fn panicked(&self, pair: &Pair, panic: &(dyn Any + Send), case: &str) {
        let message = message(panic);
        if message == UPSTREAM_PANICKED || pair.apis == [Api::Upstream; 2] {
            self.0.lock().unwrap().panics_of_upstream += 1;
        } else {
            self.differ(format!("{:?}: {message}", pair.apis), case);
        }
    }

    /// What ought not to be.
    pub(crate) fn differ(&self, what: String, case: &str) {
        let mut findings = self.0.lock().unwrap();
        let (count, examples) = findings.happened.entry(what).or_default();
        *count += 1;
        if examples.len() < 5 {
            examples.push(case.to_owned());
        }
    }

    /// Fails if anything happened.
    pub(crate) fn conclude(self) {
        let findings = self.0.into_inner().unwrap();
        for (what, (count, examples)) in &findings.happened {
            println!("{count} times: {what}");
            for example in examples {
                println!("    {example:.300}");
            }
        }
        println!(
            "{} plans, {} conversations, {} comparisons, further deviations {:?}; upstream panicked {} times",
            findings.plans,
            findings.conversations,
            findings.comparisons,
            findings.used,
            findings.panics_of_upstream,
        );
        assert!(findings.happened.is_empty(), "see above");
    }
}

/// Alerts that the peer could not read may be any.
fn covers(deviation: &Deviation, ours: &str, theirs: &str, case: &str) -> bool {
    let read = |name: &str, pattern: &str| match (name.strip_suffix('?'), pattern.rsplit_once(' '))
    {
        (Some(error), Some((_, alert))) => format!("{error}{alert}"),
        _ => name.to_owned(),
    };
    let (ours, theirs) = (read(ours, deviation.ours), read(theirs, deviation.theirs));
    deviation.covers(&ours, &theirs, case)
}

impl Outcome {
    fn is_like(&self, theirs: &Self) -> bool {
        // what the peer noticed is the peer's matter
        if !self.has_noticed() && !theirs.has_noticed() {
            return true;
        }
        let is_unknown = [self, theirs].iter().any(|it| it.alert == Alert::Unknown);
        self.error == theirs.error
            && (self.alert == theirs.alert || is_unknown)
            && self.is_handshaking == theirs.is_handshaking
            && self.received == theirs.received
            && self.early_received == theirs.early_received
            && self.end == theirs.end
    }

    fn has_noticed(&self) -> bool {
        let error = self.error.as_deref();
        error.is_some_and(|error| !error.starts_with("AlertReceived("))
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}

/// What only real encryption, or both ends, bring about.
#[rustfmt::skip] // a table
const MORE: [Deviation; 20] = [
    deviation(
        "DecryptError / 20",
        "none / none",
        " Change(Type(",
        "RFC 9846 §5.2: the header is the additional data of a protected record, with the type that came",
    ),
    deviation(
        "DecryptError / 20",
        "none / none",
        " Change(Version(",
        "RFC 9846 §5.2: and with the version that came",
    ),
    deviation(
        "DecryptError / 20",
        "none / none",
        " Change(Flip { at: Byte(",
        "as above",
    ),
    deviation(
        "InvalidMessage(UnknownProtocolVersion) / 50",
        "*",
        " Change(Flip { at: Byte(1)",
        "as below",
    ),
    deviation(
        "InvalidMessage(UnknownProtocolVersion) / 50",
        "*",
        " Change(Version(",
        "those of SSLv2 and DTLS are no version of a record of TLS, either",
    ),
    deviation(
        "General(\"the ServerHello echoes another legacy_session_id\") / 47",
        "DecryptError / *",
        "",
        "RFC 9846 §4.2.3: legacy_session_id_echo that does not match is an illegal_parameter",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "DecryptError / ?",
        "ClientHello",
        "RFC 9846 §4.2.2: random and legacy_session_id are those of the first",
    ),
    deviation(
        "NoApplicationProtocol / 120",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "over QUIC",
        "RFC 9001 §8.1: without a protocol it is a no_application_protocol; binders are checked later",
    ),
    deviation(
        "PeerIncompatible(ServerDoesNotSupportTls12Or13) / 70",
        "InvalidCertificate(BadSignature) / 51",
        "HelloRetryRequest",
        "RFC 9846 §4.2.3, §4.2.4: legacy_version other than 0x0303 is a protocol_version",
    ),
    deviation(
        "PeerMisbehaved(MissingQuicTransportParameters) / 109",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "over QUIC",
        "RFC 9001 §8.2: without transport parameters it is a missing_extension; binders are checked later",
    ),
    deviation(
        "DecryptError / ?",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello",
        "RFC 9846 §4.3.9: without psk_dhe_ke no PSK is looked at",
    ),
    deviation(
        "DecryptError / 20",
        "none / *",
        "with early data, rejected",
        "RFC 9846 §4.3.10: only records of type application_data are skipped",
    ),
    deviation(
        "DecryptError / 20",
        "none / *",
        "with early data before retry",
        "as above",
    ),
    deviation(
        "AlertReceived(CloseNotify) / none",
        "*",
        "of 1.2",
        "RFC 5246 §7.2.1: a close_notify ends the connection; before the handshake is complete that is an error",
    ),
    deviation(
        "DecryptError / ?",
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "ClientHello",
        "the share that was asked for came; that the groups were others before shows in the Finished",
    ),
    deviation(
        "none / none",
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "ClientHello",
        "as above; it waits for the Finished",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "PeerMisbehaved(EarlyDataAttemptedInSecondClientHello) / 47",
        "ClientHello",
        "the same alert; what must not differ is looked at first",
    ),
    deviation(
        "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / 10",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "ClientHello of 1.2",
        "the same alert; keys of TLS 1.2 do not change with a ClientHello",
    ),
    deviation(
        "InvalidMessage(HandshakePayloadTooLarge) / 50",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "ClientHello of 1.2",
        "nor with one that is followed by too much",
    ),
    deviation(
        "none / none",
        "PeerMisbehaved(TooManyEmptyFragments) / none",
        "early data",
        "an empty record counts as a byte of early data, of which there is a limit",
    ),
];
