//! Tests of the ECH status and negotiated values as the handshake proceeds, also with a server that
//! rejects ECH.

use std::ops::{Deref, DerefMut};

use harness::peers::configs::PROVIDERS;
use harness::peers::endpoints::Wrapper;
use harness::scripted::{Body, KEY_SHARE, Script, bytes};
use harness::wire::client_hello::COOKIE;
use harness::wire::{records, u16_vec};

use crate::ech::clients::{Client, Mode, stacks};
use crate::ech::kit::{ACCEPTED, DATA, ECH, Peers, accepting_retry};

/// A client that receives one record at a time.
struct Steps {
    client: Box<dyn Client>,
    /// The `ech_status` before the first record and after each.
    seen: Vec<String>,
}

impl Steps {
    fn new(client: Box<dyn Client>) -> Self {
        let seen = vec![client.ech_status()];
        Self { client, seen }
    }

    /// Returns the distinct statuses in order.
    fn changes(mut self) -> Vec<String> {
        self.seen.dedup();
        self.seen
    }
}

impl Wrapper for Steps {
    type Inner = dyn Client;

    fn inner(&self) -> impl Deref<Target = dyn Client> {
        &*self.client
    }

    fn inner_mut(&mut self) -> impl DerefMut<Target = dyn Client> {
        &mut *self.client
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        for record in records(bytes) {
            let result = self.client.receive(&record.to_bytes());
            self.seen.push(self.client.ech_status());
            result?;
        }
        Ok(())
    }
}

#[test]
fn the_status_is_known_after_the_server_hello() {
    for peers in PROVIDERS.map(Peers::new) {
        let cases = [
            (peers.accepting(), "Accepted"),
            // RFC 9849 §6.1.5: the ServerHello must confirm again
            (peers.to_accept(accepting_retry()), "Accepted"),
            (peers.rejecting(), "Rejected"),
            (peers.to_reject(Script::with_retry()), "Rejected"),
        ];
        for (script, expected) in cases {
            for stack in stacks() {
                let client = stack.config(&peers.setup()).unwrap().connect().unwrap();
                let mut steps = Steps::new(client);
                let outcome = peers.identity.run(&mut steps, &script);
                assert_eq!(outcome.error.is_none(), expected == "Accepted");
                // the first record contains the ServerHello or HelloRetryRequest; later ones change
                // nothing
                assert!(steps.seen.len() > 4);
                assert_ne!(steps.seen[1 + script.retries.len()], "Offered");
                assert_eq!(steps.changes(), ["Offered", expected], "{stack:?}");
            }
        }
    }
}

#[test]
fn the_status_of_a_client_without_ech_keys_never_changes() {
    let peers = Peers::new(PROVIDERS[0]);
    for (setup, expected) in [
        (peers.greasing(), "Grease"),
        (peers.setup_with(Mode::Off), "NotOffered"),
    ] {
        for stack in stacks() {
            let mut steps = Steps::new(stack.config(&setup).unwrap().connect().unwrap());
            assert_eq!(peers.identity.run(&mut steps, &Script::new()), ACCEPTED);
            assert_eq!(steps.changes(), [expected], "{stack:?}");
        }
    }
}

/// RFC 9849 §5: the extensions of a HelloRetryRequest may come in any order and combination.
#[test]
fn retries_with_every_set_of_extensions_are_accepted() {
    for peers in PROVIDERS.map(Peers::new) {
        let group = (KEY_SHARE, Body::Bytes(vec![0, 23]));
        let cookie = bytes(COOKIE, &u16_vec(&[0xc0; 300]));
        let ech = bytes(ECH, &[0; 8]);
        let forms = [
            vec![ech.clone(), group.clone()],
            vec![group.clone(), ech.clone(), cookie.clone()],
            vec![cookie.clone(), ech.clone(), group.clone()],
            vec![cookie.clone(), ech.clone()],
            vec![ech, cookie.clone()],
        ];
        for extensions in forms {
            let mut script = Script::new();
            script.retries = vec![script.retry(extensions.clone())];
            if extensions.iter().any(|(typ, _)| *typ == KEY_SHARE) {
                script.group = rustls::NamedGroup::secp256r1;
            }
            for stack in stacks() {
                let run = peers.run(stack, &peers.setup(), &peers.to_accept(script.clone()));
                run.assert_accepted();
                let has_cookie = extensions.iter().any(|(typ, _)| *typ == COOKIE);
                let second = &run.conversation.opened[1];
                assert_eq!(second.inner.extension(COOKIE).is_some(), has_cookie);

                let run = peers.run(stack, &peers.setup(), &peers.to_reject(script.clone()));
                run.assert_status("Rejected");
                assert_ne!(run.conversation.plaintext, DATA);
            }
        }
    }
}
