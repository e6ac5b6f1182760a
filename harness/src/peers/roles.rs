//! The role of the connection under test, and configurations for either role.

use super::endpoints::{Endpoint, ThisUnbuffered, handshake};
pub use crate::this::roles as this;
pub use crate::upstream::roles as upstream;

/// The side of the connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Client,
    Server,
}

pub const ROLES: [Role; 2] = [Role::Client, Role::Server];

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// Returns the role of its peer.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Completes the handshake between an endpoint in this role and its peer.
    pub fn handshake(self, end: &mut dyn Endpoint, peer: &mut dyn Endpoint) {
        match self {
            Self::Client => handshake(end, peer),
            Self::Server => handshake(peer, end),
        }
    }

    /// Returns an endpoint in this role and its peer as client and server.
    pub fn client_and_server<T>(self, end: T, peer: T) -> (T, T) {
        match self {
            Self::Client => (end, peer),
            Self::Server => (peer, end),
        }
    }
}

/// The crate and API of an endpoint.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Implementation {
    Buffered,
    /// Buffered, with records opened into the application's memory.
    OpeningInto,
    Unbuffered,
    Upstream,
}

impl Implementation {
    /// Creates an endpoint with the configuration for its crate.
    pub fn end(
        self,
        this: impl FnOnce() -> this::Config,
        upstream: impl FnOnce() -> upstream::Config,
    ) -> Box<dyn Endpoint> {
        match self {
            Self::Buffered => Box::new(this().buffered()),
            Self::OpeningInto => Box::new(this().buffered().opening_into()),
            Self::Unbuffered => this().unbuffered(),
            Self::Upstream => Box::new(upstream().buffered()),
        }
    }
}

impl this::Config {
    /// Creates an endpoint that encrypts in place.
    pub fn in_place(&self) -> Box<dyn Endpoint> {
        match self.clone() {
            Self::Client(config) => Box::new(ThisUnbuffered::client(config).in_place()),
            Self::Server(config) => Box::new(ThisUnbuffered::server(config).in_place()),
        }
    }
}
