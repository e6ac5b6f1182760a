//! Delivery of a scripted client's records, and the server's rejection.

use super::records::Records;
use crate::peers::endpoints::Endpoint;
use crate::wire::{self, Record};

/// The server's rejection of a client.
#[derive(Debug, PartialEq)]
pub struct Refused {
    /// The error as printed.
    pub error: String,
    /// Level and description of the alert, if one was sent.
    pub alert: Option<Vec<u8>>,
}

/// Delivers `records` to `server` and returns the records of its response. `opening` opens its
/// alert.
///
/// # Errors
///
/// Returns an error if the server rejects them.
pub(super) fn deliver(
    records: &[u8],
    server: &mut dyn Endpoint,
    opening: &mut Records,
) -> Result<Vec<Record>, Refused> {
    let result = server.receive(records);
    let answer = wire::records(&server.take_output());
    match result {
        Ok(()) => Ok(answer),
        Err(error) => {
            let alert = answer.first();
            let alert = alert.map(|record| opening.open(record).unwrap().1);
            Err(Refused { error, alert })
        }
    }
}
