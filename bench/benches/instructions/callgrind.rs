//! Running this program under callgrind, and reading what it wrote: how many instructions, and whose.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::Result;
use crate::workloads::{COLLECTED, REPORTED};

/// Whose code an instruction is, by the source file it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// This library, and what the compiler put into it from the standard library and from Rust crates.
    Library,
    /// The Rust code of the cryptographic libraries.
    Binding,
    /// C, assembly, and what has no source: the cryptographic libraries and the C library.
    Foreign,
    /// This bench.
    Bench,
}

/// Instructions of one workload.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) library: u64,
    pub(crate) binding: u64,
    pub(crate) foreign: u64,
    /// By function and source file, those of the library and the bindings.
    pub(crate) functions: BTreeMap<(String, String), u64>,
}

/// Whether valgrind is installed.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Runs `args` of this program under callgrind; returns what it printed, and a profile for each call of
/// the function [`REPORTED`].
pub(crate) fn run(args: &[&str], directory: &Path) -> Result<(String, Vec<Profile>)> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory)?;
    let out = directory.join("profile");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{COLLECTED}*"))
        .arg(format!("--dump-before=*{REPORTED}*"))
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe()?)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !run.status.success() {
        return Err(format!("under valgrind it ended with {}", run.status).into());
    }
    let mut profiles = Vec::new();
    while let Ok(text) = fs::read_to_string(format!("{}.{}", out.display(), profiles.len() + 1)) {
        profiles.push(Profile::parse(&text)?);
    }
    Ok((String::from_utf8(run.stdout)?, profiles))
}

impl Profile {
    /// Reads a profile in callgrind's format, strings and positions not compressed: which object, file
    /// and function the lines of costs belong to is said when it changes.
    fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        let (mut object, mut file, mut function) = ("", "", "");
        let mut home = Owner::Foreign;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let cost = line.starts_with(|first: char| first.is_ascii_digit());
            if cost {
                let cost = line.split(' ').nth(1).ok_or("a line without a cost")?;
                profile.add(home, object, (function, file), cost.parse()?);
            } else if let Some((key, value)) = line.split_once('=') {
                match key {
                    "ob" => object = value,
                    "fl" | "fi" | "fe" => file = value,
                    "fn" => {
                        function = value;
                        home = owner(file, function);
                    }
                    // the line behind it is the cost of what was called
                    "calls" => drop(lines.next()),
                    _ => {}
                }
            }
        }
        Ok(profile)
    }

    fn add(&mut self, home: Owner, object: &str, (function, file): (&str, &str), cost: u64) {
        let in_this_program = env::current_exe().is_ok_and(|program| Path::new(object) == program);
        let owner = match home {
            _ if !in_this_program => Owner::Foreign,
            // what was inlined there is a part of it
            Owner::Binding | Owner::Foreign => home,
            Owner::Library | Owner::Bench => owner(file, ""),
        };
        match owner {
            Owner::Library => self.library += cost,
            Owner::Binding => self.binding += cost,
            Owner::Foreign => self.foreign += cost,
            Owner::Bench => {}
        }
        if matches!(owner, Owner::Library | Owner::Binding) {
            let key = (function.to_owned(), file.to_owned());
            *self.functions.entry(key).or_default() += cost;
        }
    }
}

/// Whose a function in `file` is; a function of a cryptographic library can also be told by its name.
fn owner(file: &str, function: &str) -> Owner {
    let of_crypto = ["/aws-lc-rs-", "/aws-lc-sys-", "/aws-lc-fips-sys-", "/ring-"];
    let names = ["aws_lc_rs::", "<aws_lc_rs::", "ring::", "<ring::"];
    if !file.ends_with(".rs") {
        Owner::Foreign
    } else if of_crypto.iter().any(|name| file.contains(name))
        || names.iter().any(|name| function.starts_with(name))
    {
        Owner::Binding
    } else if file.contains("benches/instructions/") {
        Owner::Bench
    } else {
        Owner::Library
    }
}
