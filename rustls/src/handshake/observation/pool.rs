//! The memory of observations, kept by each thread.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::Observation;

/// The maximum number of unused observations that a thread keeps.
const MOST: usize = 16;

std::thread_local! {
    #[expect(clippy::vec_box, reason = "the boxes belong to connections in between")]
    static UNUSED: RefCell<Vec<Box<Observation>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an unused observation, from the thread's pool if it has one.
pub(super) fn take() -> Box<Observation> {
    // there is no pool while the thread ends
    let taken = UNUSED.try_with(|unused| unused.try_borrow_mut().ok()?.pop());
    taken.ok().flatten().unwrap_or_default()
}

pub(super) fn put_back(observation: Box<Observation>) {
    let _ = UNUSED.try_with(|unused| {
        if let Ok(mut unused) = unused.try_borrow_mut() {
            if unused.len() < MOST {
                unused.push(observation);
            }
        }
    });
}
