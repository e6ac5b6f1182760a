//! Reloaded roots and revocation lists: the peers accepted and rejected afterwards, and the
//! sessions that survive.

use std::fs;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider};
use harness::peers::endpoints::{exchange, handshake, send_and_check};
use pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, ClientConfig, ServerConfig};
use rustls_trust::{
    CrlSource, Reload, ReloadError, ReloadingClientVerifier, ReloadingClientVerifierBuilder,
    ReloadingServerVerifier, ReloadingServerVerifierBuilder, RootSource,
};

use crate::kit::{Authority, Dir, Identity, SERVER, Setup, exchange_and, is_resumed, setups};

pub(crate) fn roots(dir: &Dir, authorities: &[&Authority]) -> RootSource {
    let pem: String = authorities.iter().map(|ca| ca.0.pem()).collect();
    RootSource::PemFile(dir.write("roots.pem", pem))
}

pub(crate) fn of_clients(
    dir: &Dir,
    provider: Provider,
    cas: &[&Authority],
) -> ReloadingClientVerifierBuilder {
    ReloadingClientVerifier::builder(roots(dir, cas), Arc::new(provider.this()))
}

pub(crate) fn of_servers(
    dir: &Dir,
    provider: Provider,
    cas: &[&Authority],
) -> ReloadingServerVerifierBuilder {
    ReloadingServerVerifier::builder(roots(dir, cas), Arc::new(provider.this()))
}

/// Returns whether the session resumed, or why there is no connection.
pub(crate) fn connect(
    setup: Setup,
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<bool, String> {
    let [mut one, mut two] = [setup.client(client), setup.server(server)];
    exchange(&mut *one, &mut *two)?;
    assert!(!one.is_handshaking() && !two.is_handshaking());
    Ok(is_resumed(&*one))
}

pub(crate) fn client_of(setup: Setup, ca: &Authority, identity: &Identity) -> Arc<ClientConfig> {
    setup.client_config(
        ca.server_verifier(setup.provider),
        identity.certified(setup.provider),
    )
}

/// After its authority is removed, a client is refused in resumptions and in full handshakes.
/// Clients of other authorities can still resume.
#[test]
fn a_server_forgets_an_authority() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let (of_a, of_b) = (a.issue(), b.issue());
    for setup in setups() {
        let dir = Dir::new();
        let verifier = of_clients(&dir, setup.provider, &[&a, &b]).build().unwrap();
        let server = setup.server_config(verifier.clone(), a.issue().certified(setup.provider));
        let [of_a, of_b] = [&of_a, &of_b].map(|identity| client_of(setup, &a, identity));
        for client in [&of_a, &of_b] {
            assert_eq!(connect(setup, client, &server), Ok(false), "{setup:?}");
            assert_eq!(connect(setup, client, &server), Ok(true), "{setup:?}");
        }
        assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        for client in [&of_a, &of_b] {
            assert_eq!(connect(setup, client, &server), Ok(true), "{setup:?}");
        }

        roots(&dir, &[&b]);
        assert_eq!(connect(setup, &of_a, &server), Ok(true), "not reloaded");
        assert_eq!(verifier.reload_if_changed().unwrap(), Reload::Replaced);
        let error = connect(setup, &of_a, &server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{setup:?}: {error}");
        // the authorities' names have changed, so the client must present its certificate again
        assert_eq!(connect(setup, &of_b, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &of_b, &server), Ok(true), "{setup:?}");

        // the reverse: the refused client is accepted again
        roots(&dir, &[&a]);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert_eq!(connect(setup, &of_a, &server), Ok(false), "{setup:?}");
        connect(setup, &of_b, &server).unwrap_err();
    }
}

/// Without authority names in the session, its certificate is still verified again.
#[test]
fn a_server_without_hints_forgets_an_authority_as_well() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let verifier = of_clients(&dir, setup.provider, &[&a, &b])
            .with_options(|builder| builder.clear_root_hint_subjects())
            .build()
            .unwrap();
        let server = setup.server_config(verifier.clone(), a.issue().certified(setup.provider));
        let client = client_of(setup, &a, &identity);
        connect(setup, &client, &server).unwrap();
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&b]);
        verifier.reload().unwrap();
        let error = connect(setup, &client, &server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{setup:?}: {error}");
    }
}

