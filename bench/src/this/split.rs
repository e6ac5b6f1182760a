//! The halves of a split connection, which only this library has.

use core::hint::black_box;
use std::io::{Read, Write};

use rustls::client::ClientConnectionData;
use rustls::split::{Receiver, Sender};

use super::connection::configs::configs;
use super::connection::duplex::Shared;
use super::dialect::pairs::buffered::Pair;
use crate::workload::duplex::{Amount, Done, End, Use, timed};
use crate::workload::{Result, Scenario};

/// Creates an established connection, split into two halves.
pub(crate) fn halves(scenario: &Scenario, amount: Amount) -> Result<Box<dyn End>> {
    let Pair { client, server } = Pair::connect(&configs(scenario)?)?;
    Ok(Box::new(Shared::new(client.into_split()?, server, amount)))
}

impl End for Shared<(Sender, Receiver<ClientConnectionData>)> {
    fn prepare(&mut self) -> Result<()> {
        self.make_records()
    }

    fn run(&mut self, directions: Use) -> Result<Done> {
        let (sender, receiver) = &mut self.connection;
        let (plaintext, outgoing) = (&self.plaintext[..], &mut self.outgoing);
        let (incoming, application) = (&self.incoming[..], &mut self.application[..]);
        let send = || send(sender, plaintext, outgoing);
        let receive = || receive_all(receiver, incoming, application);
        timed(directions, self.amount, send, receive)
    }
}

fn send(sender: &mut Sender, mut plaintext: &[u8], outgoing: &mut Vec<u8>) -> Result<usize> {
    let len = plaintext.len();
    outgoing.clear();
    while !plaintext.is_empty() {
        let accepted = sender.writer().write(black_box(plaintext))?;
        plaintext = &plaintext[accepted..];
        while sender.wants_write() {
            sender.write_tls(outgoing)?;
        }
    }
    black_box(&outgoing[..]);
    Ok(len)
}

fn receive_all(
    receiver: &mut Receiver<ClientConnectionData>,
    mut incoming: &[u8],
    application: &mut [u8],
) -> Result<usize> {
    let mut received = 0;
    while !incoming.is_empty() {
        receiver.read_tls(&mut incoming)?;
        let state = receiver.process_new_packets()?;
        let mut waiting = state.plaintext_bytes_to_read();
        received += waiting;
        while waiting != 0 {
            let read = receiver.reader().read(application)?;
            black_box(&application[..read]);
            waiting -= read;
        }
    }
    Ok(received)
}
