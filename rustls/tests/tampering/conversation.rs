//! A connection between two live ends with a man in the middle. It runs until both have ended or
//! nothing moves, and checks the properties that must hold in any case.

use std::panic::{self, AssertUnwindSafe};

use harness::comparison::{Alert, Outcome, noted};
use harness::peers::configs::SERVER_NAME;
use harness::peers::endpoints::{End, Endpoint};
use harness::peers::roles::{Implementation, ROLES, Role};
use harness::wire::records;

use crate::tampering::kinds::{EarlyData, PARAMETERS, Pair, Untouched};
use crate::tampering::middle::Middle;
use crate::tampering::transcript;

/// The panic message for upstream's panics. Debug builds of upstream assert false properties, and
/// some of its errors do not repeat.
pub(crate) const UPSTREAM_PANICKED: &str = "upstream panicked";

pub(crate) const EARLY: &[u8] = &[0xe0; 40];

/// The messages of the client, then of the server, one record each.
const MESSAGES: [&[&[u8]]; 2] = [&[&[0xc1; 100], &[0xc2; 50]], &[&[0x51; 150], &[0x52; 300]]];

/// The most rounds of the loop. An untouched connection takes about twenty.
const LIMIT: usize = 1000;

/// The grouping of arriving bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// Each piece that the man in the middle delivers, which is one record.
    Pieces,
    /// Everything available.
    Heaps,
    /// At most this many bytes at a time.
    Crumbs(usize),
}

pub(crate) struct Conversation<'a> {
    pair: &'a Pair,
    middle: Middle<'a>,
    pace: Pace,
    /// Client and server.
    sides: [Side; 2],
    /// True once both were complete and agreed.
    has_agreed: bool,
}

/// One end with its application and its results.
struct Side {
    end: Box<dyn Endpoint>,
    is_ours: bool,
    is_quic: bool,
    role: Role,
    /// The number of messages sent so far.
    sent_count: usize,
    sent: Vec<u8>,
    received: Vec<u8>,
    early_received: Vec<u8>,
    has_closed: bool,
    error: Option<String>,
    /// The output when it failed.
    final_output: Vec<u8>,
}

/// The results of a conversation.
pub(crate) struct Report {
    /// Client and server.
    pub(crate) outcomes: [Outcome; 2],
    /// The properties of the records that reached client and server, for
    /// [`harness::comparison`].
    pub(crate) noted: [String; 2],
    /// The number of steps of the plan that were carried out.
    pub(crate) applied: usize,
    /// Set if nothing was changed.
    pub(crate) untouched: Option<Untouched>,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(pair: &'a Pair, middle: Middle<'a>) -> Self {
        let mut client = pair.client();
        if pair.kind.sends_early() {
            client.send_early(EARLY);
        }
        let side = |end, which: usize| Side {
            end,
            is_ours: pair.apis[which] != Implementation::Upstream,
            is_quic: pair.kind.quic,
            role: ROLES[which],
            sent_count: 0,
            // QUIC has parameters instead of data
            sent: match pair.kind.quic {
                true => PARAMETERS[which].to_vec(),
                false => Vec::new(),
            },
            received: Vec::new(),
            early_received: Vec::new(),
            has_closed: false,
            error: None,
            final_output: Vec::new(),
        };
        Self {
            pair,
            middle,
            pace: Pace::Pieces,
            sides: [side(client, 0), side(pair.server(), 1)],
            has_agreed: false,
        }
    }

