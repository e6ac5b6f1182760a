//! Programs from other TLS stacks, run as child processes, and the files that they read.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, thread};

use rcgen::KeyPair;

use crate::peers::configs::KeyType;
use crate::peers::ports::ReservedPort;

/// A running program, killed on drop, and its port, which is released after that.
pub struct Program {
    pub child: Child,
    port: Option<ReservedPort>,
}

impl Program {
    /// Starts the program, or returns `None` with a message if it is not installed.
    pub fn start(name: &str, args: &[impl AsRef<str>]) -> Option<Self> {
        Self::start_with(name, args, Stdio::null())
    }

    pub fn start_with(name: &str, args: &[impl AsRef<str>], stderr: Stdio) -> Option<Self> {
        let child = Command::new(name)
            .args(args.iter().map(AsRef::as_ref))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn();
        match child {
            Ok(child) => Some(Self { child, port: None }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: {name} is not installed");
                None
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Runs the program until it ends; `None` if it is not installed.
    pub fn run(name: &str, args: &[impl AsRef<str>]) -> Option<()> {
        let mut program = Self::start(name, args)?;
        drop(program.child.stdin.take());
        let status = program.child.wait().unwrap();
        assert!(status.success(), "{name}: {status}");
        Some(())
    }

    /// Starts a server with the arguments that `args` returns for the port, and waits until it
    /// listens.
    pub fn serve(name: &str, args: impl Fn(u16) -> Vec<String>) -> Option<(Self, u16, TcpStream)> {
        // a program outside the tests may take the port
        for _ in 0..10 {
            let reserved = ReservedPort::take();
            let port = reserved.number();
            let mut server = Self::start(name, &args(port))?;
            server.port = Some(reserved);
            // discard the output
            let mut output = server.child.stdout.take().unwrap();
            thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
            while server.child.try_wait().unwrap().is_none() {
                if let Ok(socket) = TcpStream::connect(("127.0.0.1", port)) {
                    return Some((server, port, socket));
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("{name} does not start");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a listener. Also returns its port.
pub fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// The certificates and keys of one key type as files for one test, in PEM.
pub struct Files(PathBuf);

impl Files {
    /// Writes the files below `directory` once per process.
    pub fn new(directory: &str, test: &str, key_type: KeyType) -> Self {
        static WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let files = Self(Path::new(directory).join(format!("{test}-{key_type:?}")));
        let mut written = WRITTEN.lock().unwrap();
        if written.contains(&files.0) {
            return files;
        }
        written.push(files.0.clone());
        fs::create_dir_all(&files.0).unwrap();
        let identities = key_type.identities();
        files.write("ca.pem", &identities.ca_pem);
        for (name, identity) in [
            ("server", &identities.server),
            ("client", &identities.client),
        ] {
            files.write(&format!("{name}.pem"), &identity.cert_pem);
            files.write(&format!("{name}.key"), identity.key_pem());
            let key = KeyPair::try_from(identity.key().secret_der()).unwrap();
            files.write(&format!("{name}.pub"), key.public_key_pem());
        }
        files
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}
