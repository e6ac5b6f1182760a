//! Peers that are refused, and whose chain is known or not. The time must not tell: anybody can
//! present the public chain of another, or relay a handshake to another server.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use harness::peers::configs::this::{client_of, server_of};
use harness::peers::configs::{ClientAuth, Identity, KeyType, Provider, Versions, server_name};
use harness::peers::roles::Role;
use rustls::certificates::VerifiedChains;
use rustls::client::Resumption;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection};

use crate::dudect::Subject;
use crate::{Case, Result};

pub(crate) fn cases(providers: &[Provider]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &provider in providers {
        for (name, versions) in [("TLS 1.3", Versions::Tls13), ("TLS 1.2", Versions::Tls12)] {
            for refusal in [
                Refusal::WrongSignature(Role::Client),
                Refusal::WrongSignature(Role::Server),
                Refusal::OtherName,
            ] {
                cases.push(Case {
                    operation: format!("{name} {}", refusal.name()),
                    inputs: ["known chain", "unknown chain"],
                    provider: Some(provider),
                    cost: 200,
                    build: Box::new(move || subject(provider, versions, refusal)),
                });
            }
        }
    }
    cases
}

/// The reason why a peer is refused.
#[derive(Clone, Copy)]
enum Refusal {
    /// This side reads a chain with a signature by another key.
    WrongSignature(Role),
    /// The client reads a good handshake of another server.
    OtherName,
}

impl Refusal {
    fn name(self) -> &'static str {
        match self {
            Self::WrongSignature(Role::Client) => "wrong signature, read by the client",
            Self::WrongSignature(Role::Server) => "wrong signature, read by the server",
            Self::OtherName => "another server's handshake, read by the client",
        }
    }
}

/// The configurations of both sides.
#[derive(Clone)]
struct Configs {
    client: ClientConfig,
    server: ServerConfig,
}

fn subject(provider: Provider, versions: Versions, refusal: Refusal) -> Result<Subject> {
    let key_type = KeyType::EcdsaP256;
    let auth = ClientAuth::Required;
    let mut known = Configs {
        client: client_of(versions, provider.this(), key_type, auth),
        server: server_of(versions, provider.this(), key_type, auth),
    };
    known.client.resumption = Resumption::disabled();
    let mut unknown = known.clone();
    unknown.client.verified_chains = Arc::new(VerifiedChains::default());
    unknown.server.verified_chains = Arc::new(VerifiedChains::default());
    known.connect()?;
    for configs in [&mut known, &mut unknown] {
        let identities = key_type.identities();
        match refusal {
            Refusal::WrongSignature(Role::Client) => {
                configs.server.cert_resolver = wrong_key(&identities.server, provider)?;
            }
            Refusal::WrongSignature(Role::Server) => {
                configs.client.client_auth_cert_resolver = wrong_key(&identities.client, provider)?;
            }
            Refusal::OtherName => {}
        }
    }
    let sides = [known, unknown].map(|configs| {
        let Configs { client, server } = configs;
        (Arc::new(client), Arc::new(server))
    });
    let name = match refusal {
        Refusal::OtherName => "other.example".try_into()?,
        Refusal::WrongSignature(_) => server_name(),
    };
    Ok(Box::new(move |class| {
        let (client, server) = &sides[class];
        let mut client = ClientConnection::new(client.clone(), name.clone())?;
        let mut server = ServerConnection::new(server.clone())?;
        pass(&mut client, &mut server)?;
        let at_server = matches!(refusal, Refusal::WrongSignature(Role::Server));
        if at_server {
            pass(&mut server, &mut client)?;
            refuse(&mut client, &mut server)
        } else {
            refuse(&mut server, &mut client)
        }
    }))
}

impl Configs {
    /// Makes a handshake, after which both sides know the other's chain.
    fn connect(&self) -> Result<()> {
        let mut client = ClientConnection::new(Arc::new(self.client.clone()), server_name())?;
        let mut server = ServerConnection::new(Arc::new(self.server.clone()))?;
        while client.wants_write() || server.wants_write() {
            pass(&mut client, &mut server)?;
            pass(&mut server, &mut client)?;
        }
        let entries = |chains: &VerifiedChains| chains.stats().entries;
        match entries(&self.client.verified_chains) + entries(&self.server.verified_chains) {
            2 => Ok(()),
            _ => Err("the chains are not known".into()),
        }
    }
}

/// The certificate of `identity` with another key.
fn wrong_key(identity: &Identity, provider: Provider) -> Result<Arc<SingleCertAndKey>> {
    let other = &KeyType::EcdsaP256.identities();
    let other = match identity.chain == other.client.chain {
        true => &other.server,
        false => &other.client,
    };
    let key = provider.this().key_provider.load_private_key(other.key())?;
    let certified_key = CertifiedKey::new(identity.chain.clone(), key);
    Ok(Arc::new(SingleCertAndKey::from(certified_key)))
}

/// Passes the output of one side to the other.
fn pass<From, To>(from: &mut ConnectionCommon<From>, to: &mut ConnectionCommon<To>) -> Result<()> {
    let mut flight = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut flight)?;
    }
    let mut flight = &flight[..];
    while !flight.is_empty() {
        to.read_tls(&mut flight)?;
        to.process_new_packets()?;
    }
    Ok(())
}

/// Measures how long `to` takes to refuse the flight of `from`.
fn refuse<From, To>(
    from: &mut ConnectionCommon<From>,
    to: &mut ConnectionCommon<To>,
) -> Result<core::time::Duration> {
    let mut flight = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut flight)?;
    }
    let mut flight = &flight[..];
    let start = Instant::now();
    while !flight.is_empty() {
        to.read_tls(&mut flight)?;
        if black_box(to.process_new_packets()).is_err() {
            return Ok(start.elapsed());
        }
    }
    Err("the peer is accepted".into())
}
