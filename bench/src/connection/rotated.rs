//! Tickets with keys that rotate every second, instead of the library's six hours.

use std::sync::Arc;

use tls::crypto::GetRandomFailed;
use tls::server::ProducesTickets;
use tls::ticketer::TicketRotator;

use super::super::ticketer as lasting;
use super::tls;
use crate::cli::Provider;
use crate::workload::Result;

const LIFETIME_SECONDS: u32 = 1;

pub(super) fn ticketer(provider: Provider) -> Result<Arc<dyn ProducesTickets>> {
    let make = match provider {
        Provider::AwsLcRs => || one(Provider::AwsLcRs),
        Provider::Ring => || one(Provider::Ring),
    };
    Ok(Arc::new(TicketRotator::new(LIFETIME_SECONDS, make)?))
}

fn one(provider: Provider) -> core::result::Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    Ok(Box::new(One(lasting(provider))))
}

#[derive(Debug)]
struct One(Arc<dyn ProducesTickets>);

impl ProducesTickets for One {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}
