//! The halves of a split connection, which only this library has.

use core::hint::black_box;
use std::io::{Read, Write};

use rustls::client::ClientConnectionData;
use rustls::split::{Receiver, Sender};

use super::connection::configs::configs;
use super::dialect::pairs::buffered::{self, Pair};
use crate::measure::Contender;
use crate::workload::duplex::{Use, end};
use crate::workload::{Result, Scenario};

/// Creates an established connection, split into two halves.
pub(crate) fn halves(scenario: &Scenario, directions: Use, writes: usize) -> Result<Contender<2>> {
    let Pair { client, mut server } = Pair::connect(&configs(scenario)?)?;
    let (mut sender, mut receiver) = client.into_split()?;
    Ok(end(
        directions,
        writes,
        move |plaintext, wire| buffered::write(&mut server, plaintext, wire),
        move |plaintext, wire| send(&mut sender, plaintext, wire),
        move |wire, application| receive_all(&mut receiver, wire, application),
    ))
}

fn send(sender: &mut Sender, plaintext: &[u8], outgoing: &mut Vec<u8>) -> Result<()> {
    sender.writer().write_all(plaintext)?;
    while sender.wants_write() {
        sender.write_tls(outgoing)?;
    }
    Ok(())
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
