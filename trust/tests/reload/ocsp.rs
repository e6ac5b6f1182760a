//! Tests of OCSP responses: how they are matched to certificates, and for how long they are
//! stapled.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider};
use rcgen::{CertificateParams, CustomExtension};
use rustls::crypto::hash::HashAlgorithm;
use rustls_trust::{CertifiedKeyFiles, Reload, ReloadError, ReloadingCertifiedKeys};

use crate::directory::Directory;
use crate::reload::kit::{Authority, Content, Identity, SERVER, clock_at, start, start_of};

/// A directory with `chain.pem`, `key.pem` and `ocsp.der`, all of them valid in 2030.
struct Fixture {
    provider: Provider,
    ca: Authority,
    dir: Directory,
    clock: Arc<Clock>,
    response: Vec<u8>,
    keys: Arc<ReloadingCertifiedKeys>,
}

impl Fixture {
    fn new() -> Self {
        Self::of(Authority::new("ca"), PROVIDERS[0])
    }

    fn of(ca: Authority, provider: Provider) -> Self {
        let identity = ca.issue_number(0x11);
        let dir = Directory::new();
        let clock = clock_at(2030);
        let response = Response::new(&ca, &[0x11]).encode();
        let files = dir
            .write_pair(&identity)
            .with_ocsp(dir.write("ocsp.der", &response));
        let keys = start(provider, &files, &clock).unwrap();
        Self {
            provider,
            ca,
            dir,
            clock,
            response,
            keys,
        }
    }

    /// Writes a valid response for certificate 0x22.
    fn repair(&self) -> Vec<u8> {
        let good = Response::new(&self.ca, &[0x22]).encode();
        Content::Bytes(good.clone()).replace(&self.dir, "ocsp.der");
        good
    }

    fn stapled(&self) -> Option<Vec<u8>> {
        self.keys.current(None).unwrap().ocsp.clone()
    }

    /// Writes `response` to the file, reloads, and returns the reason for its rejection.
    fn refuse(&self, response: impl AsRef<[u8]>) -> String {
        self.dir.write("ocsp.der", response);
        self.keys.reload().unwrap();
        self.flaw()
    }

    /// Returns the reason why there is no response in the file.
    fn flaw(&self) -> String {
        self.flaw_of(&self.keys)
    }

    fn flaw_of(&self, keys: &ReloadingCertifiedKeys) -> String {
        let status = keys.status();
        assert!(status.failing.is_none(), "{status:?}");
        match &status.flaws[..] {
            [ReloadError::OcspResponse { path, reason, .. }] => {
                assert_eq!(*path, self.dir.path("ocsp.der"));
                reason.clone()
            }
            flaws => panic!("{flaws:?}"),
        }
    }
}

/// A response for another certificate is not stapled, and neither is the one used before.
#[test]
fn an_ocsp_response_must_be_for_the_certificate() {
    let fixture = Fixture::new();
    let (ca, dir, keys) = (&fixture.ca, &fixture.dir, &fixture.keys);
    let first = fixture.response.clone();
    assert_eq!(fixture.stapled().as_ref(), Some(&first));

    let new = ca.issue_number(0x8001);
    dir.write_pair(&new);
    let good = Response::new(ca, &[0, 0x80, 1]);
    let with = |change: fn(&mut Response)| good.with(change).encode();
    let second = good.encode();
    for (bad, reason) in [
        (first.clone(), "another certificate"),
        (Vec::new(), "empty"),
        (vec![0; 4096], "empty"),
        (b"-----BEGIN OCSP RESPONSE-----".to_vec(), "PEM"),
        (b"not DER".to_vec(), "malformed"),
        (with(|response| response.status = 3), "an error"),
        (with(|it| it.next_update = "20290101000000Z"), "out of date"),
        ([&second[..], &[0]].concat(), "malformed"),
    ] {
        let found = fixture.refuse(bad);
        assert!(found.contains(reason), "{found}");
        assert_eq!(fixture.stapled(), None);
        assert_eq!(keys.current(None).unwrap().cert[0], new.cert);
    }
    // a truncated response is rejected and never causes a panic
    for len in 0..second.len() {
        fixture.refuse(&second[..len]);
    }
    dir.write("ocsp.der", &second);
    assert_eq!(keys.reload().unwrap(), Reload::Replaced);
    assert_eq!(fixture.stapled(), Some(second));
    assert!(keys.status().flaws.is_empty());

    // a newer response alone counts as a change
    let third = with(|response| response.next_update = "20310201000000Z");
    dir.write("ocsp.der", &third);
    assert_eq!(keys.reload().unwrap(), Reload::Replaced);
    assert_eq!(fixture.stapled().as_ref(), Some(&third));
    // until it expires, a response for the same certificate stays in use
    fs::remove_file(dir.path("ocsp.der")).unwrap();
    assert_eq!(keys.reload().unwrap(), Reload::Unchanged);
    assert!(fixture.flaw().starts_with("No such file"));
    assert_eq!(fixture.stapled(), Some(third));
}

