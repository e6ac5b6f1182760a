//! A handshake as a future: for `connect`, for `accept`, and for a server that chose its
//! configuration depending on the ClientHello.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::server::AcceptedAlert;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::socket::Socket;
use crate::stream::{Side, Stream};

pub(crate) enum Handshake<IO, C> {
    Running(Stream<IO, C>),
    /// The handshake has failed, or could not begin. The alert, if any, is sent before the error is
    /// returned.
    Failed {
        io: IO,
        alert: Option<AcceptedAlert>,
        error: io::Error,
    },
    Over,
}

impl<IO, C> Handshake<IO, C> {
    pub(crate) fn get_ref(&self) -> Option<&IO> {
        match self {
            Self::Running(stream) => Some(&stream.io),
            Self::Failed { io, .. } => Some(io),
            Self::Over => None,
        }
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut IO> {
        match self {
            Self::Running(stream) => Some(&mut stream.io),
            Self::Failed { io, .. } => Some(io),
            Self::Over => None,
        }
    }
}

impl<IO, C> Future for Handshake<IO, C>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    C: Side + Unpin,
{
    type Output = Result<Stream<IO, C>, (io::Error, IO)>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &mut *self {
            // a later read, write, flush or shutdown completes the handshake
            Self::Running(stream) if stream.sends_early_data() => Ok(()),
            Self::Running(stream) => ready!(stream.poll_handshake(task)),
            Self::Failed { io, alert, .. } => {
                if let Some(alert) = alert {
                    ready!(poll_alert(io, alert, task));
                }
                Ok(())
            }
            Self::Over => Ok(()),
        };
        let handshake = std::mem::replace(&mut *self, Self::Over);
        Poll::Ready(match (handshake, result) {
            (Self::Running(stream), Ok(())) => Ok(stream),
            (Self::Running(stream), Err(error)) => Err((error, stream.io)),
            (Self::Failed { io, error, .. }, _) => Err((error, io)),
            (Self::Over, _) => panic!("a handshake was polled after it was over"),
        })
    }
}

/// Writes all of `alert`. Ignores transport errors, because the handshake's own error is returned.
pub(crate) fn poll_alert<IO: AsyncWrite + Unpin>(
    io: &mut IO,
    alert: &mut AcceptedAlert,
    task: &mut Context<'_>,
) -> Poll<()> {
    loop {
        match alert.write(&mut Socket::new(io, task)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Ok(0) | Err(_) => return Poll::Ready(()),
            Ok(_) => {}
        }
    }
}
