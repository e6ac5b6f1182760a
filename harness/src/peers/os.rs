//! Services of the operating system for tools that use sockets or measure CPU time.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

/// The timeout of reads and writes, after which they fail.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns both ends of a new connection without Nagle's delay.
pub fn loopback() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, from) = listener.accept()?;
    if from != one.local_addr()? {
        return Err(io::Error::other(format!("{from} connected in between")));
    }
    configure(&one)?;
    configure(&other)?;
    Ok((one, other))
}

/// Turns off Nagle's delay, and limits how long reads and writes may wait.
pub fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))
}

/// Returns the CPU time of the calling thread, user and system.
#[cfg(unix)]
pub fn thread_cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Not available on this platform.
#[cfg(not(unix))]
pub fn thread_cpu_time() -> Duration {
    Duration::ZERO
}

/// Restricts the calling thread to the first of the process's processors, if it has several. Linux
/// only.
pub fn take_first_processor() {
    #[cfg(target_os = "linux")]
    linux::choose_processors(|is_first| is_first);
}

/// Keeps the calling thread, and the threads that it starts, off the first of the process's
/// processors, if it has several. Linux only.
pub fn leave_first_processor() {
    #[cfg(target_os = "linux")]
    linux::choose_processors(|is_first| !is_first);
}

/// Gives the calling thread a lower priority than normal threads. Linux only, because elsewhere
/// only processes have priorities.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    linux::lower_priority();
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::setpriority_process;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(super) fn choose_processors(is_chosen: fn(bool) -> bool) {
        let Ok(possible) = sched_getaffinity(None) else {
            return;
        };
        let mut chosen = CpuSet::new();
        let all = (0..CpuSet::MAX_CPU).filter(|processor| possible.is_set(*processor));
        for (at, processor) in all.enumerate() {
            if is_chosen(at == 0) {
                chosen.set(processor);
            }
        }
        // fails without a processor
        let _ = sched_setaffinity(None, &chosen);
    }

    pub(super) fn lower_priority() {
        // of this thread, not of the process (setpriority(2), "C library/kernel differences")
        let _ = setpriority_process(None, 19);
    }
}
