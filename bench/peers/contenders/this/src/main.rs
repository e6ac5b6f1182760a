//! This library, in three variants: on aws-lc-rs, on the fastest of aws-lc-rs and ring, and on the
//! latter without the memory of verified chains.

// the same source as for rustls 0.23
#[path = "../../rustls-0.23/src/sides.rs"]
mod sides;

use std::process::ExitCode;
use std::sync::Arc;

use kit::Result;
use rustls::ClientConfig;
use rustls::certificates::VerifiedChains;
use rustls::crypto::{aws_lc_rs, fastest};
use sides::{Parts, Rustls};

fn main() -> ExitCode {
    kit::run::<Rustls>()
}

fn parts(variant: &str) -> Result<Parts> {
    let (provider, adjust): (_, fn(&mut ClientConfig)) = match variant {
        "aws-lc-rs" => (aws_lc_rs::default_provider(), |_| ()),
        "fastest" => (fastest::default_provider(), |_| ()),
        "fastest, no memory" => (fastest::default_provider(), |client| {
            client.verified_chains = Arc::new(VerifiedChains::disabled());
        }),
        _ => return Err("there is no such variant".into()),
    };
    Ok(Parts {
        provider,
        ticketer: aws_lc_rs::Ticketer::new()?,
        adjust,
    })
}
