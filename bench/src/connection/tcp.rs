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
use crate::workload::socket::Socket;
use crate::workload::tcp::{Cost, Sizes, Transfer};
use crate::workload::{Result, Scenario};

/// A client that sends and a server that receives.
struct Pair {
    client: (Box<ClientConnection>, Socket),
    server: (Box<ServerConnection>, Socket),
    plaintext: Vec<u8>,
    application: Vec<u8>,
}

/// Creates an established connection over TCP.
pub(crate) fn transfer(sizes: Sizes, scenario: &Scenario) -> Result<Box<dyn Transfer>> {
    let buffered::Pair { client, server } = buffered::Pair::connect(&configs(scenario)?)?;
    let (sending, receiving) = Socket::pair()?;
    Ok(Box::new(Pair {
        client: (client, sending),
        server: (server, receiving),
        plaintext: vec![0x17; sizes.write],
        application: vec![0; sizes.read],
    }))
}

impl Transfer for Pair {
    fn run(&mut self, writes: usize) -> Result<Cost> {
        let (client, server) = (&mut self.client, &mut self.server);
        let (plaintext, application) = (&self.plaintext[..], &mut self.application[..]);
        let expected = plaintext.len() * writes;
        let start = Barrier::new(2);
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                start.wait();
                timed(&mut client.1, |socket| {
                    let mut stream = Stream::new(&mut *client.0, socket);
                    Ok((0..writes).try_for_each(|_| stream.write_all(black_box(plaintext)))?)
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
            let ((sending_cpu, sending_calls), (receiving_cpu, receiving_calls)) =
                (sent?, received?);
            Ok(Cost {
                seconds,
                cpu_seconds: sending_cpu + receiving_cpu,
                calls: sending_calls + receiving_calls,
            })
        })
    }
}

/// Runs `work`; returns its CPU seconds and system calls. If it fails, the other end fails too.
fn timed(socket: &mut Socket, work: impl FnOnce(&mut Socket) -> Result<()>) -> Result<(f64, u64)> {
    socket.take_calls();
    let start = thread_cpu_time();
    let done = work(socket);
    let cpu = thread_cpu_time() - start;
    if done.is_err() {
        socket.shut_down();
    }
    done.map(|()| (cpu.as_secs_f64(), socket.take_calls()))
}
