//! The key log file that packet analysers read.

use alloc::vec::Vec;
use core::fmt;
use std::env;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use crate::config::key_log::KeyLog;
use crate::logging::warn;

/// A [`KeyLog`] that appends to the file named by the environment variable `SSLKEYLOGFILE`.
///
/// Each secret is one line in the format of RFC 9850: the label, the client random and the secret,
/// the latter two in hexadecimal. If the variable is not set or the file cannot be opened, no
/// secrets are logged. A failure to open the file or to write to it is reported only through the
/// `log` crate (feature `logging`).
///
/// Anybody who can read the file can decrypt the connections.
pub struct KeyLogFile(Mutex<Option<File>>);

impl KeyLogFile {
    /// Opens the file that the environment variable names now. Later changes to the variable have
    /// no effect.
    pub fn new() -> Self {
        Self::open(env::var_os("SSLKEYLOGFILE").as_deref())
    }

    fn open(path: Option<&OsStr>) -> Self {
        let file = path.and_then(|path| {
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .inspect_err(|err| report("open", err))
                .ok()
        });
        Self(Mutex::new(file))
    }

    /// Calls `f` with the lock held, even if it is poisoned: a panic leaves the file usable.
    fn with_file<R>(&self, f: impl FnOnce(&mut Option<File>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for KeyLogFile {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let written = self.with_file(|file| match file {
            // one call per line, so that lines of several processes do not mix
            Some(file) => file.write_all(&line(label, client_random, secret)),
            None => Ok(()),
        });
        // outside the lock: a logger may use TLS, and log keys itself
        if let Err(err) = written {
            report("write to", &err);
        }
    }

    fn will_log(&self, _label: &str) -> bool {
        self.with_file(|file| file.is_some())
    }
}

/// Formats the line `label client_random secret`, with a line feed.
fn line(label: &str, client_random: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(label.len() + 2 * (client_random.len() + secret.len()) + 3);
    line.extend_from_slice(label.as_bytes());
    line.push(b' ');
    push_hex(&mut line, client_random);
    line.push(b' ');
    push_hex(&mut line, secret);
    line.push(b'\n');
    line
}

fn push_hex(line: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        line.push(DIGITS[usize::from(byte >> 4)]);
        line.push(DIGITS[usize::from(byte & 0xf)]);
    }
}

fn report(action: &str, err: &io::Error) {
    warn!("unable to {action} the key log file: {err}");
}

impl fmt::Debug for KeyLogFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_file(|file| f.debug_tuple("KeyLogFile").field(file).finish())
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::{format, fs, process};

    use super::*;

    #[test]
    fn each_secret_is_appended_as_one_line() {
        let path = env::temp_dir().join(format!("rustls-key-log-{}", process::id()));
        fs::write(&path, "# before\n").unwrap();

        let log = KeyLogFile::open(Some(path.as_os_str()));
        assert!(log.will_log("EXPORTER_SECRET"));
        log.log("CLIENT_TRAFFIC_SECRET_0", &[0x00, 0x9f], &[0xab; 3]);
        log.log("EXPORTER_SECRET", &[0xff], &[]);
        let written = fs::read_to_string(&path);
        fs::remove_file(&path).unwrap();

        assert_eq!(
            written.unwrap(),
            String::from("# before\nCLIENT_TRAFFIC_SECRET_0 009f ababab\nEXPORTER_SECRET ff \n")
        );
    }

    /// A logger that itself uses TLS logs keys, too.
    #[cfg(all(feature = "logging", target_os = "linux"))]
    #[test]
    fn failures_are_reported_without_holding_the_lock() {
        use std::cell::{Cell, RefCell};
        use std::sync::Arc;
        use std::thread_local;

        thread_local! {
            static KEY_LOG: RefCell<Option<Arc<KeyLogFile>>> = const { RefCell::new(None) };
            static WAS_FREE: Cell<Option<bool>> = const { Cell::new(None) };
        }

        struct Logger;

        impl log::Log for Logger {
            fn enabled(&self, _: &log::Metadata<'_>) -> bool {
                true
            }

            fn log(&self, _: &log::Record<'_>) {
                KEY_LOG.with_borrow(|key_log| {
                    if let Some(key_log) = key_log {
                        WAS_FREE.set(Some(key_log.0.try_lock().is_ok()));
                    }
                });
            }

            fn flush(&self) {}
        }

        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
        let key_log = Arc::new(KeyLogFile::open(Some(OsStr::new("/dev/full"))));
        KEY_LOG.set(Some(key_log.clone()));
        key_log.log("EXPORTER_SECRET", &[0xff], &[0xff]);
        KEY_LOG.set(None);
        assert_eq!(WAS_FREE.get(), Some(true));
    }

    #[test]
    fn nothing_is_logged_without_a_file() {
        let nowhere = env::temp_dir().join("no-such-directory/key-log");
        for path in [None, Some(nowhere.as_os_str())] {
            let log = KeyLogFile::open(path);
            assert!(!log.will_log("EXPORTER_SECRET"));
            log.log("EXPORTER_SECRET", &[0xff], &[0xff]);
            assert_eq!(format!("{log:?}"), "KeyLogFile(None)");
        }
    }
}
