//! Records the compiler's version for the header of results.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("--version")
        .output();
    let version = output.map_or_else(
        |_| "unknown compiler".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    println!("cargo::rustc-env=BENCH_COMPILER={version}");
}
