//! Comparisons with secrets, and opening of possible forgeries, with inputs that are wrong in
//! different places.

use core::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use harness::peers::configs::Provider;
use harness::wire::Noise;
use harness::wire::bare_records::{Cipher, Keys, Records};
use tls::crypto::cipher::{AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter};
use tls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use tls::{ContentType, ProtocolVersion, SupportedCipherSuite};

use super::{crypto, ticketer, tls};
use crate::dudect::Subject;
use crate::forgery::Forgery;
use crate::{Case, Result};

pub(super) fn cases(providers: &[Provider]) -> Vec<Case> {
    let mut cases = vec![Case {
        operation: "session ID in the server's storage".to_owned(),
        inputs: ["first byte wrong", "last byte wrong"],
        provider: None,
        cost: 1,
        build: Box::new(stored_session),
    }];
    for provider in providers {
        cases.push(ticket_case(
            "ticket",
            ["tag, first byte", "tag, last byte"],
            [-16, -1],
            *provider,
            ticketer,
        ));
        // a control: the result of chance for such an operation
        cases.push(ticket_case(
            "ticket, wrong in the same place",
            ["tag, last byte"; 2],
            [-1; 2],
            *provider,
            ticketer,
        ));
        cases.push(ticket_case(
            "name of a ticket's key",
            ["first byte wrong", "last byte wrong"],
            [0, 15],
            *provider,
            ticketer,
        ));
        for suite in crypto(*provider).cipher_suites {
            if let Some(cipher) = cipher(&suite) {
                cases.extend(record_cases(*provider, suite, cipher));
            }
        }
    }
    cases
}

