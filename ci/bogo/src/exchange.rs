//! Runs a connection: the handshake, data in both directions, and the end.
//!
//! The runner sends data and expects them back with each bit inverted, until it closes.

use std::sync::{Arc, Mutex};

use rustls::pki_types::ServerName;
use rustls::server::ClientHello;
use rustls::{ClientConnection, ServerConnection, quic};

use crate::arguments::Connections;
use crate::carrier::{Carrier, Received};
use crate::config::Shared;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::Options;
use crate::provider::Library;
use crate::quic::Quic;
use crate::records::Records;
use crate::socket::Socket;
use crate::{early_data_reason, ech, expectations};

/// The name of a server without a name. No ClientHello contains it.
pub(crate) const UNNAMED: &str = "unnamed.invalid";

/// The number of bytes per read unless an option sets it.
const READ_SIZE: usize = 16384;

/// Runs all connections of the process, one after the other.
pub(crate) fn run(connections: &Connections) -> Result<(), Failure> {
    if connections.initial.quic_early_data_context != connections.resume.quic_early_data_context {
        return Err(Failure::Unsupported(
            "early data bound to more than the session".into(),
        ));
    }
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
    /// True if an earlier connection left a session.
    may_resume: bool,
    carrier: Box<dyn Carrier>,
    observed: Arc<Mutex<Observed>>,
    early_data: EarlyData,
}

/// The fate of early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlyData {
    /// There was none, or this server accepted none.
    None,
    /// The number of bytes that this client sent.
    Sent(usize),
    /// This server received some.
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
        let mut carrier = carrier(options, shared, &observed)?;
        if carrier.offers_early_data() {
            shared.prepare_client_retry(retry, &observed)?;
        }
        Ok(Self {
            options,
            retry,
            may_resume,
            carrier,
            observed,
            early_data: EarlyData::None,
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        let outcome = self.exchange().or_else(|failure| {
            ech::check_rejection(self.expecting(), &failure, &self.observed.lock().unwrap())?;
            Err(failure)
        });
        self.carrier.finish();
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
        expectations::check_at_the_end(self.expecting(), &*self.carrier, &self.observed)
    }

    /// Sends a client's first words as early data, as much as is allowed.
    fn send_early_data(&mut self) -> Result<(), Failure> {
        if !self.carrier.offers_early_data() {
            return Ok(());
        }
        if self.options.expect.no_early_data_offer {
            return Err(Failure::Expectation("early data is offered".into()));
        }
        if self.options.writes_first {
            let mut sent = 0;
            for words in self.options.first_words() {
                sent += self.carrier.send_early_data(words)?;
                self.carrier.flush()?;
            }
            self.early_data = EarlyData::Sent(sent);
            // a client that sends early data treats the connection as established
            self.export()?;
        }
        Ok(())
    }

    /// Sends the first words, except for the part that the peer accepted as early data.
    fn send_first_words(&mut self) -> Result<(), Failure> {
        let mut accepted = match self.early_data {
            EarlyData::Sent(length) if self.early_data_accepted() => length,
            _ => 0,
        };
        let options = self.expecting();
        for words in options.first_words() {
            let rest = &words[accepted.min(words.len())..];
            accepted = accepted.saturating_sub(words.len());
            if options.reads_with_unfinished_write {
                self.carrier.write_unfinished(rest)?;
            } else if options.writes_first {
                self.carrier.write(rest)?;
            }
        }
        Ok(())
    }

    fn early_data_accepted(&self) -> bool {
        if self.carrier.is_client() {
            self.carrier.is_early_data_accepted()
        } else {
            self.early_data == EarlyData::Received
        }
    }

    /// The options with the expectations. They differ if the server rejected early data.
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
        while self.carrier.facts().is_handshaking() {
            let mut early = self.carrier.handshake()?;
            if !early.is_empty() {
                self.early_data = EarlyData::Received;
                invert(&mut early);
                self.carrier.write(&early)?;
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
        let seen = self.observed.lock().unwrap();
        early_data_reason::check(self.expecting(), &*self.carrier, accepted, &seen)?;
        drop(seen);
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
        expectations::check(expecting, &*self.carrier, &self.observed, self.may_resume)
    }

    /// Sends the exported values, which the runner compares with its own.
    fn export(&mut self) -> Result<(), Failure> {
        if let Some(length) = self.options.export_keying_material {
            let label = self.options.export_label.as_deref().unwrap_or_default();
            let context = self.options.export_context.as_deref().unwrap_or_default();
            let context = self
                .options
                .use_export_context
                .then_some(context.as_bytes());
            let label = label.as_bytes();
            let material = self
                .carrier
                .export_keying_material(length, label, context)?;
            self.carrier.write(&material)?;
        }
        if self.options.export_traffic_secrets {
            let secrets = self.traffic_secrets()?;
            self.carrier.write(&secrets)?;
        }
        Ok(())
    }

    /// Returns the length of a secret, the secret for reading, and the secret for writing.
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
        let (read, write) = match self.carrier.is_client() {
            true => (server, client),
            false => (client, server),
        };
        let length = (read.len() as u16).to_le_bytes();
        Ok([length.as_slice(), read, write].concat())
    }

    /// Sends close_notify. If it must be checked, waits for the peer's.
    fn shut_down(&mut self) -> Result<(), Failure> {
        self.carrier.close()?;
        if !self.options.check_close_notify {
            return Ok(());
        }
        match self.carrier.read(&mut [0; READ_SIZE])? {
            Received::CloseNotify => Ok(()),
            Received::Bytes(_) => Err(Failure::DataInsteadOfCloseNotify),
            Received::End => Err(Failure::EndInsteadOfCloseNotify),
        }
    }

    /// Echoes all received data until the peer closes.
    fn echo(&mut self) -> Result<(), Failure> {
        let mut data = vec![0; self.options.read_size.unwrap_or(READ_SIZE)];
        loop {
            if self.options.key_update_before_read {
                self.carrier.refresh_traffic_keys()?;
                self.carrier.flush()?;
            }
            let peeked = match self.options.peeks {
                true => Some(self.carrier.peek()?),
                false => None,
            };
            match self.carrier.read(&mut data)? {
                Received::Bytes(length) => {
                    if peeked.is_some_and(|peeked| !peeked.starts_with(&data[..length])) {
                        return Err(Failure::Expectation("what was peeked at".into()));
                    }
                    if self.options.exports_between_reads {
                        self.carrier
                            .export_keying_material(32, b"some label", None)?;
                    }
                    let answer = &mut data[..length];
                    invert(answer);
                    if self.options.key_update {
                        self.carrier.refresh_traffic_keys()?;
                    }
                    self.carrier.write(answer)?;
                }
                Received::CloseNotify => break,
                Received::End if self.options.check_close_notify => {
                    return Err(Failure::EndInsteadOfCloseNotify);
                }
                Received::End => return Ok(()),
            }
        }
        self.carrier.close()
    }
}

