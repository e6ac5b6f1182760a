//! The rows of the handshake sub-commands, and the composition of their limit.

use std::collections::BTreeSet;

use clap::Parser;

use super::*;
use crate::cli::{Cipher, Cli, Command, Group, KeyType, Provider, Version};
use crate::primitives::Primitive;

/// The rows of the shortest possible run.
fn measure(sessions: Sessions, more: &[&str]) -> Vec<Row> {
    let fixed = ["bench", "handshake", "--multiplier=0.001"];
    let args = match Cli::try_parse_from(fixed.iter().chain(more))
        .unwrap()
        .command
    {
        Command::Handshake(args) => args,
        other => panic!("{other:?}"),
    };
    let job = Handshakes {
        sessions,
        args: &args,
    };
    job.check().unwrap();
    job.measure(Kind::System).unwrap()
}

fn distinct<'a>(rows: &'a [Row], key: fn(&'a Row) -> &'a str) -> BTreeSet<&'a str> {
    rows.iter().map(key).collect()
}

#[test]
fn every_side_of_every_implementation_has_its_row() {
    let rows = measure(
        Sessions::Nothing,
        &[
            "--tls=1.3",
            "--key-type=ecdsa-p256,rsa-2048",
            "--group=x25519,x25519mlkem768",
            "--client-auth=no,yes",
            "--api=buffered,unbuffered",
        ],
    );
    // three contenders, two sides; ring lacks the hybrid group
    assert_eq!(rows.len(), 3 * 2 * (2 + 1) * 2 * 2 * 2);
    assert_eq!(
        distinct(&rows, |row| &row.subject.implementation),
        CONTENDERS.into()
    );
    assert_eq!(
        distinct(&rows, |row| &row.group),
        ["X25519", "X25519MLKEM768"].into()
    );
    for row in &rows {
        assert!(row.handshakes_per_s > 0.0, "{row:?}");
        let is_limit = row.subject.implementation == "limit";
        // another contender may reach a share of 1 too, by chance
        assert!(row.share_of_limit > 0.0, "{row:?}");
        assert!(row.share_of_limit == 1.0 || !is_limit, "{row:?}");
        assert_eq!(row.sent_bytes_per_handshake == 0, is_limit, "{row:?}");
        assert_eq!(
            report::Row::heading(row).contains("certificate"),
            row.client_auth
        );
    }
    let json = report::json(&rows[0]).unwrap();
    let keys = json.as_object().unwrap().keys().map(String::as_str);
    let expected = "bench impl provider suite api allocator version group key_type client_auth role \
                    threads handshakes_per_s ratio_to_upstream share_of_limit \
                    allocations_per_handshake heap_bytes_per_handshake sent_bytes_per_handshake";
    assert_eq!(
        keys.collect::<BTreeSet<_>>(),
        expected.split_whitespace().collect()
    );
}

fn scenario(version: Version, sessions: Sessions, client_auth: bool) -> Scenario {
    Scenario {
        provider: Provider::Ring,
        suite: Suite::with(version, Cipher::Aes128Gcm, KeyType::EcdsaP256).unwrap(),
        key_type: KeyType::EcdsaP256,
        group: Some(Group::X25519),
        client: client_auth.then(|| Arc::new(Identity::of(KeyType::EcdsaP256))),
        verifies_client: true,
        shares_chains: true,
        sessions,
        tickets: None,
        kept: SESSIONS,
        max_fragment_size: None,
    }
}

/// The number of the limit's operations that satisfy `is`, for each side.
fn count_operations(scenario: &Scenario, is: fn(&Primitive) -> bool) -> [usize; 2] {
    let upstream = upstream::connection::handshake::contender(HandshakeApi::Buffered, scenario);
    let flights = upstream.unwrap().flights().unwrap();
    Role::BOTH.map(|role| {
        let operations = limit::operations(role, scenario, &flights);
        operations.into_iter().filter(is).count()
    })
}

#[test]
fn the_limit_has_every_signature_and_every_encrypted_record() {
    let signs = |p: &Primitive| matches!(p, Primitive::Sign(..));
    let verifies = |p: &Primitive| matches!(p, Primitive::Verify(..));
    let exchanges = |p: &Primitive| matches!(p, Primitive::Exchange(..));
    let (seals, opens) = (
        |p: &Primitive| matches!(p, Primitive::Seal(Cipher::Aes128Gcm, _)),
        |p: &Primitive| matches!(p, Primitive::Open(Cipher::Aes128Gcm, _)),
    );
    for version in [Version::Tls12, Version::Tls13] {
        let full = scenario(version, Sessions::Nothing, false);
        assert_eq!(count_operations(&full, signs), [0, 1]);
        assert_eq!(count_operations(&full, verifies), [2, 0]);
        assert_eq!(count_operations(&full, exchanges), [1, 1]);

        let mutual = scenario(version, Sessions::Nothing, true);
        assert_eq!(count_operations(&mutual, signs), [1, 1]);
        assert_eq!(count_operations(&mutual, verifies), [2, 2]);

        for sessions in [Sessions::Stored, Sessions::Tickets] {
            let resumed = scenario(version, sessions, false);
            assert_eq!(count_operations(&resumed, signs), [0, 0]);
            assert_eq!(count_operations(&resumed, verifies), [0, 0]);
            let exchange = usize::from(version == Version::Tls13);
            assert_eq!(count_operations(&resumed, exchanges), [exchange; 2]);
            let uses_tickets =
                |p: &Primitive| matches!(p, Primitive::Open(Cipher::Chacha20Poly1305, _));
            let opened = usize::from(sessions == Sessions::Tickets);
            assert_eq!(count_operations(&resumed, uses_tickets), [0, opened]);
        }
        for scenario in [&full, &mutual] {
            // each side opens the records that the other seals
            let (sealed, opened) = (
                count_operations(scenario, seals),
                count_operations(scenario, opens),
            );
            assert_eq!([sealed[1], sealed[0]], opened);
            assert!(sealed.iter().all(|count| *count > 0), "{sealed:?}");
        }
    }
}

#[test]
fn an_unsupported_combination_fails_the_check() {
    let line = [
        "bench",
        "handshake",
        "--provider=ring",
        "--group=x25519mlkem768",
    ];
    let Command::Handshake(args) = Cli::try_parse_from(line).unwrap().command else {
        panic!("another command");
    };
    let job = Handshakes {
        sessions: Sessions::Nothing,
        args: &args,
    };
    assert!(job.check().is_err());
}
