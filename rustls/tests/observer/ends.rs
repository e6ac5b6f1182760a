//! Connections that become something else: a server that an `Acceptor` accepts, halves, and a
//! connection whose records a kernel would seal.

use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, Wrapper};
use rustls::ServerConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::server::{Acceptor, ServerConnection, UnbufferedServerConnection};

use crate::extraction::kernel::{self, Kernel};
use crate::split::kit::{Halves, split};

/// An endpoint that becomes another one.
pub(super) trait Changes: Endpoint {
    /// True once the endpoint has to change.
    fn is_due(&self) -> bool;

    /// Returns the new endpoint, and bytes that it has not processed yet.
    fn change(self: Box<Self>) -> (Box<dyn Endpoint>, Vec<u8>);
}

/// An endpoint before or after it has changed, which it does as soon as it can.
pub(super) enum Changing {
    Before(Option<Box<dyn Changes>>),
    After(Box<dyn Endpoint>),
}

impl Changing {
    pub(super) fn boxed(end: impl Changes + 'static) -> Box<Self> {
        Box::new(Self::Before(Some(Box::new(end))))
    }
}

impl Wrapper for Changing {
    type Inner = dyn Endpoint;

    fn inner(&self) -> impl Deref<Target = Self::Inner> {
        match self {
            Self::Before(end) => &**end.as_ref().unwrap() as &dyn Endpoint,
            Self::After(end) => &**end,
        }
    }

    fn inner_mut(&mut self) -> impl DerefMut<Target = Self::Inner> {
        match self {
            Self::Before(end) => &mut **end.as_mut().unwrap() as &mut dyn Endpoint,
            Self::After(end) => &mut **end,
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.inner_mut().receive(bytes)?;
        if let Self::Before(end) = self
            && end.as_ref().unwrap().is_due()
        {
            let (end, rest) = end.take().unwrap().change();
            *self = Self::After(end);
            self.inner_mut().process()?;
            self.inner_mut().receive(&rest)?;
        }
        Ok(())
    }
}

/// Facts that can no longer be read from a connection after its change.
struct Past {
    negotiated: String,
    peer_certificates: Vec<Vec<u8>>,
    early_data: Vec<u8>,
}

impl Past {
    fn of(end: &mut dyn Endpoint) -> Self {
        let mut early_data = Vec::new();
        end.read_early_into(&mut early_data);
        Self {
            negotiated: end.negotiated(),
            peer_certificates: end.peer_certificates(),
            early_data,
        }
    }
}

macro_rules! past {
    () => {
        fn read_early_into(&mut self, plaintext: &mut Vec<u8>) {
            plaintext.append(&mut self.past.early_data);
        }

        fn is_handshaking(&self) -> bool {
            false
        }

        fn negotiated(&self) -> String {
            self.past.negotiated.clone()
        }

        fn peer_certificates(&self) -> Vec<Vec<u8>> {
            self.past.peer_certificates.clone()
        }
    };
}

/// A connection that was split as soon as its handshake was complete.
struct Split {
    halves: Halves,
    past: Past,
}

impl Changes for ThisBuffered {
    fn is_due(&self) -> bool {
        !self.is_handshaking()
    }

    fn change(mut self: Box<Self>) -> (Box<dyn Endpoint>, Vec<u8>) {
        let past = Past::of(&mut *self);
        let halves = split(self.conn);
        (Box::new(Split { halves, past }), Vec::new())
    }
}

impl Endpoint for Split {
    past!();

    fn take_output(&mut self) -> Vec<u8> {
        self.halves.output()
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        let received = self.halves.receive(bytes);
        received.map_err(|error| format!("{error:?}"))
    }

    fn process(&mut self) -> Result<(), String> {
        let processed = self.halves.receiver.process();
        processed.map(drop).map_err(|error| format!("{error:?}"))
    }

    fn send(&mut self, plaintext: &[u8]) -> usize {
        self.halves.sender.writer().write(plaintext).unwrap()
    }

    fn read_into(&mut self, plaintext: &mut Vec<u8>) {
        plaintext.append(&mut self.halves.read().0);
    }

    fn close(&mut self) {
        self.halves.sender.send_close_notify();
    }

    fn peer_has_closed(&self) -> bool {
        self.halves.receiver.peer_has_closed()
    }

    fn exported(&self) -> Option<[u8; 32]> {
        self.halves.receiver.exported().ok()
    }

