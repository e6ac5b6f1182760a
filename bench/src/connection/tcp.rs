//! Both ends over loopback TCP, each on its own thread, as in a real program.

use core::hint::black_box;
use core::ops::{Deref, DerefMut};
use std::io::{Read, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use tls::{ClientConnection, ConnectionCommon, ServerConnection, SideData, Stream};

use super::pairs::buffered;
use super::{configs, tls};
use crate::choices::TcpApi;
use crate::socket::Socket;
use crate::tcp::{Cost, Sizes, Transfer};
use crate::workload::{Result, Scenario};

/// A client that sends and a server that receives.
struct Pair {
    client: End<ClientConnection>,
    server: End<ServerConnection>,
    api: TcpApi,
    plaintext: Vec<u8>,
    application: Vec<u8>,
}

struct End<C> {
    connection: C,
    socket: Socket,
}

/// Creates an established connection over TCP, which is used through `api`.
pub(crate) fn transfer(
    api: TcpApi,
    sizes: Sizes,
    scenario: &Scenario,
) -> Result<Box<dyn Transfer>> {
    let buffered::Pair { client, server } = buffered::Pair::connect(&configs(scenario)?)?;
    let (sending, receiving) = Socket::pair()?;
    Ok(Box::new(Pair {
        client: End {
            connection: *client,
            socket: sending,
        },
        server: End {
            connection: *server,
            socket: receiving,
        },
        api,
        plaintext: vec![0x17; sizes.write],
        application: vec![0; sizes.read],
    }))
}

impl Transfer for Pair {
    fn run(&mut self, writes: usize) -> Result<Cost> {
        let (client, server, api) = (&mut self.client, &mut self.server, self.api);
        let (plaintext, application) = (&self.plaintext[..], &mut self.application[..]);
        let expected = plaintext.len() * writes;
        let start = Barrier::new(2);
        let mut seconds = 0.0;
        let (sent, received) = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                start.wait();
                client.timed(|client| {
                    for _ in 0..writes {
                        match api {
                            TcpApi::Stream => client.write_to_stream(plaintext)?,
                            TcpApi::Calls => client.write_by_calls(plaintext)?,
                        }
                    }
                    Ok(())
                })
            });
            start.wait();
            let start = Instant::now();
            let received = server.timed(|server| match api {
                TcpApi::Stream => server.read_from_stream(application, expected),
                TcpApi::Calls => server.read_by_calls(application, expected),
            });
            seconds = start.elapsed().as_secs_f64();
            (sending.join(), received)
        });
        let (sending_cpu, sending_calls) = sent.map_err(|_| "the sending thread panicked")??;
        let (receiving_cpu, receiving_calls) = received?;
        Ok(Cost {
            seconds,
            cpu_seconds: sending_cpu + receiving_cpu,
            calls: sending_calls + receiving_calls,
        })
    }
}

impl<C, Data> End<C>
where
    C: DerefMut + Deref<Target = ConnectionCommon<Data>>,
    Data: SideData,
{
    /// Runs `work`; returns its CPU seconds and system calls. If it fails, the other end fails too.
    fn timed(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<(f64, u64)> {
        self.socket.take_calls();
        let start = thread_cpu_time();
        let done = work(self);
        let cpu = thread_cpu_time() - start;
        if done.is_err() {
            self.socket.shut_down();
        }
        done.map(|()| (cpu.as_secs_f64(), self.socket.take_calls()))
    }

    fn write_to_stream(&mut self, plaintext: &[u8]) -> Result<()> {
        let mut stream = Stream::new(&mut self.connection, &mut self.socket);
        Ok(stream.write_all(black_box(plaintext))?)
    }

    fn write_by_calls(&mut self, plaintext: &[u8]) -> Result<()> {
        buffered::write(&mut self.connection, black_box(plaintext), &mut self.socket)
    }

    /// Reads until `expected` bytes have arrived.
    fn read_from_stream(&mut self, application: &mut [u8], expected: usize) -> Result<()> {
        let mut stream = Stream::new(&mut self.connection, &mut self.socket);
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
    }

    /// Like [`Self::read_from_stream`].
    fn read_by_calls(&mut self, application: &mut [u8], expected: usize) -> Result<()> {
        let mut received = 0;
        while received < expected {
            if self.connection.read_tls(&mut self.socket)? == 0 {
                return Err("the connection ended early".into());
            }
            let state = self.connection.process_new_packets()?;
            let waiting = state.plaintext_bytes_to_read();
            buffered::read(&mut self.connection, waiting, application)?;
            received += waiting;
        }
        Ok(())
    }
}
