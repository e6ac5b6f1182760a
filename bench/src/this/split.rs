//! The halves of a split connection, which only this library has.

use core::hint::black_box;
use std::io::{Read, Write};

use rustls::ServerConnection;
use rustls::client::ClientConnectionData;
use rustls::split::{Receiver, Sender};

use super::connection::configs;
use super::pairs::buffered::{self, Pair};
use crate::duplex::{Amount, Done, End, Work, both, receiving, sending};
use crate::workload::{Result, Scenario, check_received};

struct Halves {
    sender: Sender,
    receiver: Receiver<ClientConnectionData>,
    peer: Box<ServerConnection>,
    amount: Amount,
    plaintext: Vec<u8>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    application: Vec<u8>,
}

/// Creates an established connection, split into two halves.
pub(crate) fn halves(scenario: &Scenario, amount: Amount) -> Result<Box<dyn End>> {
    let Pair { client, server } = Pair::connect(&configs(scenario)?)?;
    let (sender, receiver) = client.into_split()?;
    Ok(Box::new(Halves {
        sender,
        receiver,
        peer: server,
        amount,
        plaintext: vec![0x17; amount.write_size],
        incoming: Vec::new(),
        outgoing: Vec::new(),
        application: vec![0; 16384],
    }))
}

impl End for Halves {
    fn prepare(&mut self) -> Result<()> {
        self.incoming.clear();
        for _ in 0..self.amount.writes {
            buffered::write(&mut self.peer, &self.plaintext, &mut self.incoming)?;
        }
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<Done> {
        let expected = self.amount.write_size * self.amount.writes;
        let (sender, receiver) = (&mut self.sender, &mut self.receiver);
        let (plaintext, outgoing) = (&self.plaintext[..], &mut self.outgoing);
        let (incoming, application) = (&self.incoming[..], &mut self.application[..]);
        let mut send = || send(sender, plaintext, outgoing);
        let receive = || {
            let received = receive_all(receiver, incoming, application)?;
            check_received(received, expected)?;
            Ok(received)
        };
        match work {
            Work::Send => sending(|| (0..self.amount.writes).map(|_| send()).sum()),
            Work::Receive => receiving(receive),
            Work::Both => both(send, receive),
        }
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
