//! A QUIC connection behind the interface of connections over records.

use rustls::AlertDescription;

use super::{Crypto, Level, QuicEndpoint};
use crate::peers::endpoints::Endpoint;
use crate::providers::transparent::TAG;
use crate::wire::{ALERT, APPLICATION_DATA, HANDSHAKE, frame};

/// Wraps CRYPTO bytes and alerts in records, as TLS would under the transparent cipher
/// ([`crate::providers::transparent`]). Levels above Initial are in protected records. Each record
/// is read separately, protected or not. An alert represents CONNECTION_CLOSE. In place of
/// application data, the peer's transport parameters are returned once.
pub struct Framed {
    end: Box<dyn QuicEndpoint>,
    /// False if all levels are in the clear.
    protects: bool,
    incoming: Vec<u8>,
    outgoing: Vec<Crypto>,
    /// True once the alert for an error has been taken.
    alert_sent: bool,
    parameters_read: bool,
    /// True once the connection has failed.
    has_failed: bool,
    /// The error from this layer.
    closed: Option<String>,
}

const HEADER_LEN: usize = 5;

impl Framed {
    pub fn boxed(end: impl QuicEndpoint + 'static) -> Box<Self> {
        Box::new(Self {
            end: Box::new(end),
            protects: true,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            alert_sent: false,
            parameters_read: false,
            has_failed: false,
            closed: None,
        })
    }

    /// Like [`Self::boxed`], but sends every level in unprotected records.
    pub fn in_the_clear(end: impl QuicEndpoint + 'static) -> Box<Self> {
        let mut framed = Self::boxed(end);
        framed.protects = false;
        framed
    }

    /// Delivers the CRYPTO bytes in a record, if it contains any.
    fn read(&mut self, typ: u8, body: &[u8]) -> Result<(), String> {
        let crypto = match (typ, body.strip_suffix(&TAG)) {
            (HANDSHAKE, _) => body,
            (APPLICATION_DATA, Some([crypto @ .., HANDSHAKE])) => crypto,
            _ => {
                let closed = match (typ, body) {
                    (ALERT, [_, alert]) => {
                        format!("AlertReceived({:?})", AlertDescription::from(*alert))
                    }
                    _ => "no CRYPTO bytes".to_owned(),
                };
                return Err(self.closed.insert(closed).clone());
            }
        };
        self.end.receive(crypto)?;
        // before the next bytes, which need the keys that come with it
        self.outgoing.extend(self.end.take_crypto());
        Ok(())
    }
}

impl Endpoint for Framed {
    fn take_output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        self.outgoing.extend(self.end.take_crypto());
        for Crypto { level, bytes } in self.outgoing.drain(..) {
            // CRYPTO bytes may exceed a record's limit
            for piece in bytes.chunks(1 << 14) {
                output.extend(match level {
                    _ if !self.protects => frame(HANDSHAKE, piece),
                    Level::Initial => frame(HANDSHAKE, piece),
                    _ => frame(APPLICATION_DATA, &[piece, &[HANDSHAKE], &TAG].concat()),
                });
            }
        }
        if let Some(alert) = self.end.alert()
            && !self.alert_sent
        {
            self.alert_sent = true;
            output.extend(frame(ALERT, &[2, alert]));
        }
        output
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.has_failed {
            return self.process();
        }
        self.incoming.extend(bytes);
        while let [typ, _, _, high, low, ..] = self.incoming[..] {
            let end = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
            if self.incoming.len() < end {
                break;
            }
            let rest = self.incoming.split_off(end);
            let record = std::mem::replace(&mut self.incoming, rest);
            let read = self.read(typ, &record[HEADER_LEN..]);
            self.has_failed |= read.is_err();
            read?;
        }
        Ok(())
    }

    fn process(&mut self) -> Result<(), String> {
        match &self.closed {
            Some(closed) => Err(closed.clone()),
            None => self.end.receive(&[]),
        }
    }

    fn send(&mut self, _: &[u8]) -> usize {
        0
    }

    fn read_into(&mut self, plaintext: &mut Vec<u8>) {
        // data received by a failed end is useless
        if !self.has_failed
            && !self.parameters_read
            && let Some(parameters) = self.end.peer_parameters()
        {
            self.parameters_read = true;
            plaintext.extend(parameters);
        }
    }

    fn read_early_into(&mut self, _: &mut Vec<u8>) {}

    fn close(&mut self) {}

    fn peer_has_closed(&self) -> bool {
        false
    }

    fn is_handshaking(&self) -> bool {
        self.end.is_handshaking()
    }

    fn negotiated(&self) -> String {
        self.end.negotiated()
    }

    fn exported(&self) -> Option<[u8; 32]> {
        self.end.exported().ok()
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        self.end.peer_certificates()
    }

    fn refresh_traffic_keys(&mut self) {}
}
