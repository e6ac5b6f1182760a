//! The content of freed memory is recorded.

use core::hint::black_box;

use bench_allocator::{KeepsFreed, record_freed};

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;

#[test]
fn freed_blocks_are_recorded_unchanged() {
    let is_in = |freed: &[u8], text: &[u8]| freed.windows(text.len()).any(|bytes| bytes == text);
    let before = black_box(b"before".to_vec());
    let (kept, freed) = record_freed(|| {
        drop(before);
        let mut grown = black_box(b"grown".to_vec());
        grown.reserve_exact(1000);
        let mut wiped = black_box(b"wiped".to_vec());
        wiped.fill(0);
        drop(black_box(wiped));
        grown
    });
    drop(black_box(b"after".to_vec()));
    assert_eq!(kept, b"grown");
    assert!(is_in(&freed, b"before"));
    assert!(is_in(&freed, b"grown"), "the block before it grew");
    for text in [&b"wiped"[..], b"after"] {
        assert!(!is_in(&freed, text));
    }
}
