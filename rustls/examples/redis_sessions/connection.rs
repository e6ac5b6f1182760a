//! A connection to Redis, on tokio.
//!
//! It uses only the encoder and the parser of the crate redis. So the length of an answer is
//! limited, and a command costs no task of its own.

use std::io::{self, Read};
use std::net::SocketAddr;

use redis::{Cmd, Parser, RedisResult, Value};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// A connection to Redis. Drop it after an error, or if the future of a command was dropped: the
/// rest of an answer may still arrive.
pub(crate) struct Connection {
    stream: TcpStream,
    parser: Parser,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            parser: Parser::new(),
        })
    }

    /// Sends a command and reads the answer. The caller limits the time.
    pub(crate) async fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.stream.write_all(&command.get_packed_command()).await?;
        let mut answer = Arrived(&self.stream).take(MAX_ANSWER);
        loop {
            answer.get_ref().0.readable().await?;
            // The parser keeps what has arrived of the answer.
            match self.parser.parse_value(&mut answer) {
                Err(error) if error.is_timeout() => {}
                value => return value?.extract_error(),
            }
        }
    }
}

/// The bytes that have arrived. Reading more returns `WouldBlock`, which redis calls a timeout.
struct Arrived<'a>(&'a TcpStream);

impl Read for Arrived<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(out)
    }
}
