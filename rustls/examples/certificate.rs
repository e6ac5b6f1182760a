//! Makes what it takes to try the other examples: a certificate authority, and a server certificate from it
//! for `localhost`.
//!
//! ```text
//! cargo run --example certificate -- FOLDER
//! ```
//!
//! writes `ca.pem` (for the client), `server.pem` and `server.key` (for the server) into FOLDER. They
//! are for trying things out: the authority's key is not kept.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// Makes a certificate authority and a certificate from it for localhost
#[derive(Parser)]
struct Options {
    /// Where to write ca.pem, server.pem and server.key; made if it is not there
    folder: PathBuf,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("certificate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut params = CertificateParams::new([])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let name = format!("The authority of {}", options.folder.display());
    params.distinguished_name.push(DnType::CommonName, name);
    let authority_key = KeyPair::generate()?;
    let authority = params.self_signed(&authority_key)?;
    let issuer = Issuer::new(params, authority_key);

    let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
    let server_key = KeyPair::generate()?;
    let server = CertificateParams::new(names)?.signed_by(&server_key, &issuer)?;

    fs::create_dir_all(&options.folder)
        .map_err(|error| format!("cannot make {}: {error}", options.folder.display()))?;
    write(options, "ca.pem", &authority.pem())?;
    write(options, "server.pem", &server.pem())?;
    write(options, "server.key", &server_key.serialize_pem())?;
    Ok(())
}

fn write(options: &Options, name: &str, pem: &str) -> Result<(), String> {
    let path = options.folder.join(name);
    let written: io::Result<()> = fs::write(&path, pem);
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}