    pub(crate) fn at(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// Runs both event loops.
    ///
    /// # Panics
    ///
    /// Panics if a property is violated.
    pub(crate) fn run(mut self) -> Report {
        let mut rounds = 0;
        loop {
            let mut moved = false;
            for side in &mut self.sides {
                let output = side.run_application(self.pair.kind.is_tls13());
                moved |= !output.is_empty();
                self.middle.take(side.role, &output);
            }
            for side in &mut self.sides {
                let arrives = side.role.other();
                while let Some(piece) = self.middle.next(arrives) {
                    moved = true;
                    let answer = match self.pace {
                        Pace::Crumbs(len) => {
                            let answers = piece.chunks(len).map(|crumb| side.receive(crumb));
                            answers.collect::<Vec<_>>().concat()
                        }
                        _ => side.receive(&piece),
                    };
                    self.middle.take(side.role, &answer);
                    if self.pace != Pace::Heaps {
                        break;
                    }
                }
            }
            self.check_agreement();
            if !moved && !self.middle.release() {
                break;
            }
            rounds += 1;
            assert!(rounds < LIMIT, "it never ends");
        }
        self.conclude()
    }

    /// Once both ends are complete, they must agree with each other and with an untouched
    /// connection. No handshake byte that either used may have been changed.
    fn check_agreement(&mut self) {
        let [client, server] = &self.sides;
        let is_complete = |side: &Side| side.error.is_none() && !side.end.is_handshaking();
        if self.has_agreed || !is_complete(client) || !is_complete(server) {
            return;
        }
        self.has_agreed = true;
        let kind = &self.pair.kind;
        assert_eq!(client.negotiated(), server.negotiated());
        if self.middle.applied() > 0 {
            assert_eq!(client.negotiated(), self.pair.untouched().negotiated);
        }
        if let (Some(of_client), Some(of_server)) = (client.end.exported(), server.end.exported()) {
            assert_eq!(of_client, of_server, "exporters");
        }
        let identities = kind.key_type().identities();
        let servers = identities.server.chain[0].to_vec();
        assert_eq!(client.end.peer_certificates(), [servers]);
        let clients = kind.auth.is_presented();
        let clients = clients.then(|| identities.client.chain[0].to_vec());
        assert_eq!(
            server.end.peer_certificates(),
            clients.into_iter().collect::<Vec<_>>()
        );
        if let Some(name) = server.end.server_name() {
            assert_eq!(name, SERVER_NAME);
        }
        if kind.quic {
            assert_eq!([&server.received, &client.received], PARAMETERS);
        }
        for side in &self.sides {
            if side.is_ours {
                self.check_transcript(side.role.other());
            }
        }
    }

    /// Asserts that the received handshake equals the sent one.
    fn check_transcript(&self, sender: Role) {
        let kind = &self.pair.kind;
        let sent = self.middle.sent(sender).concat();
        let delivered = self.middle.delivered(sender);
        let skips = kind.skips_early() && sender == Role::Client;
        let (sent, delivered) = transcript::authenticated(kind, skips, &sent, delivered);
        assert!(
            sent.starts_with(&delivered),
            "of the {sender:?}: both are complete, and what arrived was not sent"
        );
    }

    fn conclude(mut self) -> Report {
        let ends = self
            .sides
            .each_mut()
            .map(|side| side.call(|end| end.receive_end()));
        let [client, server] = &self.sides;
        for (side, peer, end) in [(client, server, &ends[0]), (server, client, &ends[1])] {
            if side.is_ours {
                side.check(peer, end);
            }
        }
        let early = &server.early_received;
        assert!(EARLY.starts_with(early), "early data that was not sent");
        if self.pair.kind.early_data != EarlyData::Accepted {
            assert!(early.is_empty(), "early data that should be rejected");
        }
        let is_untouched = ROLES
            .iter()
            .all(|it| self.middle.sent(*it).concat() == self.middle.delivered(*it));
        if is_untouched {
            for (side, end) in self.sides.iter().zip(&ends) {
                // QUIC has no close_notify
                let expected = if side.is_quic {
                    End::Truncated
                } else {
                    End::Closed
                };
                assert_eq!((&side.error, end), (&None, &expected));
            }
            let accepted = self.pair.kind.early_data == EarlyData::Accepted;
            assert_eq!(early.len(), if accepted { EARLY.len() } else { 0 });
            assert!(self.has_agreed);
        }
        let negotiated = client.negotiated();
        let untouched = is_untouched.then(|| Untouched {
            sent: ROLES.map(|it| self.middle.sent(it).to_vec()),
            negotiated,
        });
        let alerts = [client.alert(server), server.alert(client)];
        let received = |side: &Side| match side.is_quic {
            // upstream's resuming clients begin with the parameters of the earlier connection
            true => [Vec::new(), Vec::new()],
            false => [side.early_received.clone(), side.received.clone()],
        };
        let mut outcomes = [(client, &ends[0], alerts[0]), (server, &ends[1], alerts[1])]
            .into_iter()
            .map(|(side, end, alert)| Outcome {
                error: side.error.clone(),
                alert,
                sent: Vec::new(),
                received: received(side),
                peer_has_closed: *end == End::Closed,
                is_handshaking: side.end.is_handshaking(),
                lasts: match end {
                    End::Failed(again) => side.error.as_ref() == Some(again),
                    _ => side.error.is_none(),
                },
                reported: String::new(),
            });
        Report {
            outcomes: [outcomes.next().unwrap(), outcomes.next().unwrap()],
            noted: ROLES.map(|it| noted(self.middle.delivered(it.other()))),
            applied: self.middle.applied(),
            untouched,
        }
    }
}

impl Side {
    /// Lets the application act and returns the output.
    fn run_application(&mut self, is_tls13: bool) -> Vec<u8> {
        let mut output = self.call(|end| end.take_output());
        if self.error.is_some() {
            assert!(output.is_empty() || !self.is_ours, "sent after a failure");
            return output;
        }
        if self.end.is_handshaking() || self.has_closed || self.is_quic {
            return output;
        }
        let is_client = self.role == Role::Client;
        let [own, peers] = if is_client {
            MESSAGES
        } else {
            [MESSAGES[1], MESSAGES[0]]
        };
        let may_send = match (is_client, self.sent_count) {
            (_, 0) => true,
            (true, 1) => self.received.len() >= peers.concat().len(),
            (false, 1) => self.received.len() >= peers[0].len(),
            _ => self.end.peer_has_closed(),
        };
        if !may_send {
            return output;
        }
        if let Some(message) = own.get(self.sent_count) {
            if self.sent_count > 0 && is_tls13 {
                self.end.refresh_traffic_keys();
                output.extend(self.end.take_output());
            }
            let len = self.end.send(message);
            self.sent.extend(&message[..len]);
            output.extend(self.end.take_output());
            self.sent_count += 1;
        }
        let is_last = self.sent_count == own.len();
        if is_last && (is_client || self.end.peer_has_closed()) {
            self.end.close();
            self.has_closed = true;
            output.extend(self.end.take_output());
        }
        output
    }

