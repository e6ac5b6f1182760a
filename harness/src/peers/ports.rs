//! Ports for servers that need a given port and cannot report one.
//!
//! A port that the system reports as free may be taken by another test or client before the server
//! uses it. GnuTLS's server then listens only on IPv6, and clients reach the other program. So
//! these ports lie outside the system's ephemeral range, and a lock protects each of them.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process;

/// Below the ephemeral ports, which begin at 32 768 on Linux.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A TCP port of this host that no other test uses until this is dropped.
pub struct ReservedPort {
    number: u16,
    /// Binds the UDP port of the same number, which is otherwise unused, as a lock between
    /// processes.
    _lock: UdpSocket,
}

impl ReservedPort {
    pub fn take() -> Self {
        // spreads concurrent programs over different ports
        let start = process::id() as u16 % COUNT;
        let mut ports = (start..COUNT).chain(0..start).map(|at| FIRST + at);
        ports.find_map(Self::lock).expect("a port is free")
    }

    fn lock(number: u16) -> Option<Self> {
        let _lock = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        // skips ports in use by other programs
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
    fn ports_are_distinct() {
        let ports: Vec<_> = (0..20).map(|_| ReservedPort::take()).collect();
        let mut numbers: Vec<_> = ports.iter().map(ReservedPort::number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), ports.len());
        // a port on which another program listens is not returned either
        let number = numbers[0];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        drop(ports);
        assert!(ReservedPort::lock(number).is_none());
        drop(listener);
    }
}
