//! Tests of reloaded roots and revocation lists: the peers accepted and rejected afterwards, and
//! the sessions that survive.

use std::sync::Arc;

use harness::peers::callbacks::this::ClientKey;
use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::exchange;
use pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, ClientConfig, Error, ServerConfig};
use rustls_trust::{
    CrlSource, Reload, ReloadError, ReloadingClientVerifier, ReloadingClientVerifierBuilder,
    ReloadingServerVerifier, ReloadingServerVerifierBuilder, RootCache, RootSource,
};

use crate::directory::Directory;
use crate::reload::kit::{Authority, Content, NO_CERTIFICATE, Setup, is_resumed, setups};

pub(crate) fn roots(dir: &Directory, authorities: &[&Authority]) -> RootSource {
    let pem: String = authorities.iter().map(|ca| ca.0.pem()).collect();
    RootSource::PemFile(dir.write("roots.pem", pem))
}

pub(crate) fn of_clients(
    dir: &Directory,
    provider: Provider,
    cas: &[&Authority],
) -> ReloadingClientVerifierBuilder {
    ReloadingClientVerifier::builder(roots(dir, cas), Arc::new(provider.this()))
}

pub(crate) fn of_servers(
    dir: &Directory,
    provider: Provider,
    cas: &[&Authority],
) -> ReloadingServerVerifierBuilder {
    ReloadingServerVerifier::builder(roots(dir, cas), Arc::new(provider.this()))
}

/// Returns true if the session was resumed, or the reason why there is no connection.
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

/// Asserts that connections succeed, and that the expected ones resume.
#[track_caller]
pub(crate) fn connects<const N: usize>(
    setup: Setup,
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    resumed: [bool; N],
) {
    let connections = resumed.map(|_| connect(setup, client, server));
    assert_eq!(connections, resumed.map(Ok), "{setup:?}");
}

/// Asserts that there is no connection, for this reason.
#[track_caller]
pub(crate) fn refused(
    setup: Setup,
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    why: &str,
) {
    let error = connect(setup, client, server).unwrap_err();
    assert!(error.contains(why), "{setup:?}: {error}");
}

fn crls(dir: &Directory, name: &str, pem: String) -> CrlSource {
    CrlSource::File(dir.write(name, pem))
}

/// After its authority is removed, a client is rejected in resumptions and in full handshakes.
/// Clients of other authorities can still resume. Without authority names in the session, its
/// certificate is still verified again.
#[test]
fn clients_of_a_removed_authority_are_rejected() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let (of_a, of_b) = (a.issue(), b.issue());
    for (setup, hints) in product(setups(), [true, false]) {
        let dir = Directory::new();
        let verifier = of_clients(&dir, setup.provider, &[&a, &b]);
        let verifier = verifier.with_options(move |builder| match hints {
            true => builder,
            false => builder.clear_root_hint_subjects(),
        });
        let verifier = verifier.build().unwrap();
        let server = setup.server_config(verifier.clone(), a.issue().certified(setup.provider));
        let [of_a, of_b] = [&of_a, &of_b].map(|identity| setup.client_of(&a, identity));
        let what = format!("{setup:?}, hints: {hints}");
        for client in [&of_a, &of_b] {
            let connections = [(); 2].map(|()| connect(setup, client, &server));
            assert_eq!(connections, [Ok(false), Ok(true)], "{what}");
        }
        assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        for client in [&of_a, &of_b] {
            assert_eq!(connect(setup, client, &server), Ok(true), "{what}");
        }

        // not reloaded
        roots(&dir, &[&b]);
        assert_eq!(connect(setup, &of_a, &server), Ok(true), "{what}");
        assert_eq!(verifier.reload_if_changed().unwrap(), Reload::Replaced);
        refused(setup, &of_a, &server, "UnknownIssuer");
        // if the authorities' names have changed, the client must present its certificate again
        assert_eq!(connect(setup, &of_b, &server), Ok(!hints), "{what}");
        assert_eq!(connect(setup, &of_b, &server), Ok(true), "{what}");

        // the reverse: the refused client is accepted again, with its session if that has no names
        roots(&dir, &[&a]);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert_eq!(connect(setup, &of_a, &server), Ok(!hints), "{what}");
        connect(setup, &of_b, &server).unwrap_err();
    }
}

