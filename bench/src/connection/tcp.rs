//! Both ends over loopback TCP, each on its own thread, as in a real program.

use core::hint::black_box;
use std::io::{Read, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use tls::{ClientConnection, ServerConnection, Stream};

use super::configs::configs;
use super::dialect::pairs::buffered;
use super::dialect::tls;
use crate::measure::{Contender, Timed};
use crate::workload::socket::{READ_SIZE, Socket};
use crate::workload::{Result, Scenario};

/// A client that sends and a server that receives.
struct Pair {
    client: (Box<ClientConnection>, Socket),
    server: (Box<ServerConnection>, Socket),
    writes: usize,
    plaintext: Vec<u8>,
    application: Vec<u8>,
}

/// Creates an established connection over TCP, for `writes` of `size` bytes.
pub(crate) fn transfer(scenario: &Scenario, size: usize, writes: usize) -> Result<Contender<3>> {
    let buffered::Pair { client, server } = buffered::Pair::connect(&configs(scenario)?)?;
    let [sending, receiving] = Socket::pair()?;
    Ok(Box::new(Pair {
        client: (client, sending),
        server: (server, receiving),
        writes,
        plaintext: vec![0x17; size],
        application: vec![0; READ_SIZE],
    }))
}

impl Timed<3> for Pair {
    /// Returns the seconds, the processor's seconds and the system calls of both ends together.
    fn batch(&mut self) -> Result<[f64; 3]> {
        let (client, server) = (&mut self.client, &mut self.server);
        let (plaintext, application) = (&self.plaintext[..], &mut self.application[..]);
        let expected = plaintext.len() * self.writes;
        let start = Barrier::new(2);
        thread::scope(|scope| {
            let sending =
                scope.spawn(|| {
                    start.wait();
                    timed(&mut client.1, |socket| {
                        let mut stream = Stream::new(&mut *client.0, socket);
                        Ok((0..self.writes)
                            .try_for_each(|_| stream.write_all(black_box(plaintext)))?)
                    })
                });
            start.wait();
            let start = Instant::now();
            let received = timed(&mut server.1, |socket| {
                let mut stream = Stream::new(&mut *server.0, socket);
                let mut received = 0;
                while received < expected {
                    let read = stream.read(application)?;
                    if read == 0 {
                        return Err("the stream ended early".into());
                    }
                    black_box(&application[..read]);
                    received += read;
                }
                Ok(())
            });
            let seconds = start.elapsed().as_secs_f64();
            let sent = sending.join().map_err(|_| "the sending thread panicked")?;
            let ([cpu, calls], [more_cpu, more_calls]) = (sent?, received?);
            Ok([seconds, cpu + more_cpu, calls + more_calls])
        })
    }

    fn is_busy(&self) -> bool {
        false
    }
}

/// Runs `work`; returns its CPU seconds and system calls. If it fails, the other end times out.
fn timed(socket: &mut Socket, work: impl FnOnce(&mut Socket) -> Result<()>) -> Result<[f64; 2]> {
    socket.take_calls();
    let start = thread_cpu_time();
    let done = work(socket);
    let cpu = thread_cpu_time() - start;
    done.map(|()| [cpu.as_secs_f64(), socket.take_calls() as f64])
}
