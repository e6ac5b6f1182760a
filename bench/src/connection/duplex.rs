//! A whole connection that sends and receives at the same time, behind a mutex.

use core::hint::black_box;
use std::sync::{Mutex, PoisonError};

use tls::{ClientConnection, ServerConnection};

use super::pairs::buffered::{self, Pair};
use super::{configs, tls};
use crate::duplex::{Amount, Done, End, Work, both, receiving, sending};
use crate::workload::{Result, Scenario, check_received};

struct Whole {
    connection: Mutex<Box<ClientConnection>>,
    peer: Box<ServerConnection>,
    amount: Amount,
    plaintext: Vec<u8>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    application: Vec<u8>,
}

/// Creates an established connection, which is not split.
pub(crate) fn whole(scenario: &Scenario, amount: Amount) -> Result<Box<dyn End>> {
    let Pair { client, server } = Pair::connect(&configs(scenario)?)?;
    Ok(Box::new(Whole {
        connection: Mutex::new(client),
        peer: server,
        amount,
        plaintext: vec![0x17; amount.write_size],
        incoming: Vec::new(),
        outgoing: Vec::new(),
        application: vec![0; 16384],
    }))
}

impl End for Whole {
    fn prepare(&mut self) -> Result<()> {
        self.incoming.clear();
        for _ in 0..self.amount.writes {
            buffered::write(&mut self.peer, &self.plaintext, &mut self.incoming)?;
        }
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<Done> {
        let Self {
            connection, amount, ..
        } = self;
        let expected = amount.write_size * amount.writes;
        let (plaintext, outgoing) = (&self.plaintext[..], &mut self.outgoing);
        let application = &mut self.application[..];
        let mut rest = &self.incoming[..];
        match work {
            Work::Send => {
                let connection = connection.get_mut().unwrap_or_else(PoisonError::into_inner);
                sending(|| {
                    for _ in 0..amount.writes {
                        send(connection, plaintext, outgoing)?;
                    }
                    Ok(expected)
                })
            }
            Work::Receive => {
                let connection = connection.get_mut().unwrap_or_else(PoisonError::into_inner);
                receiving(|| {
                    let mut received = 0;
                    while !rest.is_empty() {
                        received += receive(connection, &mut rest, application)?;
                    }
                    check_received(received, expected)?;
                    Ok(received)
                })
            }
            Work::Both => {
                let connection = &*connection;
                let lock = || connection.lock().unwrap_or_else(PoisonError::into_inner);
                both(
                    || send(&mut lock(), plaintext, outgoing),
                    || {
                        let mut received = 0;
                        while !rest.is_empty() {
                            received += receive(&mut lock(), &mut rest, application)?;
                        }
                        check_received(received, expected)?;
                        Ok(received)
                    },
                )
            }
        }
    }
}

fn send(
    connection: &mut ClientConnection,
    plaintext: &[u8],
    outgoing: &mut Vec<u8>,
) -> Result<usize> {
    outgoing.clear();
    buffered::write(connection, black_box(plaintext), outgoing)?;
    black_box(&outgoing[..]);
    Ok(plaintext.len())
}

/// Calls `read_tls` once and reads the plaintext that arrived.
fn receive(
    connection: &mut ClientConnection,
    incoming: &mut &[u8],
    application: &mut [u8],
) -> Result<usize> {
    connection.read_tls(incoming)?;
    let state = connection.process_new_packets()?;
    let waiting = state.plaintext_bytes_to_read();
    buffered::read(connection, waiting, application)?;
    Ok(waiting)
}
