//! A profile in callgrind's format, with the owner of each instruction.

/// The owner of an instruction, according to its source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// This library, including code that the compiler inlined from the standard library and from
    /// Rust crates.
    Library,
    /// The Rust code of the cryptographic libraries.
    Binding,
    /// C, assembly, and code without a source: the cryptographic libraries and the C library.
    /// Includes this library's replacement for `memcpy`, because its use depends on the location of
    /// buffers.
    Foreign,
    /// The program that counts, and the test kit.
    Bench,
}

/// The instructions of one workload.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) library: u64,
    pub(crate) binding: u64,
    pub(crate) foreign: u64,
}

impl Profile {
    /// Parses a profile of `program` with uncompressed strings and positions. The object, file and
    /// function of the cost lines are given whenever they change.
    pub(crate) fn parse(text: &str, program: &str) -> Result<Self, String> {
        let mut profile = Self::default();
        let (mut object, mut file) = ("", "");
        let mut home = Owner::Foreign;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with(|first: char| first.is_ascii_digit()) {
                let Some(Ok(cost)) = line.split(' ').nth(1).map(str::parse::<u64>) else {
                    return Err(format!("no cost in \"{line}\""));
                };
                let owner = match home {
                    _ if object != program => Owner::Foreign,
                    // inlined code belongs to the function
                    Owner::Binding | Owner::Foreign => home,
                    Owner::Library | Owner::Bench => Owner::of(file, ""),
                };
                match owner {
                    Owner::Library => profile.library += cost,
                    Owner::Binding => profile.binding += cost,
                    Owner::Foreign => profile.foreign += cost,
                    Owner::Bench => {}
                }
            } else if let Some((key, value)) = line.split_once('=') {
                match key {
                    "ob" => object = value,
                    "fl" | "fi" | "fe" => file = value,
                    "fn" => home = Owner::of(file, value),
                    // the next line is the cost of the called function
                    "calls" => drop(lines.next()),
                    _ => {}
                }
            }
        }
        Ok(profile)
    }
}

impl Owner {
    /// The owner of a function whose first instruction is from `file`. That may be an inlined file.
    /// The cryptographic libraries have no line tables, so their functions are recognised by name.
    fn of(file: &str, function: &str) -> Self {
        let files = ["/aws-lc-rs-1.", "/ring-0."];
        let names = ["aws_lc_rs::", "<aws_lc_rs::", "ring::", "<ring::"];
        if names.iter().any(|name| function.starts_with(name)) {
            Self::Binding
        } else if !file.ends_with(".rs") || function.contains("copy::in_pieces") {
            Self::Foreign
        } else if files.iter().any(|part| file.contains(part)) {
            Self::Binding
        } else if file.contains("benches/instructions/") || file.contains("/harness/src/") {
            Self::Bench
        } else {
            Self::Library
        }
    }
}
