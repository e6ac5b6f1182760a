//! Code that drives a connection with `set_async` but never polls it, such as tokio-rustls 0.26,
//! hangs. The library logs one warning about that, and none for code that polls.

use std::io::{self, ErrorKind, Read};

use harness::peers::log_lines::listen;
use log::Level;

use super::*;

/// Returns the number of warnings about polling.
fn warnings(work: impl FnOnce()) -> usize {
    let ((), lines) = listen(work);
    let mut warnings = lines;
    warnings.retain(|line| line.text.contains("poll_operation"));
    assert!(warnings.iter().all(|line| line.level == Level::Warn));
    warnings.len()
}

/// A socket without data.
struct Blocks;

impl Read for Blocks {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

/// Drives a waiting end `calls` times, as if it did not wait.
fn drive(end: &mut End, calls: usize) {
    for _ in 0..calls {
        match end {
            End::Buffered(conn) => {
                assert!(conn.read_tls(&mut Blocks).is_err());
                conn.process_new_packets().unwrap();
            }
            End::Quic(conn) => conn.read_hs(&[]).unwrap(),
            End::Client(_) | End::Server(_) => drop(end.receive(&[])),
        }
    }
}

/// Calls `then` with an end that waits for an operation that was never polled, in each API and on
/// each side.
fn for_waiting_ends(then: impl Fn(&mut End)) {
    for_all(|kind, api| {
        if kind.is_resumed() {
            return;
        }
        let plan = Arc::new(Plan::new(When::Never));
        let [mut client, mut server] = api.ends(&kind.world(api, &plan), true);
        deliver(&mut client, &mut server);
        assert!(server.is_waiting(), "{kind:?} {api:?}");
        then(&mut server);
    });
}

#[test]
fn an_unpolled_connection_logs_one_warning() {
    for_waiting_ends(|end| {
        let while_driven = warnings(|| drive(end, 100));
        assert_eq!(while_driven, 1);
        assert_eq!(warnings(|| drive(end, 1000)), 0);
    });
}

/// tokio-rustls reads until its socket blocks, and is called again when the client disconnects.
#[test]
fn dropping_an_unpolled_connection_logs_a_warning() {
    for api in APIS {
        for calls in [0, 1, 2] {
            let kind = &KINDS[0];
            let plan = Arc::new(Plan::new(When::Never));
            let [mut client, mut server] = api.ends(&kind.world(api, &plan), true);
            for bytes in client.output() {
                let End::Buffered(conn) = &mut server else {
                    server.receive(&bytes).unwrap();
                    continue;
                };
                // `receive` would process input once more
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    conn.read_tls(&mut rest).unwrap();
                    conn.process_new_packets().unwrap();
                }
            }
            assert!(server.is_waiting());
            let while_driven = warnings(|| drive(&mut server, calls));
            assert_eq!(while_driven, 0, "{api:?}");
            let at_the_end = warnings(|| drop(server));
            assert_eq!(at_the_end, usize::from(calls != 0), "{api:?} {calls}");
        }
    }
}

#[test]
fn a_polled_connection_logs_no_warning() {
    for_waiting_ends(|end| {
        let all = warnings(|| {
            assert!(end.poll_once().is_pending());
            drive(end, 100);
        });
        assert_eq!(all, 0);
    });
}

#[test]
fn code_that_polls_as_documented_causes_no_warning() {
    for_all(|kind, api| {
        for when in [When::Ready, When::After(1), When::After(20)] {
            let all = warnings(|| drop(connect(kind, api, &Arc::new(Plan::new(when)), true)));
            assert_eq!(all, 0, "{kind:?} {api:?} {when:?}");
        }
    });
}
