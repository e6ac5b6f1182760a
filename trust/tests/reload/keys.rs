//! Tests of reloaded certificates and keys: which become active, which are rejected, and which
//! connections use them.

use std::fs;
use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::{exchange, handshake};
use harness::wire::client_hello::{ClientHello, SERVER_NAME, host_name};
use rcgen::{CertificateParams, date_time_ymd};
use rustls::Error;
use rustls::server::{Acceptor, ResolvesServerCert, WebPkiClientVerifier};
use rustls_trust::{CertifiedKeyFiles, Reload, ReloadError, ReloadingCertifiedKeys};

use crate::directory::{Directory, set_modified};
use crate::reload::kit::{
    Authority, Content, Identity, NO_CERTIFICATE, PIECES, SERVER, clock_at, exchange_and,
    is_resumed, keys_of, setups, start, start_of,
};

/// Loads keys from `files`.
fn load(files: CertifiedKeyFiles) -> Result<Arc<ReloadingCertifiedKeys>, Arc<ReloadError>> {
    keys_of(PROVIDERS[0]).with_default(files).build()
}

/// Loads keys for [`SERVER`] from `files`, at the time of `clock`.
fn named(
    provider: Provider,
    files: CertifiedKeyFiles,
    clock: &Arc<Clock>,
) -> Arc<ReloadingCertifiedKeys> {
    let builder = keys_of(provider).with_names([SERVER], files);
    builder.with_time_provider(clock.clone()).build().unwrap()
}

/// A server's handshake uses the certificate that is active when its ClientHello is complete. A
/// reload during the handshake has no effect on it.
#[test]
fn a_certificate_of_a_server_is_replaced_only_between_handshakes() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    for setup in setups() {
        for at in 0..4 * PIECES {
            let dir = Directory::new();
            let pair = dir.write_pair(&old);
            let keys = keys_of(setup.provider).with_default(pair).build().unwrap();
            let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys.clone());
            let client = setup.client_of(&ca, &old);
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
            assert_eq!(
                one.peer_certificates(),
                [expected.cert.to_vec()],
                "{setup:?} {at}"
            );

            // a new session store, because the old one would resume
            let client = setup.client_of(&ca, &old);
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            assert_eq!(
                one.peer_certificates(),
                [new.cert.to_vec()],
                "{setup:?} {at}"
            );
        }
    }
}

