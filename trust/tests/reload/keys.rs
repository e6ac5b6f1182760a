//! Reloaded certificates and keys: which become active, which are rejected, and which connections
//! use them.

use std::fs;
use std::sync::Arc;

use harness::peers::configs::PROVIDERS;
use harness::peers::endpoints::{Endpoint, exchange, handshake};
use harness::wire::client_hello::{ClientHello, SERVER_NAME, host_name};
use rcgen::date_time_ymd;
use rustls::server::{Acceptor, ResolvesServerCert, WebPkiClientVerifier};
use rustls::{CertificateError, Error};
use rustls_trust::{
    CertifiedKeyFiles, Reload, ReloadError, ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder,
};

use crate::kit::{
    Authority, Dir, PIECES, SERVER, Setup, StoppedClock, exchange_and, is_resumed, setups,
};

fn builder(setup: Setup) -> ReloadingCertifiedKeysBuilder {
    ReloadingCertifiedKeys::builder(Arc::new(setup.provider.this()))
}

fn chain_of(end: &dyn Endpoint) -> Vec<Vec<u8>> {
    end.peer_certificates()
}

/// A server's handshake uses the certificate that is active when its ClientHello is complete. A
/// reload in its middle changes nothing.
#[test]
fn a_server_s_certificate_is_replaced_between_handshakes_only() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    for setup in setups() {
        for at in 0..4 * PIECES {
            let dir = Dir::new();
            let keys = builder(setup)
                .with_default(dir.write_pair(&old))
                .build()
                .unwrap();
            let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys.clone());
            let client = setup.client_config(
                ca.server_verifier(setup.provider),
                old.certified(setup.provider),
            );
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            let mut reloaded = false;
            exchange_and(&mut *one, &mut *two, at, || {
                dir.write_pair(&new);
                assert_eq!(keys.reload().unwrap(), Reload::Replaced);
                reloaded = true;
            })
            .unwrap();
            if !reloaded {
                break;
            }
            // the ClientHello is the first flight
            let expected = if at < PIECES { &new } else { &old };
            assert_eq!(chain_of(&*one), [expected.cert.to_vec()], "{setup:?} {at}");

            // a new session store, because the old one would resume
            let client = setup.client_config(
                ca.server_verifier(setup.provider),
                old.certified(setup.provider),
            );
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            assert_eq!(chain_of(&*one), [new.cert.to_vec()], "{setup:?} {at}");
        }
    }
}

/// A client's sessions belong to its certificate. A reload without changes keeps them.
#[test]
fn a_client_s_sessions_end_with_its_certificate() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    for setup in setups() {
        let dir = Dir::new();
        let keys = builder(setup)
            .with_default(dir.write_pair(&old))
            .build()
            .unwrap();
        let server = setup.server_config(
            ca.client_verifier(setup.provider),
            ca.issue().certified(setup.provider),
        );
        let client = setup.client_config(ca.server_verifier(setup.provider), keys.clone());
        let connect = || {
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            (is_resumed(&*one), chain_of(&*two))
        };
        assert_eq!(connect(), (false, vec![old.cert.to_vec()]), "{setup:?}");
        assert_eq!(keys.reload().unwrap(), Reload::Unchanged);
        assert_eq!(connect(), (true, vec![old.cert.to_vec()]), "{setup:?}");
        dir.write_pair(&new);
        assert_eq!(keys.reload().unwrap(), Reload::Replaced);
        assert_eq!(connect(), (false, vec![new.cert.to_vec()]), "{setup:?}");
        assert_eq!(connect(), (true, vec![new.cert.to_vec()]), "{setup:?}");
    }
}

