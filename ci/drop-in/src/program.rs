//! Servers that are programs of the machine: finds and starts them, waits until they are ready, and
//! stops them.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, process, thread};

/// A running program with its folder. Both are removed on drop.
pub struct Program {
    /// The folder of its files.
    pub folder: PathBuf,
    user: Option<(u32, u32)>,
    child: Option<Child>,
}

impl Program {
    /// Creates the folder. If this process runs as root, the folder and the program belong to
    /// `user`, if that user exists: PostgreSQL refuses to run as root.
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

    /// Writes a file to the folder. Nobody else can read it.
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

    /// Returns a command that runs in the folder, as the right user.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts the server that `command` creates for a loopback port, and waits until it prints
    /// `ready` to its standard error or output. Returns the port.
    pub fn start(&mut self, ready: &str, command: impl Fn(&Self, u16) -> Command) -> u16 {
        let mut printed = String::new();
        // the programs cannot choose a port themselves, so another process may take it first
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
            // keep reading to the end, so that the server never blocks on a full pipe
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
            // an interrupted PostgreSQL ends its own processes, a killed one does not
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

/// Returns user and group `name` if this process runs as root.
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

/// Looks for the program `name` in `folders`, then in the path.
pub fn find_program(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    folders
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Returns a loopback port that is free at present.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
