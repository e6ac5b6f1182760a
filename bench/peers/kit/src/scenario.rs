//! The scenarios. Each is measured in a process of its own, and gives two rows: one for each side.

/// A connection's parameters, and the work that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub work: Work,
    pub version: Version,
    pub cipher: Cipher,
    pub certificate: Certificate,
    pub group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The client sends 16 KiB at a time, the server receives them.
    Bulk,
    /// Full handshakes.
    Full,
    /// Handshakes that resume by ticket, in TLS 1.3 with a new key exchange.
    Ticket,
    /// The memory of connections that have exchanged data.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Tls12,
    Tls13,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    EcdsaP256,
    Rsa2048,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    X25519,
    X25519MlKem768,
}

use Certificate::{EcdsaP256, Rsa2048};
use Cipher::{Aes128Gcm, Aes256Gcm};
use Group::{X25519, X25519MlKem768};
use Version::{Tls12, Tls13};

impl Scenario {
    /// Returns all scenarios, in the order of their rows.
    pub fn all() -> Vec<Self> {
        let usual = Self {
            work: Work::Idle,
            version: Tls13,
            cipher: Aes128Gcm,
            certificate: EcdsaP256,
            group: X25519,
        };
        let mut all = Vec::new();
        for version in [Tls13, Tls12] {
            for cipher in [Aes128Gcm, Aes256Gcm] {
                let work = Work::Bulk;
                all.push(Self {
                    work,
                    version,
                    cipher,
                    ..usual
                });
            }
        }
        for certificate in [EcdsaP256, Rsa2048] {
            for (version, group) in [(Tls13, X25519), (Tls13, X25519MlKem768), (Tls12, X25519)] {
                let work = Work::Full;
                all.push(Self {
                    work,
                    version,
                    certificate,
                    group,
                    ..usual
                });
            }
        }
        for version in [Tls13, Tls12] {
            let work = Work::Ticket;
            all.push(Self {
                work,
                version,
                ..usual
            });
        }
        all.push(usual);
        all
    }

    /// Returns the name of this scenario, which is an argument of a contender's process.
    pub fn name(&self) -> String {
        let version = self.version.name();
        match self.work {
            Work::Bulk => format!("bulk {version} {}", self.cipher.name()),
            Work::Full => format!(
                "full {version} {} {}",
                self.certificate.name(),
                self.group.name()
            ),
            Work::Ticket => format!("ticket {version}"),
            Work::Idle => format!("idle {version}"),
        }
    }

    /// Returns the names of the rows of client and server.
    pub fn rows(&self) -> [String; 2] {
        let sides = match self.work {
            Work::Bulk => ["send", "receive"],
            _ => ["client", "server"],
        };
        sides.map(|side| format!("{}, {side}", self.name()))
    }

    /// Returns the unit of the measured values, of which fewer are better.
    pub fn unit(&self) -> &'static str {
        match self.work {
            Work::Bulk => "ns/record",
            Work::Full | Work::Ticket => "ns/handshake",
            Work::Idle => "bytes",
        }
    }

    /// Returns the name of the cipher suite in the registry of IANA.
    pub fn suite(&self) -> String {
        let (cipher, hash) = match self.cipher {
            Aes128Gcm => ("AES_128_GCM", "SHA256"),
            Aes256Gcm => ("AES_256_GCM", "SHA384"),
        };
        match (self.version, self.certificate) {
            (Tls13, _) => format!("TLS_{cipher}_{hash}"),
            (Tls12, EcdsaP256) => format!("TLS_ECDHE_ECDSA_WITH_{cipher}_{hash}"),
            (Tls12, Rsa2048) => format!("TLS_ECDHE_RSA_WITH_{cipher}_{hash}"),
        }
    }

    /// Returns the name of the cipher suite that OpenSSL and BoringSSL use.
    pub fn openssl_suite(&self) -> String {
        if self.version == Tls13 {
            return self.suite();
        }
        let name = self.suite().replace("TLS_", "").replace("WITH_", "");
        name.replace("AES_", "AES").replace('_', "-")
    }
}

impl Version {
    pub fn name(self) -> &'static str {
        ["TLS 1.2", "TLS 1.3"][self as usize]
    }
}

impl Cipher {
    pub fn name(self) -> &'static str {
        ["AES-128-GCM", "AES-256-GCM"][self as usize]
    }
}

impl Certificate {
    pub fn name(self) -> &'static str {
        ["ECDSA-P256", "RSA-2048"][self as usize]
    }
}

impl Group {
    pub fn name(self) -> &'static str {
        ["X25519", "X25519MLKEM768"][self as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_has_its_own_name() {
        let rows: Vec<_> = Scenario::all().iter().flat_map(Scenario::rows).collect();
        assert_eq!(rows.iter().collect::<HashSet<_>>().len(), rows.len());
    }

    #[test]
    fn suites_have_the_names_of_iana_and_openssl() {
        let all = Scenario::all();
        let names: HashSet<_> = all.iter().map(Scenario::openssl_suite).collect();
        assert!(names.contains("ECDHE-ECDSA-AES256-GCM-SHA384"), "{names:?}");
        assert!(names.contains("ECDHE-RSA-AES128-GCM-SHA256"), "{names:?}");
        assert!(names.contains("TLS_AES_256_GCM_SHA384"), "{names:?}");
    }
}
