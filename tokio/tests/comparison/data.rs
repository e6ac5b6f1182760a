//! Reading, writing, flushing and shutting down, in every order.

use harness::peers::configs::Versions;

use super::script::Step::*;
use super::script::{Side, Step, compare, compare_with_faults};
use crate::kit::crates::Setting;
use crate::kit::transport::{Call, Fault};

const SCRIPTS: &[&[Step]] = &[
    // reads
    &[
        Read(10),
        PeerSends(50),
        Read(0),
        Read(10),
        Read(100),
        Read(100),
        Read(0),
    ],
    &[
        PeerSends(50),
        Read(50),
        PeerSends(20),
        PeerSends(30),
        Read(60),
        Read(60),
    ],
    &[
        PeerSends(40_000),
        Read(100_000),
        PeerSends(100_000),
        Read(1000),
        Read(200_000),
        Read(9),
    ],
    // lent chunks
    &[
        Lend(9),
        PeerSends(40_000),
        Lend(5000),
        Lend(0),
        Read(7),
        Lend(99_999),
        Lend(99_999),
        Lend(99_999),
        Lend(1),
    ],
    // writes
    &[
        Write(0),
        Write(10),
        Write(20_000),
        Write(300_000),
        Flush,
        Write(1),
        Flush,
    ],
    &[
        WriteVectored(&[10, 20]),
        WriteVectored(&[0, 0]),
        WriteVectored(&[]),
        WriteVectored(&[50_000, 50_000]),
        Flush,
    ],
    &[
        WriteVectored(&[1; 100]),
        WriteVectored(&[16_384, 1, 16_384]),
        WriteVectored(&[7]),
        Flush,
    ],
    &[
        NotVectored,
        Write(40_000),
        WriteVectored(&[30, 30_000]),
        Flush,
    ],
    // back pressure
    &[
        Block,
        Write(10),
        Write(10),
        Write(100_000),
        Write(100_000),
        Read(9),
        Flush,
        Unblock,
        Write(10),
        Flush,
    ],
    &[
        Block,
        Write(100_000),
        WriteVectored(&[9, 9]),
        Unblock,
        WriteVectored(&[9, 9]),
        Flush,
    ],
    &[
        Block,
        Write(100_000),
        Shutdown,
        Shutdown,
        Unblock,
        Shutdown,
        Shutdown,
    ],
    // both directions
    &[
        PeerSends(50),
        Write(10),
        Read(20),
        Flush,
        Read(90),
        Write(70_000),
        PeerSends(5),
        Flush,
        Lend(9),
    ],
    // half-close
    &[
        Write(10),
        Shutdown,
        PeerSends(50),
        Read(90),
        PeerCloses,
        Read(9),
        Read(9),
        Lend(9),
    ],
    &[
        PeerSends(50),
        PeerCloses,
        Read(90),
        Read(9),
        Write(10),
        Flush,
        Write(70_000),
        Shutdown,
        Read(9),
    ],
    &[
        PeerCloses,
        Lend(9),
        Lend(9),
        Read(9),
        Shutdown,
        Shutdown,
        Flush,
    ],
    &[Shutdown, Flush, Read(9), PeerCloses, Read(9)],
    &[Flush, Flush, Shutdown],
];

#[test]
fn scripts_give_the_same_results_as_with_the_published_crate() {
    for versions in Versions::EACH {
        for side in [Side::Client, Side::Server] {
            for steps in SCRIPTS {
                compare(Setting::of(versions), side, steps, None);
            }
        }
    }
}

#[test]
fn pending_and_short_calls_do_not_change_results() {
    for side in [Side::Client, Side::Server] {
        for steps in SCRIPTS {
            compare_with_faults(
                Setting::of(Versions::Tls13),
                side,
                steps,
                &[Call::Write, Call::Flush, Call::Shutdown],
                &[Fault::Pending, Fault::Short],
            );
        }
    }
}

#[test]
fn a_requested_key_update_is_answered_by_the_next_write() {
    let steps = [
        PeerUpdatesKeys,
        Read(9),
        PeerSends(50),
        Read(99),
        Write(10),
        PeerSends(5),
        Read(9),
    ];
    compare(Setting::of(Versions::Tls13), Side::Server, &steps, None);
    let steps = [
        PeerUpdatesKeys,
        Read(9),
        Flush,
        PeerSends(5),
        Read(9),
        Shutdown,
    ];
    compare(Setting::of(Versions::Tls13), Side::Server, &steps, None);
}
