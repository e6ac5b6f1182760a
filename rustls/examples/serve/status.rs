//! The status of a response.

/// The outcomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    HeadTooLong,
    Unreadable,
}

impl Status {
    /// Returns the code and the reason phrase.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::HeadTooLong => "431 Request Header Fields Too Large",
            Self::Unreadable => "500 Internal Server Error",
        }
    }
}