/// A client's sessions end when its roots or its lists change, and survive a reload without
/// changes. A client that resumes does not verify the certificate, so it must not resume if the
/// certificate was revoked.
#[test]
fn sessions_do_not_survive_changed_roots_or_lists() {
    let [a, b, c] = ["a", "b", "c"].map(Authority::new);
    let identity = a.issue_number(7);
    for (setup, is_revoked) in product(setups(), [false, true]) {
        let dir = Directory::new();
        let list = |number, revoked: &[u8]| crls(&dir, "list.pem", a.crl(number, revoked));
        let verifier = of_servers(&dir, setup.provider, &[&a]).with_crls(list(1, &[9]));
        let verifier = verifier.build().unwrap();
        let client = setup.client_config(verifier.clone(), identity.certified(setup.provider));
        let server = setup.server_of(&identity);
        connects(setup, &client, &server, [false]);
        assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        connects(setup, &client, &server, [true]);

        roots(&dir, &[&a, &b]);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        connects(setup, &client, &server, [false, true]);

        let why = if is_revoked {
            list(2, &[7]);
            "Revoked"
        } else {
            roots(&dir, &[&c]);
            "UnknownIssuer"
        };
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        refused(setup, &client, &server, why);
    }
}

/// If a certificate is revoked, its sessions end, and it is rejected.
#[test]
fn a_revoked_client_cannot_resume() {
    let ca = Authority::new("ca");
    let (revoked, other) = (ca.issue_number(7), ca.issue_number(8));
    for setup in setups() {
        let dir = Directory::new();
        let verifier = of_clients(&dir, setup.provider, &[&ca])
            .with_crls(crls(&dir, "list.pem", ca.crl(1, &[9])))
            .build()
            .unwrap();
        let server = setup.server_config(verifier.clone(), ca.issue().certified(setup.provider));
        let [revoked, other] = [&revoked, &other].map(|identity| setup.client_of(&ca, identity));
        for client in [&revoked, &other] {
            connect(setup, client, &server).unwrap();
            assert_eq!(connect(setup, client, &server), Ok(true), "{setup:?}");
        }
        dir.write("list.pem", ca.crl(2, &[7, 9]));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        refused(setup, &revoked, &server, "Revoked");
        // clients do not see revocation lists, so the session stays valid
        assert_eq!(connect(setup, &other, &server), Ok(true), "{setup:?}");
    }
}

/// Returns the verdict of the active verifier.
fn verify(verifier: &ReloadingClientVerifier, cert: &CertificateDer<'_>) -> Result<(), Error> {
    let active = verifier.current_verifier().unwrap();
    active
        .verify_client_cert(cert, &[], UnixTime::now())
        .map(drop)
}

