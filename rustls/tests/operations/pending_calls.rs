//! Tests of pending calls: their names in logs and `Debug` output, and what the application can do
//! while they are pending.

use std::collections::BTreeSet;
use std::sync::Arc;

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::{KINDS, OPERATIONS};
use harness::operations::schedules::{pump, resumable};
use harness::operations::{Plan, When, finish};
use harness::peers::configs::product3;
use harness::peers::log_lines::listen;
use rustls::{Connection, quic};

use crate::operations::{deliver, for_all, until_it_waits};

/// Returns the name of the call that runs `operation`.
fn name(operation: &str) -> &'static str {
    match operation {
        "decrypt" | "encrypt" => "Ticket",
        "get" | "put" | "take" => "Session",
        "resolve" => "Certificate",
        "sign" => "Signature",
        _ => "Verification",
    }
}

#[test]
fn debug_output_names_the_pending_call() {
    let mut pending = BTreeSet::new();
    for_all(|kind, api| {
        for operation in OPERATIONS {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let Some((mut waiting, other)) = until_it_waits(kind, api, &plan) else {
                continue;
            };
            let expected = format!("waits_for: {},", name(operation));
            for _ in 0..2 {
                let text = format!("{:?}", waiting.common());
                let what = format!("{kind:?} {api:?} {operation}: {text}");
                assert!(text.contains(&expected), "{what}");
                assert!(waiting.poll_once().is_pending());
            }
            assert!(!format!("{:?}", other.common()).contains("waits_for"));
            pending.insert(operation);
        }
    });
    assert_eq!(pending, OPERATIONS.into());
}

/// A ClientHello requires several calls, one after another.
#[test]
fn debug_output_and_logs_name_the_current_call_of_several() {
    let mut all = BTreeSet::new();
    for kind in KINDS.iter().filter(|kind| kind.is_resumed()) {
        for api in APIS.into_iter().filter(|api| kind.runs_over(*api)) {
            let plan = Arc::new(Plan::new(When::After(1)));
            let world = resumable(kind, api, &plan);
            let [mut client, mut server] = api.ends(&world, true);
            let mut names = Vec::new();
            let ((), lines) = listen(|| {
                deliver(&mut client, &mut server);
                while server.is_waiting() && server.output().is_empty() {
                    let text = format!("{:?}", server.common());
                    let (_, name) = text.split_once("waits_for: ").unwrap();
                    names.push(name.split(',').next().unwrap().to_owned());
                    let _ = server.poll_once();
                }
            });
            names.dedup();
            if cfg!(feature = "logging") {
                let texts = lines.iter().map(|line| &*line.text);
                let mut logged = texts.filter_map(|text| text.strip_prefix("waiting for a "));
                for name in &names {
                    assert_eq!(logged.next(), Some(&*name.to_lowercase()), "{names:?}");
                }
            }
            all.insert(names);
        }
    }
    assert!(all.iter().all(|names| names[0] == "Certificate"), "{all:?}");
    for second in ["Ticket", "Session"] {
        let mut seconds = all.iter().filter_map(|names| names.get(1));
        assert!(seconds.any(|it| it == second), "{all:?}");
    }
}

/// The server decides whether to accept early data when its calls have returned.
#[test]
fn early_data_may_be_rejected_while_a_call_is_pending() {
    let mut waited = 0;
    let kinds = KINDS.iter().filter(|kind| kind.has_early_data());
    for (kind, api, is_rejected) in product3(kinds, [Api::Buffered, Api::Quic], [false, true]) {
        if !kind.runs_over(api) {
            continue;
        }
        let plan = Arc::new(Plan::new(When::After(1)).only("take"));
        let [mut client, mut server] = api.ends(&resumable(kind, api, &plan), true);
        client.send_early(b"early");
        deliver(&mut client, &mut server);
        // a retry rejects early data before the session is looked up
        if !server.is_waiting() {
            continue;
        }
        waited += 1;
        if is_rejected {
            match &mut server {
                End::Buffered(Connection::Server(conn)) => conn.reject_early_data(),
                End::Quic(quic::Connection::Server(conn)) => conn.reject_early_data(),
                _ => unreachable!("it is a server"),
            }
        }
        assert_eq!(finish(|task| server.poll(task)), Ok(()));
        assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
        let is_accepted = match &client {
            End::Buffered(Connection::Client(conn)) => conn.is_early_data_accepted(),
            End::Quic(quic::Connection::Client(conn)) => conn.is_early_data_accepted(),
            _ => unreachable!("it is a client"),
        };
        assert_eq!(is_accepted, !is_rejected, "{kind:?} {api:?}");
        assert!(client.facts().contains("Some(Resumed)"), "{kind:?} {api:?}");
    }
    assert!(waited > 0);
}
