//! Both ends over loopback TCP, each on its own thread, as in a real program.

use core::hint::black_box;
use std::io::{Read, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use tls::Stream;

use super::configs::configs;
use super::dialect::pairs::buffered::Pair;
use super::dialect::tls;
use crate::measure::{Batches, Contender};
use crate::workload::socket::{READ_SIZE, Socket};
use crate::workload::{Result, Scenario};

/// Lets a client send `writes` of `size` bytes over an established connection, and a server receive
/// them. The parts are the seconds, the processor's seconds and the system calls of both ends
/// together.
pub(crate) fn transfer(scenario: &Scenario, size: usize, writes: usize) -> Result<Contender<3>> {
    let mut pair = Pair::connect(&configs(scenario)?)?;
    let [mut sending, mut receiving] = Socket::pair()?;
    let (plaintext, mut application) = (vec![0x17; size], vec![0; READ_SIZE]);
    let run = move || {
        let start = Barrier::new(2);
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                start.wait();
                timed(&mut sending, |socket| {
                    let mut stream = Stream::new(&mut *pair.client, socket);
                    Ok((0..writes).try_for_each(|_| stream.write_all(black_box(&plaintext)))?)
                })
            });
            start.wait();
            let start = Instant::now();
            let received = timed(&mut receiving, |socket| {
                let mut stream = Stream::new(&mut *pair.server, socket);
                let mut received = 0;
                while received < size * writes {
                    let read = stream.read(&mut application)?;
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
    };
    let is_busy = false;
    Ok(Box::new(Batches { run, is_busy }))
}

/// Runs `work`; returns its CPU seconds and system calls. If it fails, the other end times out.
fn timed(socket: &mut Socket, work: impl FnOnce(&mut Socket) -> Result<()>) -> Result<[f64; 2]> {
    socket.take_calls();
    let start = thread_cpu_time();
    let done = work(socket);
    let cpu = thread_cpu_time() - start;
    done.map(|()| [cpu.as_secs_f64(), socket.take_calls() as f64])
}
