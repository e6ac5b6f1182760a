//! OCSP responses: matching them to certificates, and the time for which they are stapled.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::PROVIDERS;
use rustls::crypto::hash::HashAlgorithm;
use rustls_trust::{Reload, ReloadError, ReloadingCertifiedKeys};

use crate::kit::{Authority, Dir, clock_at, start_of};

/// A directory with `chain.pem`, `key.pem` and `ocsp.der`, all of them valid in 2030.
struct Fixture {
    ca: Authority,
    dir: Dir,
    clock: Arc<Clock>,
    response: Vec<u8>,
    keys: Arc<ReloadingCertifiedKeys>,
}

impl Fixture {
    fn new() -> Self {
        let ca = Authority::new("ca");
        let identity = ca.issue_number(0x11);
        let dir = Dir::new();
        let clock = clock_at(2030);
        let response = Response::new(&ca, &[0x11]).encode();
        let files = dir
            .write_pair(&identity)
            .with_ocsp(dir.write("ocsp.der", &response));
        let keys = ReloadingCertifiedKeys::builder(Arc::new(PROVIDERS[0].this()))
            .with_default(files)
            .with_time_provider(clock.clone())
            .build()
            .unwrap();
        Self {
            ca,
            dir,
            clock,
            response,
            keys,
        }
    }

    fn stapled(&self) -> Option<Vec<u8>> {
        self.keys.current(None).unwrap().ocsp.clone()
    }

    /// Writes `response` to the file and returns the reason for its rejection.
    fn refuse(&self, response: impl AsRef<[u8]>) -> &'static str {
        self.dir.write("ocsp.der", response);
        match *self.keys.reload().unwrap_err() {
            ReloadError::OcspResponse { reason, .. } => reason,
            ref error => panic!("{error:?}"),
        }
    }
}

/// A response for another certificate does not replace the current pair.
#[test]
fn an_ocsp_response_must_be_about_the_certificate() {
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
        (Vec::new(), "malformed"),
        (b"not DER".to_vec(), "malformed"),
        (with(|response| response.status = 3), "an error"),
        (with(|it| it.next_update = "20290101000000Z"), "out of date"),
        ([&second[..], &[0]].concat(), "malformed"),
    ] {
        let found = fixture.refuse(bad);
        assert!(found.contains(reason), "{found}");
        assert_eq!(fixture.stapled().as_ref(), Some(&first));
    }
    // a truncated response is rejected and never causes a panic
    for len in 0..second.len() {
        fixture.refuse(&second[..len]);
    }
    dir.write("ocsp.der", &second);
    assert_eq!(keys.reload().unwrap(), Reload::Replaced);
    assert_eq!(fixture.stapled(), Some(second));

    // a newer response alone counts as a change
    let third = with(|response| response.next_update = "20310201000000Z");
    dir.write("ocsp.der", &third);
    assert_eq!(keys.reload().unwrap(), Reload::Replaced);
    assert_eq!(fixture.stapled().as_ref(), Some(&third));
    fs::remove_file(dir.path("ocsp.der")).unwrap();
    assert!(matches!(*keys.reload().unwrap_err(), ReloadError::File(_)));
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
        assert_eq!(fixture.keys.reload().is_ok(), is_good, "{this_update}");
    }
}

/// Two authorities may use the same serial number (RFC 5280 §4.1.2.2), and one name may have had
/// two keys.
#[test]
fn an_ocsp_response_must_be_of_the_issuer() {
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

/// The certificate stays active without a response until there is a newer one.
#[test]
fn an_ocsp_response_past_its_next_update_is_not_stapled() {
    let fixture = Fixture::new();
    assert_eq!(fixture.stapled().as_ref(), Some(&fixture.response));
    let before = fixture.keys.current(None).unwrap();

    fixture.clock.set(start_of(2032));
    let after = fixture.keys.current(None).unwrap();
    assert_eq!(after.ocsp, None);
    assert_eq!(after.cert, before.cert);
    assert!(Arc::ptr_eq(&after.key, &before.key));
    assert!(Arc::ptr_eq(&after, &fixture.keys.current(None).unwrap()));
    // a clock without the time
    fixture.clock.set(start_of(1970));
    assert_eq!(fixture.stapled(), None);
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

/// Responders use SHA-1, or another hash if the client requested it.
#[test]
fn the_responses_of_openssl() {
    let ca = Authority::new("ca");
    let dir = Dir::new();
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
            .args([
                "-rsigner", "ca.pem", "-rkey", "ca.key", "-respout", "ocsp.der",
            ])
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        for provider in PROVIDERS {
            let files = files.clone().with_ocsp(dir.path("ocsp.der"));
            let keys = ReloadingCertifiedKeys::new(files, Arc::new(provider.this())).unwrap();
            let stapled = keys.current(None).unwrap().ocsp.clone();
            assert_eq!(stapled, fs::read(dir.path("ocsp.der")).ok(), "{hash}");
        }
    }
}

/// A response for two certificates (RFC 6960 §4.2.1) without a valid signature.
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
