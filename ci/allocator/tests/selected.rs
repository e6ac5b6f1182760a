//! Each allocator serves a process that selected it, and counts.
//!
//! The only test file of its process, because the counters are process-wide.

use core::hint::black_box;
use std::env;
use std::process::Command;

use bench_allocator::{Counted, Kind, Selected, VARIABLE, count, selected};

#[global_allocator]
static ALLOCATOR: Selected = Selected;

const INNER: &str = "allocations_are_counted_with_the_chosen_allocator";

#[test]
fn every_allocator_can_be_chosen() {
    for kind in Kind::ALL {
        let run = Command::new(env::current_exe().unwrap())
            .args(["--exact", INNER, "--ignored", "--test-threads=1"])
            .env(VARIABLE, kind.name())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{kind:?}: {output}");
        assert!(output.contains("1 passed"), "{kind:?}: {output}");
    }
}

#[test]
#[ignore = "started by every_allocator_can_be_chosen, in a separate process"]
fn allocations_are_counted_with_the_chosen_allocator() {
    let chosen = env::var(VARIABLE).unwrap();
    assert_eq!(selected().name(), chosen);

    let not_counted = black_box(vec![7u8; 100]);
    let (kept, counted) = count(|| {
        let mut kept: Vec<u8> = black_box(Vec::with_capacity(1000));
        kept.reserve_exact(3000);
        drop(black_box(vec![0u8; 500]));
        kept
    });
    assert_eq!(
        counted,
        Counted {
            allocations: 3,
            taken: 4500,
            bytes: 3000
        }
    );

    drop(not_counted);
    let ((), counted) = count(|| drop(kept));
    assert_eq!(
        counted,
        Counted {
            allocations: 0,
            taken: 0,
            bytes: -3000
        }
    );
    let ((), counted) = count(|| ());
    assert_eq!(
        counted,
        Counted {
            allocations: 0,
            taken: 0,
            bytes: 0
        }
    );
}