/// A client's sessions end when its roots change, and survive a reload without changes.
#[test]
fn a_client_resumes_no_session_of_other_roots() {
    let (a, b, c) = (
        Authority::new("a"),
        Authority::new("b"),
        Authority::new("c"),
    );
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let verifier = of_servers(&dir, setup.provider, &[&a]).build().unwrap();
        let client = setup.client_config(verifier.clone(), identity.certified(setup.provider));
        let server = setup.server_config(
            WebPkiClientVerifier::no_client_auth(),
            identity.certified(setup.provider),
        );
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");

        roots(&dir, &[&a, &b]);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");

        roots(&dir, &[&c]);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        let error = connect(setup, &client, &server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{setup:?}: {error}");
    }
}

/// A newly revoked certificate ends its sessions and is refused.
#[test]
fn a_revoked_client_resumes_no_session() {
    let ca = Authority::new("ca");
    let revoked = ca.issue_with(SERVER, |params| params.serial_number = Some(7.into()));
    let other = ca.issue_with(SERVER, |params| params.serial_number = Some(8.into()));
    for setup in setups() {
        let dir = Dir::new();
        let list = dir.write("list.pem", ca.crl(1, &[9]));
        let verifier = of_clients(&dir, setup.provider, &[&ca])
            .with_crls(CrlSource::File(list))
            .build()
            .unwrap();
        let server = setup.server_config(verifier.clone(), ca.issue().certified(setup.provider));
        let [revoked, other] = [&revoked, &other].map(|identity| client_of(setup, &ca, identity));
        for client in [&revoked, &other] {
            connect(setup, client, &server).unwrap();
            assert_eq!(connect(setup, client, &server), Ok(true), "{setup:?}");
        }
        dir.write("list.pem", ca.crl(2, &[7, 9]));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        let error = connect(setup, &revoked, &server).unwrap_err();
        assert!(error.contains("Revoked"), "{setup:?}: {error}");
        // clients do not see revocation lists, so the session stays valid
        assert_eq!(connect(setup, &other, &server), Ok(true), "{setup:?}");
    }
}

/// The same for a server's certificate. A client that resumes verifies no certificate, so it must
/// not resume.
#[test]
fn a_client_resumes_no_session_of_another_list() {
    let ca = Authority::new("ca");
    let identity = ca.issue_with(SERVER, |params| params.serial_number = Some(7.into()));
    for setup in setups() {
        let dir = Dir::new();
        let list = dir.write("list.pem", ca.crl(1, &[9]));
        let verifier = of_servers(&dir, setup.provider, &[&ca])
            .with_crls(CrlSource::File(list))
            .build()
            .unwrap();
        let client = setup.client_config(verifier.clone(), identity.certified(setup.provider));
        let server = setup.server_config(
            WebPkiClientVerifier::no_client_auth(),
            identity.certified(setup.provider),
        );
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        dir.write("list.pem", ca.crl(2, &[7]));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        let error = connect(setup, &client, &server).unwrap_err();
        assert!(error.contains("Revoked"), "{setup:?}: {error}");
    }
}

