//! The texts that a program can print of a value.

use std::error::Error as StdError;
use std::fmt::{Debug, Display};

/// A value with all its texts.
#[derive(Debug, PartialEq)]
pub struct Printed {
    /// The path of its type or variant, as in the listing of the public API.
    pub path: String,
    debug: String,
    pretty_debug: String,
    display: Option<String>,
    /// The `Display` texts of its source, the source's source and so on.
    sources: Vec<String>,
}

impl Printed {
    /// `path` lacks the name of the crate.
    pub fn debug(path: &str, value: &dyn Debug) -> Self {
        Self {
            path: format!("rustls::{path}"),
            debug: format!("{value:?}"),
            pretty_debug: format!("{value:#?}"),
            display: None,
            sources: Vec::new(),
        }
    }

    pub fn display<T: Debug + Display>(path: &str, value: &T) -> Self {
        Self {
            display: Some(value.to_string()),
            ..Self::debug(path, value)
        }
    }

    pub fn error<T: StdError>(path: &str, error: &T) -> Self {
        let mut sources = Vec::new();
        let mut source = error.source();
        while let Some(error) = source {
            sources.push(error.to_string());
            source = error.source();
        }
        Self {
            sources,
            ..Self::display(path, error)
        }
    }

    pub fn has_display(&self) -> bool {
        self.display.is_some()
    }
}

/// A list of values, each with its variant's name: `("InvalidMessage::MissingData", value)`.
macro_rules! named {
    ($($enum:ident :: $variant:ident $(($($argument:expr),*))? $({ $($field:ident: $value:expr),* $(,)? })?),* $(,)?) => {
        vec![$((
            concat!(stringify!($enum), "::", stringify!($variant)),
            $enum::$variant $(($($argument),*))? $({ $($field: $value),* })?,
        )),*]
    };
}

pub(crate) use named;
