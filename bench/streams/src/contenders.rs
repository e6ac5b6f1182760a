//! The contenders: one program, built over several libraries.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use kit::Result;

/// A column.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// `tcp` or `tls`.
    pub(crate) wire: &'static str,
    pub(crate) program: PathBuf,
}

/// The contender to which all others are compared.
pub(crate) const BASELINE: &str = "0.23";
pub(crate) const OLD_STREAMS: &str = "this+0.26";
pub(crate) const THIS: &str = "this";
const TCP: &str = "tcp";

pub(crate) const NAMES: [&str; 4] = [BASELINE, OLD_STREAMS, THIS, TCP];

/// The packages of this repository that replace published ones, and their folders.
type Patches = &'static [(&'static str, &'static str)];

/// The builds of the program, and their features.
const BUILDS: [(&str, Patches, &[&str]); 3] = [
    (BASELINE, &[], &[]),
    (OLD_STREAMS, &[("rustls", "rustls")], &[]),
    (
        THIS,
        &[("rustls", "rustls"), ("tokio-rustls", "tokio")],
        &["--features", "in-place,relay"],
    ),
];

/// Builds the program for the contenders with these names, or for all.
pub(crate) fn build(only: &[String]) -> Result<Vec<Contender>> {
    let mut contenders = Vec::new();
    for (name, patches, features) in BUILDS {
        if name == BASELINE || only.is_empty() || only.iter().any(|chosen| chosen == name) {
            contenders.push(Contender {
                name,
                wire: "tls",
                program: build_one(name, patches, features)?,
            });
        }
    }
    if only.is_empty() || only.iter().any(|chosen| chosen == TCP) {
        contenders.push(Contender {
            name: TCP,
            wire: "tcp",
            program: contenders[0].program.clone(),
        });
    }
    Ok(contenders)
}

/// Builds the program in a copy of its package, which has the patches. So the lockfile in the
/// repository stays as it is.
fn build_one(name: &str, patches: Patches, features: &[&str]) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let executable = env::current_exe()?;
    let target = executable.ancestors().nth(2);
    let target = target.ok_or("this program lies in no target folder")?;
    let package = target.join("streams").join(name);
    fs::create_dir_all(&package)?;

    let program = root.join("program");
    let mut manifest = fs::read_to_string(program.join("Cargo.toml"))?;
    manifest += "\n[patch.crates-io]\n";
    for (patched, folder) in patches {
        let folder = root.join("../..").join(folder).canonicalize()?;
        manifest += &format!("{patched} = {{ path = '{}' }}\n", folder.display());
    }
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::copy(program.join("Cargo.lock"), package.join("Cargo.lock"))?;
    let source = package.join("src");
    if !source.is_symlink() {
        symlink(program.join("src"), source)?;
    }

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // build scripts would run again, because these describe the package `streams`
    for (variable, _) in env::vars_os() {
        let text = variable.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(variable);
        }
    }
    let status = command
        .args(["build", "--release"])
        .args(features)
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()?;
    if !status.success() {
        return Err(format!("cannot build {name}").into());
    }
    let lockfile = fs::read_to_string(package.join("Cargo.lock"))?;
    for replaced in ["rustls", "tokio-rustls"] {
        let is_patched = patches.iter().any(|(patched, _)| *patched == replaced);
        if sources(&lockfile, replaced) != [!is_patched] {
            return Err(format!("{name} has another {replaced}, or several").into());
        }
    }
    let built = package.join("program");
    fs::copy(target.join("release/streams-program"), &built)?;
    Ok(built)
}

/// Returns for each version of a package whether it is from a registry.
fn sources(lockfile: &str, package: &str) -> Vec<bool> {
    let entries = lockfile.split("[[package]]\n");
    let entries = entries.filter(|entry| entry.starts_with(&format!("name = \"{package}\"\n")));
    entries
        .map(|entry| entry.contains("\nsource = \"registry+"))
        .collect()
}

/// Returns name and version of the packages that matter beside this library's.
pub(crate) fn versions() -> String {
    let lockfile = include_str!("../program/Cargo.lock");
    let version = |package: &str| {
        let start = format!("name = \"{package}\"\nversion = \"");
        let rest = lockfile.split(&start).nth(1);
        let version = rest.and_then(|rest| rest.split('"').next());
        format!("{package} {}", version.unwrap_or("unknown"))
    };
    ["rustls", "tokio-rustls", "tokio", "hyper"]
        .map(version)
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patched_packages_are_found_in_a_lockfile() {
        let lockfile = include_str!("../program/Cargo.lock");
        assert_eq!(sources(lockfile, "rustls"), [true]);
        let patched = lockfile.replace("source = ", "other = ");
        assert_eq!(sources(&patched, "rustls"), [false]);
        let twice = format!("{lockfile}\n{patched}");
        assert_eq!(sources(&twice, "tokio-rustls"), [true, false]);
        assert!(!versions().contains("unknown"), "{}", versions());
    }
}
