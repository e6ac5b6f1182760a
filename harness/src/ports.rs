//! Ports for servers that are told theirs and cannot be asked for it.
//!
//! A port that the system has named as free may be a neighbour's before the server is there: a test's that lets the
//! system choose, too, or a client's. GnuTLS's server then runs on IPv6 alone, and whoever connects talks to the
//! neighbour. So these ports are not among those that the system gives out, and who has one holds a lock on it.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process;

/// Below what systems give out by themselves: Linux begins at 32 768.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A TCP port of this host that no other test of any program uses until this is dropped.
pub struct ReservedPort {
    number: u16,
    /// The UDP port of the same number, which nobody else needs and one program at a time can have.
    _lock: UdpSocket,
}

impl ReservedPort {
    pub fn take() -> Self {
        // programs that are started together look at different ones first
        let start = process::id() as u16 % COUNT;
        let mut ports = (start..COUNT).chain(0..start).map(|at| FIRST + at);
        ports.find_map(Self::lock).expect("a port is free")
    }

    fn lock(number: u16) -> Option<Self> {
        let _lock = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        // nobody has it who knows nothing of this
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, number)).ok()?;
        Some(Self { number, _lock })
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_the_same() {
        let ports: Vec<_> = (0..20).map(|_| ReservedPort::take()).collect();
        let mut numbers: Vec<_> = ports.iter().map(ReservedPort::number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), ports.len());
        // nor is one given out that somebody else listens on
        let number = numbers[0];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        drop(ports);
        assert!(ReservedPort::lock(number).is_none());
        drop(listener);
    }
}
