//! Runs this program under callgrind.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::Result;
use crate::profile::Profile;
use crate::workloads::{COLLECTED, REPORTED};

/// Runs this program with `args` under callgrind. Returns its output, and a profile for each call
/// of the function [`REPORTED`].
pub(crate) fn run(args: &[&str], directory: &Path) -> Result<(String, Vec<Profile>)> {
    // remove the output of an earlier run
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory)?;
    let out = directory.join("profile").display().to_string();
    let program = env::current_exe()?.canonicalize()?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*{COLLECTED}*"))
        .arg(format!("--dump-before=*{REPORTED}*"))
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={out}"))
        .arg(&program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run valgrind, which this needs: {error}"))?;
    if !run.status.success() {
        return Err(format!("the run under valgrind failed: {}", run.status).into());
    }
    let program = program.to_str().ok_or("this program's path is not UTF-8")?;
    let mut profiles = Vec::new();
    while let Ok(text) = fs::read_to_string(format!("{out}.{}", profiles.len() + 1)) {
        profiles.push(Profile::parse(&text, program)?);
    }
    Ok((String::from_utf8(run.stdout)?, profiles))
}