/// If a source is bad, its last good content stays active, and the error names the mistake. Other
/// sources are still replaced.
#[test]
fn bad_sources_never_weaken_what_is_checked() {
    let ca = Authority::new("ca");
    let certificate = |serial: u64| {
        ca.issue_with(SERVER, |params| params.serial_number = Some(serial.into()))
            .cert
    };
    let [seven, eight, nine] = [7, 8, 9].map(certificate);
    for provider in PROVIDERS {
        type IsIt = fn(&ReloadError) -> bool;
        type Case<'a> = (&'a str, &'a dyn Fn(&Dir), IsIt);
        let is_roots: IsIt = |error| matches!(error, ReloadError::Roots(_));
        let is_crls: IsIt = |error| matches!(error, ReloadError::Crls(_));
        let half = ca.crl(3, &[]);
        let cases: &[Case<'_>] = &[
            (
                "no roots",
                &|dir| fs::remove_file(dir.path("roots.pem")).unwrap(),
                is_roots,
            ),
            (
                "empty roots",
                &|dir| drop(dir.write("roots.pem", "")),
                is_roots,
            ),
            (
                "invalid roots",
                &|dir| {
                    drop(dir.write(
                        "roots.pem",
                        "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n",
                    ))
                },
                is_roots,
            ),
            (
                "a truncated root after another one",
                &|dir| {
                    let mut pem = Authority::new("b").0.pem() + &ca.0.pem();
                    pem.truncate(pem.len() - 100);
                    dir.write("roots.pem", pem);
                },
                |error| matches!(error, ReloadError::UnusableRoots(_)),
            ),
            (
                "no list",
                &|dir| fs::remove_file(dir.path("list.pem")).unwrap(),
                is_crls,
            ),
            (
                "an empty list",
                &|dir| drop(dir.write("list.pem", "")),
                is_crls,
            ),
            (
                "half a list",
                &|dir| drop(dir.write("list.pem", &half[..half.len() / 2])),
                is_crls,
            ),
            (
                "an older list",
                &|dir| drop(dir.write("list.pem", ca.crl(1, &[]))),
                is_crls,
            ),
            (
                "another's list",
                &|dir| drop(dir.write("list.pem", Authority::new("b").crl(3, &[]))),
                is_crls,
            ),
        ];
        for (what, spoil, is_it) in cases {
            let dir = Dir::new();
            let verifier = of_clients(&dir, provider, &[&ca])
                .with_crls(CrlSource::File(dir.write("list.pem", ca.crl(2, &[7]))))
                .with_crls(CrlSource::File(dir.write("other.pem", ca.crl(1, &[8]))))
                .build()
                .unwrap();
            let verify = |cert: &CertificateDer<'_>| {
                let verifier = verifier.current_verifier().unwrap();
                verifier
                    .verify_client_cert(cert, &[], UnixTime::now())
                    .is_ok()
            };
            assert!(!verify(&seven) && verify(&nine), "{what}");
            spoil(&dir);
            for attempts in 1..=2 {
                let error = verifier.reload_if_changed().unwrap_err();
                assert!(is_it(&error), "{what}: {error:?}");
                assert!(!verify(&seven) && verify(&nine), "{what}");
                assert_eq!(
                    verifier.status().failing.unwrap().attempts,
                    attempts,
                    "{what}"
                );
            }
            // repaired
            roots(&dir, &[&ca]);
            dir.write("list.pem", ca.crl(5, &[7, 9]));
            let healed = verifier.reload();
            if *what == "another's list" {
                // its list is missing now
                assert!(is_crls(&healed.unwrap_err()), "{what}");
            } else {
                assert_eq!(healed.unwrap(), Reload::Replaced, "{what}");
                assert!(verifier.status().failing.is_none(), "{what}");
            }
            assert!(!verify(&seven) && !verify(&nine), "{what}");
        }

        // unreadable roots do not block new lists
        let dir = Dir::new();
        let verifier = of_clients(&dir, provider, &[&ca])
            .with_crls(CrlSource::File(dir.write("list.pem", ca.crl(1, &[7]))))
            .build()
            .unwrap();
        let verify = |cert: &CertificateDer<'_>| {
            let verifier = verifier.current_verifier().unwrap();
            verifier
                .verify_client_cert(cert, &[], UnixTime::now())
                .is_ok()
        };
        assert!(verify(&eight));
        dir.write("roots.pem", "");
        dir.write("list.pem", ca.crl(2, &[7, 8]));
        assert!(is_roots(&verifier.reload().unwrap_err()));
        assert!(!verify(&eight) && verify(&nine));
        let status = verifier.status();
        assert_eq!((status.reloads, status.failures), (1, 1));
    }
}

