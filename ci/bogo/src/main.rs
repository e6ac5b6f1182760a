//! The shim for BoringSSL's test runner, `ssl/test/runner`: a process that connects to the runner
//! and follows its command line. It only uses the crate's public API.
//!
//! ```text
//!   arguments ──► options ──► config ──► exchange ──► expectations, early_data_reason
//!                               │           │
//!  provider, policy, credentials, ─┘       └─ carrier ──► socket ◄──► the runner
//!  certificate_types, verifier,           (records, quic)
//!  sessions, compression, ech
//!         └─► observed: what callbacks saw
//!
//!   failure, error_name: how the process reports a failure
//! ```
//!
//! `ci/bogo/run` runs a runner with it. `BOGO_PROVIDER` names the provider.

mod arguments;
mod carrier;
mod certificate_types;
mod compression;
mod config;
mod credentials;
mod early_data_reason;
mod ech;
mod error_name;
mod exchange;
mod expectations;
mod failure;
mod observed;
mod options;
mod policy;
mod provider;
mod quic;
mod records;
mod sessions;
mod socket;
mod verifier;

use std::env;
use std::process::ExitCode;

use arguments::Request;
use failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code().into()
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments = env::args_os().skip(1).map(|argument| {
        argument
            .into_string()
            .map_err(|argument| Failure::Unsupported(argument.display().to_string()))
    });
    match arguments::parse(arguments.collect::<Result<Vec<_>, _>>()?)? {
        Request::IsHandshakerSupported => println!("No"),
        Request::Connections(connections) => exchange::run(&connections)?,
    }
    Ok(())
}
