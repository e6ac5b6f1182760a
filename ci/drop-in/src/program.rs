//! Servers that are programs of the machine: found, started, waited for until they say that they are ready, stopped.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, process, thread};

/// A program that runs, with a folder of its own; both end with this.
pub struct Program {
    /// Its files.
    pub folder: PathBuf,
    user: Option<(u32, u32)>,
    child: Option<Child>,
}

impl Program {
    /// Makes the folder. When this runs as root the folder and what is started belong to `user`, where there is such a
    /// user: PostgreSQL refuses to run as root.
    pub fn new(name: &str, user: &str) -> Self {
        let folder = env::temp_dir().join(format!("drop-in-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let this = Self {
            user: user_of_root(user),
            folder,
            child: None,
        };
        this.hand_over(&this.folder);
        this
    }

    /// Writes a file to the folder, which nobody else can read.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        self.hand_over(&path);
        path
    }

    fn hand_over(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).unwrap();
        }
    }

    /// A command in the folder, as the right user.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts the server that `command` makes for a port of the loopback, waits until it prints `ready` to its standard
    /// error or output, and returns the port.
    pub fn start(&mut self, ready: &str, command: impl Fn(&Self, u16) -> Command) -> u16 {
        let mut printed = String::new();
        // neither program can choose a port itself, so that somebody else may take it first
        for _ in 0..5 {
            let port = free_port();
            match self.start_once(command(self, port), ready) {
                Ok(()) => return port,
                Err(lines) => printed = lines,
            }
        }
        panic!("{:?} ended:\n{printed}", command(self, 0));
    }

    fn start_once(&mut self, mut command: Command, ready: &str) -> Result<(), String> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        if let Some(mut ended) = self.child.replace(child) {
            let _ = ended.wait();
        }
        let (sender, lines) = std::sync::mpsc::channel();
        for output in outputs {
            let sender = sender.clone();
            // goes on reading to the end, so that the server never waits for a reader
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        drop(sender);
        let mut printed = Vec::new();
        for line in lines {
            if line.contains(ready) {
                return Ok(());
            }
            printed.push(line);
        }
        Err(printed.join("\n"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // PostgreSQL ends its own processes when it is interrupted, and leaves them when it is killed
            let interrupted = Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status();
            if !interrupted.is_ok_and(|status| status.success()) {
                let _ = child.kill();
            }
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The user and group `name`, if this process is root's.
fn user_of_root(name: &str) -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next()? == name;
        let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        found.then_some((user, group))
    })
}

/// Looks for the program `name` in `folders`, then on the path.
pub fn find_program(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    folders
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// A port of the loopback that nobody has at present.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
