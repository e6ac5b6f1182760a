//! Child processes, and their files.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use harness::peers::configs::KeyType;
use harness::peers::ports::ReservedPort;

/// A running program, killed on drop, and its port, which is released after that.
pub(crate) struct Program(pub(crate) Child, Option<ReservedPort>);

impl Program {
    /// Starts the program, or returns `None` with a message if it is not installed.
    pub(crate) fn start(name: &str, args: &[String]) -> Option<Self> {
        let child = Command::new(name)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Some(Self(child, None)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: {name} is not installed");
                None
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Runs the program to its end; `None` if it is not installed.
    pub(crate) fn run(name: &str, args: &[String]) -> Option<()> {
        let mut program = Self::start(name, args)?;
        drop(program.0.stdin.take());
        let status = program.0.wait().unwrap();
        assert!(status.success(), "{name} {args:?}: {status}");
        Some(())
    }

    /// Starts a server with arguments that `args` makes from the port, and waits until it listens.
    pub(crate) fn serve(
        name: &str,
        args: impl Fn(u16) -> Vec<String>,
    ) -> Option<(Self, u16, TcpStream)> {
        // a program outside the tests may take the port
        for _ in 0..10 {
            let reserved = ReservedPort::take();
            let port = reserved.number();
            let mut server = Self::start(name, &args(port))?;
            server.1 = Some(reserved);
            // discard the output
            let mut output = server.0.stdout.take().unwrap();
            thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
            while server.0.try_wait().unwrap().is_none() {
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
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The files of one key type for one test.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(test: &str, key_type: KeyType) -> Self {
        let name = format!("other-stacks-{test}-{key_type:?}");
        let files = Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
        let _ = fs::remove_dir_all(&files.0);
        fs::create_dir_all(&files.0).unwrap();
        let identities = key_type.identities();
        files.write("ca.pem", identities.ca_pem.as_bytes());
        for (name, identity) in [
            ("server", &identities.server),
            ("client", &identities.client),
        ] {
            files.write(&format!("{name}.pem"), identity.cert_pem.as_bytes());
            files.write(&format!("{name}.key"), identity.key_pem().as_bytes());
        }
        files
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}
