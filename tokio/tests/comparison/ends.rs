//! Truncation, bad records, and errors of the transport.

use std::io::ErrorKind;

use harness::peers::configs::Versions;

use super::script::Step::*;
use super::script::{Side, Step, compare, compare_with_faults};
use crate::kit::crates::Setting;
use crate::kit::transport::{Call, Fault};

const SCRIPTS: &[&[Step]] = &[
    &[
        PeerSends(50),
        End,
        Read(10),
        Read(90),
        Read(9),
        Read(9),
        Lend(9),
        Write(5),
        Shutdown,
    ],
    &[
        PeerSends(50),
        PeerCloses,
        End,
        Read(10),
        Read(90),
        Read(9),
        Read(0),
        Write(5),
        Shutdown,
        Read(9),
    ],
    &[PartOfRecord, End, Read(9), Lend(9), Shutdown],
    &[
        PeerSends(50),
        BadRecord,
        Read(90),
        Read(90),
        Write(5),
        Shutdown,
        Shutdown,
    ],
    &[
        PeerSends(50),
        Read(10),
        BadRecord,
        Read(90),
        Read(9),
        Write(5),
        Flush,
        Shutdown,
    ],
    &[
        BadRecord,
        Lend(9),
        Write(5),
        WriteVectored(&[5, 5]),
        Flush,
        Shutdown,
    ],
    &[BadRecord, Block, Read(9), Unblock, Write(5), Shutdown],
    &[Write(10), BadRecord, Read(9), Flush, Write(10)],
];

#[test]
fn every_way_to_end_gives_the_same_results_as_with_the_published_crate() {
    for versions in Versions::EACH {
        for side in [Side::Client, Side::Server] {
            for steps in SCRIPTS {
                compare(Setting::of(versions), side, steps, None);
            }
        }
    }
}

#[test]
fn transport_errors_are_returned_unchanged() {
    let kinds = [
        ErrorKind::BrokenPipe,
        ErrorKind::ConnectionReset,
        ErrorKind::Interrupted,
        ErrorKind::NotConnected,
        ErrorKind::Other,
        ErrorKind::UnexpectedEof,
        ErrorKind::WriteZero,
    ];
    let faults = kinds.map(Fault::Fails);
    let scripts: [&[Step]; 4] = [
        &[Write(10), Write(10), Flush, Shutdown, Shutdown],
        &[Write(10), Shutdown, Shutdown],
        &[Write(100_000), WriteVectored(&[10, 10]), Flush],
        &[Block, Write(10), Unblock, Flush, Flush],
    ];
    for steps in scripts {
        let calls = [Call::Write, Call::Flush, Call::Shutdown];
        let faults = [&faults[..], &[Fault::Zero]].concat();
        compare_with_faults(
            Setting::of(Versions::Tls13),
            Side::Server,
            steps,
            &calls,
            &faults,
        );
    }
    let scripts: [&[Step]; 3] = [
        &[Read(9), PeerSends(50), Read(10), Read(90)],
        &[PeerSends(50), Read(10), Read(90), Read(9)],
        &[Lend(9), PeerSends(50), Lend(90), Lend(9)],
    ];
    for steps in scripts {
        let setting = Setting::of(Versions::Tls13);
        compare_with_faults(setting, Side::Server, steps, &[Call::Read], &faults);
    }
}