/// Bad new files leave the old certificate active, and the error names the mistake. The next good
/// files become active.
#[test]
fn bad_files_change_nothing_and_are_distinguished() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    let expired = ca.issue_with(SERVER, |params| {
        params.not_after = date_time_ymd(2029, 1, 1)
    });
    let not_yet = ca.issue_with(SERVER, |params| {
        params.not_before = date_time_ymd(2031, 1, 1)
    });
    let other_name = ca.issue_with("other.example", |_| {});
    let above = |identity: &crate::kit::Identity, last: &crate::kit::Identity| {
        format!("{}{}", identity.cert_pem, last.cert_pem)
    };
    type Case<'a> = (&'a str, &'a dyn Fn(&Dir), fn(&ReloadError) -> bool);
    let cases: &[Case<'_>] = &[
        (
            "no chain",
            &|dir| fs::remove_file(dir.path("chain.pem")).unwrap(),
            |error| matches!(error, ReloadError::File(error) if error.path.ends_with("chain.pem")),
        ),
        (
            "no key",
            &|dir| fs::remove_file(dir.path("key.pem")).unwrap(),
            |error| matches!(error, ReloadError::File(error) if error.path.ends_with("key.pem")),
        ),
        (
            "a directory",
            &|dir| {
                fs::remove_file(dir.path("key.pem")).unwrap();
                fs::create_dir(dir.path("key.pem")).unwrap();
            },
            |error| matches!(error, ReloadError::File(_)),
        ),
        (
            "the chain is empty",
            &|dir| drop(dir.write("chain.pem", "")),
            |error| matches!(error, ReloadError::NoCertificate { .. }),
        ),
        (
            "the key is empty",
            &|dir| drop(dir.write("key.pem", "")),
            |error| matches!(error, ReloadError::NoPrivateKey { .. }),
        ),
        (
            "an encrypted key",
            &|dir| {
                let key = new.key_pem.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
                dir.write("key.pem", key);
            },
            |error| matches!(error, ReloadError::NoPrivateKey { .. }),
        ),
        (
            "half of a chain",
            &|dir| drop(dir.write("chain.pem", &new.cert_pem[..new.cert_pem.len() / 2])),
            |error| matches!(error, ReloadError::Pem { .. }),
        ),
        (
            "half of a second certificate",
            &|dir| {
                let pem = above(&old, &new);
                dir.write("chain.pem", &pem[..pem.len() - 200]);
            },
            |error| matches!(error, ReloadError::Pem { .. }),
        ),
        (
            "joined without a line break",
            &|dir| {
                dir.write_pair(&new);
                dir.write(
                    "chain.pem",
                    above(&new, &old).replace("-----\n-----", "----------"),
                );
            },
            |error| matches!(error, ReloadError::Pem { reason, .. } if reason.starts_with("1 ")),
        ),
        (
            "a key on one line instead of the chain",
            &|dir| drop(dir.write("chain.pem", new.key_pem.replace('\n', ""))),
            |error| matches!(error, ReloadError::Pem { .. }),
        ),
        (
            "half of a key",
            &|dir| drop(dir.write("key.pem", &new.key_pem[..new.key_pem.len() / 2])),
            |error| matches!(error, ReloadError::Pem { .. }),
        ),
        (
            "an invalid key",
            &|dir| {
                let key = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n";
                dir.write("key.pem", key);
            },
            |error| matches!(error, ReloadError::PrivateKey { .. }),
        ),
        (
            "an invalid certificate",
            &|dir| {
                let cert = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n";
                dir.write("chain.pem", cert);
            },
            |error| matches!(error, ReloadError::Certificate { position: 1, .. }),
        ),
        (
            "the new key beside the old certificate",
            &|dir| drop(dir.write("key.pem", &new.key_pem)),
            |error| matches!(error, ReloadError::KeyMismatch { .. }),
        ),
        (
            "the new certificate beside the old key",
            &|dir| drop(dir.write("chain.pem", &new.cert_pem)),
            |error| matches!(error, ReloadError::KeyMismatch { .. }),
        ),
        ("expired", &|dir| drop(dir.write_pair(&expired)), |error| {
            matches!(
                error,
                ReloadError::Certificate {
                    position: 1,
                    error: Error::InvalidCertificate(CertificateError::ExpiredContext { .. }),
                    ..
                }
            )
        }),
        (
            "not valid yet",
            &|dir| drop(dir.write_pair(&not_yet)),
            |error| {
                matches!(
                    error,
                    ReloadError::Certificate {
                        position: 1,
                        error: Error::InvalidCertificate(
                            CertificateError::NotValidYetContext { .. }
                        ),
                        ..
                    }
                )
            },
        ),
        (
            "an expired issuer",
            &|dir| {
                dir.write_pair(&new);
                dir.write("chain.pem", above(&new, &expired));
            },
            |error| {
                matches!(
                    error,
                    ReloadError::Certificate {
                        position: 2,
                        error: Error::InvalidCertificate(CertificateError::ExpiredContext { .. }),
                        ..
                    }
                )
            },
        ),
        (
            "for another name",
            &|dir| drop(dir.write_pair(&other_name)),
            |error| {
                matches!(
                    error,
                    ReloadError::Certificate {
                        position: 1,
                        error: Error::InvalidCertificate(
                            CertificateError::NotValidForNameContext { .. }
                        ),
                        ..
                    }
                )
            },
        ),
    ];
    for provider in PROVIDERS {
        for (what, spoil, is_it) in cases {
            let dir = Dir::new();
            let clock = StoppedClock::at_year(2030);
            let keys = ReloadingCertifiedKeys::builder(Arc::new(provider.this()))
                .with_names([SERVER], dir.write_pair(&old))
                .with_time_provider(clock.clone())
                .build()
                .unwrap();
            let in_force = || keys.current(Some(SERVER)).unwrap();
            let before = in_force();
            for attempts in 1..=2 {
                if attempts == 1 {
                    spoil(&dir);
                    let error = keys.reload().unwrap_err();
                    assert!(is_it(&error), "{what}: {error:?}");
                    let key = new.key_pem.lines().nth(1).unwrap();
                    let error_text = format!("{error} {error:?}");
                    assert!(!error_text.contains(key), "{what}: {error_text}");
                } else {
                    // after a failure, files are read again even if they are unchanged
                    let error = keys.reload_if_changed().unwrap_err();
                    assert!(is_it(&error), "{what}: {error:?}");
                }
                assert!(Arc::ptr_eq(&before, &in_force()), "{what}");
                let status = keys.status();
                assert_eq!((status.reloads, status.failures), (0, attempts), "{what}");
                let failing = status.failing.unwrap();
                assert!(is_it(&failing.error), "{what}");
                assert_eq!(failing.attempts, attempts, "{what}");
                assert_eq!(failing.since.unwrap().as_secs(), 60 * 31_556_952, "{what}");
            }
            let _ = fs::remove_dir(dir.path("key.pem"));
            dir.write_pair(&new);
            assert_eq!(keys.reload().unwrap(), Reload::Replaced, "{what}");
            assert_eq!(in_force().cert[0], new.cert, "{what}");
            assert!(keys.status().failing.is_none(), "{what}");
        }
    }
}

