//! Tests of the client with a scripted server, and with upstream's server.
//!
//! Upstream's client receives the same mistakes of the scripted server. Error and alert must match,
//! except where RFC 9846 requires more checks than upstream makes. `differential` changes every
//! byte.

mod authentication;
mod client_hello;
mod clients;
mod encrypted_extensions;
mod post_handshake;
mod retry;
mod server_hello;
mod upstream_server;

use harness::scripted::{Identity, Outcome, Script};
use rustls::{AlertDescription, Error};

use crate::handshake_client::clients::{
    config, our_client, our_unbuffered_client, provider, their_client,
};

/// A description of a script, the script, and the outcome for the client.
type Case<'a> = (&'a str, Script, Outcome);

/// Both clients, and the identity of the servers that they trust.
struct Peers {
    identity: Identity,
}

impl Peers {
    fn new() -> Self {
        Self {
            identity: Identity::new(provider()),
        }
    }

    fn ours(&self, script: &Script) -> Outcome {
        // two configurations, so that the connections share no sessions
        let config = || config(&self.identity, provider());
        let buffered = self.identity.run(&mut our_client(config()), script);
        let unbuffered = &mut our_unbuffered_client(config());
        let unbuffered = self.identity.run(unbuffered, script);
        assert_eq!(unbuffered, buffered, "unbuffered");
        buffered
    }

    fn theirs(&self, script: &Script) -> Outcome {
        let mut client = their_client(&self.identity, &[]);
        self.identity.run(&mut client, script)
    }

    #[track_caller]
    fn both_accept(&self, scripts: impl IntoIterator<Item = Script>) {
        for (at, script) in scripts.into_iter().enumerate() {
            assert_eq!(self.ours(&script), ACCEPTED, "script {at}");
            assert_eq!(self.theirs(&script), ACCEPTED, "script {at}");
        }
    }

    #[track_caller]
    fn we_refuse<'a>(&self, cases: impl IntoIterator<Item = Case<'a>>) {
        for (what, script, expected) in cases {
            assert_eq!(self.ours(&script), expected, "{what}");
        }
    }

    #[track_caller]
    fn both_refuse<'a>(&self, cases: impl IntoIterator<Item = Case<'a>>) {
        for (what, script, expected) in cases {
            let alert = expected.alert.unwrap();
            self.both_refuse_alerting([(what, script, expected, alert)]);
        }
    }

    /// Asserts that both clients reject each script, but only ours with the alert that RFC 9846
    /// requires, and that all accessors of both return the same values in the end.
    #[track_caller]
    fn both_refuse_alerting<'a>(
        &self,
        cases: impl IntoIterator<Item = (&'a str, Script, Outcome, AlertDescription)>,
    ) {
        for (what, script, expected, theirs) in cases {
            assert_eq!(self.ours(&script), expected, "{what}");
            let alert = Some(theirs);
            let expected = Outcome { alert, ..expected };
            assert_eq!(self.theirs(&script), expected, "{what}");
            let mut ours = our_client(config(&self.identity, provider()));
            self.identity.run(&mut ours, &script);
            let mut theirs = their_client(&self.identity, &[]);
            self.identity.run(&mut theirs, &script);
            assert_eq!(ours.accessors(), theirs.accessors(), "{what}");
        }
    }

    /// Asserts that our client rejects each script, which RFC 9846 forbids and upstream accepts.
    #[track_caller]
    fn only_we_refuse<'a>(&self, cases: impl IntoIterator<Item = Case<'a>>) {
        for (what, script, expected) in cases {
            assert_eq!(self.ours(&script), expected, "{what}");
            assert_eq!(self.theirs(&script), ACCEPTED, "{what}");
        }
    }
}

const ACCEPTED: Outcome = Outcome {
    error: None,
    alert: None,
};

fn refused(error: impl Into<Error>, alert: AlertDescription) -> Outcome {
    Outcome {
        error: Some(format!("{:?}", error.into())),
        alert: Some(alert),
    }
}

// the outcomes with the most common alerts

fn illegal(error: impl Into<Error>) -> Outcome {
    refused(error, AlertDescription::IllegalParameter)
}

fn undecodable(error: impl Into<Error>) -> Outcome {
    refused(error, AlertDescription::DecodeError)
}

fn unexpected(error: impl Into<Error>) -> Outcome {
    refused(error, AlertDescription::UnexpectedMessage)
}

fn wrong_version(error: impl Into<Error>) -> Outcome {
    refused(error, AlertDescription::ProtocolVersion)
}

/// Creates a script with a change.
fn script(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::new();
    change(&mut script);
    script
}
