//! A whole connection that sends and receives at the same time, behind a mutex.

use core::hint::black_box;
use std::sync::{Mutex, PoisonError};

use tls::{ClientConnection, ServerConnection};

use super::configs::configs;
use super::dialect::pairs::buffered::{self, Pair};
use super::dialect::tls;
use crate::workload::duplex::{Amount, Done, End, Use, timed};
use crate::workload::{Result, Scenario};

/// A connection and the memory that its application and its peer use.
pub(crate) struct Shared<C> {
    pub(crate) connection: C,
    pub(crate) peer: Box<ServerConnection>,
    pub(crate) amount: Amount,
    pub(crate) plaintext: Vec<u8>,
    pub(crate) incoming: Vec<u8>,
    pub(crate) outgoing: Vec<u8>,
    pub(crate) application: Vec<u8>,
}

impl<C> Shared<C> {
    pub(crate) fn new(connection: C, peer: Box<ServerConnection>, amount: Amount) -> Self {
        Self {
            connection,
            peer,
            amount,
            plaintext: vec![0x17; amount.write_size],
            incoming: Vec::new(),
            outgoing: Vec::new(),
            application: vec![0; 16384],
        }
    }

    /// Lets the peer make the records of all writes.
    pub(crate) fn make_records(&mut self) -> Result<()> {
        self.incoming.clear();
        for _ in 0..self.amount.writes {
            buffered::write(&mut self.peer, &self.plaintext, &mut self.incoming)?;
        }
        Ok(())
    }
}

/// Creates an established connection, which is not split.
pub(crate) fn whole(scenario: &Scenario, amount: Amount) -> Result<Box<dyn End>> {
    let Pair { client, server } = Pair::connect(&configs(scenario)?)?;
    Ok(Box::new(Shared::new(Mutex::new(client), server, amount)))
}

impl End for Shared<Mutex<Box<ClientConnection>>> {
    fn prepare(&mut self) -> Result<()> {
        self.make_records()
    }

    /// One direction alone locks the mutex, too, which takes no time without another thread.
    fn run(&mut self, directions: Use) -> Result<Done> {
        let lock = || {
            self.connection
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let (plaintext, outgoing) = (&self.plaintext[..], &mut self.outgoing);
        let (mut incoming, application) = (&self.incoming[..], &mut self.application[..]);
        let send = || {
            outgoing.clear();
            buffered::write(&mut *lock(), black_box(plaintext), outgoing)?;
            black_box(&outgoing[..]);
            Ok(plaintext.len())
        };
        let receive = || {
            let mut received = 0;
            while !incoming.is_empty() {
                let connection = &mut *lock();
                connection.read_tls(&mut incoming)?;
                let state = connection.process_new_packets()?;
                let waiting = state.plaintext_bytes_to_read();
                buffered::read(connection, waiting, application)?;
                received += waiting;
            }
            Ok(received)
        };
        timed(directions, self.amount, send, receive)
    }
}
