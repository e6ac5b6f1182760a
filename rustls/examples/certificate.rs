//! Creates the files that the other examples need: a certificate authority, and a server
//! certificate for `localhost` that it issues.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! ```
//!
//! This writes `ca.pem` (for clients), `server.pem` and `server.key` (for servers) into
//! `/tmp/demo`. They are for trying things out only: the authority's key is discarded.

mod exit;

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Parser;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// Create a certificate authority and a server certificate for localhost
#[derive(Parser)]
struct Options {
    /// Folder for ca.pem, server.pem and server.key; created if necessary
    folder: PathBuf,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

fn main() {
    exit::on_error(run(&Options::parse()));
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
        .map_err(|error| format!("cannot create {}: {error}", options.folder.display()))?;
    let files = [
        ("ca.pem", authority.pem(), 0o644),
        ("server.pem", server.pem(), 0o644),
        ("server.key", server_key.serialize_pem(), 0o600),
    ]
    .map(|(name, pem, mode)| (options.folder.join(name), pem, mode));
    // Check all files before writing the first, because files of two runs do not match.
    for (path, ..) in &files {
        if path.symlink_metadata().is_ok() {
            let shown = path.display();
            if !options.force {
                return Err(format!("{shown} exists; use --force to replace it").into());
            }
            fs::remove_file(path).map_err(|error| format!("cannot replace {shown}: {error}"))?;
        }
    }
    for (path, pem, mode) in &files {
        write_new(path, pem, *mode)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Creates a file, on Unix with these permissions. Overwriting an existing file would keep its old
/// permissions.
#[cfg_attr(not(unix), allow(unused_variables))]
fn write_new(path: &Path, pem: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(mode);
    options.open(path)?.write_all(pem.as_bytes())
}
