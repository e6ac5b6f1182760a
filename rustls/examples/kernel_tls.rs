//! Fetches a page over TLS, with records that the Linux kernel encrypts and decrypts.
//!
//! With the example `server` running:
//!
//! ```text
//! sudo modprobe tls
//! cargo run --example kernel_tls -- localhost /tmp/demo/ca.pem
//! ```
//!
//! The handshake runs in this program. Then the kernel gets the keys, and the program reads and
//! writes plaintext:
//!
//! ```text
//!   handshake.rs   socket ◄── handshake records ──► UnbufferedClientConnection
//!                                                     │ keys             │ KernelConnection
//!   stream.rs      socket ◄── setsockopt ─────────────┘                  │
//!                  socket ◄── data ──► program                           │
//!                  socket ◄── KeyUpdate, tickets, alerts ────────────────┘
//! ```
//!
//! The chapter `kernel_tls` of the manual explains each step.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "it needs Linux"))]

mod exit;
mod fetch;
mod http;
#[cfg(target_os = "linux")]
mod kernel_tls {
    pub(crate) mod handshake;
    pub(crate) mod stream;
    #[cfg(test)]
    mod tests;
}
#[allow(dead_code, reason = "the handshake reads record by record")]
mod unbuffered;

use std::error::Error;

use clap::Parser;
use fetch::Options;

fn main() {
    exit::on_error(run(&Options::parse()).map_err(fetch::explain));
}

#[cfg(not(target_os = "linux"))]
fn run(_: &Options) -> Result<(), Box<dyn Error>> {
    Err("this example needs Linux".into())
}

#[cfg(target_os = "linux")]
fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    use std::io::{BufReader, Read, Write};

    use kernel_tls::handshake::handshake;
    use kernel_tls::stream::{KernelStream, enable};
    use rustls::client::UnbufferedClientConnection;

    let mut config = options.config()?;
    config.enable_secret_extraction = true;
    let mut socket = options.connect()?;
    // Do this first: if it fails, a program could still continue without the kernel.
    enable(&socket)?;

    let mut conn = UnbufferedClientConnection::new(config.into(), options.name()?)?;
    let early = handshake(&mut conn, &mut socket)?;
    let mut tls = KernelStream::new(socket, conn.dangerous_into_kernel_connection()?)?;
    tls.socket.write_all(&options.request())?;
    let received = early.chain(&mut tls);
    let received = options.receive(BufReader::with_capacity(64 * 1024, received));
    // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the server may
    // have closed already, and the page is complete.
    let _ = tls.close();
    received
}