/// If a source is invalid, its last valid content stays active, and the error names the mistake.
/// Other sources are still replaced.
#[test]
fn invalid_sources_never_weaken_the_checks() {
    type IsIt = fn(&ReloadError) -> bool;
    let ca = Authority::new("ca");
    let [seven, eight, nine] = [7, 8, 9].map(|serial| ca.issue_number(serial).cert);
    let is_roots: IsIt = |error| matches!(error, ReloadError::Roots(_));
    let is_crls: IsIt = |error| matches!(error, ReloadError::Crls(_));
    let is_unusable: IsIt = |error| matches!(error, ReloadError::UnusableRoots(_));
    let half = ca.crl(3, &[]);
    let half = &half[..half.len() / 2];
    let anothers = Authority::new("b").crl(3, &[]);
    let mut cut = Authority::new("b").0.pem() + &ca.0.pem();
    cut.truncate(cut.len() - 100);
    let text = Content::text;
    let (roots_pem, list_pem) = ("roots.pem", "list.pem");
    #[rustfmt::skip] // a table
    let cases = [
        ("no roots", roots_pem, Content::Missing, is_roots),
        ("empty roots", roots_pem, text(""), is_roots),
        ("invalid roots", roots_pem, text(NO_CERTIFICATE), is_roots),
        ("a truncated root after another one", roots_pem, text(&cut), is_unusable),
        ("no list", list_pem, Content::Missing, is_crls),
        ("an empty list", list_pem, text(""), is_crls),
        ("half a list", list_pem, text(half), is_crls),
        ("an older list", list_pem, text(&ca.crl(1, &[])), is_crls),
        ("another's list", list_pem, text(&anothers), is_crls),
    ];
    for (provider, (what, name, content, is_it)) in product(PROVIDERS, &cases) {
        let dir = Directory::new();
        let verifier = of_clients(&dir, provider, &[&ca])
            .with_crls(crls(&dir, list_pem, ca.crl(2, &[7])))
            .with_crls(crls(&dir, "other.pem", ca.crl(1, &[8])))
            .build()
            .unwrap();
        let verify = |cert| verify(&verifier, cert).is_ok();
        assert!(!verify(&seven) && verify(&nine), "{what}");
        content.replace(&dir, name);
        for attempts in 1..=2 {
            let error = verifier.reload_if_changed().unwrap_err();
            assert!(is_it(&error), "{what}: {error:?}");
            assert!(!verify(&seven) && verify(&nine), "{what}");
            let failing = verifier.status().failing.unwrap();
            assert_eq!(failing.attempts, attempts, "{what}");
        }
        // repaired
        roots(&dir, &[&ca]);
        dir.write(list_pem, ca.crl(5, &[7, 9]));
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
    for provider in PROVIDERS {
        let dir = Directory::new();
        let verifier = of_clients(&dir, provider, &[&ca])
            .with_crls(crls(&dir, list_pem, ca.crl(1, &[7])))
            .build()
            .unwrap();
        let verify = |cert| verify(&verifier, cert).is_ok();
        assert!(verify(&eight));
        dir.write(roots_pem, "");
        dir.write(list_pem, ca.crl(2, &[7, 8]));
        assert!(is_roots(&verifier.reload().unwrap_err()));
        assert!(!verify(&eight) && verify(&nine));
        let status = verifier.status();
        assert_eq!((status.reloads, status.failures), (1, 1));
    }
}

/// Unusable parts that a file had on its first load are always tolerated. New ones in their place
/// are not, because they suggest a truncated file.
#[test]
fn an_old_fault_does_not_excuse_a_new_one() {
    let [ca, other] = ["ca", "b"].map(Authority::new);
    let cert = ca.issue().cert;
    let mut cut = other.0.pem() + &ca.0.pem();
    cut.truncate(cut.len() - 100);
    for provider in PROVIDERS {
        let dir = Directory::new();
        let write = |pem: &str| dir.write("roots.pem", pem);
        let source = RootSource::PemFile(write(&(ca.0.pem() + NO_CERTIFICATE)));
        let verifier = ReloadingClientVerifier::builder(source, Arc::new(provider.this()));
        let verifier = verifier.build().unwrap();
        let is_trusted = || verify(&verifier, &cert).is_ok();
        for cut in [cut.clone(), NO_CERTIFICATE.to_owned() + &cut] {
            write(&cut);
            let error = verifier.reload().unwrap_err();
            let is_it = matches!(*error, ReloadError::UnusableRoots(_));
            assert!(is_it && is_trusted(), "{error:?}");
            // even if the fault had disappeared in between
            write(&ca.0.pem());
            assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        }
        write(&(NO_CERTIFICATE.to_owned() + &other.0.pem() + &ca.0.pem()));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        write(&(other.0.pem() + NO_CERTIFICATE));
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert!(!is_trusted());
    }
}

/// No authority is lost because a file of a directory cannot be read, unless the application
/// requests that.
#[test]
fn lost_roots_stay_until_a_reload_from_scratch() {
    let [a, b] = ["a", "b"].map(Authority::new);
    let [of_a, of_b] = [&a, &b].map(|ca| ca.issue().cert);
    for provider in PROVIDERS {
        let dir = Directory::new();
        dir.write("a.pem", a.0.pem());
        let source = RootSource::Directory(dir.path("."));
        let build = || {
            let builder =
                ReloadingClientVerifier::builder(source.clone(), Arc::new(provider.this()));
            builder.build().unwrap()
        };
        dir.write("b.pem", b.0.pem());
        let verifier = build();
        dir.write("b.pem", "");
        for _ in 0..2 {
            let error = verifier.reload_if_changed().unwrap_err();
            let is_it = matches!(*error, ReloadError::UnusableRoots(_));
            assert!(is_it && error.to_string().contains("b.pem"), "{error}");
            assert!(verify(&verifier, &of_a).is_ok() && verify(&verifier, &of_b).is_ok());
        }
        // a new verifier, and one that reloads from scratch, use what there is
        let new = build();
        assert_eq!(verifier.reload_from_scratch().unwrap(), Reload::Replaced);
        // the cache that they share does not hand it out to others either
        let cached = RootCache::global().load(&source).unwrap();
        assert_eq!(cached.store.len(), 1);
        assert!(cached.failed_reload.is_none());
        for verifier in [&new, &verifier] {
            assert!(verify(verifier, &of_a).is_ok() && verify(verifier, &of_b).is_err());
            assert_eq!(verifier.reload().unwrap(), Reload::Unchanged);
        }
        dir.write("b.pem", b.0.pem());
        for verifier in [&new, &verifier] {
            assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
            assert!(verify(verifier, &of_b).is_ok());
        }
    }
}

/// New roots in a source with new faults are not used until the faults are gone.
#[test]
fn new_roots_are_used_once_the_fault_is_fixed() {
    let [a, b] = ["a", "b"].map(Authority::new);
    let of_b = b.issue().cert;
    for provider in PROVIDERS {
        let dir = Directory::new();
        let verifier = of_clients(&dir, provider, &[&a]).build().unwrap();
        let both = a.0.pem() + &b.0.pem();
        dir.write("roots.pem", both.clone() + NO_CERTIFICATE);
        verifier.reload().unwrap_err();
        assert!(verify(&verifier, &of_b).is_err());
        dir.write("roots.pem", both);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        assert!(verify(&verifier, &of_b).is_ok());
    }
}

/// An authority's latest list applies, no matter which source it comes from.
#[test]
fn the_newest_list_applies_no_matter_which_source_has_it() {
    let ca = Authority::new("ca");
    let cert = ca.issue_number(8).cert;
    for (provider, newer_is_first) in product(PROVIDERS, [false, true]) {
        let dir = Directory::new();
        let mut sources = [
            crls(&dir, "older.pem", ca.crl(1, &[])),
            crls(&dir, "newer.pem", ca.crl(2, &[8])),
        ];
        sources.rotate_left(newer_is_first.into());
        let [first, second] = sources;
        let verifier = of_clients(&dir, provider, &[&ca])
            .with_crls(first)
            .with_crls(second);
        let error = verify(&verifier.build().unwrap(), &cert).unwrap_err();
        assert_eq!(error, CertificateError::Revoked.into(), "{newer_is_first}");
    }
}

/// A removed authority's list is dropped only by an explicit call, and not while a source is
/// invalid.
#[test]
fn a_list_is_dropped_only_on_request() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let dir = Directory::new();
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
fn options_survive_reloads() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    for setup in setups() {
        let dir = Directory::new();
        let verifier = of_clients(&dir, setup.provider, &[&a])
            .with_crls(crls(&dir, "list.pem", b.crl(1, &[1])))
            .with_options(|builder| {
                builder
                    .allow_unauthenticated()
                    .only_check_end_entity_revocation()
            })
            .build()
            .unwrap();
        let server = setup.server_config(verifier.clone(), a.issue().certified(setup.provider));
        for _ in 0..2 {
            // there is no list for this certificate, and an unknown status is not allowed
            let known = setup.client_of(&a, &a.issue());
            refused(setup, &known, &server, "UnknownRevocationStatus");
            // presenting no certificate is allowed
            let nobody = ClientKey::new(None);
            let nobody = setup.client_config(a.server_verifier(setup.provider), nobody);
            assert_eq!(connect(setup, &nobody, &server), Ok(false), "{setup:?}");
            roots(&dir, &[&a, &b]);
            verifier.reload().unwrap();
        }
    }
}

