//! Handshakes that succeed or fail, with faults at each call of the transport.

use std::io::ErrorKind;
use std::task::Poll;

use harness::operations::plan_of_process;
use harness::peers::configs::{PROVIDERS, Versions, product3};
use harness::peers::endpoints::Endpoint;

use super::script::{SIDES, Side, handshake, handshake_over, start, text, transport};
use crate::kit::crates::peers::Peers;
use crate::kit::crates::{Configs, Published, Setting, This};
use crate::kit::executor::poll_while_woken;
use crate::kit::transport::{CALLS, Call, Fault, Net, Plan, Transport};

/// Returns the result of a handshake, and what the peer has received.
fn outcome(side: Side, configs: &dyn Configs, peers: &Peers, plan: Option<Plan>) -> String {
    let (result, transport) = handshake(side, configs, peers, plan);
    seen(result.map(|stream| stream.is_handshaking()), &transport)
}

fn seen(result: Result<bool, String>, transport: &Transport) -> String {
    let net = &mut *transport.net();
    // the peer's own errors may differ between the crates; received alerts must be equal
    let alert = net.peer_error.as_ref().map(|error| {
        let alert = error.strip_prefix("AlertReceived");
        alert.unwrap_or("another error").to_owned()
    });
    // the last call is a flush, unless the handshake has failed
    let last = result.as_ref().ok().and_then(|_| net.log.last());
    let is_handshaking = net.peer.is_handshaking();
    format!("{result:?}; peer: {alert:?} {is_handshaking}; {last:?}")
}

fn compare(setting: Setting, side: Side, plan: Option<Plan>) {
    let peers = Peers::new(setting);
    let expected = outcome(side, &Published::new(setting), &peers, plan);
    let found = outcome(side, &This::new(setting), &peers, plan);
    assert_eq!(found, expected, "{setting:?} {side:?} {plan:?}");
}

#[test]
fn handshakes_succeed_and_fail_as_with_the_published_crate() {
    for provider in PROVIDERS {
        for client in [Versions::Tls12, Versions::Tls13, Versions::Both] {
            for server in [Versions::Tls12, Versions::Tls13, Versions::Both] {
                let setting = Setting {
                    provider,
                    client,
                    server,
                    ..Setting::of(client)
                };
                for side in SIDES {
                    compare(setting, side, None);
                }
            }
        }
    }
}

#[test]
fn invalid_configurations_return_an_error() {
    for side in SIDES {
        let setting = Setting {
            max_fragment_size: Some(3),
            ..Setting::of(Versions::Both)
        };
        compare(setting, side, None);
    }
}

#[test]
fn transport_faults_have_the_same_results_as_with_the_published_crate() {
    let faults = [
        Fault::Pending,
        Fault::Short,
        Fault::Zero,
        Fault::Fails(ErrorKind::ConnectionReset),
        Fault::Fails(ErrorKind::Interrupted),
    ];
    for versions in Versions::EACH {
        for side in SIDES {
            for call in CALLS {
                for fault in faults {
                    for number in 0..6 {
                        // the published crate also reads after the end of a handshake, and
                        // flushes twice
                        let is_behind = match side {
                            _ if call == Call::Flush => number > 1,
                            _ if call != Call::Read => false,
                            Side::Client if versions == Versions::Tls13 => number != 0,
                            Side::Client => number > 1,
                            _ => number > 1,
                        };
                        // a handshake that waits for operations writes and flushes more often
                        let waits = plan_of_process().is_some();
                        let harmless = matches!(fault, Fault::Pending | Fault::Short);
                        if (is_behind || waits) && !harmless {
                            continue;
                        }
                        compare(Setting::of(versions), side, Some((call, number, fault)));
                    }
                }
            }
        }
    }
}

/// Bytes with which no valid handshake begins, and true if the stream ends after them.
const WRONG: &[(&[u8], bool)] = &[
    (b"", true),
    (b"not tls", false),
    (b"not tls", true),
    (b"\x16\x03", true),
    (b"\x16\x03\x03\x00\x08\x63\x00\x00\x04abcd", false),
    (b"\x15\x03\x03\x00\x02\x02\x28", false),
    (b"\x17\x03\x03\x00\x02\x02\x28", false),
];

