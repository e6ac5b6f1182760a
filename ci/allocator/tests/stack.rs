//! The content of the stack of returned work is recorded.
#![cfg(unix)]

use core::hint::black_box;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use bench_allocator::record_stack;

const TEXT: [u8; 24] = *b"text of a returned frame";

fn is_in(stack: &[u8], text: &[u8]) -> bool {
    stack.windows(text.len()).any(|bytes| bytes == text)
}

/// Leaves [`TEXT`] in its frame, below others of 20 kB.
#[inline(never)]
fn leave_text() {
    black_box(&mut [1_u8; 20_000]);
    let mut text = [0; TEXT.len()];
    for (byte, of_text) in text.iter_mut().zip(TEXT) {
        *byte = black_box(of_text);
    }
    black_box(&mut text);
}

#[inline(never)]
fn overwrite() {
    black_box(&mut [0_u8; 100_000]);
}

#[test]
fn frames_of_returned_functions_are_recorded() {
    let (result, stack) = record_stack(|| {
        leave_text();
        17
    });
    assert_eq!(result, 17);
    assert!(is_in(&stack, &TEXT));
    assert!(stack.len() > 20_000, "{} bytes", stack.len());

    let ((), stack) = record_stack(|| {
        leave_text();
        overwrite();
    });
    assert!(!is_in(&stack, &TEXT));
}

#[test]
fn a_panic_on_the_recorded_stack_is_passed_on() {
    let work = || record_stack(|| std::panic::resume_unwind(Box::new("the work panics")));
    let panic: Result<((), _), _> = catch_unwind(AssertUnwindSafe(work));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"the work panics"));
}