/// Creates the connection for `options`, with its socket.
fn carrier(
    options: &Options,
    shared: &mut Shared,
    observed: &Arc<Mutex<Observed>>,
) -> Result<Box<dyn Carrier>, Failure> {
    if options.server {
        if let Some((version, parameters)) = options.quic_connection()? {
            let config = shared.server(options, None, observed)?;
            let server = quic::ServerConnection::new(config, version, parameters)?;
            let socket = Socket::connect(options)?;
            return Ok(Box::new(Quic::new(server.into(), socket, observed.clone())));
        }
        if options.reads_hello_first() {
            let socket = Socket::connect(options)?;
            let config = |hello: &ClientHello<'_>| shared.server(options, Some(hello), observed);
            return Ok(Box::new(Records::accept(config, socket)?));
        }
        let config = shared.server(options, None, observed)?;
        let socket = Socket::connect(options)?;
        let server = ServerConnection::new(config)?;
        return Ok(Box::new(Records::new(server.into(), socket)));
    }
    let config = shared.client(options, observed)?;
    let name = options.host_name.as_deref().unwrap_or(UNNAMED);
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| Failure::Unsupported(format!("the server name {name:?}")))?;
    if let Some((version, parameters)) = options.quic_connection()? {
        let client = quic::ClientConnection::new(config, version, name, parameters)?;
        let socket = Socket::connect(options)?;
        return Ok(Box::new(Quic::new(client.into(), socket, observed.clone())));
    }
    let client = ClientConnection::new(config, name)?;
    let socket = Socket::connect(options)?;
    Ok(Box::new(Records::new(client.into(), socket)))
}

fn invert(data: &mut [u8]) {
    for byte in data {
        *byte = !*byte;
    }
}