#[test]
fn wrong_bytes_are_answered_as_by_the_published_crate() {
    let setting = Setting::of(Versions::Tls13);
    let plans = [
        None,
        Some((Call::Write, 0, Fault::Pending)),
        Some((Call::Write, 0, Fault::Zero)),
        Some((Call::Write, 0, Fault::Fails(ErrorKind::BrokenPipe))),
        Some((Call::Flush, 0, Fault::Pending)),
    ];
    for side in SIDES {
        for (bytes, ends) in WRONG {
            // only this crate's `Acceptor` sends an alert for an unexpected message, and reports an
            // alert that it receives
            let differs = matches!(bytes, [0x15, ..] | [0x16, _, _, _, _, 0x63, ..]);
            if side == Side::Lazy && differs {
                continue;
            }
            for plan in plans {
                let outcome = |configs: &dyn Configs| {
                    let peers = Peers::new(setting);
                    let transport = transport(side, &peers, plan);
                    transport.change(|net| {
                        net.peer.take_output();
                        net.incoming.extend(*bytes);
                        net.has_ended = *ends;
                    });
                    let result = handshake_over(side, configs, &transport);
                    seen(result.map(|stream| stream.is_handshaking()), &transport)
                };
                let expected = outcome(&Published::new(setting));
                let found = outcome(&This::new(setting));
                assert_eq!(found, expected, "{side:?} {bytes:x?} {ends} {plan:?}");
            }
        }
    }
}

/// The last flight of a TLS 1.3 server contains its tickets. The server reads nothing before they
/// are sent, so a client must not send much data before it reads.
#[test]
fn a_blocked_last_flight_delays_the_handshake_as_in_the_published_crate() {
    // a handshake that waits for operations writes more often, so another flight would be blocked
    if plan_of_process().is_some() {
        return;
    }
    for (versions, side, len) in product3(Versions::EACH, SIDES, [0, 10, 100_000]) {
        let setting = Setting::of(versions);
        let what = format!("{versions:?} {side:?} {len}");
        let found = blocked(side, &This::new(setting), &Peers::new(setting), len);
        let expected = blocked(side, &Published::new(setting), &Peers::new(setting), len);
        assert_eq!(found, expected, "{what}");
        assert_eq!(found[3], "complete", "{what}");
        if versions == Versions::Tls13 && side != Side::Client {
            for state in &found[1..3] {
                let waits = state.starts_with("pending");
                let is_unread = state != "pending, 0 unread";
                assert!(waits && is_unread == (len != 0), "{what}: {state}");
            }
        }
    }
}

/// Returns the states of a handshake whose last flight is blocked, while its peer sends data, ends
/// its stream, and receives, in this order.
fn blocked(side: Side, configs: &dyn Configs, peers: &Peers, len: usize) -> Vec<String> {
    let transport = transport(side, peers, Some((Call::Write, 1, Fault::Blocks)));
    let mut handshake = start(side, configs, &transport);
    let mut polled = Poll::Pending;
    let changes: [&dyn Fn(&mut Net); 4] = [
        &|_| (),
        &|net| {
            net.peer.send(&vec![1; len]);
            let sent = net.peer.take_output();
            net.incoming.extend(sent);
        },
        // a client still needs the server's last flight in TLS 1.2
        &|net| net.has_ended = side != Side::Client,
        &|net| net.is_blocked = false,
    ];
    let states = changes.into_iter().map(|change| {
        transport.change(change);
        if polled.is_pending() {
            polled = poll_while_woken(|task| handshake.as_mut().poll(task));
        }
        match &polled {
            Poll::Pending => format!("pending, {} unread", transport.net().incoming.len()),
            Poll::Ready(Ok(_)) => "complete".into(),
            Poll::Ready(Err((error, _))) => text(error),
        }
    });
    states.collect()
}
