//! An HTTP response received in pieces: its head is collected, its body is passed on.

use std::io::{self, Write};

/// The longest head that is accepted, in bytes.
const HEAD_LIMIT: usize = 16 * 1024;

/// A response being received. Its body is written to `out`.
pub(crate) struct Response<W> {
    /// Allocated at its full length, so that receiving allocates nothing.
    head: Vec<u8>,
    head_complete: bool,
    content_length: Option<u64>,
    body_len: u64,
    out: W,
}

impl<W: Write> Response<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            head: Vec::with_capacity(HEAD_LIMIT),
            head_complete: false,
            content_length: None,
            body_len: 0,
            out,
        }
    }

    /// Processes the next piece.
    pub(crate) fn receive(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !self.head_complete {
            let Some((&byte, rest)) = piece.split_first() else {
                return Ok(());
            };
            if self.head.len() == HEAD_LIMIT {
                let problem = format!("the head of the response exceeds {HEAD_LIMIT} bytes");
                return Err(io::Error::other(problem));
            }
            self.head.push(byte);
            piece = rest;
            self.head_complete = self.head.ends_with(b"\r\n\r\n");
            if self.head_complete {
                self.content_length = content_length(&self.head);
            }
        }
        self.body_len += piece.len() as u64;
        self.out.write_all(piece)
    }

    /// Returns true if nothing more is expected.
    pub(crate) fn is_complete(&self) -> bool {
        self.head_complete && self.content_length.is_some_and(|len| self.body_len >= len)
    }

    /// Checks after the last piece that the response is complete and its status is 200.
    ///
    /// `closed` is true if the server ended it with a close_notify, which an attacker cannot forge.
    pub(crate) fn finish(mut self, closed: bool) -> Result<(), String> {
        self.out
            .flush()
            .map_err(|error| format!("cannot print the page: {error}"))?;
        if !self.head_complete {
            return Err("the server closed the connection without sending a response".to_owned());
        }
        match self.content_length {
            Some(expected) if self.body_len != expected => {
                return Err(format!(
                    "expected a page of {expected} bytes, received {}",
                    self.body_len
                ));
            }
            None if !closed => {
                return Err("the connection was cut off, the page may be incomplete".to_owned());
            }
            _ => {}
        }
        let status = self.head.split(|&byte| byte == b'\r').next();
        let status = String::from_utf8_lossy(status.unwrap_or_default()).into_owned();
        match status.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(format!("the server answered: {status}")),
        }
    }
}

/// Returns the value of the header `Content-Length`.
fn content_length(head: &[u8]) -> Option<u64> {
    let head = std::str::from_utf8(head).ok()?;
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            value.trim().parse().ok()
        } else {
            None
        }
    })
}
