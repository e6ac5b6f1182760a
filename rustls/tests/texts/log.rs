//! The texts of values, and the results of calls, for comparison between the two crates.

use std::error::Error as StdError;
use std::fmt::{self, Debug, Display};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The texts of a value, or the result of a call.
#[derive(PartialEq)]
pub struct Printed {
    /// The path of a value's type or variant, as in the listing of the public API, or the call.
    pub path: String,
    text: String,
    pub has_display: bool,
}

impl Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Everything that was printed, in order.
#[derive(Default)]
pub struct Log(pub Vec<Printed>);

impl Log {
    /// Logs both forms of `Debug`. `path` lacks the name of the crate.
    pub fn debug(&mut self, path: &str, value: &dyn Debug) {
        self.0.push(Printed {
            path: format!("rustls::{path}"),
            text: format!("{value:?} {value:#?}"),
            has_display: false,
        });
    }

    /// Logs `Debug` and `Display`.
    pub fn display<T: Debug + Display>(&mut self, path: &str, value: &T) {
        self.debug(path, value);
        let printed = self.0.last_mut().unwrap();
        printed.text += &format!(" {value}");
        printed.has_display = true;
    }

    /// Logs `Debug`, `Display`, and `Display` of its source, the source's source and so on.
    pub fn error<T: StdError>(&mut self, path: &str, error: &T) {
        self.display(path, error);
        let mut source = error.source();
        while let Some(error) = source {
            self.0.last_mut().unwrap().text += &format!(" from {error}");
            source = error.source();
        }
    }

    /// Logs the error that `call` returns, or a note that it panics or succeeds.
    pub fn call<T, E: Debug>(&mut self, what: &str, call: impl FnOnce() -> Result<T, E>) {
        let text = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(_)) => "fine".to_owned(),
            Ok(Err(error)) => format!("{error:?}"),
            Err(_) => "panic".to_owned(),
        };
        self.0.push(Printed {
            path: what.to_owned(),
            text,
            has_display: false,
        });
    }

    /// Like [`Self::call`], with the kind and the text of an I/O error.
    pub fn io<T>(&mut self, what: &str, call: impl FnOnce() -> io::Result<T>) {
        self.call(what, || {
            call().map_err(|error| (error.kind(), error.to_string()))
        });
    }
}

/// A list of values, each with its variant's name: `("InvalidMessage::MissingData", value)`.
macro_rules! named {
    ($enum:ident: $($variant:ident $(($($argument:expr),*))?,)*) => {
        named![$($enum::$variant $(($($argument),*))?),*]
    };
    ($($enum:ident :: $variant:ident $(($($argument:expr),*))? $({ $($field:ident: $value:expr),* $(,)? })?),* $(,)?) => {
        vec![$((
            concat!(stringify!($enum), "::", stringify!($variant)),
            $enum::$variant $(($($argument),*))? $({ $($field: $value),* })?,
        )),*]
    };
}

pub(crate) use named;
