//! Early data that a client sends, and that the server accepts or rejects.

use harness::peers::configs::Versions;

use super::script::Step::*;
use super::script::{Scene, Side, Step};
use crate::kit::crates::peers::Peers;
use crate::kit::crates::{Configs, Published, Setting, This};
use crate::kit::transport::{Call, Fault, Plan};

const LIMIT: u32 = 1000;

fn setting() -> Setting {
    Setting {
        early_data: LIMIT,
        ..Setting::of(Versions::Tls13)
    }
}

/// Runs a script on a client that can send early data. A server without the session rejects it.
fn run(
    configs: &dyn Configs,
    steps: &[Step],
    rejects: bool,
    plan: Option<Plan>,
) -> (Vec<String>, bool) {
    let peers = Peers::new(setting());
    let mut first = Scene::connect(Side::Client, configs, &peers);
    assert!(!first.stream.is_handshaking());
    first.step(Read(9));
    let peers = match rejects {
        true => Peers::new(Setting {
            early_data: 100_000,
            ..setting()
        }),
        false => peers,
    };
    let mut scene = Scene::connect(Side::Client, configs, &peers);
    assert!(scene.stream.is_handshaking());
    scene.transport.change(|net| net.plan = plan);
    let mut results: Vec<String> = steps.iter().map(|step| scene.step(*step)).collect();
    let net = scene.transport.net();
    results.push(format!(
        "early data: {} {}",
        scene.stream.is_early_data_accepted(),
        net.received_early.len()
    ));
    (results, net.was_planned)
}

/// Compares a script, and returns true if the fault occurred.
fn compare(steps: &[Step], plan: Option<Plan>) -> bool {
    let mut occurred = false;
    for rejects in [false, true] {
        let (expected, of_published) = run(&Published::new(setting()), steps, rejects, plan);
        let (found, of_this) = run(&This::new(setting()), steps, rejects, plan);
        let [found, expected] = match plan {
            None => [found, expected],
            // a delayed write may be sent together with the next one
            Some(_) => [found, expected].map(|results| without_times(&results)),
        };
        assert_eq!(found, expected, "{steps:?} {rejects} {plan:?}");
        occurred |= of_published || of_this;
    }
    occurred
}

/// Removes what the peer had received after each step, except the last one.
fn without_times(results: &[String]) -> Vec<String> {
    let of_step = |result: &String| result.split("; peer").next().unwrap_or_default().to_owned();
    let last = results.iter().rev().take(2).cloned();
    results.iter().map(of_step).chain(last).collect()
}

const SCRIPTS: &[&[Step]] = &[
    &[
        Write(10),
        Write(10),
        Flush,
        Write(10),
        Flush,
        PeerSends(5),
        Read(9),
    ],
    &[Write(1500), Write(1500), Flush, Read(9)],
    &[Write(1000), Flush, Write(70_000), Flush],
    &[Write(10), Shutdown, Shutdown, PeerCloses, Read(9)],
    &[Shutdown, Read(9)],
    &[Flush, Write(10), Flush],
    &[Read(9), Lend(9), Flush, PeerSends(5), Read(9), Lend(9)],
    &[WriteVectored(&[10]), Flush, WriteVectored(&[10, 20]), Flush],
    &[
        Block,
        Write(10),
        Write(10),
        Flush,
        Unblock,
        Write(10),
        Flush,
    ],
    &[Write(10), End, Flush, Write(10)],
];

#[test]
fn early_data_is_sent_as_by_the_published_crate() {
    for steps in SCRIPTS {
        compare(steps, None);
    }
}

#[test]
fn pending_and_short_calls_do_not_change_results() {
    for steps in SCRIPTS {
        for call in [Call::Read, Call::Write, Call::Flush, Call::Shutdown] {
            for fault in [Fault::Pending, Fault::Short] {
                let mut number = 0;
                while compare(steps, Some((call, number, fault))) {
                    number += 1;
                }
            }
        }
    }
}
