//! Handshakes that end early.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::configs::{ClientAuth, PROVIDERS, Versions, server_name};
use harness::wire::records;
use rustls::{ClientConfig, ClientConnection, KeyLog, ServerConfig, ServerConnection};

use crate::connections::{Case, Sessions, connected, give, overwrite_stack, take};
use crate::secrets::{Log, left_by, record_randoms};

/// The way a handshake ends after a number of records.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Both ends are dropped.
    Dropped,
    /// The last byte of the next record is changed.
    Changed,
}

/// Runs a handshake until `limit` records have arrived, then ends it. Returns true if the handshake
/// completed first.
fn handshake_until(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    limit: usize,
    end: End,
) -> bool {
    overwrite_stack();
    // on the stack, since the padding of heap values can contain anything; this test checks
    // separate heap memory
    let mut client = ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    let mut passed = 0;
    let mut flights = Vec::new();
    loop {
        let mut is_done = true;
        for from_client in [true, false] {
            let flight = if from_client {
                take(&mut client)
            } else {
                take(&mut server)
            };
            is_done &= flight.is_empty();
            for record in records(&flight) {
                let mut record = record.to_bytes();
                let is_last = passed == limit;
                match end {
                    End::Dropped if is_last => return false,
                    End::Changed if is_last => *record.last_mut().unwrap() ^= 1,
                    _ => {}
                }
                let outcome = if from_client {
                    give(&mut server, &record)
                } else {
                    give(&mut client, &record)
                };
                if is_last {
                    // TLS 1.3 ignores the content of change_cipher_spec, and a changed hello may
                    // still be valid
                    drop(outcome);
                    return false;
                }
                outcome.unwrap();
                passed += 1;
            }
            flights.push(flight);
            if flights.len() == 2 {
                record_randoms([&flights[0], &flights[1]]);
            }
        }
        if is_done {
            return true;
        }
    }
}

fn cases() -> impl Iterator<Item = Case> {
    PROVIDERS.into_iter().flat_map(|provider| {
        [Versions::Tls13, Versions::Tls12]
            .into_iter()
            .flat_map(move |versions| {
                [Sessions::Tickets, Sessions::Stored].map(|sessions| Case {
                    auth: ClientAuth::Required,
                    sessions,
                    ..Case::of_version(provider, versions)
                })
            })
    })
}

#[test]
fn no_secret_of_an_aborted_handshake_is_left() {
    for case in cases() {
        for resumes in [false, true] {
            for end in [End::Dropped, End::Changed] {
                let left = left_by(case.provider, case.suite, || {
                    let (client, server) = case.configs();
                    let (client, server) = (Arc::new(client), Arc::new(server));
                    // a session of each version to resume, or none
                    drop(connected(&client, &server));
                    let mut limit = 0;
                    loop {
                        let mut client = (*client).clone();
                        if !resumes {
                            client.resumption = rustls::client::Resumption::disabled();
                        } else {
                            drop(connected(&Arc::new(client.clone()), &server));
                        }
                        if handshake_until(&Arc::new(client), &server, limit, end) {
                            break;
                        }
                        limit += 1;
                    }
                    assert!(limit > 4, "{limit} records");
                });
                assert!(
                    left.is_empty(),
                    "{case:?}, resumes: {resumes}, {end:?}: {left:?}"
                );
            }
        }
    }
}

/// A key log that panics after a number of calls.
#[derive(Debug)]
struct Panics(AtomicUsize);

impl KeyLog for Panics {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        Log.log(label, client_random, secret);
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            // without a message on stderr
            resume_unwind(Box::new("the key log panics"));
        }
    }
}

#[test]
fn a_panic_in_a_key_log_leaves_no_secret() {
    for case in cases() {
        let left = left_by(case.provider, case.suite, || {
            let (client, server) = case.configs();
            let (client, server) = (Arc::new(client), Arc::new(server));
            for resumes in [false, true] {
                for at in 1.. {
                    let panics = Arc::new(Panics(AtomicUsize::new(at)));
                    let (mut client, mut server) = ((*client).clone(), (*server).clone());
                    drop(connected(
                        &Arc::new(client.clone()),
                        &Arc::new(server.clone()),
                    ));
                    if !resumes {
                        client.resumption = rustls::client::Resumption::disabled();
                    }
                    client.key_log = panics.clone();
                    server.key_log = panics;
                    let (client, server) = (Arc::new(client), Arc::new(server));
                    let whole = || handshake_until(&client, &server, usize::MAX, End::Dropped);
                    if catch_unwind(AssertUnwindSafe(whole)).is_ok() {
                        // twice the only secret of TLS 1.2
                        assert!(at > 2);
                        break;
                    }
                }
            }
        });
        assert!(left.is_empty(), "{case:?}: {left:?}");
    }
}
