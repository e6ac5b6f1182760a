//! One measurement: the processes of one contender and one scenario.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kit::Result;
use rustix::thread::sched_getaffinity;

use crate::contenders::{Contender, versions};
use crate::scenarios::{Place, Scenario};

/// The settings that all measurements of a run share.
pub(crate) struct Setting {
    /// Processors that this process may use.
    processors: Vec<usize>,
    cores: u8,
    is_tuned: bool,
    milliseconds: u32,
}

/// A threshold that no copy reaches.
const TUNABLE: &str = "glibc.cpu.x86_rep_movsb_threshold=0x40000000";

impl Setting {
    pub(crate) fn new(cores: u8, is_tuned: bool, milliseconds: u32) -> Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let processors: Vec<_> = (0..1024).filter(|core| allowed.is_set(*core)).collect();
        if processors.len() < usize::from(cores) {
            return Err("there is only one processor".into());
        }
        Ok(Self {
            processors,
            cores,
            is_tuned,
            milliseconds,
        })
    }

    pub(crate) fn describe(&self) -> String {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut lines = information.lines();
        let model = lines.find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = model.map_or("unknown processor", |(_, model)| model);
        let tuned = if self.is_tuned {
            TUNABLE
        } else {
            "glibc as it is"
        };
        let cores = ["one core", "two cores"][usize::from(self.cores - 1)];
        format!("{}; {model}, {cores}, {tuned}", versions())
    }

    /// Returns the processors of a client, and those of all others, as arguments of the program.
    fn cores(&self, place: Place) -> [String; 2] {
        let first = self.processors[0].to_string();
        let second = self.processors.get(1).unwrap_or(&self.processors[0]);
        match place {
            Place::Both => [format!("{first},{second}"), format!("{first},{second}")],
            Place::Chosen if self.cores == 2 => [second.to_string(), first],
            _ => [second.to_string(), second.to_string()],
        }
    }
}

/// The results of one measurement, for each unit of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// The resources of all processes.
    pub(crate) total: Usage,
    /// The resources of the proxy alone, if there is one.
    pub(crate) proxy: Option<Usage>,
    /// Seconds until the work was done.
    pub(crate) elapsed: f64,
}

/// The resources of some processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Seconds of processor time, of the user and of the system.
    pub(crate) cpu: f64,
    /// Reads and writes of sockets.
    pub(crate) calls: f64,
    /// Peak memory in MB; not for each unit.
    pub(crate) peak: f64,
}

impl Usage {
    /// Returns the resources between two reports of a process, for each of so many units.
    fn between(before: [f64; 4], after: [f64; 4], units: f64) -> Self {
        let spent = |index: usize| (after[index] - before[index]) / units;
        Self {
            cpu: spent(0) / 1e9,
            calls: spent(1) + spent(2),
            peak: after[3] * 1024.0 / 1e6,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            calls: self.calls + other.calls,
            peak: self.peak + other.peak,
        }
    }
}

/// Lets the client do its work once.
pub(crate) fn take(
    contender: &Contender,
    scenario: &Scenario,
    setting: &Setting,
    folder: &Path,
) -> Result<Sample> {
    let [client_cores, server_cores] = setting.cores(scenario.place);
    let start = |role: &str, cores: &str, rest: &[String]| {
        let mut command = Command::new(&contender.program);
        command
            .args([role, contender.wire, &scenario.work])
            .arg(folder)
            .arg(cores)
            .args(rest);
        if setting.is_tuned {
            command.env("GLIBC_TUNABLES", TUNABLE);
        }
        Process::start(command)
    };
    let (mut servers, mut rest) = (Vec::new(), Vec::new());
    for role in scenario.servers {
        let mut server = start(role, &server_cores, &rest)?;
        rest = vec![server.line()?];
        servers.push(server);
    }
    rest.push(setting.milliseconds.to_string());
    let role = if servers.is_empty() {
        "alone"
    } else {
        "client"
    };
    let mut client = start(role, &client_cores, &rest)?;
    client.line()?;

    let before = reports(&mut servers)?;
    client.tell()?;
    let own_before = client.numbers()?;
    let own_after = client.numbers()?;
    let [done, nanoseconds] = client.numbers()?;
    let after = reports(&mut servers)?;
    client.end()?;

    let units = scenario.unit.of(done as u64);
    let mut total = Usage::between(own_before, own_after, units);
    let usages = before.into_iter().zip(after);
    let usages: Vec<_> = usages
        .map(|(before, after)| Usage::between(before, after, units))
        .collect();
    total = usages.iter().fold(total, |sum, usage| sum.plus(*usage));
    Ok(Sample {
        total,
        proxy: usages.get(1).copied(),
        elapsed: nanoseconds / 1e9 / units,
    })
}

fn reports(servers: &mut [Process]) -> Result<Vec<[f64; 4]>> {
    let mut reports = Vec::new();
    for server in servers {
        server.tell()?;
        reports.push(server.numbers()?);
    }
    Ok(reports)
}

/// A process of the program. It is ended when it is dropped.
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
        })
    }

    fn tell(&mut self) -> Result<()> {
        Ok(self.input.write_all(b"\n")?)
    }

    fn line(&mut self) -> Result<String> {
        Ok(self.output.next().ok_or("a process has ended")??)
    }

    fn numbers<const N: usize>(&mut self) -> Result<[f64; N]> {
        let line = self.line()?;
        let numbers: std::result::Result<Vec<f64>, _> =
            line.split_whitespace().map(str::parse).collect();
        numbers?
            .try_into()
            .map_err(|_| format!("a process printed {line:?}").into())
    }

    /// Waits for the end. Fails if the process has failed.
    fn end(&mut self) -> Result<()> {
        match self.child.wait()?.success() {
            true => Ok(()),
            false => Err("the client has failed".into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
