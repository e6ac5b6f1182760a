//! Checks that the compiler has the unstable parts of the standard library that feature `read_buf`
//! needs. Only a nightly one has, and not each in the same form.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The unstable items that the implementations use.
const PROBE: &str = r#"
#![feature(read_buf, core_io_borrowed_buf)]
use std::io::{self, BorrowedCursor, Read};
pub struct Probe;
impl Read for Probe {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> { Ok(0) }
    fn read_buf(&mut self, mut cursor: BorrowedCursor<'_>) -> io::Result<()> {
        if cursor.capacity() != 0 && cursor.written() == 0 { cursor.append(&[1]); }
        Ok(())
    }
}
"#;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(read_buf)");
    if env::var_os("CARGO_FEATURE_READ_BUF").is_some() && compiles() == Some(true) {
        println!("cargo::rustc-cfg=read_buf");
    }
}

/// True if the compiler accepts the probe; `None` if it could not be run.
fn compiles() -> Option<bool> {
    let output = Path::new(&env::var_os("OUT_DIR")?).join("read_buf_probe");
    let mut compiler = Command::new(env::var_os("RUSTC")?)
        .args(["--edition=2021", "--crate-type=lib", "--emit=metadata"])
        .arg("--target")
        .arg(env::var_os("TARGET")?)
        .arg("-o")
        .arg(output)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    compiler.stdin.take()?.write_all(PROBE.as_bytes()).ok()?;
    Some(compiler.wait().ok()?.success())
}
