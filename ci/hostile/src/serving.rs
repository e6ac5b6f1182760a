//! A single-threaded echo server, driven by readiness. It stops reading from a peer that does not
//! drain its output. Compiled for each library.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench_allocator::bytes_of_this_thread;
use harness::peers::configs::Provider;
use harness::peers::os::thread_cpu_time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tls::{ServerConfig, ServerConnection};

use super::tls;
use super::victims::server;
use crate::Result;
use crate::beside::{Served, Summary};

/// Serves the clients of all `listeners` until `over` is set.
pub(crate) fn serve(
    provider: Provider,
    listeners: &[TcpListener],
    over: &AtomicBool,
) -> Result<Summary> {
    let config = server(provider);
    for listener in listeners {
        listener.set_nonblocking(true)?;
    }
    let mut served: Vec<Served> = listeners.iter().map(|_| Served::default()).collect();
    let mut clients: Vec<Client> = Vec::new();
    let mut application = vec![0; 1 << 14];
    let before = bytes_of_this_thread();
    let mut heap = 0;
    while !over.load(Ordering::SeqCst) {
        let (arrived, ready) = wait(listeners, &clients)?;
        for from in arrived {
            accept(
                &listeners[from],
                from,
                &config,
                &mut served[from],
                &mut clients,
            )?;
        }
        for at in ready {
            let client = &mut clients[at];
            let served = &mut served[client.from];
            let start = thread_cpu_time();
            client.is_open = client.serve(served, &mut application);
            served.cpu += thread_cpu_time() - start;
        }
        clients.retain(|client| client.is_open);
        heap = Ord::max(heap, bytes_of_this_thread() - before);
    }
    Ok(Summary { served, heap })
}

/// Waits; returns the indices of listeners and clients that are ready.
fn wait(listeners: &[TcpListener], clients: &[Client]) -> Result<(Vec<usize>, Vec<usize>)> {
    const PAUSE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    let listening = listeners
        .iter()
        .map(|listener| PollFd::new(listener, PollFlags::IN));
    let connected = clients.iter().map(|client| {
        // stop reading from a peer that does not drain its output
        let wanted = if client.tls.wants_write() {
            PollFlags::OUT
        } else {
            PollFlags::IN
        };
        PollFd::new(&client.socket, wanted)
    });
    let mut all: Vec<_> = listening.chain(connected).collect();
    poll(&mut all, Some(&PAUSE))?;
    let (listening, connected) = all.split_at(listeners.len());
    let ready = |polled: &[PollFd<'_>]| {
        let ready = polled.iter().enumerate();
        let ready = ready.filter(|(_, polled)| !polled.revents().is_empty());
        ready.map(|(at, _)| at).collect()
    };
    Ok((ready(listening), ready(connected)))
}

fn accept(
    listener: &TcpListener,
    from: usize,
    config: &Arc<ServerConfig>,
    served: &mut Served,
    clients: &mut Vec<Client>,
) -> Result<()> {
    loop {
        let socket = match listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // the client has already left
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error.into()),
        };
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        served.connections += 1;
        clients.push(Client {
            from,
            tls: ServerConnection::new(config.clone())?,
            socket,
            is_open: true,
        });
    }
}

struct Client {
    /// The index of the listener that accepted it.
    from: usize,
    tls: ServerConnection,
    socket: TcpStream,
    is_open: bool,
}

impl Client {
    /// Handles one event; returns whether the connection stays open.
    fn serve(&mut self, served: &mut Served, application: &mut [u8]) -> bool {
        if self.tls.wants_write() {
            return self.send();
        }
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => return false,
            Ok(len) => served.bytes += len,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
        let waiting = match self.tls.process_new_packets() {
            Ok(state) => state.plaintext_bytes_to_read(),
            Err(error) => {
                *served.errors.entry(format!("{error:?}")).or_default() += 1;
                self.send();
                return false;
            }
        };
        self.echo(waiting, application).is_ok() && self.send()
    }

    fn echo(&mut self, mut waiting: usize, application: &mut [u8]) -> std::io::Result<()> {
        while waiting != 0 {
            let len = self.tls.reader().read(application)?;
            // nothing is pending, so there is room for everything that a single read returns
            self.tls.writer().write_all(&application[..len])?;
            waiting -= len;
        }
        Ok(())
    }

    /// Sends until the socket would block.
    fn send(&mut self) -> bool {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }
}
