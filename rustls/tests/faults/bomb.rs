//! Callbacks that go wrong when a test has told them to: of one name, at one of the times that it
//! is called.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Once;

use log::{LevelFilter, Log, Metadata, Record};

/// How a callback goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wrong {
    Panics,
    /// It returns an error, or nothing.
    Fails,
    /// It makes whole connections of its own with the same configurations, and then does what it
    /// should.
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

/// What callbacks panic with.
struct AsTold;

/// Each callback calls this; true tells it to fail.
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
        // without the message that a panic of the test's own would print
        Some(Wrong::Panics) => resume_unwind(Box::new(AsTold)),
        Some(Wrong::Reenters) => {
            nested.unwrap()();
            false
        }
    }
}

/// As [`called`], for callbacks that return an error of the library's.
pub(crate) fn fails(name: &'static str) -> Result<(), rustls::Error> {
    if called(name) {
        Err(rustls::Error::General("as told".into()))
    } else {
        Ok(())
    }
}

/// From now on, call number `at` of `name` goes wrong.
pub(crate) fn arm(name: &'static str, at: usize, wrong: Wrong) {
    BOMB.with_borrow_mut(|bomb| {
        bomb.calls.clear();
        bomb.armed = Some((name, at, wrong));
    });
}

/// Nothing goes wrong any more; whether something has.
pub(crate) fn disarm() -> bool {
    BOMB.with_borrow_mut(|bomb| bomb.armed.take().is_none())
}

/// What callbacks that reenter do.
pub(crate) fn set_nested(nested: Rc<dyn Fn()>) {
    BOMB.with_borrow_mut(|bomb| bomb.nested = Some(nested));
}

/// Forgets all calls so far.
pub(crate) fn forget_calls() {
    BOMB.with_borrow_mut(|bomb| bomb.calls.clear());
}

/// How often each callback was called.
pub(crate) fn calls() -> BTreeMap<&'static str, usize> {
    BOMB.with_borrow(|bomb| bomb.calls.clone())
}

/// A call that may panic as told; `None` when it did. Any other panic goes on.
pub(crate) fn survives<T>(call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(panic) if is_as_told(&*panic) => None,
        Err(panic) => resume_unwind(panic),
    }
}

fn is_as_told(panic: &(dyn Any + Send)) -> bool {
    panic.is::<AsTold>()
}

/// Has each log line of this crate call the bomb of its thread.
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
            // as a real one would
            let _ = record.args().to_string();
            called("Log::log");
        }
    }

    fn flush(&self) {}
}
