//! An HTTP request: its head is collected from the pieces in which it arrives.

use super::status::Status;

/// The longest head that is accepted, in bytes.
const HEAD_LIMIT: usize = 8 * 1024;

/// The head of a request being received.
pub(crate) struct RequestHead {
    bytes: [u8; HEAD_LIMIT],
    len: usize,
    complete: bool,
}

/// A parsed request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    /// The percent-decoded path of the URL.
    pub(crate) path: &'a str,
    /// True for a HEAD request: the response has no body.
    pub(crate) head_only: bool,
}

impl RequestHead {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; HEAD_LIMIT],
            len: 0,
            complete: false,
        }
    }

    /// Collects the next piece. Bytes after the head are dropped: these requests have no body.
    pub(crate) fn receive(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.is_complete() {
                return;
            }
            self.bytes[self.len] = byte;
            self.len += 1;
            self.complete = self.bytes[..self.len].ends_with(b"\r\n\r\n");
        }
    }

    /// Returns true if the head is complete or too long.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete || self.len == HEAD_LIMIT
    }

    /// Parses the request line (RFC 9112 §3).
    ///
    /// # Errors
    ///
    /// Returns the status of the response.
    pub(crate) fn parse(&mut self) -> Result<Request<'_>, Status> {
        if !self.complete {
            return Err(Status::HeadTooLong);
        }
        let line_len = self.bytes.iter().position(|&byte| byte == b'\r');
        let line = &mut self.bytes[..line_len.unwrap_or(0)];
        let mut words = line.split_mut(|&byte| byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Status::BadRequest);
        };
        if !version.starts_with(b"HTTP/1.") {
            return Err(Status::BadRequest);
        }
        let head_only = match &*method {
            b"GET" => false,
            b"HEAD" => true,
            _ => return Err(Status::MethodNotAllowed),
        };
        let path_len = target.iter().position(|&byte| byte == b'?');
        let path_len = path_len.unwrap_or(target.len());
        let path = percent_decode(&mut target[..path_len]).ok_or(Status::BadRequest)?;
        Ok(Request { path, head_only })
    }
}

/// Decodes in place (RFC 3986 §2.1). Returns `None` if the result is not UTF-8 or an escape is
/// invalid.
fn percent_decode(bytes: &mut [u8]) -> Option<&str> {
    let (mut from, mut to) = (0, 0);
    while from < bytes.len() {
        bytes[to] = match bytes[from] {
            b'%' => {
                let &[high, low] = bytes.get(from + 1..from + 3)?.first_chunk()?;
                let digit = |byte: u8| char::from(byte).to_digit(16);
                from += 2;
                u8::try_from(digit(high)? * 16 + digit(low)?).ok()?
            }
            byte => byte,
        };
        from += 1;
        to += 1;
    }
    std::str::from_utf8(&bytes[..to]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(bytes: &[u8]) -> RequestHead {
        let mut head = RequestHead::new();
        head.receive(bytes);
        head
    }

    #[test]
    fn request_is_parsed_from_pieces_of_any_length() {
        let bytes = b"GET /a%20b%c3%a4.txt?query=/ HTTP/1.1\r\nHost: x\r\n\r\nand more";
        for piece_len in 1..bytes.len() {
            let mut head = RequestHead::new();
            for piece in bytes.chunks(piece_len) {
                head.receive(piece);
            }
            assert!(head.is_complete());
            let request = Request {
                path: "/a bä.txt",
                head_only: false,
            };
            assert_eq!(head.parse(), Ok(request));
        }
    }

    #[test]
    fn head_without_an_empty_line_is_incomplete() {
        assert!(!head(b"GET / HTTP/1.1\r\nHost: x\r\n").is_complete());
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for line in [
            "",
            "GET",
            "GET /",
            "GET / HTTP/1.1 more",
            "GET / HTTP/2.0",
            "GET /% HTTP/1.1",
            "GET /%2 HTTP/1.1",
            "GET /%+f HTTP/1.1",
            "GET /%ff HTTP/1.1",
        ] {
            let mut head = head(format!("{line}\r\n\r\n").as_bytes());
            assert_eq!(head.parse(), Err(Status::BadRequest), "{line}");
        }
        assert_eq!(
            head(b"POST / HTTP/1.1\r\n\r\n").parse(),
            Err(Status::MethodNotAllowed)
        );
    }

    #[test]
    fn length_of_the_head_is_limited() {
        let mut head = head(&[b'x'; HEAD_LIMIT - 1]);
        assert!(!head.is_complete());
        head.receive(&[b'x'; HEAD_LIMIT]);
        assert!(head.is_complete());
        assert_eq!(head.parse(), Err(Status::HeadTooLong));
    }
}
