//! The tickets that a server sends, and offers to resume with them.

use rustls::{CipherSuite, HandshakeType};

use super::{OfferedPsk, ScriptedClient};
use crate::wire::client_hello::EARLY_DATA;
use crate::wire::{Reader, find_extension};

/// A NewSessionTicket (RFC 9846 §4.7.1) and its PSK.
#[derive(Clone)]
pub struct Ticket {
    pub suite: CipherSuite,
    pub psk: Vec<u8>,
    pub lifetime: u32,
    pub age_add: u32,
    pub nonce: Vec<u8>,
    pub ticket: Vec<u8>,
    pub max_early_data_size: Option<u32>,
}

impl ScriptedClient {
    /// Returns the tickets received so far.
    pub fn tickets(&self) -> Vec<Ticket> {
        let typ = HandshakeType::NewSessionTicket.into();
        let tickets = self.flight.iter().filter(|message| message[0] == typ);
        tickets.map(|message| self.read_ticket(message)).collect()
    }

    fn read_ticket(&self, message: &[u8]) -> Ticket {
        let mut body = Reader::of_message(message, HandshakeType::NewSessionTicket.into());
        let (lifetime, age_add) = (body.number(4) as u32, body.number(4) as u32);
        let nonce = body.vector(1).to_vec();
        let ticket = body.vector(2).to_vec();
        let extensions = body.extensions();
        assert!(body.is_empty(), "bytes after the extensions");
        let early_data = find_extension(&extensions, EARLY_DATA);
        assert_eq!(extensions.len(), usize::from(early_data.is_some()));
        Ticket {
            suite: self.suite(),
            psk: self.ticket_psk(&nonce),
            lifetime,
            age_add,
            nonce,
            ticket,
            max_early_data_size: early_data.map(|body| Reader(body).number(4) as u32),
        }
    }
}

impl Ticket {
    /// Creates an offer to resume with the ticket, `age` milliseconds after its arrival.
    pub fn offer(&self, age: u32) -> OfferedPsk {
        let obfuscated_age = age.wrapping_add(self.age_add);
        OfferedPsk::new(self.suite, self.psk.clone(), &self.ticket, obfuscated_age)
    }

    /// Creates an offer with early data.
    pub fn offer_early(&self, age: u32) -> OfferedPsk {
        OfferedPsk {
            early_data: true,
            ..self.offer(age)
        }
    }
}