/// On the first load, any mistake is an error.
#[test]
fn bad_files_are_errors_at_first() {
    let ca = Authority::new("ca");
    let good = ca.issue();
    let provider = Arc::new(PROVIDERS[0].this());
    let dir = Dir::new();
    let files = dir.write_pair(&good);
    let build =
        |change: &dyn Fn(ReloadingCertifiedKeysBuilder) -> ReloadingCertifiedKeysBuilder| {
            change(ReloadingCertifiedKeys::builder(provider.clone()))
                .build()
                .map(drop)
                .map_err(|error| format!("{error:?}"))
        };
    build(&|builder| builder.with_default(files.clone())).unwrap();
    build(&|builder| builder.with_names(["SERVER.example"], files.clone())).unwrap();
    for (change, expected) in [
        (&(|builder| builder) as &dyn Fn(_) -> _, "Nothing"),
        (
            &|builder: ReloadingCertifiedKeysBuilder| {
                builder.with_names(["no name"], files.clone())
            },
            "Name(",
        ),
        (
            &|builder: ReloadingCertifiedKeysBuilder| {
                builder.with_names(["b.example"], files.clone())
            },
            "NotValidForName",
        ),
        (
            &|builder: ReloadingCertifiedKeysBuilder| {
                let clock = StoppedClock::at_year(1970);
                builder
                    .with_default(files.clone())
                    .with_time_provider(clock)
            },
            "NoTime",
        ),
        (
            &|builder: ReloadingCertifiedKeysBuilder| {
                builder.with_default(CertifiedKeyFiles::new("/nowhere/a", "/nowhere/b"))
            },
            "File(",
        ),
    ] {
        let error = build(change).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// Each pair is replaced separately, so a bad one does not block the others.
#[test]
fn pairs_are_chosen_and_replaced_separately() {
    let ca = Authority::new("ca");
    for setup in setups() {
        let dirs = [Dir::new(), Dir::new(), Dir::new()];
        let names = ["a.example", SERVER, "c.example"];
        let issue = |number: usize| ca.issue_with(names[number], |_| {});
        let old = [0, 1, 2].map(issue);
        let files = [0, 1, 2].map(|number| dirs[number].write_pair(&old[number]));
        let [a, b, default] = files;
        let keys = builder(setup)
            .with_names(["A.example"], a)
            .with_names([format!("{SERVER}.")], b.clone())
            .with_default(default)
            .build()
            .unwrap();
        let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys.clone());
        let connect = || {
            let client = setup.client_config(
                ca.server_verifier(setup.provider),
                old[0].certified(setup.provider),
            );
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            chain_of(&*one)
        };
        assert_eq!(connect(), [old[1].cert.to_vec()]);
        // RFC 6066 §3: clients omit the trailing dot
        let asking = ClientHello::new().with(SERVER_NAME, host_name(b"A.Example."));
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut &asking.record()[..]).unwrap();
        let accepted = acceptor.accept().unwrap().unwrap();
        let resolver: &dyn ResolvesServerCert = &*keys;
        let certified = resolver.resolve(accepted.client_hello()).unwrap();
        assert_eq!(certified.cert[0], old[0].cert);
        let cert = |name| keys.current(name).unwrap().cert[0].clone();
        assert_eq!(cert(Some("a.example")), old[0].cert);
        assert_eq!(cert(Some("A.Example")), old[0].cert);
        assert_eq!(cert(Some("a.example.")), old[0].cert);
        assert_eq!(cert(Some("unknown.example")), old[2].cert);
        assert_eq!(cert(None), old[2].cert);

        let new = [0, 1, 2].map(issue);
        dirs[0].write("key.pem", "");
        dirs[1].write_pair(&new[1]);
        dirs[2].write("chain.pem", "");
        let error = keys.reload().unwrap_err();
        assert!(
            matches!(&*error, ReloadError::Several(errors) if errors.len() == 2),
            "{error:?}"
        );
        assert_eq!(connect(), [new[1].cert.to_vec()]);
        assert_eq!(cert(Some("a.example")), old[0].cert);
        assert_eq!(cert(None), old[2].cert);
        assert!(keys.status_of(Some(SERVER)).unwrap().failing.is_none());
        assert!(keys.status_of(Some("A.example")).unwrap().failing.is_some());
        assert!(
            keys.status_of(Some("a.example."))
                .unwrap()
                .failing
                .is_some()
        );
        assert!(keys.status_of(None).unwrap().failing.is_some());
        assert!(keys.status_of(Some("unknown.example")).is_none());

        // without a default, other names have no certificate
        let keys = builder(setup).with_names([SERVER], b).build().unwrap();
        assert!(keys.current(None).is_none() && keys.current(Some("a.example")).is_none());
        let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys);
        let mut client = setup.client_config(
            ca.server_verifier(setup.provider),
            old[0].certified(setup.provider),
        );
        Arc::get_mut(&mut client).unwrap().enable_sni = false;
        let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
        exchange(&mut *one, &mut *two).unwrap_err();
    }
}

/// Files unchanged since the last read are not read again.
#[test]
fn only_changed_files_are_read_again() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    let dir = Dir::new();
    let files = dir.write_pair(&old);
    // a file written just now may change again without a new modification time
    let keys = ReloadingCertifiedKeys::new(files.clone(), Arc::new(PROVIDERS[0].this())).unwrap();
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 1);

    dir.age("chain.pem");
    dir.age("key.pem");
    let keys = ReloadingCertifiedKeys::new(files, Arc::new(PROVIDERS[0].this())).unwrap();
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 0);
    assert_eq!(keys.reload().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 1);

    dir.write_pair(&new);
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
    assert_eq!(keys.current(None).unwrap().cert, [new.cert]);
}