#[test]
fn the_responder_may_be_five_minutes_ahead() {
    let fixture = Fixture::new();
    // the clock shows 13:12
    for (this_update, is_good) in [("20291231131700Z", true), ("20291231131701Z", false)] {
        let response = Response::new(&fixture.ca, &[0x11]);
        let ahead = response.with(|response| response.this_update = this_update);
        fixture.dir.write("ocsp.der", ahead.encode());
        fixture.keys.reload().unwrap();
        let flaws = fixture.keys.status().flaws;
        assert_eq!(flaws.is_empty(), is_good, "{this_update}: {flaws:?}");
    }
}

/// Two authorities may use the same serial number (RFC 5280 §4.1.2.2), and one authority name may
/// have had two keys.
#[test]
fn an_ocsp_response_must_name_the_issuer() {
    let fixture = Fixture::new();
    let good = Response::new(&fixture.ca, &[0x11]);
    let other_name = Response::new(&Authority::new("another"), &[0x11]);
    let other_key = Response::new(&Authority::new("ca"), &[0x11]);
    let about_another = "it is about another certificate";
    assert_eq!(fixture.refuse(other_name.encode()), about_another);
    // the chain does not contain the issuer's key, so this is accepted
    fixture.dir.write("ocsp.der", other_key.encode());
    fixture.keys.reload().unwrap();

    let chain = fs::read_to_string(fixture.dir.path("chain.pem")).unwrap();
    let with_issuer = chain.clone() + &fixture.ca.0.pem();
    fixture.dir.write("chain.pem", with_issuer);
    assert_eq!(fixture.refuse(other_name.encode()), about_another);
    assert_eq!(fixture.refuse(other_key.encode()), about_another);
    fixture.dir.write("ocsp.der", good.encode());
    fixture.keys.reload().unwrap();

    // another authority's certificate does not provide the key either
    let with_other = chain + &Authority::new("another").0.pem();
    fixture.dir.write("chain.pem", with_other);
    fixture.dir.write("ocsp.der", other_key.encode());
    fixture.keys.reload().unwrap();

    let unknown = good.with(|response| response.hash_oid = b"\x06\x03\x2a\x03\x04");
    let reason = fixture.refuse(unknown.encode());
    assert!(reason.contains("hash"), "{reason}");
}

/// After the response expires, the certificate stays active without one until there is a newer
/// response.
#[test]
fn an_ocsp_response_past_its_next_update_is_not_stapled() {
    let fixture = Fixture::new();
    assert_eq!(fixture.stapled().as_ref(), Some(&fixture.response));
    let before = fixture.keys.current(None).unwrap();

    assert!(fixture.keys.status().flaws.is_empty());
    fixture.clock.set(start_of(2032));
    let after = fixture.keys.current(None).unwrap();
    assert_eq!(after.ocsp, None);
    // reported before anything is reloaded
    assert_eq!(fixture.flaw(), "it is out of date");
    assert_eq!(after.cert, before.cert);
    assert!(Arc::ptr_eq(&after.key, &before.key));
    assert!(Arc::ptr_eq(&after, &fixture.keys.current(None).unwrap()));
    // a clock without the time
    fixture.clock.set(start_of(1970));
    assert_eq!(fixture.stapled(), None);
    assert_eq!(fixture.flaw(), "the current time is not known");
    fixture.clock.set(start_of(2030));
    assert!(Arc::ptr_eq(&before, &fixture.keys.current(None).unwrap()));

    fixture.clock.set(start_of(2032));
    let newer = Response::new(&fixture.ca, &[0x11])
        .with(|response| response.next_update = "20330101000000Z")
        .encode();
    fixture.dir.write("ocsp.der", &newer);
    assert_eq!(fixture.keys.reload().unwrap(), Reload::Replaced);
    assert_eq!(fixture.stapled(), Some(newer));

    // without nextUpdate, newer information is always available
    let endless = Response::new(&fixture.ca, &[0x11])
        .with(|response| response.next_update = "")
        .encode();
    fixture.dir.write("ocsp.der", &endless);
    fixture.keys.reload().unwrap();
    fixture.clock.set(start_of(2099));
    assert_eq!(fixture.stapled(), Some(endless));
}

