//! Fetches a page over TLS, with records that the Linux kernel encrypts and decrypts.
//!
//! With the example `server` running:
//!
//! ```text
//! sudo modprobe tls
//! cargo run --example kernel_tls -- localhost /tmp/demo/ca.pem /README.md
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

#[cfg(target_os = "linux")]
mod fetch;
#[cfg(target_os = "linux")]
mod kernel_tls {
    pub(crate) mod handshake;
    pub(crate) mod stream;
    #[cfg(test)]
    mod tests;
}

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use clap::Parser;

    match run(&fetch::Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kernel_tls: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("kernel_tls: this example needs Linux");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn run(options: &fetch::Options) -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{self, Write};

    use kernel_tls::handshake::handshake;
    use kernel_tls::stream::{KernelStream, enable};
    use rustls::ClientConfig;
    use rustls::client::UnbufferedClientConnection;
    use rustls::kernel::KernelConnection;

    let mut config = ClientConfig::clone(&*options.config()?);
    config.enable_secret_extraction = true;
    let mut socket = options.connect()?;
    // First, because a program could still continue without the kernel if this fails.
    enable(&socket)?;

    let mut response = fetch::Response::new(io::stdout().lock());
    let mut conn = UnbufferedClientConnection::new(config.into(), options.server_name()?)?;
    let mut early = Vec::new();
    handshake(&mut conn, &mut socket, &mut early)
        .map_err(|error| options.explain(error.as_ref()))?;
    response.receive(&early)?;
    let (secrets, conn) = conn.dangerous_into_kernel_connection()?;
    eprintln!(
        "kernel_tls: {:?}, {:?}",
        conn.protocol_version(),
        conn.negotiated_cipher_suite().suite()
    );

    let mut tls = KernelStream::new(
        socket,
        secrets,
        conn,
        KernelConnection::handle_new_session_ticket,
    )?;
    tls.socket().write_all(&options.request())?;
    let mut buffer = vec![0; 64 * 1024];
    let closed = loop {
        match tls.receive(&mut buffer) {
            Ok(0) => break true,
            Ok(len) => response.receive(&buffer[..len])?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break false,
            Err(error) => return Err(options.explain(&error).into()),
        }
        if response.is_complete() {
            break true;
        }
    };
    // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the server may
    // have closed already, and the page is complete.
    let _ = tls.close();
    response.finish(closed)?;
    Ok(())
}
