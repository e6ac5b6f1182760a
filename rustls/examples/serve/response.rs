//! An HTTP response: its head and then the bytes of a file, through `Read`.

use std::fs::File;
use std::io::{self, Read, Write};

use super::files::Files;
use super::request::RequestHead;
use super::status::Status;

/// Room for the longest status line and headers below, in bytes.
const HEAD_LEN: usize = 256;

/// The response to a request. Reading it does not allocate.
pub(crate) struct Response {
    head: [u8; HEAD_LEN],
    head_len: usize,
    head_read: usize,
    body: Option<File>,
    /// The number of bytes of the body still to be read.
    body_left: u64,
}

impl Response {
    /// Creates the response to the request in `head`.
    pub(crate) fn to(head: &mut RequestHead, files: &Files) -> io::Result<Self> {
        let request = match head.parse() {
            Ok(request) => request,
            Err(status) => return Self::without_body(status),
        };
        match files.open(request.path) {
            Ok((file, len)) => {
                let content_type = content_type(request.path);
                let body = (!request.head_only).then_some(file);
                Self::new(Status::Ok, content_type, len, body)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::without_body(Status::NotFound)
            }
            Err(_) => Self::without_body(Status::Unreadable),
        }
    }

    fn without_body(status: Status) -> io::Result<Self> {
        Self::new(status, "text/plain", 0, None)
    }

    fn new(
        status: Status,
        content_type: &str,
        content_length: u64,
        body: Option<File>,
    ) -> io::Result<Self> {
        let mut head = [0; HEAD_LEN];
        let mut free = &mut head[..];
        write!(
            free,
            "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\nContent-Length: {content_length}\r\n\
             Connection: close\r\n\r\n",
            status.line(),
        )?;
        let head_len = HEAD_LEN - free.len();
        Ok(Self {
            head,
            head_len,
            head_read: 0,
            body_left: match body {
                Some(_) => content_length,
                None => 0,
            },
            body,
        })
    }

    /// Fills `out` with the next bytes. Returns their number, which is less than fits only at the
    /// end.
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read(&mut out[filled..])? {
                0 => break,
                len => filled += len,
            }
        }
        Ok(filled)
    }
}

impl Read for Response {
    /// Fails if the file has become shorter than the `Content-Length` that was sent.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.head_read..self.head_len];
        if !head.is_empty() {
            let len = Ord::min(head.len(), out.len());
            out[..len].copy_from_slice(&head[..len]);
            self.head_read += len;
            return Ok(len);
        }
        let Some(body) = &mut self.body else {
            return Ok(0);
        };
        let len = body.take(self.body_left).read(out)?;
        if len == 0 && self.body_left != 0 && !out.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.body_left -= len as u64;
        Ok(len)
    }
}

fn content_type(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        _ if path.ends_with('/') => "text/html",
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt" | "md" | "rs") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
