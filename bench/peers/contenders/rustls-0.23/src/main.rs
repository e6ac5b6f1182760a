//! rustls 0.23.46 on aws-lc-rs, to which the others are compared.

mod sides;

use std::process::ExitCode;

use kit::Result;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use sides::{Parts, Rustls};

fn main() -> ExitCode {
    kit::run::<Rustls>()
}

fn parts(_: &str) -> Result<Parts> {
    Ok(Parts {
        provider: default_provider(),
        ticketer: Ticketer::new()?,
        adjust: |_| (),
    })
}
