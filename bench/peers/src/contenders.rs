//! The contenders: their packages, which are built one by one, and their processes.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use clap::builder::PossibleValuesParser;
use kit::{Result, Scenario, UNSUPPORTED, Work};

/// A column.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    package: &'static str,
    /// An argument of the process.
    variant: &'static str,
    /// The package whose version is shown.
    versioned: &'static str,
}

/// The contender to which all others are compared.
pub(crate) const BASELINE: &str = "rustls 0.23";

/// A variant for full handshakes alone. In all other rows, it is the same as `fastest`.
const WITHOUT_MEMORY: &str = "fastest, no memory";

pub(crate) const ALL: [Contender; 8] = {
    const fn contender(
        name: &'static str,
        package: &'static str,
        versioned: &'static str,
    ) -> Contender {
        Contender {
            name,
            package,
            variant: name,
            versioned,
        }
    }
    [
        contender("aws-lc-rs", "peer-this", "aws-lc-rs"),
        contender("fastest", "peer-this", "ring"),
        contender(WITHOUT_MEMORY, "peer-this", "ring"),
        contender(BASELINE, "peer-rustls-0-23", "rustls"),
        contender("rustls 0.24", "peer-rustls-0-24", "rustls-aws-lc-rs"),
        contender("BoringSSL", "peer-boringssl", "boring"),
        contender("OpenSSL", "peer-openssl", "openssl-src"),
        contender("s2n-tls", "peer-s2n", "s2n-tls"),
    ]
};

/// Returns a parser of contenders' names.
pub(crate) fn names() -> PossibleValuesParser {
    ALL.iter()
        .map(|contender| contender.name)
        .collect::<Vec<_>>()
        .into()
}

/// The outcome of a process.
pub(crate) enum Measured {
    /// The values of client and server.
    Values([f64; 2]),
    /// The library cannot do this, for the given reason.
    Unsupported(String),
}

impl Contender {
    /// True if this contender has results of its own in `scenario`.
    pub(crate) fn measures(&self, scenario: &Scenario) -> bool {
        self.name != WITHOUT_MEMORY || scenario.work == Work::Full
    }

    /// Returns name and version of the library that this contender uses.
    pub(crate) fn version(&self) -> String {
        let lockfile = include_str!("../Cargo.lock");
        let start = format!("name = \"{}\"\nversion = \"", self.versioned);
        let version = lockfile
            .split(&start)
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        format!("{} {}", self.versioned, version.unwrap_or("unknown"))
    }

    /// Runs this contender's process for `milliseconds` of CPU time.
    pub(crate) fn measure(
        &self,
        scenario: &Scenario,
        milliseconds: u32,
        folder: &Path,
    ) -> Result<Measured> {
        let program = env::current_exe()?.with_file_name(self.package);
        let output = Command::new(&program)
            .args([self.variant, &scenario.name(), &milliseconds.to_string()])
            .arg(folder)
            .output()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => {}
            Some(UNSUPPORTED) => return Ok(Measured::Unsupported(message)),
            _ => return Err(format!("{} failed: {message}", self.package).into()),
        }
        let text = String::from_utf8(output.stdout)?;
        let values: core::result::Result<Vec<f64>, _> =
            text.split_whitespace().map(str::parse).collect();
        match values?[..] {
            [client, server] => Ok(Measured::Values([client, server])),
            _ => Err(format!("{} printed {text:?}", self.package).into()),
        }
    }
}

/// Builds the programs of `contenders` beside this one. Each is built alone, so that none gets
/// features that another enables.
pub(crate) fn build(contenders: &[&Contender]) -> Result<()> {
    let mut packages: Vec<_> = contenders
        .iter()
        .map(|contender| contender.package)
        .collect();
    packages.dedup();
    let folder = env::current_exe()?;
    let target = folder
        .ancestors()
        .nth(2)
        .ok_or("this program lies in no target folder")?;
    for package in packages {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // build scripts would run again, because these describe the package `peers`
        let of_this = |(name, _): &(OsString, OsString)| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        };
        let mut command = Command::new(cargo);
        for (name, _) in env::vars_os().filter(of_this) {
            command.env_remove(name);
        }
        let status = command
            .args(["build", "--release", "--locked", "--package", package])
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .status()?;
        if !status.success() {
            return Err(format!("cannot build {package}").into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_in_the_lockfile() {
        for contender in &ALL {
            let version = contender.version();
            assert!(!version.ends_with("unknown"), "{version}");
        }
    }
}
