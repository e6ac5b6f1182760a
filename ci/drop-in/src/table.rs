//! The table of results: a line for each crate and role. `ci/drop-in/run` names the file of these
//! lines, and prints it.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Records that `package` moved `bytes` of plaintext over TLS as `role`, in both directions
/// together.
pub fn moved(package: &str, role: &str, traffic: &str, bytes: usize) {
    assert!(bytes > 0, "{package} moved nothing");
    line(package, role, traffic, &format!("{bytes} bytes"));
}

/// Records that nothing was moved, because this machine has no `program`.
pub fn skipped(package: &str, program: &str) {
    line(package, "-", "-", &format!("skipped, no {program} here"));
}

fn line(package: &str, role: &str, traffic: &str, what: &str) {
    let version = version(package);
    let line = format!("{package:24} {version:14} {role:20} {traffic:30} {what}\n");
    match env::var_os("DROP_IN_TABLE") {
        // a single write appends the whole line, so lines of parallel tests do not mix
        Some(path) => File::options()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap(),
        None => print!("{line}"),
    }
}

/// Returns the version of `package` in the workspace of the running test.
fn version(package: &str) -> String {
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap();
    let lock = fs::read_to_string(Path::new(&folder).join("Cargo.lock")).unwrap();
    let mut versions = lock
        .split("[[package]]\n")
        .filter_map(|entry| entry.strip_prefix(&format!("name = \"{package}\"\nversion = \"")[..]))
        .filter_map(|rest| rest.split('"').next());
    let version = versions.next().unwrap();
    assert_eq!(versions.next(), None, "{package} is listed twice");
    version.to_owned()
}
