//! The machine and the build that figures belong to.

use std::process::Command;
use std::{fs, thread};

use serde_json::{Value, json};

/// The number of threads that run at once.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// CPU, kernel, compiler, commit and load, as they are now.
pub(crate) fn describe() -> Value {
    let load = read("/proc/loadavg", |text| text.split(' ').next());
    json!({
        "cpu": read("/proc/cpuinfo", |text| field(text, "model name")),
        "processors": processors(),
        "kernel": read("/proc/sys/kernel/osrelease", |text| Some(text.trim())),
        "compiler": env!("BENCH_COMPILER"),
        "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        "commit": commit(),
        "load": load.parse::<f64>().ok(),
    })
}

/// Returns the result of [`describe`] as text.
pub(crate) fn header(machine: &Value) -> String {
    let load = machine["load"].as_f64();
    let load = load.map_or_else(|| "unknown".to_owned(), |load| load.to_string());
    format!("{}\n{} · load {load}\n", system(machine), build(machine))
}

/// The processor and the operating system.
pub(crate) fn system(machine: &Value) -> String {
    let (cpu, kernel) = (text(machine, "cpu"), text(machine, "kernel"));
    let (threads, os) = (&machine["processors"], std::env::consts::OS);
    let linux = format!("Linux {kernel}");
    let system = if kernel == "unknown" { os } else { &linux };
    format!("{cpu}, {threads} threads · {system}")
}

/// The compiler and the commit.
pub(crate) fn build(machine: &Value) -> String {
    let compiler = text(machine, "compiler");
    let compiler = compiler.split(" (").next().unwrap_or_default();
    let is_debug = usize::from(machine["profile"] == "debug");
    let profile = ["", " (a debug build!)"][is_debug];
    format!("{compiler}{profile} · commit {}", text(machine, "commit"))
}

fn text<'a>(machine: &'a Value, key: &str) -> &'a str {
    machine[key].as_str().unwrap_or("unknown")
}

/// The commit of the source, with a mark if files have changed.
fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--exclude=*"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    Some(commit.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// The part of `file` that `find` returns, or "unknown".
fn read(file: &str, find: impl Fn(&str) -> Option<&str>) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    find(&text).unwrap_or("unknown").to_owned()
}

/// The value of `key` in the format of Linux's `/proc`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(known, _)| known.trim() == key)?;
    Some(value.trim())
}

/// The resident memory of this process, where the system reports it.
pub(crate) fn resident_bytes() -> Option<i64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = field(&text, "VmRSS")?.strip_suffix("kB")?;
    Some(kib.trim().parse::<i64>().ok()? << 10)
}
