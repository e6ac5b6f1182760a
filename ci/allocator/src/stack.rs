//! The content of a stack after the work on it has returned. Tests search it for secrets that
//! should have been overwritten.
//!
//! Reading below the stack pointer is undefined, so the work runs in a thread whose stack is memory
//! of the caller. Once the thread has ended, that memory is ordinary bytes:
//!
//! ```text
//!   high addresses   thread-local variables, frames of the thread's start and end
//!                    RESERVE bytes, which separate them from the work
//!                    frames of the work       <─┐
//!                    zeros                    <─┴ returned, without the zeros
//! ```

use core::ffi::c_void;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::{catch_unwind, resume_unwind};
use std::thread;

/// The size of the stack. It has no guard page, so tests must not need more than this.
const SIZE: usize = 4 << 20;

/// The alignment of a stack: that of a page.
const ALIGN: usize = 4096;

/// Room for the end of the thread: destructors of thread-local variables, and the C library.
const RESERVE: usize = 64 << 10;

/// Runs `work` on a stack that was all zeros. Returns its result, and the content of the stack
/// afterwards, from the lowest byte that is not zero up to the frame that called `work`.
///
/// # Panics
///
/// If `work` panics, if it used the whole stack, or if the system creates no thread.
pub fn record_stack<T: Send>(work: impl FnOnce() -> T + Send) -> (T, Vec<u8>) {
    let mut memory = vec![0_u8; SIZE + ALIGN];
    let stack = &mut memory[..];
    let stack = stack.as_mut_ptr().align_offset(ALIGN);
    let stack = &mut memory[stack..][..SIZE];
    let base = stack.as_mut_ptr();
    let mut job = Job {
        work: Some(work),
        outcome: None,
        top: 0,
    };
    run_on(base, &mut job);

    let used = &stack[..job.top - base.addr()];
    let start = used
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(used.len());
    assert!(start > ALIGN, "the stack has overflowed");
    let used = used[start..].to_vec();
    match job.outcome {
        Some(Ok(result)) => (result, used),
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the thread has ended"),
    }
}

/// The argument of the thread.
struct Job<T, W> {
    work: Option<W>,
    outcome: Option<thread::Result<T>>,
    /// An address within the frame that calls `work`.
    top: usize,
}

impl<T, W: FnOnce() -> T> Job<T, W> {
    /// Runs the work below bytes that its frames therefore do not use, and the thread's end does.
    #[inline(never)]
    fn run_below_reserve(&mut self) {
        let mut reserve = [0_u8; RESERVE];
        black_box(&mut reserve);
        self.run();
        black_box(&mut reserve);
    }

    #[inline(never)]
    fn run(&mut self) {
        let mark = 0_u8;
        self.top = black_box(&raw const mark).addr();
        if let Some(work) = self.work.take() {
            self.outcome = Some(catch_unwind(AssertUnwindSafe(work)));
        }
    }
}

/// Runs `job` in a thread whose stack is the [`SIZE`] bytes from `base`. Returns when that thread
/// has ended.
fn run_on<T: Send, W: FnOnce() -> T + Send>(base: *mut u8, job: &mut Job<T, W>) {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the functions get what their specification demands: attributes that `init` has
    // initialised, before `destroy`; and a stack of `SIZE` bytes, aligned to a page, that nothing
    // else uses until the thread has ended. The thread gets the only reference to `job`, whose
    // contents may be sent to it. `job` and the stack outlive it, because it is joined here: no
    // statement between its creation and `join` can return or unwind.
    let failed = unsafe {
        let mut failed = libc::pthread_attr_init(attributes.as_mut_ptr());
        if failed == 0 {
            failed = libc::pthread_attr_setstack(attributes.as_mut_ptr(), base.cast(), SIZE);
            if failed == 0 {
                failed = libc::pthread_create(
                    thread.as_mut_ptr(),
                    attributes.as_ptr(),
                    start::<T, W>,
                    ptr::from_mut(job).cast(),
                );
            }
            if failed == 0 {
                failed = libc::pthread_join(thread.assume_init(), ptr::null_mut());
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        failed
    };
    assert_eq!(failed, 0, "no thread on a stack of its own");
}

extern "C" fn start<T, W: FnOnce() -> T>(job: *mut c_void) -> *mut c_void {
    // SAFETY: `run_on` passes a `Job` of these types, and does not touch it until this returns.
    let job = unsafe { &mut *job.cast::<Job<T, W>>() };
    job.run_below_reserve();
    ptr::null_mut()
}
