//! A new connection for each request.

use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::raw::Request;
use crate::socket::Socket;
use crate::wire::{Stream, Wire};
use crate::work::{Kind, Work};
use crate::{Client, Result};

pub(crate) struct Churn<W> {
    pub(crate) wire: W,
    pub(crate) work: Work,
    pub(crate) port: u16,
}

impl<W: Wire> Client for Churn<W> {
    async fn work(&mut self, end: Instant) -> Result<u64> {
        let mut done = 0;
        let mut buffer = vec![7; self.work.size];
        while done == 0 || Instant::now() < end {
            let socket = Socket::connect(self.port).await?;
            let mut stream = self.wire.connect(socket).await?;
            // the first connection of the warm-up has no ticket
            let is_first = done == 0;
            if self.work.kind == Kind::Resumed && !stream.is_resumed() && !is_first {
                return Err("a handshake was not resumed".into());
            }
            Request::echo(buffer.len()).send(&mut stream).await?;
            stream.write_all(&buffer).await?;
            stream.flush().await?;
            stream.read_exact(&mut buffer).await?;
            stream.shutdown().await?;
            done += 1;
        }
        Ok(done)
    }
}
