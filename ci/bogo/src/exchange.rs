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
    early_data: EarlyData,
}

/// What became of early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlyData {
    /// There was none, or none was accepted by this server.
    None,
    /// This client sent so many bytes.
    Sent(usize),
    /// This server got some.
    Received,
}

impl<'o> Exchange<'o> {
    fn new(
        options: &'o Options,
        connections: &'o Connections,
        shared: &mut Shared,
        may_resume: bool,
    ) -> Result<Self, Failure> {
        let observed = Arc::default();
        let retry = &connections.retry;
        let records = if options.server {
            let config = shared.server(options, &observed)?;
            if options.through_acceptor {
                Records::accept(config, Socket::connect(options)?)?
            } else {
                let server = ServerConnection::new(config)?;
                Records::new(server.into(), Socket::connect(options)?)
            }
        } else {
            let config = shared.client(options, &observed)?;
            let name = options.host_name.as_deref().unwrap_or("unnamed.invalid");
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| Failure::Unsupported(format!("the server name {name:?}")))?;
            let mut client = ClientConnection::new(config, name)?;
            if client.early_data().is_some() {
                shared.client_goes_on_as(retry, &observed)?;
            }
            Records::new(client.into(), Socket::connect(options)?)
        };
        Ok(Self {
            options,
            retry,
            may_resume,
            records,
            observed,
            early_data: EarlyData::None,
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        let outcome = self.exchange();
        self.records.finish();
        outcome
    }

    fn exchange(&mut self) -> Result<(), Failure> {
        self.send_early_data()?;
        if self.options.implicit_handshake && self.early_data == EarlyData::None {
            self.send_first_words()?;
        }
        self.handshake()?;
        if self.options.extra_handshake {
            self.handshake()?;
        }
        self.check()?;
        if !matches!(self.early_data, EarlyData::Sent(_)) {
            self.export()?;
        }
        if !self.options.implicit_handshake || self.early_data != EarlyData::None {
            self.send_first_words()?;
        }
        if self.options.shuts_down {
            return self.shut_down();
        }
        self.echo()?;
        expectations::check_at_the_end(self.expecting(), &self.records, &self.observed)
    }

    /// Has a client send its first words as early data, as far as it can.
    fn send_early_data(&mut self) -> Result<(), Failure> {
        let Connection::Client(client) = &mut self.records.connection else {
            return Ok(());
        };
        let Some(mut early_data) = client.early_data() else {
            return Ok(());
        };
        if self.options.expect.no_early_data_offer {
            return Err(Failure::Expectation("early data is offered".into()));
        }
        if self.options.writes_first {
            self.early_data = EarlyData::Sent(early_data.write(FIRST_WORDS)?);
            self.records.flush()?;
            // to a client that sends early data the connection is up
            self.export()?;
        }
        Ok(())
    }

    /// Sends what of the first words the peer has not accepted as early data.
    fn send_first_words(&mut self) -> Result<(), Failure> {
        let accepted = match self.early_data {
            EarlyData::Sent(length) if self.early_data_accepted() => length,
            _ => 0,
        };
        let words = &FIRST_WORDS[accepted..];
        let options = self.expecting();
        if options.reads_with_unfinished_write {
            self.records.write_unfinished(words)
        } else if options.writes_first {
            self.records.write(words)
        } else {
            Ok(())
        }
    }

    fn early_data_accepted(&self) -> bool {
        match &self.records.connection {
            Connection::Client(client) => client.is_early_data_accepted(),
            Connection::Server(_) => self.early_data == EarlyData::Received,
        }
    }

    /// The options that say what to expect: others, if the server rejected early data.
    fn expecting(&self) -> &'o Options {
        let offered = matches!(self.early_data, EarlyData::Sent(_));
        if offered && !self.early_data_accepted() {
            self.retry
        } else {
            self.options
        }
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
                self.early_data = EarlyData::Received;
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
        let accepted = self.early_data_accepted();
        expectations::check_early_data(self.options, accepted)?;
        let expecting = self.expecting();
        if self
            .expecting()
            .expect
            .differs_before_retry(&self.options.expect)
        {
            return Err(Failure::Unsupported(
                "what early data was sent under cannot be told from what became of the connection"
                    .into(),
            ));
        }
        expectations::check(expecting, &self.records, &self.observed, self.may_resume)
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
        if self.options.export_traffic_secrets {
            let secrets = self.traffic_secrets()?;
            self.records.write(&secrets)?;
        }
        Ok(())
    }

    /// The length of a secret, the secret we read by, and the one we write by.
    fn traffic_secrets(&self) -> Result<Vec<u8>, Failure> {
        let observed = self.observed.lock().unwrap();
        let secret = |label| {
            let secret: Option<&Vec<u8>> = observed.secrets.get(label);
            secret.ok_or_else(|| Failure::Expectation(format!("no {label}")))
        };
        let (client, server) = (
            secret("CLIENT_TRAFFIC_SECRET_0")?,
            secret("SERVER_TRAFFIC_SECRET_0")?,
        );
        let (read, write) = match self.records.connection {
            Connection::Client(_) => (server, client),
            Connection::Server(_) => (client, server),
        };
        let length = (read.len() as u16).to_le_bytes();
        Ok([length.as_slice(), read, write].concat())
    }

    /// Sends close_notify, and if it is to be checked waits for the peer's.
    fn shut_down(&mut self) -> Result<(), Failure> {
        self.records.close()?;
        if !self.options.check_close_notify {
            return Ok(());
        }
        match self.records.read(&mut [0; READ_SIZE])? {
            Received::CloseNotify => Ok(()),
            Received::Bytes(_) => Err(Failure::DataInsteadOfCloseNotify),
            Received::End => Err(Failure::EndInsteadOfCloseNotify),
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
            let peeked = match self.options.peeks {
                true => Some(self.records.peek()?),
                false => None,
            };
            match self.records.read(&mut data)? {
                Received::Bytes(length) => {
                    if peeked.is_some_and(|peeked| !peeked.starts_with(&data[..length])) {
                        return Err(Failure::Expectation("what was peeked at".into()));
                    }
                    if self.options.exports_between_reads {
                        self.records.connection.export_keying_material(
                            [0; 32],
                            b"some label",
                            None,
                        )?;
                    }
                    let answer = &mut data[..length];
                    invert(answer);
                    if self.options.key_update {
                        self.records.connection.refresh_traffic_keys()?;
                    }
                    self.records.write(answer)?;
                }
                Received::CloseNotify => break,
                Received::End if self.options.check_close_notify => {
                    return Err(Failure::EndInsteadOfCloseNotify);
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