    fn refresh_traffic_keys(&mut self) {
        self.halves.sender.refresh_traffic_keys().unwrap();
    }
}

/// A connection whose keys were extracted as soon as its handshake was complete.
struct Extracted {
    end: kernel::End,
    output: Vec<u8>,
    past: Past,
}

macro_rules! extracts {
    ($($conn:ident to $kernel:ident),*) => {$(
        impl Changes for ThisUnbuffered<$conn> {
            fn is_due(&self) -> bool {
                !self.is_handshaking()
            }

            fn change(mut self: Box<Self>) -> (Box<dyn Endpoint>, Vec<u8>) {
                let past = Past::of(&mut *self);
                let output = self.take_output();
                let is_tls13 = past.negotiated.contains("TLSv1_3");
                let (secrets, conn) = self.conn.dangerous_into_kernel_connection().unwrap();
                let end = kernel::End::new(is_tls13, (secrets, Kernel::$kernel(conn)));
                (Box::new(Extracted { end, output, past }), Vec::new())
            }
        }
    )*};
}

extracts!(UnbufferedClientConnection to Client, UnbufferedServerConnection to Server);

impl Endpoint for Extracted {
    past!();

    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        let answers = self.end.open(bytes);
        self.output.extend(answers);
        Ok(())
    }

    fn process(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn send(&mut self, plaintext: &[u8]) -> usize {
        let fragment = &plaintext[..plaintext.len().min(1 << 14)];
        self.output.extend(self.end.seal(fragment));
        fragment.len()
    }

    fn read_into(&mut self, plaintext: &mut Vec<u8>) {
        plaintext.append(&mut self.end.plaintext);
    }

    fn close(&mut self) {
        self.output.extend(self.end.close());
    }

    fn peer_has_closed(&self) -> bool {
        self.end.peer_has_closed
    }

    fn exported(&self) -> Option<[u8; 32]> {
        None
    }

    fn refresh_traffic_keys(&mut self) {
        self.output.extend(self.end.update(true));
    }
}

/// A server that gets its configuration after the ClientHello.
pub(super) struct Accepting {
    acceptor: Acceptor,
    config: Arc<ServerConfig>,
    accepted: Option<ServerConnection>,
    failed: Option<String>,
    /// Bytes received after the ClientHello.
    rest: Vec<u8>,
    output: Vec<u8>,
}

impl Accepting {
    /// Creates a server whose acceptor has the observer of `config`.
    pub(super) fn new(config: Arc<ServerConfig>) -> Self {
        let mut acceptor = Acceptor::default();
        if let Some(observer) = &config.observer {
            acceptor.set_observer(observer.clone());
        }
        Self {
            acceptor,
            config,
            accepted: None,
            failed: None,
            rest: Vec::new(),
            output: Vec::new(),
        }
    }
}

impl Changes for Accepting {
    fn is_due(&self) -> bool {
        self.accepted.is_some()
    }

    fn change(self: Box<Self>) -> (Box<dyn Endpoint>, Vec<u8>) {
        let end = ThisBuffered::new(self.accepted.unwrap());
        (Box::new(end), self.rest)
    }
}

impl Endpoint for Accepting {
    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        self.process()?;
        while !bytes.is_empty() {
            self.acceptor.read_tls(&mut bytes).unwrap();
            let connection = match self.acceptor.accept() {
                Ok(None) => continue,
                Ok(Some(accepted)) => accepted.into_connection(self.config.clone()),
                Err(refused) => Err(refused),
            };
            match connection {
                Ok(connection) => self.accepted = Some(connection),
                Err((error, mut alert)) => {
                    alert.write_all(&mut self.output).unwrap();
                    return Err(self.failed.insert(format!("{error:?}")).clone());
                }
            }
            self.rest = std::mem::take(&mut bytes).to_vec();
        }
        Ok(())
    }

    fn process(&mut self) -> Result<(), String> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn send(&mut self, _: &[u8]) -> usize {
        0
    }

    fn read_into(&mut self, _: &mut Vec<u8>) {}

    fn read_early_into(&mut self, _: &mut Vec<u8>) {}

    fn close(&mut self) {}

    fn peer_has_closed(&self) -> bool {
        false
    }

    fn is_handshaking(&self) -> bool {
        true
    }

    fn negotiated(&self) -> String {
        String::new()
    }

    fn exported(&self) -> Option<[u8; 32]> {
        None
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn refresh_traffic_keys(&mut self) {}
}
