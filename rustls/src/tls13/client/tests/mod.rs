//! The client against a server that says what a test wants, and against that of rustls 0.23.
//!
//! What a scripted server gets wrong is shown to the client of rustls 0.23, too: error and alert must be
//! the same, except where RFC 9846 demands more than 0.23 does.

mod authentication;
mod client_hello;
mod clients;
mod corruption;
mod encrypted_extensions;
mod post_handshake;
mod retry;
mod scripted_server;
mod server_hello;
mod upstream_server;

use std::format;

use self::clients::{Ours, Outcome, Theirs, config, provider};
use self::scripted_server::{Identity, Script};
use crate::enums::AlertDescription;
use crate::error::Error;

/// Both clients, and the servers that they trust.
struct Peers {
    identity: Identity,
}

impl Peers {
    fn new() -> Self {
        Self {
            identity: Identity::new(),
        }
    }

    fn ours(&self, script: &Script) -> Outcome {
        let config = config(&self.identity, provider());
        self.identity.run(&mut Ours::new(config), script)
    }

    fn theirs(&self, script: &Script) -> Outcome {
        self.identity
            .run(&mut Theirs::new(&self.identity, &[]), script)
    }

    #[track_caller]
    fn both_accept(&self, script: &Script) {
        assert_eq!(self.ours(script), ACCEPTED);
        assert_eq!(self.theirs(script), ACCEPTED);
    }

    #[track_caller]
    fn both_refuse(&self, script: &Script, error: impl Into<Error>, alert: AlertDescription) {
        let expected = refused(error, alert);
        assert_eq!(self.ours(script), expected);
        assert_eq!(self.theirs(script), expected);
    }

    /// What both refuse, but only we with the alert that RFC 9846 names.
    #[track_caller]
    fn both_refuse_alerting(
        &self,
        script: &Script,
        error: impl Into<Error>,
        alert: AlertDescription,
        theirs: AlertDescription,
    ) {
        let error = error.into();
        assert_eq!(self.ours(script), refused(error.clone(), alert));
        assert_eq!(self.theirs(script), refused(error, theirs));
    }

    /// What RFC 9846 forbids and rustls 0.23 lets pass.
    #[track_caller]
    fn only_we_refuse(&self, script: &Script, error: impl Into<Error>, alert: AlertDescription) {
        assert_eq!(self.ours(script), refused(error, alert));
        assert_eq!(self.theirs(script), ACCEPTED);
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

/// A script with a change.
fn script(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::new();
    change(&mut script);
    script
}
