//! What happens on a connection: the handshake, data in both directions, and the end.
//!
//! The runner sends data and wants them back with each bit inverted, until it closes.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::arguments::Connections;
use crate::config::Shared;
use crate::expectations;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::Options;
use crate::provider::Library;
use crate::records::{Received, Records};
use crate::socket::Socket;

/// What the shim says where it speaks first.
const FIRST_WORDS: &[u8] = b"hello";

/// How much is read at once unless the options say so.
const READ_SIZE: usize = 16384;

/// Runs all connections of the process, one after the other.
pub(crate) fn run(connections: &Connections) -> Result<(), Failure> {
    let mut shared = Shared::new(Library::of_environment()?)?;
    for number in 0..=connections.initial.resume_count.unwrap_or(0) {
        let options = if number == 0 {
            &connections.initial
        } else {
            &connections.resume
        };
        if number > 0 {
            shared.wait(options.resumption_delay.unwrap_or(0));
        }
        Exchange::new(options, connections, &mut shared, number > 0)?.run()?;
    }
    Ok(())
}

/// One connection.
struct Exchange<'o> {
    options: &'o Options,
    retry: &'o Options,
    /// A connection before this one left a session.
    may_resume: bool,
    records: Records,
    observed: Arc<Mutex<Observed>>,
}

impl<'o> Exchange<'o> {
    fn new(
        options: &'o Options,
        connections: &'o Connections,
        shared: &mut Shared,
        may_resume: bool,
    ) -> Result<Self, Failure> {
        let observed = Arc::default();
        let connection = if options.server {
            Connection::Server(ServerConnection::new(shared.server(options, &observed)?)?)
        } else {
            let config = shared.client(options, &observed)?;
            let name = options.host_name.as_deref().unwrap_or("unnamed.invalid");
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| Failure::Unsupported(format!("the server name {name:?}")))?;
            Connection::Client(ClientConnection::new(config, name)?)
        };
        Ok(Self {
            options,
            retry: &connections.retry,
            may_resume,
            records: Records::new(connection, Socket::connect(options)?),
            observed,
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        let outcome = self.exchange();
        self.records.finish();
        outcome
    }

    fn exchange(&mut self) -> Result<(), Failure> {
        let early = self.send_early_data()?;
        if self.options.implicit_handshake && !early {
            self.send_first_words()?;
        }
        self.handshake()?;
        self.check()?;
        self.export()?;
        if !self.options.implicit_handshake && !early {
            self.send_first_words()?;
        }
        if self.options.shuts_down {
            return self.shut_down();
        }
        self.echo()
    }

    /// Has a client send its first words as early data, if it can. Says whether the server took them, or may.
    fn send_early_data(&mut self) -> Result<bool, Failure> {
        let Connection::Client(client) = &mut self.records.connection else {
            return Ok(false);
        };
        let Some(mut early_data) = client.early_data() else {
            return Ok(false);
        };
        if self.options.expect.no_early_data_offer {
            return Err(Failure::Expectation("early data is offered".into()));
        }
        if !self.options.writes_first {
            return Ok(false);
        }
        early_data.write_all(FIRST_WORDS)?;
        self.records.handshake_until(|_| false)?;
        let Connection::Client(client) = &self.records.connection else {
            return Ok(false);
        };
        Ok(client.is_early_data_accepted())
    }

    fn send_first_words(&mut self) -> Result<(), Failure> {
        if self.options.writes_first {
            self.records.write(FIRST_WORDS)?;
        }
        Ok(())
    }

    /// Completes the handshake. A server answers early data in the middle of it.
    fn handshake(&mut self) -> Result<(), Failure> {
        while self.records.connection.is_handshaking() {
            let mut early = Vec::new();
            self.records.handshake_until(|connection| {
                early = take_early_data(connection);
                !early.is_empty()
            })?;
            if !early.is_empty() {
                invert(&mut early);
                self.records.write(&early)?;
            }
        }
        if self.options.handshake_never_done {
            return Err(Failure::Expectation("the handshake is complete".into()));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let rejected = match &self.records.connection {
            Connection::Client(client) => {
                self.options.expect.early_data_accepted == Some(false)
                    && !client.is_early_data_accepted()
            }
            Connection::Server(_) => false,
        };
        expectations::check(self.options, &self.records, &self.observed, self.may_resume)?;
        if rejected {
            expectations::check(self.retry, &self.records, &self.observed, self.may_resume)?;
        }
        Ok(())
    }

    /// Sends what the runner compares with its own.
    fn export(&mut self) -> Result<(), Failure> {
        if let Some(length) = self.options.export_keying_material {
            let label = self.options.export_label.as_deref().unwrap_or_default();
            let context = self.options.export_context.as_deref().unwrap_or_default();
            let context = self
                .options
                .use_export_context
                .then_some(context.as_bytes());
            let material = self.records.connection.export_keying_material(
                vec![0; length],
                label.as_bytes(),
                context,
            )?;
            self.records.write(&material)?;
        }
        Ok(())
    }

    /// Sends close_notify, and if it is to be checked waits for the peer's.
    fn shut_down(&mut self) -> Result<(), Failure> {
        self.records.close()?;
        if !self.options.check_close_notify {
            return Ok(());
        }
        match self.records.read(&mut [0; READ_SIZE])? {
            Received::CloseNotify => Ok(()),
            other => Err(Failure::expected(
                "at the end",
                Received::CloseNotify,
                other,
            )),
        }
    }

    /// Sends back what comes, until nothing more does.
    fn echo(&mut self) -> Result<(), Failure> {
        let mut data = vec![0; self.options.read_size.unwrap_or(READ_SIZE)];
        loop {
            if self.options.key_update_before_read {
                self.records.connection.refresh_traffic_keys()?;
                self.records.flush()?;
            }
            match self.records.read(&mut data)? {
                Received::Bytes(length) => {
                    let answer = &mut data[..length];
                    invert(answer);
                    if self.options.key_update {
                        self.records.connection.refresh_traffic_keys()?;
                    }
                    self.records.write(answer)?;
                }
                Received::CloseNotify => break,
                Received::End if self.options.check_close_notify => {
                    let (wanted, got) = (Received::CloseNotify, Received::End);
                    return Err(Failure::expected("at the end", wanted, got));
                }
                Received::End => return Ok(()),
            }
        }
        self.records.close()
    }
}

fn take_early_data(connection: &mut Connection) -> Vec<u8> {
    let mut data = Vec::new();
    if let Connection::Server(server) = connection
        && let Some(mut early_data) = server.early_data()
    {
        let mut chunk = [0; 1024];
        while let Ok(length @ 1..) = early_data.read(&mut chunk) {
            data.extend_from_slice(&chunk[..length]);
        }
    }
    data
}

fn invert(data: &mut [u8]) {
    for byte in data {
        *byte = !*byte;
    }
}
