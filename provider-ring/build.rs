//! Says where `src/shared` is: a link to the sources that both providers share, and a directory of
//! its own in a package. Git on Windows makes a text file of a link; the sources are then taken from
//! the neighbouring package, which a checkout always has.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(shared_is_no_directory)");
    if !Path::new("src/shared").is_dir() {
        println!("cargo::rustc-cfg=shared_is_no_directory");
    }
}
