//! Wrong Finished messages and binders. Records are not encrypted and nothing is random, so a
//! recorded flight can be replayed with one byte changed. HMAC is ring's.

use core::hint::black_box;
use core::ops::DerefMut;
use std::time::Instant;

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::roles::{ROLES, Role};
use harness::providers::transparent::{Resumes, Setup, TAG};
use harness::wire::{Record, records};
use tls::ConnectionCommon;

use super::tls;
use super::transparent::Configs;
use crate::dudect::Subject;
use crate::forgery::Forgery;
use crate::{Case, Result};

pub(super) fn cases() -> Vec<Case> {
    let case = |operation: String, build: Box<dyn Fn() -> Result<Subject>>| Case {
        operation,
        inputs: ["first byte wrong", "last byte wrong"],
        provider: None,
        cost: 10,
        build,
    };
    let mut cases = Vec::new();
    for (name, versions) in [("TLS 1.3", Versions::Tls13), ("TLS 1.2", Versions::Tls12)] {
        for side in ROLES {
            cases.push(case(
                format!("{name} Finished, read by the {}", side.name()),
                Box::new(move || finished(versions, side)),
            ));
        }
    }
    cases.push(case("PSK binder".to_owned(), Box::new(binder)));
    cases
}

/// A connection that has received everything except the last record, and that record.
fn refused<C, Data>(
    connect: impl Fn() -> C + 'static,
    before: Vec<Vec<u8>>,
    last: Vec<u8>,
    secret: core::ops::Range<usize>,
) -> Result<Subject>
where
    C: DerefMut<Target = ConnectionCommon<Data>>,
{
    let prepare = move || -> Result<C> {
        let mut connection = connect();
        before
            .iter()
            .try_for_each(|flight| give(&mut connection, flight))?;
        Ok(connection)
    };
    give(&mut *prepare()?, &last)
        .map_err(|error| format!("the unchanged record is rejected: {error}"))?;
    let places = [secret.start, secret.end - 1].map(|place| place as isize);
    let mut forgery = Forgery::new(last, places);
    Ok(Box::new(move |class| {
        let mut connection = prepare()?;
        let input = forgery.make(class);
        connection.read_tls(&mut &*input)?;
        let start = Instant::now();
        let outcome = black_box(connection.process_new_packets());
        let time = start.elapsed();
        match outcome {
            Err(_) => Ok(time),
            Ok(_) => Err("a wrong one is accepted".into()),
        }
    }))
}

/// The peer's Finished, received by `side`.
fn finished(versions: Versions, side: Role) -> Result<Subject> {
    let configs = Configs::new(Setup {
        versions: [versions; 2],
        ..Setup::usual(ClientAuth::None)
    });
    let (mut client, mut server) = (configs.client(), configs.server());
    // the flights of the client, then of the server
    let mut flights = [Vec::new(), Vec::new()];
    while client.is_handshaking() || server.is_handshaking() {
        let flight = take(&mut client)?;
        give(&mut server, &flight)?;
        flights[0].push(flight);
        let flight = take(&mut server)?;
        give(&mut client, &flight)?;
        flights[1].push(flight);
    }
    let [of_client, of_server] = flights;
    let mut flights = match side {
        Role::Server => of_client,
        Role::Client => of_server,
    };
    // messages after the client's Finished are not part of the handshake
    if (versions, side) == (Versions::Tls13, Role::Client) {
        flights.truncate(1);
    }
    let flight = flights.pop().ok_or("no flight")?;
    let (before, last, secret) = split_finished(&flight, versions)?;
    flights.push(before);
    match side {
        Role::Server => refused(move || configs.server(), flights, last, secret),
        Role::Client => refused(move || configs.client(), flights, last, secret),
    }
}

/// Splits a flight: the part before its Finished, a record with only the Finished, and the position
/// of verify_data in it.
#[allow(clippy::type_complexity, reason = "destructured by its only caller")]
fn split_finished(
    flight: &[u8],
    versions: Versions,
) -> Result<(Vec<u8>, Vec<u8>, core::ops::Range<usize>)> {
    const HEADER_LEN: usize = 4;
    // RFC 9846 §4.5.3: the length of the hash, SHA-384; RFC 5246 §7.4.9
    let (verify_data_len, inner_type): (usize, &[u8]) = match versions {
        Versions::Tls13 => (48, &[22]),
        _ => (12, &[]),
    };
    let mut records = records(flight);
    let last = records.pop().ok_or("no record")?;
    let content_len = last.payload.len() - TAG.len() - inner_type.len();
    let finished_at = content_len - HEADER_LEN - verify_data_len;
    let (others, finished) = last.payload[..content_len].split_at(finished_at);
    if finished[..HEADER_LEN] != [20, 0, 0, verify_data_len as u8] {
        return Err("no Finished at the end of the flight".into());
    }
    let sealed = |content: &[u8]| {
        let payload = [content, inner_type, &TAG].concat();
        Record { payload, ..last }.to_bytes()
    };
    let mut before: Vec<u8> = records.iter().flat_map(Record::to_bytes).collect();
    if !others.is_empty() {
        before.extend(sealed(others));
    }
    let start = 5 + HEADER_LEN;
    Ok((before, sealed(finished), start..start + verify_data_len))
}

/// The binder of a ticket in a ClientHello.
fn binder() -> Result<Subject> {
    const BINDER_LEN: usize = 48;
    let configs = Configs::new(Setup {
        resumes: Some(Resumes::Tickets),
        ..Setup::usual(ClientAuth::None)
    });
    let (mut client, mut server) = (configs.client(), configs.server());
    for _ in 0..2 {
        give(&mut server, &take(&mut client)?)?;
        give(&mut client, &take(&mut server)?)?;
    }
    let hello = take(&mut configs.client())?;
    let len = hello.len();
    if hello[len - BINDER_LEN - 1] != BINDER_LEN as u8 {
        return Err("no binder at the end of the ClientHello".into());
    }
    let secret = len - BINDER_LEN..len;
    refused(move || configs.server(), Vec::new(), hello, secret)
}

fn take<Data>(connection: &mut ConnectionCommon<Data>) -> Result<Vec<u8>> {
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    Ok(flight)
}

fn give<Data>(connection: &mut ConnectionCommon<Data>, mut flight: &[u8]) -> Result<()> {
    while !flight.is_empty() {
        connection.read_tls(&mut flight)?;
        connection.process_new_packets()?;
    }
    Ok(())
}
