//! The operations that each library provides.

use std::path::{Path, PathBuf};

use crate::{Result, Scenario, Wire};

/// The longest plaintext of a record.
pub const RECORD_LEN: usize = 16 * 1024;

/// A library, with the configurations of both sides: the client verifies the server's chain up to
/// a root that it trusts, and the name `localhost`; the server sends tickets.
pub trait Contender: Sized {
    /// The longest plaintext of a record that the library sends.
    const LONGEST: usize = RECORD_LEN;

    type Client: Side;
    type Server: Side;

    fn new(setup: &Setup) -> Result<Self>;

    /// Creates a client that resumes a session if [`Setup::resumes`] is set and it has one.
    fn client(&self) -> Result<Self::Client>;

    fn server(&self) -> Result<Self::Server>;
}

/// One side of a connection.
pub trait Side {
    fn wire(&mut self) -> &mut Wire;

    /// Continues the handshake with the bytes that have arrived. Returns true if it is complete.
    fn handshake(&mut self) -> Result<bool>;

    /// Sends `data`, of one record at most.
    fn send(&mut self, data: &[u8]) -> Result<()>;

    /// Receives data into `buffer`. Returns 0 if no more has arrived.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize>;

    fn negotiated(&self) -> Negotiated;
}

/// The result of a handshake, as the library reports it.
#[derive(Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// A name of the cipher suite. Each belongs to one version.
    pub suite: String,
    pub is_resumed: bool,
}

/// The parameters of a process.
#[derive(Clone)]
pub struct Setup {
    pub scenario: Scenario,
    /// True if clients keep sessions, and resume them.
    pub resumes: bool,
    /// The variant of the library, if there are several.
    pub variant: String,
    /// False if the client must trust another authority of the same name instead.
    pub trusts_root: bool,
    /// The folder of the certificates.
    pub folder: PathBuf,
}

impl Setup {
    /// The certificate of the authority that the client trusts.
    pub fn root(&self) -> PathBuf {
        self.file(if self.trusts_root { "root" } else { "stranger" })
    }

    /// The certificates of the server and an intermediate authority.
    pub fn chain(&self) -> PathBuf {
        self.file("chain")
    }

    /// The server's private key, in PKCS#8.
    pub fn key(&self) -> PathBuf {
        self.file("key")
    }

    fn file(&self, content: &str) -> PathBuf {
        let certificate = self.scenario.certificate.name();
        Path::new(&self.folder).join(format!("{certificate}-{content}.pem"))
    }
}
