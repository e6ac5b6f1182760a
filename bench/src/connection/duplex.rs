//! A whole connection that sends and receives at the same time, behind a mutex.

use std::sync::{Arc, Mutex, PoisonError};

use super::configs::configs;
use super::dialect::pairs::buffered::{self, Pair};
use crate::measure::Contender;
use crate::workload::duplex::{Use, end};
use crate::workload::{Result, Scenario};

/// Creates an established connection, which is not split. One direction alone locks the mutex, too,
/// which costs nothing without another thread.
pub(crate) fn whole(scenario: &Scenario, directions: Use, writes: usize) -> Result<Contender<2>> {
    let Pair { client, mut server } = Pair::connect(&configs(scenario)?)?;
    let client = Arc::new(Mutex::new(client));
    let sender = client.clone();
    Ok(end(
        directions,
        writes,
        move |plaintext, wire| buffered::write(&mut server, plaintext, wire),
        move |plaintext, wire| {
            let client = &mut *sender.lock().unwrap_or_else(PoisonError::into_inner);
            buffered::write(client, plaintext, wire)
        },
        move |mut wire, application| {
            let mut received = 0;
            while !wire.is_empty() {
                let client = &mut *client.lock().unwrap_or_else(PoisonError::into_inner);
                client.read_tls(&mut wire)?;
                let waiting = client.process_new_packets()?.plaintext_bytes_to_read();
                buffered::read(client, waiting, application)?;
                received += waiting;
            }
            Ok(received)
        },
    ))
}