/// Unusable parts that a file had on its first load are always tolerated. New ones in their place
/// are not, because they suggest a truncated file.
#[test]
fn one_fault_does_not_excuse_another() {
    const NO_ROOT: &str = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n";
    let [ca, other] = ["ca", "b"].map(Authority::new);
    let cert = ca.issue().cert;
    let mut cut = other.0.pem() + &ca.0.pem();
    cut.truncate(cut.len() - 100);
    for provider in PROVIDERS {
        let dir = Dir::new();
        let write = |pem: &str| drop(dir.write("roots.pem", pem));
        write(&(ca.0.pem() + NO_ROOT));
        let source = RootSource::PemFile(dir.path("roots.pem"));
        let verifier = ReloadingClientVerifier::builder(source, Arc::new(provider.this()))
            .build()
            .unwrap();
        let is_trusted = || {
            let verifier = verifier.current_verifier().unwrap();
            verifier
                .verify_client_cert(&cert, &[], UnixTime::now())
                .is_ok()
        };
        for cut in [cut.clone(), NO_ROOT.to_owned() + &cut] {
            write(&cut);
            let error = verifier.reload().unwrap_err();
            let is_it = matches!(*error, ReloadError::UnusableRoots(_));
            assert!(is_it && is_trusted(), "{error:?}");
            // even if the fault had disappeared in between
            write(&ca.0.pem());
            assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        }
        write(&(NO_ROOT.to_owned() + &other.0.pem() + &ca.0.pem()));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        write(&(other.0.pem() + NO_ROOT));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert!(!is_trusted());
    }
}

/// An authority's latest list applies, whichever source it comes from.
#[test]
fn an_older_list_of_another_source_does_not_come_first() {
    let ca = Authority::new("ca");
    let cert = ca
        .issue_with(SERVER, |params| params.serial_number = Some(8.into()))
        .cert;
    for provider in PROVIDERS {
        let dir = Dir::new();
        let older = CrlSource::File(dir.write("older.pem", ca.crl(1, &[])));
        let newer = CrlSource::File(dir.write("newer.pem", ca.crl(2, &[8])));
        for sources in [[&older, &newer], [&newer, &older]] {
            let verifier = of_clients(&dir, provider, &[&ca])
                .with_crls(sources[0].clone())
                .with_crls(sources[1].clone())
                .build()
                .unwrap();
            let verifier = verifier.current_verifier().unwrap();
            let error = verifier
                .verify_client_cert(&cert, &[], UnixTime::now())
                .unwrap_err();
            assert_eq!(error, CertificateError::Revoked.into());
        }
    }
}

/// A removed authority's list is dropped only by an explicit call, and not while a source is bad.
#[test]
fn a_list_is_dropped_only_on_request() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let dir = Dir::new();
    let lists = |lists: &[String]| dir.write("list.pem", lists.concat());
    let both = lists(&[a.crl(1, &[]), b.crl(1, &[])]);
    let verifier = of_clients(&dir, PROVIDERS[0], &[&a, &b])
        .with_crls(CrlSource::File(both))
        .build()
        .unwrap();
    roots(&dir, &[&a]);
    lists(&[a.crl(1, &[])]);
    verifier.reload().unwrap_err();
    verifier.reload().unwrap_err();

    dir.write("list.pem", "");
    verifier.reload_from_scratch().unwrap_err();
    lists(&[a.crl(1, &[])]);
    verifier.reload().unwrap_err();
    assert_eq!(verifier.reload_from_scratch().unwrap(), Reload::Replaced);
    assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
    assert!(verifier.status().failing.is_none());
}

/// The builder's options apply to each new verifier.
#[test]
fn options_outlive_reloads() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    for setup in setups() {
        let dir = Dir::new();
        let verifier = of_clients(&dir, setup.provider, &[&a])
            .with_crls(CrlSource::File(dir.write("list.pem", b.crl(1, &[1]))))
            .with_options(|builder| {
                builder
                    .allow_unauthenticated()
                    .only_check_end_entity_revocation()
            })
            .build()
            .unwrap();
        let server = setup.server_config(verifier.clone(), a.issue().certified(setup.provider));
        for round in 0..2 {
            // nobody has a list for this one, and that is not allowed
            let known = client_of(setup, &a, &a.issue());
            let error = connect(setup, &known, &server).unwrap_err();
            assert!(
                error.contains("UnknownRevocationStatus"),
                "{setup:?} {round}: {error}"
            );
            // presenting no certificate is allowed
            let nobody = ClientConfig::builder_with_provider(Arc::new(setup.provider.this()))
                .with_protocol_versions(
                    &setup
                        .versions
                        .choose(&rustls::version::TLS12, &rustls::version::TLS13),
                )
                .unwrap()
                .with_root_certificates(a.roots())
                .with_no_client_auth();
            assert_eq!(
                connect(setup, &Arc::new(nobody), &server),
                Ok(false),
                "{setup:?}"
            );
            roots(&dir, &[&a, &b]);
            verifier.reload().unwrap();
        }
    }
}

