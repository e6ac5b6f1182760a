//! Implements tokio's traits for types whose inner values have methods of the same names. These are
//! macros, because whole streams, streams for either side, and halves have no shared type.

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

        /// Lends received data where it was decrypted, without copying.
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
        /// Data that was written is sent completely only by a flush or a shutdown.
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
