//! A client, a server or a proxy: the processes that `streams` measures.
//!
//! ```text
//!   main ──► raw, http, churn: the work of both ends        relay: the proxy
//!     │             └─► wire: TLS or plain TCP ──► socket: counts system calls
//!     └────► memory: a client without a server
//! ```
//!
//! A server and a proxy print their port. A client connects, works a little, prints `ready`, waits
//! for a line of input, works, and prints what it has done. Each of them answers a line of input
//! with its resources, and ends with its input.

mod churn;
mod http;
mod memory;
mod raw;
mod relay;
mod socket;
mod usage;
mod wire;
mod work;

use std::error::Error;
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, thread};

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use wire::{Plain, Tls, Wire};
use work::{Kind, Work};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) trait Client {
    /// Works until the time is over. Returns the bytes or requests.
    fn work(&mut self, end: Instant) -> impl Future<Output = Result<u64>>;
}

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let [role, wire, work, folder, cores, rest @ ..] = &arguments[..] else {
        return Err("expected: role, wire, work, folder, cores, and what the role needs".into());
    };
    let work: Work = work.parse()?;
    let cores = usage::pin(cores)?;
    let runtime = if cores == 1 {
        Builder::new_current_thread().enable_io().build()?
    } else {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(cores).enable_io().build()?
    };
    let folder = Path::new(folder);
    match (*role, *wire) {
        ("alone", "tls") => runtime.block_on(alone(&Tls::new(folder, work.kind)?, work, rest)),
        (_, "tcp") => runtime.block_on(run(role, Plain, work, rest)),
        (_, "tls") => runtime.block_on(run(role, Tls::new(folder, work.kind)?, work, rest)),
        _ => Err("the wire is neither tcp nor tls".into()),
    }
}

async fn run<W: Wire>(role: &str, wire: W, work: Work, rest: &[&str]) -> Result<()> {
    match (role, rest) {
        ("client", [port, milliseconds]) => {
            let time = Duration::from_millis(milliseconds.parse()?);
            client(wire, work, port.parse()?, time).await
        }
        ("server", []) => {
            listen(async |listener| match work.kind {
                Kind::Http1 | Kind::Http2 => http::serve(&listener, wire, work.kind).await,
                _ => raw::serve(&listener, wire).await,
            })
            .await
        }
        ("proxy", [port]) => {
            let port = port.parse()?;
            listen(async |listener| relay::serve(&listener, wire, port).await).await
        }
        _ => Err("unknown role, or wrong arguments of it".into()),
    }
}

/// Serves, and answers each line of input on another thread.
async fn listen(serve: impl AsyncFnOnce(TcpListener) -> Result<()>) -> Result<()> {
    let listener = socket::listen()?;
    println!("{}", listener.local_addr()?.port());
    thread::spawn(|| {
        for line in io::stdin().lines() {
            let printed = line.and_then(|_| writeln!(io::stdout(), "{}", usage::report()));
            if printed.is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    serve(listener).await
}

async fn client<W: Wire>(wire: W, work: Work, port: u16, time: Duration) -> Result<()> {
    match work.kind {
        Kind::Http1 => measure(http::Connections::http1(wire, work, port).await?, time).await,
        Kind::Http2 => measure(http::Connections::http2(wire, work, port).await?, time).await,
        Kind::Duplex => measure(raw::Duplex { wire, work, port }, time).await,
        Kind::Churn | Kind::Resumed => measure(churn::Churn { wire, work, port }, time).await,
        _ => measure(raw::Connections::open(wire, work, port).await?, time).await,
    }
}

/// Runs a client without a server.
async fn alone(tls: &Tls, work: Work, rest: &[&str]) -> Result<()> {
    let [milliseconds] = rest else {
        return Err("expected: the time".into());
    };
    let time = Duration::from_millis(milliseconds.parse()?);
    measure(memory::InMemory::open(tls, work).await?, time).await
}

async fn measure(mut client: impl Client, time: Duration) -> Result<()> {
    client.work(Instant::now() + time / 8).await?;
    println!("ready");
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    println!("{}", usage::report());
    let start = usage::clock();
    let done = client.work(Instant::now() + time).await?;
    let elapsed = usage::clock() - start;
    println!("{}", usage::report());
    println!("{done} {elapsed}");
    Ok(())
}