/// Replaces both sides' trust at each point of a handshake. Once the server has the ClientHello,
/// the handshake ends as without the reload.
#[test]
fn running_handshakes_are_not_disturbed() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let identity = old.issue();
    for setup in setups() {
        let (mut at, mut undisturbed) = (0, 0);
        loop {
            let (here, there) = (Dir::new(), Dir::new());
            let servers = of_servers(&here, setup.provider, &[&old]).build().unwrap();
            let clients = of_clients(&there, setup.provider, &[&old]).build().unwrap();
            let client = setup.client_config(servers.clone(), identity.certified(setup.provider));
            let server = setup.server_config(clients.clone(), identity.certified(setup.provider));
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            let mut reloaded = false;
            let outcome = exchange_and(&mut *one, &mut *two, at, || {
                roots(&here, &[&new]);
                roots(&there, &[&new]);
                assert_eq!(servers.reload().unwrap(), Reload::Replaced);
                assert_eq!(clients.reload().unwrap(), Reload::Replaced);
                reloaded = true;
            });
            if !reloaded {
                break;
            }
            if at < crate::kit::PIECES {
                assert!(
                    outcome.unwrap_err().contains("UnknownIssuer"),
                    "{setup:?} {at}"
                );
            } else {
                outcome.unwrap();
                undisturbed += 1;
                // the connection transfers data, and the next one is verified with the new roots
                send_and_check(&mut *one, &mut *two, b"on it goes");
                send_and_check(&mut *two, &mut *one, b"both ways");
            }
            connect(setup, &client, &server).unwrap_err();
            at += 1;
        }
        assert!(undisturbed > crate::kit::PIECES, "{setup:?}");
    }
}

/// If the names do not fit into a CertificateRequest, the new roots are rejected and connections
/// keep working.
#[test]
fn roots_with_too_many_names_are_refused() {
    let ca = Authority::new("ca");
    let many: Vec<_> = (0..40)
        .map(|number| Authority::new(&format!("{number:02000}")))
        .collect();
    let all: Vec<_> = many.iter().chain([&ca]).collect();
    for setup in setups() {
        let dir = Dir::new();
        let verifier = of_clients(&dir, setup.provider, &[&ca]).build().unwrap();
        let server = setup.server_config(verifier.clone(), ca.issue().certified(setup.provider));
        roots(&dir, &all);
        let error = verifier.reload().unwrap_err();
        assert!(matches!(*error, ReloadError::Authorities(_)), "{error:?}");
        let (mut client, mut server) = (
            setup.client(&client_of(setup, &ca, &ca.issue())),
            setup.server(&server),
        );
        handshake(&mut *client, &mut *server);
    }
}

/// A list that was read but never became active is not compared with later lists, because it may be
/// forged.
#[test]
fn a_list_that_was_never_active_is_forgotten() {
    let ca = Authority::new("ca");
    let many: Vec<_> = (0..40)
        .map(|number| Authority::new(&format!("{number:02000}")))
        .collect();
    let all: Vec<_> = many.iter().chain([&ca]).collect();
    let dir = Dir::new();
    let list = |number| dir.write("list.pem", ca.crl(number, &[]));
    let verifier = of_clients(&dir, PROVIDERS[0], &[&ca])
        .with_crls(CrlSource::File(list(1)))
        .build()
        .unwrap();
    roots(&dir, &all);
    list(3);
    let error = verifier.reload().unwrap_err();
    assert!(matches!(*error, ReloadError::Authorities(_)), "{error:?}");

    roots(&dir, &[&ca]);
    list(2);
    assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
    list(1);
    verifier.reload().unwrap_err();
}