    /// Delivers bytes and returns the output.
    fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (result, output) = self.call(|end| (end.receive(bytes), end.take_output()));
        if self.error.is_none() {
            let (mut received, mut early) = (Vec::new(), Vec::new());
            self.call(|end| {
                end.read_early_into(&mut early);
                end.read_into(&mut received);
            });
            self.received.extend(received);
            self.early_received.extend(early);
        }
        match (&self.error, result) {
            (None, Ok(())) => {}
            (None, Err(error)) => {
                self.error = Some(error);
                self.final_output.clone_from(&output);
                if self.is_ours {
                    self.check_silence();
                }
            }
            (Some(first), again) if self.is_ours => {
                assert_eq!(again.as_ref(), Err(first), "the error did not repeat");
                assert!(output.is_empty(), "sent after a failure");
            }
            (Some(_), _) => {}
        }
        output
    }

    /// Calls the end. Reports a panic of upstream as such.
    fn call<T>(&mut self, f: impl FnOnce(&mut dyn Endpoint) -> T) -> T {
        if self.is_ours {
            return f(&mut *self.end);
        }
        let called = panic::catch_unwind(AssertUnwindSafe(|| f(&mut *self.end)));
        called.unwrap_or_else(|_| panic!("{UPSTREAM_PANICKED}"))
    }

    /// Asserts that a failed end sends at most one alert and offers nothing to read or send.
    fn check_silence(&mut self) {
        let final_records = records(&self.final_output);
        // before the failure, the same piece may have contained a message that was answered, such
        // as a Finished answered with tickets
        let answers = final_records.iter().take_while(|record| {
            let len = record.payload.len();
            // an alert in the clear, or one with a tag and an explicit nonce or a type
            !matches!((record.typ, len), (21, 2 | 18 | 26) | (23, 19))
        });
        let answers = answers.count();
        assert!(
            final_records.len() - answers <= 1
                && final_records[..answers]
                    .iter()
                    .all(|it| matches!(it.typ, 20 | 22 | 23)),
            "sent at a failure: {final_records:?}"
        );
        let error = self.error.clone().unwrap();
        self.end.close();
        assert!(self.end.take_output().is_empty(), "sent after a failure");
        assert_eq!(self.end.process().as_ref(), Err(&error));
        let before = self.received.len();
        self.end.read_into(&mut self.received);
        assert_eq!(before, self.received.len(), "received after a failure");
        if self.is_quic && alert_received(&error).is_none() {
            assert_eq!(self.end.exported(), None);
        }
    }

    /// Asserts that the received data is a prefix of what `peer` sent, and complete if it ended
    /// cleanly.
    fn check(&self, peer: &Self, end: &End) {
        // the handshake authenticates QUIC's parameters, and they arrive before it is complete
        assert!(
            self.is_quic || peer.sent.starts_with(&self.received),
            "data that was not sent"
        );
        match end {
            End::Closed => assert!(
                self.error.is_none() && peer.has_closed && self.received == peer.sent,
                "a clean end after {} bytes of {}",
                self.received.len(),
                peer.sent.len()
            ),
            End::Failed(error) => assert_eq!(self.error.as_ref(), Some(error)),
            End::Truncated => assert_eq!(self.error, None),
        }
    }

    fn negotiated(&self) -> String {
        // upstream has no name for this suite
        let name = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256";
        self.end.negotiated().replace("CipherSuite(0x9e)", name)
    }

    /// Returns the alert that the end sent when it failed.
    fn alert(&self, peer: &Self) -> Alert {
        match &records(&self.final_output)[..] {
            [] if self.has_closed => Alert::Unknown,
            [] => Alert::None,
            [.., record] if record.typ == 21 && record.payload.len() == 2 => {
                Alert::Sent([record.payload[0], record.payload[1]])
            }
            // the peer may have read the alert
            _ => match peer.error.as_deref().and_then(alert_received) {
                Some(alert) => Alert::Sent([2, alert]),
                None => Alert::Unknown,
            },
        }
    }
}

/// Returns the alert that an error reports.
fn alert_received(error: &str) -> Option<u8> {
    let name = error.strip_prefix("AlertReceived(")?.strip_suffix(')')?;
    (0..=255).find(|code| format!("{:?}", rustls::AlertDescription::from(*code)) == name)
}