/// If the names do not fit into a CertificateRequest, the new roots are rejected and connections
/// keep working. A list that was read together with them never becomes active. Later lists are not
/// compared with it, because it may be forged.
#[test]
fn roots_with_too_many_names_are_refused() {
    let ca = Authority::new("ca");
    let many: Vec<_> = (0..40)
        .map(|number| Authority::new(&format!("{number:02000}")))
        .collect();
    let all: Vec<_> = many.iter().chain([&ca]).collect();
    for setup in setups() {
        let dir = Directory::new();
        let list = |number| crls(&dir, "list.pem", ca.crl(number, &[]));
        let verifier = of_clients(&dir, setup.provider, &[&ca]).with_crls(list(1));
        let verifier = verifier.build().unwrap();
        let server = setup.server_config(verifier.clone(), ca.issue().certified(setup.provider));
        roots(&dir, &all);
        list(3);
        let error = verifier.reload().unwrap_err();
        assert!(matches!(*error, ReloadError::Authorities(_)), "{error:?}");
        let client = setup.client_of(&ca, &ca.issue());
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");

        roots(&dir, &[&ca]);
        list(2);
        assert_eq!(verifier.reload().unwrap(), Reload::Replaced);
        list(1);
        verifier.reload().unwrap_err();
    }
}