/// A client's sessions belong to its certificate. A reload without changes keeps them.
#[test]
fn sessions_of_a_client_end_with_its_certificate() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    for setup in setups() {
        let dir = Directory::new();
        let pair = dir.write_pair(&old);
        let keys = keys_of(setup.provider).with_default(pair).build().unwrap();
        let (provider, of_server) = (setup.provider, ca.issue());
        let verifier = ca.client_verifier(provider);
        let server = setup.server_config(verifier, of_server.certified(provider));
        let client = setup.client_config(ca.server_verifier(setup.provider), keys.clone());
        let connect = || {
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            (is_resumed(&*one), two.peer_certificates())
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

/// Returns the kind of an error, with the file, the position and the cause if it has them.
fn kind(error: &ReloadError) -> String {
    match error {
        ReloadError::File(error) => {
            format!("File {}", error.path.file_name().unwrap().to_string_lossy())
        }
        ReloadError::NoCertificate { .. } => "NoCertificate".to_owned(),
        ReloadError::NoPrivateKey { .. } => "NoPrivateKey".to_owned(),
        ReloadError::Pem { reason, .. } => format!("Pem {reason}"),
        ReloadError::PrivateKey { .. } => "PrivateKey".to_owned(),
        ReloadError::Certificate {
            position,
            error: Error::InvalidCertificate(error),
            ..
        } => format!("Certificate {position} {error:?}"),
        ReloadError::Certificate { position, .. } => format!("Certificate {position}"),
        ReloadError::KeyMismatch { .. } => "KeyMismatch".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// If new files are invalid, the old certificate stays active, and the error names the mistake. The
/// next valid files become active.
#[test]
fn invalid_files_change_nothing_and_the_error_names_the_mistake() {
    use Content::{Folder, Missing};

    const NO_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n";
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    let valid = |change: fn(&mut CertificateParams)| ca.issue_with(SERVER, change);
    let expired = valid(|params| params.not_after = date_time_ymd(2029, 1, 1));
    let not_yet = valid(|params| params.not_before = date_time_ymd(2031, 1, 1));
    let other_name = ca.issue_with("other.example", |_| {});
    let text = Content::text;
    let chain = |content| vec![("chain.pem", content)];
    let key = |content| vec![("key.pem", content)];
    let pair = |chain: &str, identity: &Identity| {
        let key = text(&identity.key_pem);
        vec![("chain.pem", text(chain)), ("key.pem", key)]
    };
    let half = |pem: &str| text(&pem[..pem.len() / 2]);
    let (new_chain, new_key) = (&*new.cert_pem, &*new.key_pem);
    let encrypted = new_key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let second = old.cert_pem.clone() + &new.cert_pem;
    let second = &second[..second.len() - 200];
    let joined = (new.cert_pem.clone() + &old.cert_pem).replace("-----\n-----", "----------");
    let junk_behind = format!("{}{NO_CERTIFICATE}", new.cert_pem);
    let one_line = new_key.replace('\n', "");
    let pair_of = |identity: &Identity| pair(&identity.cert_pem, identity);
    #[rustfmt::skip] // a table
    let cases = [
        ("no chain", chain(Missing), "File chain.pem"),
        ("no key", key(Missing), "File key.pem"),
        ("a directory", key(Folder), "File"),
        ("the chain is empty", chain(text("")), "NoCertificate"),
        ("the key is empty", key(text("")), "NoPrivateKey"),
        ("an encrypted key", key(text(&encrypted)), "NoPrivateKey"),
        ("half of a chain", chain(half(new_chain)), "Pem"),
        ("half of a second certificate", chain(text(second)), "Pem"),
        ("joined without a line break", pair(&joined, &new), "Pem 1 "),
        ("a key on one line as chain", chain(text(&one_line)), "Pem"),
        ("half of a key", key(half(new_key)), "Pem"),
        ("an invalid key", key(text(NO_KEY)), "PrivateKey"),
        ("an invalid certificate", chain(text(NO_CERTIFICATE)), "Certificate 1"),
        ("the new key beside the old certificate", key(text(new_key)), "KeyMismatch"),
        ("the new certificate beside the old key", chain(text(new_chain)), "KeyMismatch"),
        ("expired", pair_of(&expired), "Certificate 1 ExpiredContext"),
        ("not valid yet", pair_of(&not_yet), "Certificate 1 NotValidYetContext"),
        ("something else behind the certificate", pair(&junk_behind, &new), "Certificate 2"),
        ("for another name", pair_of(&other_name), "Certificate 1 NotValidForNameContext"),
    ];
    for (provider, (what, files, due)) in product(PROVIDERS, &cases) {
        let dir = Directory::new();
        let keys = named(provider, dir.write_pair(&old), &clock_at(2030));
        let in_force = || keys.current(Some(SERVER)).unwrap();
        let before = in_force();
        for (name, content) in files {
            content.replace(&dir, name);
        }
        for attempts in 1..=2 {
            // after a failure, files are read again even if they are unchanged
            let error = match attempts {
                1 => keys.reload().unwrap_err(),
                _ => keys.reload_if_changed().unwrap_err(),
            };
            assert!(kind(&error).starts_with(due), "{what}: {error:?}");
            let secret = new_key.lines().nth(1).unwrap();
            let error_text = format!("{error} {error:?}");
            assert!(!error_text.contains(secret), "{what}: {error_text}");
            assert!(Arc::ptr_eq(&before, &in_force()), "{what}");
            let status = keys.status();
            assert_eq!((status.reloads, status.failures), (0, attempts), "{what}");
            let failing = status.failing.unwrap();
            assert!(kind(&failing.error).starts_with(due), "{what}");
            assert_eq!(failing.attempts, attempts, "{what}");
            assert_eq!(failing.since.unwrap().as_secs(), start_of(2030), "{what}");
        }
        let _ = fs::remove_dir(dir.path("key.pem"));
        dir.write_pair(&new);
        assert_eq!(keys.reload().unwrap(), Reload::Replaced, "{what}");
        assert_eq!(in_force().cert[0], new.cert, "{what}");
        assert!(keys.status().failing.is_none(), "{what}");
    }
}

/// On the first load, any mistake causes an error.
#[test]
fn invalid_files_are_errors_on_the_first_load() {
    let ca = Authority::new("ca");
    let good = ca.issue();
    let dir = Directory::new();
    let files = dir.write_pair(&good);
    let builder = || keys_of(PROVIDERS[0]);
    let names = |name: &str| builder().with_names([name], files.clone()).build();
    load(files.clone()).unwrap();
    names("SERVER.example").unwrap();
    let nowhere = CertifiedKeyFiles::new("/nowhere/a", "/nowhere/b");
    let expired = start(PROVIDERS[0], &files, &clock_at(5000));
    for (keys, expected) in [
        (builder().build(), "Nothing"),
        (names("no name"), "Name("),
        (names("b.example"), "NotValidForName"),
        (expired, "ExpiredContext"),
        (load(nowhere), "File("),
    ] {
        let error = format!("{:?}", keys.unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

/// Chains often keep a cross-certificate for old clients after it has expired. Clients that build
/// paths ignore it, so it does not prevent a renewal or a start.
#[test]
fn dates_of_other_certificates_in_the_chain_are_only_reported() {
    let ca = Authority::new("ca");
    let (old, new) = (ca.issue(), ca.issue());
    let dated = |change: fn(&mut CertificateParams)| ca.issue_with("cross", change);
    let expired = dated(|params| params.not_after = date_time_ymd(2029, 1, 1));
    let of_the_past = dated(|params| {
        params.not_before = date_time_ymd(1950, 1, 1);
        params.not_after = date_time_ymd(1960, 1, 1);
    });
    let not_yet = dated(|params| params.not_before = date_time_ymd(2031, 1, 1));
    let cases = [
        (&expired, "ExpiredContext"),
        (&of_the_past, "Expired"),
        (&not_yet, "NotValidYetContext"),
    ];
    for (provider, (cross, expected)) in product(PROVIDERS, cases) {
        let dir = Directory::new();
        let files = dir.write_pair(&old);
        let build = || start(provider, &files, &clock_at(2030)).unwrap();
        let renewed = build();
        dir.write_pair(&new);
        let chain = [&*new.cert_pem, &ca.0.pem(), &cross.cert_pem].concat();
        dir.write("chain.pem", chain);
        assert_eq!(renewed.reload().unwrap(), Reload::Replaced);
        for keys in [renewed, build()] {
            let sent = &keys.current(None).unwrap().cert;
            let ca = ca.0.der().clone();
            assert_eq!(*sent, [new.cert.clone(), ca, cross.cert.clone()]);
            let status = keys.status();
            assert!(status.failing.is_none());
            let [flaw] = &status.flaws[..] else {
                panic!("{status:?}");
            };
            let (what, expected) = (kind(flaw), format!("Certificate 3 {expected}"));
            assert!(what.starts_with(&expected), "{what}");
            assert!(flaw.to_string().contains("chain.pem: certificate 3"));
        }
    }
}

/// The clock of a machine without a battery shows 1970 until the machine has fetched the time.
/// Until then, a server uses the certificate that it has, or a newer one.
#[test]
fn a_clock_in_1970_does_not_prevent_a_start_or_renewal() {
    let ca = Authority::new("ca");
    let valid_from = |year| {
        ca.issue_with(SERVER, |params| {
            params.not_before = date_time_ymd(year, 1, 1)
        })
    };
    let (old, new) = (valid_from(2025), valid_from(2026));
    for (provider, now) in product(PROVIDERS, [0, 1, 86_400, start_of(2024)]) {
        let dir = Directory::new();
        let clock = Clock::at(now);
        let keys = named(provider, dir.write_pair(&old), &clock);
        let active = || keys.current(Some(SERVER)).unwrap().cert[0].clone();
        let flaw = || match &keys.status().flaws[..] {
            [ReloadError::NoTime] if now == 0 => {}
            [error] if now > 0 && kind(error).starts_with("Certificate 1 NotValidYet") => {}
            flaws => panic!("{flaws:?}"),
        };
        assert_eq!(active(), old.cert);
        flaw();
        dir.write_pair(&new);
        assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
        assert_eq!(active(), new.cert);
        flaw();

        // once the clock is right, dates count again
        clock.set(start_of(2030));
        assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
        assert!(keys.status().flaws.is_empty());
        dir.write_pair(&valid_from(2031));
        keys.reload_if_changed().unwrap_err();
        assert_eq!(active(), new.cert);
    }
}

/// One file may contain the chain and the key, and may be up to 1 MiB long.
#[test]
fn one_file_may_contain_the_chain_and_the_key() {
    let ca = Authority::new("ca");
    let identity = ca.issue();
    let dir = Directory::new();
    let both = [&*identity.key_pem, &identity.cert_pem].concat();
    for comment in [0, 6_000, 87_000] {
        let both = dir.write("both.pem", both.clone() + &"# a comment\n".repeat(comment));
        let files = CertifiedKeyFiles::new(&both, &both);
        let keys = load(files).unwrap();
        assert_eq!(keys.current(None).unwrap().cert[0], identity.cert);
    }
    let long = dir.write("long.pem", both.clone() + &" ".repeat(1 << 20));
    let files = CertifiedKeyFiles::new(&long, &long);
    let error = load(files).unwrap_err().to_string();
    let expected = "long.pem: longer than 1048576 bytes";
    assert!(error.ends_with(expected), "{error}");
}

/// Errors name the file, and also the mistake if it is a frequent one.
#[test]
fn errors_name_the_format_of_a_file() {
    const OLD: &str = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
        DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END EC PRIVATE KEY-----\n";
    let ca = Authority::new("ca");
    let identity = ca.issue();
    let (chain, key) = (&identity.cert_pem, &identity.key_pem);
    let utf_16 = |text: &str, to_bytes: fn(u16) -> [u8; 2]| {
        let units = text.encode_utf16().flat_map(to_bytes);
        units.collect::<Vec<u8>>()
    };
    let [marked_key, marked_chain] = [key, chain].map(|text| format!("\u{feff}{text}"));
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let (is_encrypted, in_utf_16) = ("the private key is encrypted", "UTF-16, not");
    for (name, content, expected) in [
        ("key.pem", OLD.into(), is_encrypted),
        ("key.pem", OLD.replace('\n', "\r\n").into(), is_encrypted),
        ("key.pem", encrypted.into_bytes(), is_encrypted),
        ("key.pem", b"text".to_vec(), "no private key"),
        ("key.pem", vec![0; 1000], "no private key"),
        ("key.pem", utf_16(key, u16::to_le_bytes), in_utf_16),
        ("chain.pem", utf_16(chain, u16::to_be_bytes), in_utf_16),
        ("key.pem", utf_16(&marked_key, u16::to_be_bytes), in_utf_16),
        (
            "chain.pem",
            utf_16(&marked_chain, u16::to_le_bytes),
            in_utf_16,
        ),
        // a file with both
        ("chain.pem", [chain, OLD].concat().into(), is_encrypted),
        ("chain.pem", identity.cert.to_vec(), "DER, not PEM"),
        ("key.pem", identity.cert.to_vec(), "DER, not PEM"),
        ("chain.pem", vec![0; 1000], "no certificate"),
        ("chain.pem", marked_chain.clone().into(), "not on lines of"),
        ("key.pem", marked_key.clone().into(), "not on lines of"),
    ] {
        let dir = Directory::new();
        let files = dir.write_pair(&identity);
        dir.write(name, content);
        let error = load(files).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(expected), "{error}");
        assert!(!error.contains(key.lines().nth(1).unwrap()), "{error}");
    }
}

/// Kubernetes and certbot replace files by changing a link: both files at once, or one after the
/// other.
#[cfg(unix)]
#[test]
fn changed_symbolic_links_are_followed() {
    use std::os::unix::fs::symlink;

    let ca = Authority::new("ca");
    let identities = [ca.issue(), ca.issue()];
    let dir = Directory::new();
    for (version, identity) in ["1", "2"].into_iter().zip(&identities) {
        fs::create_dir(dir.path(version)).unwrap();
        for (name, pem) in [("chain", &identity.cert_pem), ("key", &identity.key_pem)] {
            dir.write(&format!("{version}/{name}"), pem);
            set_modified(&dir.path(&format!("{version}/{name}")), 0);
        }
    }
    let link = |target: &str, name: &str| {
        let new = dir.path("new link");
        symlink(target, &new).unwrap();
        fs::rename(new, dir.path(name)).unwrap();
    };
    link("1", "data");
    link("data/chain", "chain.pem");
    link("data/key", "key.pem");
    let files = CertifiedKeyFiles::new(dir.path("chain.pem"), dir.path("key.pem"));
    let keys = load(files).unwrap();
    let active = || keys.current(None).unwrap().cert[0].clone();
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 0);
    link("2", "data");
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
    assert_eq!(active(), identities[1].cert);

    link("1/chain", "chain.pem");
    let error = keys.reload_if_changed().unwrap_err();
    assert!(matches!(*error, ReloadError::KeyMismatch { .. }), "{error}");
    assert_eq!(active(), identities[1].cert);
    link("1/key", "key.pem");
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
    assert_eq!(active(), identities[0].cert);
    // a link to nowhere, and one to itself
    for target in ["nowhere", "key.pem"] {
        link(target, "key.pem");
        let error = keys.reload_if_changed().unwrap_err();
        assert!(error.to_string().contains("key.pem: "), "{error}");
        assert_eq!(active(), identities[0].cert);
    }
}

/// Each pair is replaced separately, so an invalid one does not block the others.
#[test]
fn pairs_are_chosen_and_replaced_separately() {
    let ca = Authority::new("ca");
    for setup in setups() {
        let dirs = [Directory::new(), Directory::new(), Directory::new()];
        let names = ["a.example", SERVER, "c.example"];
        let issue = |number: usize| ca.issue_with(names[number], |_| {});
        let old = [0, 1, 2].map(issue);
        let files = [0, 1, 2].map(|number| dirs[number].write_pair(&old[number]));
        let [a, b, default] = files;
        let keys = keys_of(setup.provider)
            .with_names(["A.example"], a)
            .with_names([format!("{SERVER}.")], b.clone())
            .with_default(default)
            .build()
            .unwrap();
        let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys.clone());
        let connect = || {
            let client = setup.client_of(&ca, &old[0]);
            let [mut one, mut two] = [setup.client(&client), setup.server(&server)];
            handshake(&mut *one, &mut *two);
            one.peer_certificates()
        };
        assert_eq!(connect(), [old[1].cert.to_vec()]);
        // RFC 6066 §3: clients omit the trailing dot
        let hello = ClientHello::new().with(SERVER_NAME, host_name(b"A.Example."));
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut &hello.record()[..]).unwrap();
        let accepted = acceptor.accept().unwrap().unwrap();
        let resolver: &dyn ResolvesServerCert = &*keys;
        let certified = resolver.resolve(accepted.client_hello()).unwrap();
        assert_eq!(certified.cert[0], old[0].cert);
        let cert = |name| keys.current(name).unwrap().cert[0].clone();
        for name in ["a.example", "A.Example", "a.example."] {
            assert_eq!(cert(Some(name)), old[0].cert, "{name}");
        }
        assert_eq!(cert(Some("unknown.example")), old[2].cert);
        assert_eq!(cert(None), old[2].cert);

        let new = [0, 1, 2].map(issue);
        dirs[0].write("key.pem", "");
        dirs[1].write_pair(&new[1]);
        dirs[2].write("chain.pem", "");
        let error = keys.reload().unwrap_err();
        let both = matches!(&*error, ReloadError::Several(errors) if errors.len() == 2);
        assert!(both, "{error:?}");
        assert_eq!(connect(), [new[1].cert.to_vec()]);
        assert_eq!(cert(Some("a.example")), old[0].cert);
        assert_eq!(cert(None), old[2].cert);
        let fails = |name| keys.status_of(name).unwrap().failing.is_some();
        assert!(!fails(Some(SERVER)) && fails(None));
        assert!(fails(Some("A.example")) && fails(Some("a.example.")));
        assert!(keys.status_of(Some("unknown.example")).is_none());

        // without a default, other names have no certificate
        let keys = keys_of(setup.provider)
            .with_names([SERVER], b)
            .build()
            .unwrap();
        assert!(keys.current(None).is_none() && keys.current(Some("a.example")).is_none());
        let server = setup.server_config(WebPkiClientVerifier::no_client_auth(), keys);
        let mut client = setup.client_of(&ca, &old[0]);
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
    let dir = Directory::new();
    let files = dir.write_pair(&old);
    // a file written just now may change again without a new modification time
    let keys = load(files.clone()).unwrap();
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 1);

    set_modified(&dir.path("chain.pem"), 0);
    set_modified(&dir.path("key.pem"), 0);
    let keys = load(files).unwrap();
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 0);
    assert_eq!(keys.reload().unwrap(), Reload::Unchanged);
    assert_eq!(keys.status().unchanged, 1);

    dir.write_pair(&new);
    assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
    assert_eq!(keys.current(None).unwrap().cert, [new.cert]);
}
