//! Implements tokio's traits and `send_in_place` for types whose inner values have the necessary
//! methods. These are macros, because whole streams, streams for either side, and halves have no
//! shared type.

/// Implements `AsyncRead` and `AsyncBufRead`. `$with!(this, inner => call)` makes a call with the
/// inner value.
macro_rules! reads {
    ([$($generics:tt)*] $type:ty, [$($bounds:tt)*], $with:ident) => {
        impl<$($generics)*> tokio::io::AsyncRead for $type
        where
            $($bounds)*,
        {
            fn poll_read(
                self: Pin<&mut Self>,
                task: &mut Context<'_>,
                buf: &mut tokio::io::ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                $with!(self.get_mut(), inner => inner.poll_read(task, buf))
            }
        }

        /// Lends received data in the buffer where it was decrypted, without copying.
        impl<$($generics)*> tokio::io::AsyncBufRead for $type
        where
            $($bounds)*,
        {
            fn poll_fill_buf(
                self: Pin<&mut Self>,
                task: &mut Context<'_>,
            ) -> Poll<io::Result<&[u8]>> {
                $with!(self.get_mut(), inner => inner.poll_fill_buf(task))
            }

            fn consume(self: Pin<&mut Self>, amt: usize) {
                $with!(self.get_mut(), inner => {
                    io::BufRead::consume(&mut crate::receiving::Receives::reader(inner), amt);
                });
            }
        }
    };
}

/// Implements `AsyncWrite`, like [`reads`].
macro_rules! writes {
    ([$($generics:tt)*] $type:ty, [$($bounds:tt)*], $with:ident) => {
        /// Only a flush or a shutdown guarantees that all written data is sent.
        impl<$($generics)*> tokio::io::AsyncWrite for $type
        where
            $($bounds)*,
        {
            fn poll_write(
                self: Pin<&mut Self>,
                task: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                $with!(self.get_mut(), inner => inner.poll_write(task, buf))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                task: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                $with!(self.get_mut(), inner => inner.poll_write_vectored(task, bufs))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
                $with!(self.get_mut(), inner => inner.poll_flush(task))
            }

            fn poll_shutdown(
                self: Pin<&mut Self>,
                task: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                $with!(self.get_mut(), inner => inner.poll_shutdown(task))
            }
        }
    };
}

/// Implements the methods that send in place, like [`writes`]. `$room` is the room around a payload
/// in records of the connection of `$this`.
macro_rules! sends_in_place {
    ([$($generics:tt)*] $type:ty, [$($bounds:tt)*], $with:ident, $this:ident => $room:expr) => {
        impl<$($generics)*> $type
        where
            $($bounds)*,
        {
            /// Returns the space that [`send_in_place`](Self::send_in_place) needs before and after
            /// the payload, and the maximum length of a payload. They never change after the
            /// handshake.
            pub fn in_place_room(&self) -> rustls::InPlaceRoom {
                let $this = self;
                $room
            }

            /// Sends the plaintext at `payload` in `buf` as one record, which is encrypted in place
            /// and written from `buf` without a copy. Use this for files and bodies that you read
            /// into a buffer anyway, and leave the [room](Self::in_place_room) that a record needs.
            ///
            /// Unlike a write, this first waits until all earlier output is sent. It then encrypts
            /// the record, writes as much of it as the transport accepts, and copies the rest for
            /// later calls to send. So `buf` can be reused immediately, and the last record needs a
            /// flush or a shutdown.
            ///
            /// It is cancel safe: if the future is dropped while pending, nothing of `payload` was
            /// sent and `buf` is unchanged.
            ///
            /// ```
            /// use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
            /// use tokio::net::TcpStream;
            /// use tokio_rustls::server::TlsStream;
            ///
            /// async fn send_file(
            ///     stream: &mut TlsStream<TcpStream>,
            ///     mut file: impl AsyncRead + Unpin,
            /// ) -> std::io::Result<()> {
            ///     let room = stream.in_place_room();
            ///     let (start, end) = (room.headroom, room.headroom + room.max_payload);
            ///     let mut buf = vec![0; end + room.tailroom];
            ///     loop {
            ///         let len = file.read(&mut buf[start..end]).await?;
            ///         if len == 0 {
            ///             return stream.flush().await;
            ///         }
            ///         stream.send_in_place(&mut buf, start..start + len).await?;
            ///     }
            /// }
            /// ```
            ///
            /// # Errors
            ///
            /// Returns the errors of a write, and
            /// [`InvalidInput`](std::io::ErrorKind::InvalidInput) with an
            /// [`InPlaceError`](rustls::InPlaceError) if `payload` is out of bounds, too long, or
            /// has too little room around it. After a close_notify, the error is
            /// [`BrokenPipe`](std::io::ErrorKind::BrokenPipe).
            pub async fn send_in_place(
                &mut self,
                buf: &mut [u8],
                payload: std::ops::Range<usize>,
            ) -> io::Result<()> {
                std::future::poll_fn(|task| self.poll_send_in_place(task, buf, payload.clone()))
                    .await
            }

            /// Polls like [`send_in_place`](Self::send_in_place).
            pub fn poll_send_in_place(
                &mut self,
                task: &mut Context<'_>,
                buf: &mut [u8],
                payload: std::ops::Range<usize>,
            ) -> Poll<io::Result<()>> {
                $with!(self, inner => inner.poll_in_place(task, buf, payload))
            }
        }
    };
}