/// Opens a wrong ticket of `ticketer`. One byte is changed, at one of two places, counted from the
/// start or the end.
pub(super) fn ticket_case(
    operation: &str,
    inputs: [&'static str; 2],
    places: [isize; 2],
    provider: Provider,
    ticketer: impl Fn(Provider) -> Arc<dyn ProducesTickets> + 'static,
) -> Case {
    let build = move || -> Result<Subject> {
        let ticketer = ticketer(provider);
        let ticket = ticketer.encrypt(&[0x5e; 120]).ok_or("no ticket")?;
        if ticketer.decrypt(&ticket).is_none() {
            return Err("the unchanged ticket is rejected".into());
        }
        let mut forgery = Forgery::new(ticket, places);
        Ok(Box::new(move |class| {
            let input = forgery.make(class);
            let start = Instant::now();
            let opened = black_box(ticketer.decrypt(black_box(input)));
            let time = start.elapsed();
            match opened {
                None => Ok(time),
                Some(_) => Err("a wrong ticket is accepted".into()),
            }
        }))
    };
    Case {
        operation: operation.to_owned(),
        inputs,
        provider: Some(provider),
        cost: 1,
        build: Box::new(build),
    }
}

/// Looks up names that are similar to existing ones. The slot of a name in the table is random, but
/// constant in a run. Therefore name and byte value vary.
fn stored_session() -> Result<Subject> {
    const SESSIONS: usize = 200;
    let sessions = ServerSessionMemoryCache::new(256);
    let names: Vec<_> = (0..SESSIONS).map(|number| vec![number as u8; 32]).collect();
    for name in &names {
        sessions.put(name.clone(), vec![name[0]; 100]);
    }
    if names.iter().any(|name| sessions.get(name).is_none()) {
        return Err("a session is missing".into());
    }
    let mut noise = Noise::new(13);
    let mut input = names[0].clone();
    Ok(Box::new(move |class| {
        input.copy_from_slice(&names[noise.up_to(SESSIONS) - 1]);
        input[[0, 31][class]] ^= noise.up_to(255) as u8;
        let start = Instant::now();
        let found = black_box(sessions.get(black_box(&input)));
        let time = start.elapsed();
        match found {
            None => Ok(time),
            Some(_) => Err("a wrong name finds a session".into()),
        }
    }))
}

/// The cipher of a measured suite: one for each cipher and version, with keys of 32 bytes. A
/// program cannot create an upstream `AeadKey` of another length.
fn cipher(suite: &SupportedCipherSuite) -> Option<Cipher> {
    match &format!("{:?}", suite.suite())[..] {
        "TLS13_AES_256_GCM_SHA384" | "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" => {
            Some(Cipher::Aes256Gcm)
        }
        "TLS13_CHACHA20_POLY1305_SHA256" | "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" => {
            Some(Cipher::Chacha20Poly1305)
        }
        _ => None,
    }
}

/// The content length of a record that does not open. Records that open contain content and padding
/// of this length.
const LEN: usize = 1024;

const APPLICATION_DATA: u8 = 23;

fn record_cases(provider: Provider, suite: SupportedCipherSuite, cipher: Cipher) -> Vec<Case> {
    let is_tls13 = suite.tls13().is_some();
    let version = if is_tls13 { "TLS 1.3" } else { "TLS 1.2" };
    let case = |what: &str, inputs, build: Box<dyn Fn() -> Result<Subject>>| Case {
        operation: format!("{version} {cipher:?}, {what}"),
        inputs,
        provider: Some(provider),
        cost: 1,
        build,
    };
    let mut cases = vec![
        case(
            "record that does not open",
            ["tag, first byte", "tag, last byte"],
            Box::new(move || forged_record(suite, cipher, [-16, -1])),
        ),
        case(
            "record that does not open",
            ["text, first byte", "tag, last byte"],
            Box::new(move || forged_record(suite, cipher, [-16 - LEN as isize, -1])),
        ),
    ];
    if is_tls13 {
        cases.push(case(
            "record that opens",
            ["all padding but one byte", "no padding"],
            Box::new(move || padded_record(suite, cipher)),
        ));
    }
    cases
}

/// Opens a record that was changed at one of two places.
fn forged_record(
    suite: SupportedCipherSuite,
    cipher: Cipher,
    places: [isize; 2],
) -> Result<Subject> {
    let right = sealed(&suite, cipher, APPLICATION_DATA, &[0x5e; LEN]);
    if open(&mut *decrypter(&suite), &mut right.clone()).is_none() {
        return Err("the unchanged record does not open".into());
    }
    let mut forgery = Forgery::new(right.clone(), places);
    let write = move |class: usize, input: &mut [u8]| input.copy_from_slice(forgery.make(class));
    Ok(opened(suite, right.len(), write, [None; 2]))
}

/// Opens records of equal length with the least and the most content.
fn padded_record(suite: SupportedCipherSuite, cipher: Cipher) -> Result<Subject> {
    let mut little = vec![0; LEN];
    little[..2].copy_from_slice(&[0x5e, APPLICATION_DATA]);
    // RFC 9846 §5.4: the content is followed by its type and by zeros
    let little = sealed(&suite, cipher, 0, &little);
    let much = sealed(&suite, cipher, APPLICATION_DATA, &[0x5e; LEN]);
    let len = much.len();
    // read both each time, so that both are equally close in the cache
    let write = move |class: usize, input: &mut [u8]| {
        input.copy_from_slice(black_box(&[&little, &much][1 - class][..]));
        input.copy_from_slice(black_box(&[&little, &much][class][..]));
    };
    Ok(opened(suite, len, write, [Some(1), Some(LEN)]))
}

/// Opens payloads of `len` bytes, which `write` makes for a class. Their content must have the
/// `expected` lengths.
fn opened(
    suite: SupportedCipherSuite,
    len: usize,
    mut write: impl FnMut(usize, &mut [u8]) + 'static,
    expected: [Option<usize>; 2],
) -> Subject {
    let mut decrypter = decrypter(&suite);
    let mut input = vec![0; len];
    Box::new(move |class| {
        write(class, &mut input);
        let start = Instant::now();
        let len = black_box(open(&mut *decrypter, black_box(&mut input)));
        let time = start.elapsed();
        if len != expected[class] {
            return Err(format!("opened to {len:?} bytes instead of {:?}", expected[class]).into());
        }
        Ok(time)
    })
}

const KEY: [u8; 32] = [0x4b; 32];
const IV: [u8; 12] = [0x1f; 12];

/// The payload of the first record under the key, with an inner type in TLS 1.3.
fn sealed(suite: &SupportedCipherSuite, cipher: Cipher, typ: u8, content: &[u8]) -> Vec<u8> {
    const HEADER_LEN: usize = 5;
    let keys = Keys {
        seq: 0,
        cipher,
        key: KEY.to_vec(),
        iv: IV,
    };
    let mut records = Records::new(suite.tls13().is_some(), keys);
    records.seal(typ, content).split_off(HEADER_LEN)
}

fn decrypter(suite: &SupportedCipherSuite) -> Box<dyn MessageDecrypter> {
    let key = AeadKey::from(KEY);
    match suite {
        SupportedCipherSuite::Tls13(suite) => suite.aead_alg.decrypter(key, Iv::from(IV)),
        SupportedCipherSuite::Tls12(suite) => {
            let len = suite.aead_alg.key_block_shape().fixed_iv_len;
            suite.aead_alg.decrypter(key, &IV[..len])
        }
    }
}

/// Opens the first record; returns the length of its content, if it opens.
fn open(decrypter: &mut dyn MessageDecrypter, payload: &mut [u8]) -> Option<usize> {
    let record = InboundOpaqueMessage::new(
        ContentType::ApplicationData,
        ProtocolVersion::TLSv1_2,
        payload,
    );
    let opened = decrypter.decrypt(record, 0);
    opened.ok().map(|message| message.payload.len())
}
