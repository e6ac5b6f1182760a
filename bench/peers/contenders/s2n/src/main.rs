//! s2n-tls over the aws-lc of aws-lc-rs, as its crate builds it.

use std::ffi::{c_int, c_void};
use std::fs;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::SystemTime;

use errno::{Errno, set_errno};
use kit::{
    Cipher, Contender, Group, Negotiated, Result, Scenario, Setup, Side, Unsupported, Version, Wire,
};
use s2n_tls::callbacks::{SessionTicket, SessionTicketCallback};
use s2n_tls::config::{Builder, Config};
use s2n_tls::connection::Connection;
use s2n_tls::enums::Blinding;
use s2n_tls::security::Policy;

fn main() -> ExitCode {
    kit::run::<S2n>()
}

/// The configurations of both sides.
struct S2n {
    client: Config,
    server: Config,
    newest: Newest,
}

/// The newest ticket of the client, with its session.
#[derive(Clone, Default)]
struct Newest(Arc<Mutex<Vec<u8>>>);

impl SessionTicketCallback for Newest {
    fn on_session_ticket(&self, _: &mut Connection, ticket: &SessionTicket) {
        if let (Ok(len), Ok(mut newest)) = (ticket.len(), self.0.lock()) {
            newest.resize(len, 0);
            if ticket.data(&mut newest).is_err() {
                newest.clear();
            }
        }
    }
}

impl Contender for S2n {
    type Client = End;
    type Server = End;

    fn new(setup: &Setup) -> Result<Self> {
        let [of_client, of_server] = policies(&setup.scenario)?;
        let newest = Newest::default();
        let mut client = builder(of_client)?;
        client.trust_pem(&fs::read(setup.root())?)?;
        if setup.resumes {
            client.enable_session_tickets(true)?;
            client.set_session_ticket_callback(newest.clone())?;
        }
        let mut server = builder(of_server)?;
        server.load_pem(&fs::read(setup.chain())?, &fs::read(setup.key())?)?;
        server.enable_session_tickets(true)?;
        // these keys live for one process
        server.add_session_ticket_key(b"key", &[7; 32], SystemTime::now())?;
        Ok(Self {
            client: client.build()?,
            server: server.build()?,
            newest,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        let mut end = End::new(Connection::new_client(), &self.client)?;
        end.connection.set_server_name("localhost")?;
        let newest = self.newest.0.lock().map_err(|_| "a callback panicked")?;
        if !newest.is_empty() {
            end.connection.set_session_ticket(&newest)?;
        }
        drop(newest);
        Ok(end)
    }

    fn server(&self) -> Result<Self::Server> {
        End::new(Connection::new_server(), &self.server)
    }
}

fn builder(policy: &str) -> Result<Builder> {
    let mut builder = Builder::new();
    builder.with_system_certs(false)?;
    builder.set_security_policy(&Policy::from_version(policy)?)?;
    Ok(builder)
}

/// Returns the policies of client and server that lead to the suite and the group of `scenario`.
/// Suites and groups of s2n-tls cannot be chosen one by one.
fn policies(scenario: &Scenario) -> Result<[&'static str; 2]> {
    match (scenario.version, scenario.cipher, scenario.group) {
        (Version::Tls13, Cipher::Aes128Gcm, Group::X25519) => Ok(["20240603"; 2]),
        (Version::Tls13, Cipher::Aes128Gcm, Group::X25519MlKem768) => Ok(["20251014"; 2]),
        (Version::Tls13, Cipher::Aes256Gcm, Group::X25519) => Ok(["20190801"; 2]),
        // this client knows only TLS 1.2
        (Version::Tls12, Cipher::Aes128Gcm, Group::X25519) => Ok(["20240501", "20240603"]),
        _ => Err(Unsupported("no security policy prefers this suite").into()),
    }
}

/// A connection with the wire that its callbacks use.
struct End {
    connection: Connection,
    /// Owned. Connection and callbacks hold copies of the pointer.
    wire: NonNull<Wire>,
}

#[allow(unsafe_code)] // s2n-tls reads and writes through callbacks of C
impl End {
    fn new(connection: Connection, config: &Config) -> Result<Self> {
        let wire = NonNull::from(Box::leak(Box::new(Wire::new())));
        let context = wire.as_ptr().cast();
        let mut end = Self { connection, wire };
        let connection = &mut end.connection;
        connection.set_config(config.clone())?;
        connection.set_blinding(Blinding::SelfService)?;
        connection.prefer_throughput()?;
        connection.set_receive_callback(Some(receive))?;
        connection.set_send_callback(Some(send))?;
        // SAFETY: the wire lives as long as the connection.
        unsafe {
            connection.set_receive_context(context)?;
            connection.set_send_context(context)?;
        }
        Ok(end)
    }
}

#[allow(unsafe_code)]
impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`. Freeing the connection, which follows, calls no callback.
        drop(unsafe { Box::from_raw(self.wire.as_ptr()) });
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn receive(context: *mut c_void, buffer: *mut u8, len: u32) -> c_int {
    // SAFETY: the context is that of `End::new`, and nothing else uses the wire while the
    // connection calls back. The buffer is s2n-tls' own, of this length.
    let (wire, buffer) = unsafe {
        let wire = &mut *context.cast::<Wire>();
        (wire, std::slice::from_raw_parts_mut(buffer, len as usize))
    };
    result(wire.read(buffer))
}

#[allow(unsafe_code)]
unsafe extern "C" fn send(context: *mut c_void, bytes: *const u8, len: u32) -> c_int {
    // SAFETY: as in `receive`.
    let (wire, bytes) = unsafe {
        let wire = &mut *context.cast::<Wire>();
        (wire, std::slice::from_raw_parts(bytes, len as usize))
    };
    result(wire.write(bytes))
}

fn result(result: std::io::Result<usize>) -> c_int {
    result.map_or_else(
        |_| {
            set_errno(Errno(libc::EWOULDBLOCK));
            -1
        },
        |len| len as c_int,
    )
}

impl Side for End {
    #[allow(unsafe_code)]
    fn wire(&mut self) -> &mut Wire {
        // SAFETY: no callback runs while `self` is borrowed.
        unsafe { self.wire.as_mut() }
    }

    fn handshake(&mut self) -> Result<bool> {
        match self.connection.poll_negotiate() {
            Poll::Ready(result) => result.map(|_| true).map_err(Into::into),
            Poll::Pending => Ok(false),
        }
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        match self.connection.poll_send(data)? {
            Poll::Ready(sent) if sent == data.len() => Ok(()),
            _ => Err("a record was not sent as a whole".into()),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self.connection.poll_recv(buffer) {
            Poll::Ready(result) => Ok(result?),
            Poll::Pending => Ok(0),
        }
    }

    fn negotiated(&self) -> Negotiated {
        let suite = self.connection.cipher_suite().unwrap_or_default();
        Negotiated {
            suite: suite.to_owned(),
            is_resumed: self.connection.resumed(),
        }
    }
}