/// Returns the ways to spoil a response for certificate 0x22, and the reasons that are reported.
fn spoiled(ca: &Authority) -> Vec<(&'static str, Content)> {
    let good = Response::new(ca, &[0x22]);
    let with = |change: fn(&mut Response)| Content::Bytes(good.with(change).encode());
    let of_another = Response::new(ca, &[0x11]).encode();
    let cut = good.encode()[..100].to_vec();
    let long = [good.encode(), vec![0; 1 << 16]].concat();
    #[rustfmt::skip] // a table
    let spoiled = vec![
        ("about another certificate", Content::Bytes(of_another)),
        ("No such file", Content::Missing),
        ("empty", Content::text("")),
        ("out of date", with(|it| it.next_update = "20290101000000Z")),
        ("in the future", with(|it| it.this_update = "20310101000000Z")),
        ("an error", with(|it| it.status = 6)),
        ("malformed", Content::Bytes(cut)),
        ("hash", with(|it| it.hash_oid = b"\x06\x03\x2a\x03\x04")),
        ("longer than", Content::Bytes(long)),
        ("not a regular file", Content::Folder),
        #[cfg(unix)]
        ("not a regular file", Content::Pipe),
    ];
    spoiled
}

/// Marks the certificate as "must-staple", or gives it another TLS feature.
fn demand(params: &mut CertificateParams, serial: u64, feature: u8) {
    params.serial_number = Some(serial.into());
    let tls_feature = [1, 3, 6, 1, 5, 5, 7, 1, 24];
    let features = der(0x30, &[&der(2, &[&[17]]), &der(2, &[&[feature]])]);
    let extension = CustomExtension::from_oid_content(&tls_feature, features);
    params.custom_extensions.push(extension);
}

/// Renews the certificate of fixtures, with each provider and each way to spoil the response. Calls
/// `test` with the new certificate, which has the TLS feature, its files, and the reason that is
/// reported.
fn for_each_renewal(feature: u8, test: impl Fn(&Fixture, &Identity, &CertifiedKeyFiles, &str)) {
    for provider in PROVIDERS {
        for number in 0.. {
            let fixture = Fixture::of(Authority::new("ca"), provider);
            let (ca, dir) = (&fixture.ca, &fixture.dir);
            let Some((reason, content)) = spoiled(ca).into_iter().nth(number) else {
                break;
            };
            let new = ca.issue_with(SERVER, |params| demand(params, 0x22, feature));
            let files = dir.write_pair(&new).with_ocsp(dir.path("ocsp.der"));
            content.replace(dir, "ocsp.der");
            test(&fixture, &new, &files, reason);
        }
    }
}

/// The response is optional, but the certificate is not: the certificate becomes active without a
/// response, after a renewal and at the start.
#[test]
fn an_invalid_response_does_not_prevent_a_start_or_renewal() {
    // with a feature that is not status_request
    for_each_renewal(6, |fixture, new, files, reason| {
        let keys = &fixture.keys;
        assert!(fixture.stapled().is_some(), "{reason}");
        let started = start(fixture.provider, files, &fixture.clock).unwrap();
        assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
        for keys in [keys, &started] {
            let current = keys.current(None).unwrap();
            assert_eq!(current.cert[0], new.cert, "{reason}");
            assert_eq!(current.ocsp, None, "{reason}");
            let flaw = fixture.flaw_of(keys);
            assert!(flaw.contains(reason), "{flaw}");
            let status = keys.status();
            assert_eq!((status.failures, status.flaws.len()), (0, 1));
            let text = status.flaws[0].to_string();
            assert!(text.contains("ocsp.der: no OCSP response"), "{text}");
            // as long as there is a flaw, the files are read again
            assert_eq!(keys.reload_if_changed().unwrap(), Reload::Unchanged);
            assert_eq!(keys.status().unchanged, 1, "{reason}");
        }

        let good = fixture.repair();
        for keys in [keys, &started] {
            assert_eq!(keys.reload_if_changed().unwrap(), Reload::Replaced);
            assert_eq!(keys.current(None).unwrap().ocsp.as_ref(), Some(&good));
            assert!(keys.status().flaws.is_empty(), "{reason}");
        }
    });
}

