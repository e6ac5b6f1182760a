//! Collects log lines of either crate, on the calling thread and during one call.

use std::cell::RefCell;
use std::sync::Once;

use log::{Level, LevelFilter, Log, Metadata, Record};

/// A log line's level and text.
#[derive(Clone, Debug)]
pub struct Line {
    pub level: Level,
    pub text: String,
}

thread_local! {
    static LINES: RefCell<Option<Vec<Line>>> = const { RefCell::new(None) };
}

/// Runs `call`. Returns its result and the lines that it logs.
pub fn listen<T>(call: impl FnOnce() -> T) -> (T, Vec<Line>) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        log::set_logger(&Collector).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
    LINES.set(Some(Vec::new()));
    let value = call();
    (value, LINES.take().unwrap_or_default())
}

struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rustls")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push(Line {
                    level: record.level(),
                    text: record.args().to_string(),
                });
            }
        });
    }

    fn flush(&self) {}
}
