//! Makes a callback fail at a chosen call.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Once;

use log::{LevelFilter, Log, Metadata, Record};

/// The way in which a callback fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wrong {
    Panics,
    /// Returns an error or nothing.
    Fails,
    /// Runs whole connections with the same configurations, then works normally.
    Reenters,
}

#[derive(Default)]
struct Bomb {
    calls: BTreeMap<&'static str, usize>,
    armed: Option<(&'static str, usize, Wrong)>,
    nested: Option<Rc<dyn Fn()>>,
}

thread_local! {
    static BOMB: RefCell<Bomb> = RefCell::default();
}

/// The payload of panics in callbacks.
struct OrderedPanic;

/// Records a call of the callback `name`; true if it must fail.
pub(crate) fn called(name: &'static str) -> bool {
    let (wrong, nested) = BOMB.with_borrow_mut(|bomb| {
        let count = bomb.calls.entry(name).or_default();
        let number = *count;
        *count += 1;
        match bomb.armed {
            Some((armed, at, wrong)) if armed == name && at == number => {
                bomb.armed = None;
                (Some(wrong), bomb.nested.clone())
            }
            _ => (None, None),
        }
    });
    match wrong {
        None => false,
        Some(Wrong::Fails) => true,
        // avoids the message that `panic!` would print
        Some(Wrong::Panics) => resume_unwind(Box::new(OrderedPanic)),
        Some(Wrong::Reenters) => {
            nested.unwrap()();
            false
        }
    }
}

/// Calls [`called`] for callbacks that return one of the library's errors.
pub(crate) fn fails(name: &'static str) -> Result<(), rustls::Error> {
    if called(name) { Err(failure()) } else { Ok(()) }
}

pub(crate) fn failure() -> rustls::Error {
    rustls::Error::General("fails on purpose".into())
}

/// Makes call number `at` of `name` fail from now on.
pub(crate) fn arm(name: &'static str, at: usize, wrong: Wrong) {
    BOMB.with_borrow_mut(|bomb| {
        bomb.calls.clear();
        bomb.armed = Some((name, at, wrong));
    });
}

/// Disarms the bomb; true if it has gone off.
pub(crate) fn disarm() -> bool {
    BOMB.with_borrow_mut(|bomb| bomb.armed.take().is_none())
}

/// Sets the connections that callbacks of kind [`Wrong::Reenters`] run.
pub(crate) fn set_nested(nested: Rc<dyn Fn()>) {
    BOMB.with_borrow_mut(|bomb| bomb.nested = Some(nested));
}

/// Forgets all calls so far.
pub(crate) fn forget_calls() {
    BOMB.with_borrow_mut(|bomb| bomb.calls.clear());
}

/// Returns the number of calls of each callback.
pub(crate) fn calls() -> BTreeMap<&'static str, usize> {
    BOMB.with_borrow(|bomb| bomb.calls.clone())
}

/// Runs a call that may panic as requested; `None` if it did. Other panics propagate.
pub(crate) fn survives<T>(call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(panic) if is_ordered(&*panic) => None,
        Err(panic) => resume_unwind(panic),
    }
}

fn is_ordered(panic: &(dyn Any + Send)) -> bool {
    panic.is::<OrderedPanic>()
}

/// Makes each log line of this crate a callback of the thread's bomb.
pub(crate) fn rig_logger() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
}

struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rustls")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            // formats the text, as a real logger would
            let _ = record.args().to_string();
            called("Log::log");
        }
    }

    fn flush(&self) {}
}
