//! An HTTP response: its head, and then the bytes of a file.

use std::fs::File;
use std::io::{self, Read, Take, Write};
use std::mem::take;
use std::path::Path;

use crate::http::Head;

/// The response to a request. Reading it does not allocate.
pub(crate) struct Response {
    status: &'static str,
    content_length: u64,
    head_sent: bool,
    body: Take<File>,
}

impl Response {
    /// Creates the response to the request in `head`. A request for `/` gets the file.
    pub(crate) fn to(head: &Head, file: &Path) -> io::Result<Self> {
        let file = File::open(file)?;
        let len = file.metadata()?.len();
        let is_get = head.bytes.starts_with(b"GET / ");
        let is_found = head.is_complete() && (is_get || head.bytes.starts_with(b"HEAD / "));
        Ok(Self {
            status: if is_found { "200 OK" } else { "404 Not Found" },
            content_length: if is_found { len } else { 0 },
            head_sent: false,
            body: file.take(if is_found && is_get { len } else { 0 }),
        })
    }

    /// Fills `out`, which is long enough for the head, with the next bytes. Returns their number,
    /// which is less than the length of `out` only at the end.
    ///
    /// Fails if the file has become shorter than the `Content-Length` that was sent.
    pub(crate) fn fill(&mut self, mut out: &mut [u8]) -> io::Result<usize> {
        let room = out.len();
        if !self.head_sent {
            self.head_sent = true;
            write!(
                out,
                "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                self.status, self.content_length
            )?;
        }
        while !out.is_empty() && self.body.limit() != 0 {
            match self.body.read(out)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => out = &mut take(&mut out)[len..],
            }
        }
        Ok(room - out.len())
    }
}