/// With an OCSP file, a certificate that requires a response (RFC 7633) does not become active
/// without one.
#[test]
fn only_a_must_staple_certificate_needs_its_response() {
    for_each_renewal(5, |fixture, new, files, reason| {
        let keys = &fixture.keys;
        let before = keys.current(None).unwrap();
        let start = || start(fixture.provider, files, &fixture.clock);
        for error in [start().unwrap_err(), keys.reload().unwrap_err()] {
            let ReloadError::OcspResponse { is_required, .. } = *error else {
                panic!("{reason}: {error}");
            };
            assert!(is_required && error.to_string().contains(reason), "{error}");
        }
        assert!(Arc::ptr_eq(&before, &keys.current(None).unwrap()));
        let status = keys.status();
        assert!(status.failing.is_some() && status.flaws.is_empty());

        let good = fixture.repair();
        for keys in [keys, &start().unwrap()] {
            keys.reload().unwrap();
            let current = keys.current(None).unwrap();
            assert_eq!(current.cert[0], new.cert, "{reason}");
            assert_eq!(current.ocsp.as_ref(), Some(&good), "{reason}");
        }
        // the response in use is stapled until it expires
        fs::remove_file(fixture.dir.path("ocsp.der")).unwrap();
        assert_eq!(keys.reload().unwrap(), Reload::Unchanged);
        assert!(fixture.stapled().is_some() && keys.status().flaws.len() == 1);
        fixture.clock.set(start_of(2032));
        keys.reload().unwrap_err();
        assert_eq!(fixture.stapled(), None);
    });
    for provider in PROVIDERS {
        // if no file was set, that is reported
        let new = Authority::new("ca").issue_with(SERVER, |params| demand(params, 1, 5));
        let dir = Directory::new();
        let files = dir.write_pair(&new);
        let flaws = start(provider, &files, &Clock::now())
            .unwrap()
            .status()
            .flaws;
        let is_it = matches!(&flaws[..], [ReloadError::NoOcspFile { .. }]);
        assert!(is_it, "{flaws:?}");
    }
}

/// Dates are not checked if the clock cannot be right.
#[test]
fn a_clock_in_1970_does_not_reject_a_response() {
    let ca = Authority::new("ca");
    let identity = ca.issue_with(SERVER, |params| demand(params, 0x22, 5));
    let dir = Directory::new();
    let response = Response::new(&ca, &[0x22]).encode();
    let files = dir
        .write_pair(&identity)
        .with_ocsp(dir.write("ocsp.der", &response));
    // at 0, the clock returns no time, so it is unknown whether the response has expired
    for (now, is_stapled) in [(0, false), (1, true)] {
        let clock = Clock::at(now);
        let keys = start(PROVIDERS[0], &files, &clock).unwrap();
        let stapled = || keys.current(None).unwrap().ocsp.clone();
        assert_eq!(stapled().is_some(), is_stapled);
        clock.set(start_of(2030));
        assert_eq!(stapled().as_ref(), Some(&response));
        clock.set(start_of(2032));
        assert_eq!(stapled(), None);
    }
}

/// If the TLS features of a certificate cannot be read, they may require a response.
#[test]
fn malformed_tls_features_count_as_must_staple() {
    for content in [&[][..], &[0x30, 3, 2, 1], &[0x30, 2, 5, 0], &[2, 1, 5]] {
        let ca = Authority::new("ca");
        let identity = ca.issue_with(SERVER, |params| {
            let tls_feature = [1, 3, 6, 1, 5, 5, 7, 1, 24];
            let extension = CustomExtension::from_oid_content(&tls_feature, content.to_vec());
            params.custom_extensions.push(extension);
        });
        let dir = Directory::new();
        let files = dir.write_pair(&identity).with_ocsp(dir.path("none"));
        start(PROVIDERS[0], &files, &Clock::now()).unwrap_err();
    }
}

