//! What was given back is there to be looked at.

use core::hint::black_box;

use bench_allocator::{KeepsFreed, record_freed};

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;

#[test]
fn what_is_given_back_is_kept_as_it_was() {
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
    assert!(is_in(&freed, b"grown"), "the block that it outgrew");
    for text in [&b"wiped"[..], b"after"] {
        assert!(!is_in(&freed, text));
    }
}
