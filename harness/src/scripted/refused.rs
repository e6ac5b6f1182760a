//! How a server takes what a scripted client sends.

use super::records::Opening;
use crate::endpoints::Endpoint;
use crate::wire::{self, Record};

/// How a server refused something.
#[derive(Debug, PartialEq)]
pub struct Refused {
    /// The error, as it prints.
    pub error: String,
    /// Level and description of the alert, if one was sent.
    pub alert: Option<Vec<u8>>,
}

/// Gives `records` to `server`, and returns those of its answer. `opening` opens its alert.
///
/// # Errors
///
/// How the server refuses them.
pub(super) fn deliver(
    records: &[u8],
    server: &mut dyn Endpoint,
    opening: &mut Opening,
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