/// Responders use SHA-1, or another hash if the client requested it.
#[test]
fn responses_of_openssl_are_stapled() {
    let ca = Authority::new("ca");
    let dir = Directory::new();
    let identity = ca.issue_number(0x11);
    let files = dir.write_pair(&identity);
    dir.write("ca.pem", ca.0.pem());
    dir.write("ca.key", ca.0.key().serialize_pem());
    dir.write("index.txt", "V\t491231000000Z\t\t11\tunknown\t/CN=server\n");
    let chain = identity.cert_pem + &ca.0.pem();
    dir.write("chain.pem", chain);
    for hash in ["-sha1", "-sha256", "-sha384"] {
        let run = Command::new("openssl")
            .current_dir(dir.path("."))
            .args(["ocsp", hash, "-issuer", "ca.pem", "-serial", "0x11"])
            .args(["-index", "index.txt", "-CA", "ca.pem", "-ndays", "7"])
            .args(["-rsigner", "ca.pem", "-rkey", "ca.key"])
            .args(["-respout", "ocsp.der"])
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        for provider in PROVIDERS {
            let files = files.clone().with_ocsp(dir.path("ocsp.der"));
            let keys = start(provider, &files, &Clock::now()).unwrap();
            let stapled = keys.current(None).unwrap().ocsp.clone();
            assert_eq!(stapled, fs::read(dir.path("ocsp.der")).ok(), "{hash}");
        }
    }
}

/// A response for two certificates (RFC 6960 §4.2.1), without a valid signature.
#[derive(Clone)]
struct Response {
    status: u8,
    hash_oid: &'static [u8],
    issuer_name_hash: Vec<u8>,
    issuer_key_hash: Vec<u8>,
    serial: Vec<u8>,
    this_update: &'static str,
    /// Omitted if empty.
    next_update: &'static str,
}

impl Response {
    fn new(ca: &Authority, serial: &[u8]) -> Self {
        use rustls::certificates::Certificate;

        let provider = PROVIDERS[0].this();
        let suites = provider.cipher_suites.iter();
        let sha256 = suites
            .filter_map(|suite| suite.tls13())
            .map(|suite| suite.common.hash_provider)
            .find(|hash| hash.algorithm() == HashAlgorithm::SHA256)
            .unwrap();
        let hash = |data: &[u8]| sha256.hash(data).as_ref().to_vec();
        let certificate = Certificate::new(ca.0.der().clone());
        Self {
            status: 0,
            hash_oid: b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01",
            issuer_name_hash: hash(certificate.subject().unwrap().der()),
            issuer_key_hash: hash(certificate.public_key().unwrap().key()),
            serial: serial.to_vec(),
            this_update: "20280101000000Z",
            next_update: "20310101000000Z",
        }
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    fn encode(&self) -> Vec<u8> {
        let another = self.with(|response| response.serial = vec![0x70]);
        // an entry with the same serial number from another issuer
        let of_another_issuer = self.with(|response| {
            response.issuer_name_hash = vec![7; response.issuer_name_hash.len()];
        });
        let singles = [&another, &of_another_issuer, self].map(Self::single);
        let data = der(
            0x30,
            &[
                &der(0xa2, &[&der(4, &[&[7; 20]])]),
                &time("20280101000000Z"),
                &der(0x30, &singles.each_ref().map(Vec::as_slice)),
            ],
        );
        let algorithm = der(0x30, &[self.hash_oid]);
        let basic = der(0x30, &[&data, &algorithm, &der(3, &[b"\0signature"])]);
        let basic_oid = b"\x06\x09\x2b\x06\x01\x05\x05\x07\x30\x01\x01";
        let bytes = der(0x30, &[basic_oid, &der(4, &[&basic])]);
        let status = der(10, &[&[self.status]]);
        der(0x30, &[&status, &der(0xa0, &[&bytes])])
    }

    fn single(&self) -> Vec<u8> {
        let id = der(
            0x30,
            &[
                &der(0x30, &[self.hash_oid]),
                &der(4, &[&self.issuer_name_hash]),
                &der(4, &[&self.issuer_key_hash]),
                &der(2, &[&self.serial]),
            ],
        );
        let good = [0x80, 0];
        let next_update = match self.next_update {
            "" => Vec::new(),
            next_update => der(0xa0, &[&time(next_update)]),
        };
        der(0x30, &[&id, &good, &time(self.this_update), &next_update])
    }
}

fn time(time: &str) -> Vec<u8> {
    der(0x18, &[time.as_bytes()])
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = match content.len() {
        len @ ..0x80 => vec![len as u8],
        len @ ..0x100 => vec![0x81, len as u8],
        len => vec![0x82, (len >> 8) as u8, len as u8],
    };
    [vec![tag], len, content].concat()
}
