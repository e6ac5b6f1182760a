//! The work that an argument names: `KIND-SIZE-COUNT`, such as `download-16384-100`.

use std::str::FromStr;

use crate::Result;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Download,
    Upload,
    Echo,
    /// Both directions at once, each with its own tasks.
    Duplex,
    /// One direction in memory.
    Reading,
    Writing,
    /// Both directions in memory, each with its own task.
    InMemory,
    Http1,
    Http2,
    /// A connection with a full handshake for each request.
    Churn,
    /// A connection with a resumed handshake for each request.
    Resumed,
}

#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    /// The bytes of a read, a write or a body.
    pub(crate) size: usize,
    /// The connections; in HTTP/2, the requests at once.
    pub(crate) count: usize,
}

impl FromStr for Work {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<_> = text.split('-').collect();
        let [kind, size, count] = parts[..] else {
            return Err(format!("{text} is not KIND-SIZE-COUNT").into());
        };
        let kind = match kind {
            "download" => Kind::Download,
            "upload" => Kind::Upload,
            "echo" => Kind::Echo,
            "duplex" => Kind::Duplex,
            "reading" => Kind::Reading,
            "writing" => Kind::Writing,
            "memory" => Kind::InMemory,
            "http1" => Kind::Http1,
            "http2" => Kind::Http2,
            "churn" => Kind::Churn,
            "resumed" => Kind::Resumed,
            _ => return Err(format!("there is no work {kind}").into()),
        };
        Ok(Self {
            kind,
            size: size.parse()?,
            count: count.parse()?,
        })
    }
}
