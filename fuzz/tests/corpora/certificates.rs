//! Inputs with certificates, plain and compressed.

use harness::peers::configs::KeyType;
use harness::peers::pki;
use harness::wire::{Noise, vector};
use rcgen::string::BmpString;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::compress::{BROTLI_COMPRESSOR, CompressionLevel, ZLIB_COMPRESSOR};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The kinds of input, as given by its first byte.
const PROPERTIES: u8 = 0;
const COMPRESSED: u8 = 2;
const TO_BE_COMPRESSED: u8 = 3;
const FOR_SERVER: u8 = 4;
const BROTLI: u8 = 8;

/// Plain certificates, and Certificate messages with valid and invalid compression.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut inputs = Vec::new();
    for (name, der) in genuine() {
        inputs.push((name.to_owned(), [&[PROPERTIES][..], &der].concat()));
    }
    let identities = KeyType::Ed25519.identities();
    for (side, who, chain) in [
        (0, "client", &identities.server.chain),
        (FOR_SERVER, "server", &identities.client.chain),
    ] {
        let entry = [&vector(3, &chain[0])[..], &[0, 0]].concat();
        let certificate = [vec![0], vector(3, &entry)].concat();
        let input = [&[TO_BE_COMPRESSED | side][..], &certificate].concat();
        inputs.push((format!("{who}_message"), input));
        let len = certificate.len();
        for (algorithm, compressor) in [(0, ZLIB_COMPRESSOR), (BROTLI, BROTLI_COMPRESSOR)] {
            let compress = |bytes| {
                let compressed = compressor.compress(bytes, CompressionLevel::Amortized);
                compressed.unwrap()
            };
            let right = compress(certificate.clone());
            let mut flipped = right.clone();
            flipped[right.len() / 2] ^= 0x10;
            for (name, declared, bytes) in [
                ("genuine", len, right.clone()),
                ("longer", len - 1, right.clone()),
                ("shorter", len + 1, right.clone()),
                ("cut", len, right[..right.len() - 3].to_vec()),
                ("continued", len, [&right[..], b"more"].concat()),
                ("flipped", len, flipped),
                ("nothing", 0, Vec::new()),
                ("empty_chain", 4, compress(vec![0; 4])),
                ("full", 0xffff, compress(vec![0; 0xffff])),
                ("bomb", 0xffff, compress(vec![0; 1 << 20])),
            ] {
                let declared = u16::try_from(declared).unwrap().to_be_bytes();
                let choice = COMPRESSED | side | algorithm;
                let input = [&[choice][..], &declared, &bytes].concat();
                let name = format!("{who}_{:?}_{name}", compressor.algorithm());
                inputs.push((name.to_lowercase(), input));
            }
        }
    }
    inputs
}

fn run(der: &[u8]) {
    fuzz::run("certificates", &[&[PROPERTIES][..], der].concat());
}

/// Certificates that together have each property in each of its forms.
fn genuine() -> [(&'static str, Vec<u8>); 6] {
    let plain = |_: &mut CertificateParams| ();
    let full = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(1969, 1, 1);
        params.not_after = date_time_ymd(2050, 1, 1);
        params.serial_number = Some(SerialNumber::from(vec![0x80; 20]));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::Other(vec![1, 2, 3, 4]),
        ];
        let custom = CustomExtension::from_oid_content(&[1, 2, 3, 4, 5], vec![5, 0]);
        params.custom_extensions.push(custom);
        params.is_ca = IsCa::ExplicitNoCa;
        let text = |text: &str| text.to_owned().try_into().unwrap();
        params.subject_alt_names = vec![
            SanType::DnsName(text("*.example.com")),
            SanType::Rfc822Name(text("ann@example.com")),
            SanType::URI(text("https://example.com/")),
            SanType::IpAddress("192.0.2.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
            SanType::OtherName((vec![1, 3, 6, 1], "other".into())),
        ];
    };
    let named = |params: &mut CertificateParams| {
        let name = &mut params.distinguished_name;
        name.push(DnType::CountryName, "NO");
        name.push(DnType::CommonName, "\u{c5}se \0, \"x\"");
        let bmp = BmpString::try_from("bmp\u{20ac}").unwrap();
        name.push(DnType::OrganizationName, DnValue::BmpString(bmp));
        let teletex = "teletex".try_into().unwrap();
        name.push(DnType::LocalityName, DnValue::TeletexString(teletex));
        name.push(DnType::CustomDnType(vec![1, 2, 3]), "x");
    };
    let nameless = |params: &mut CertificateParams| {
        params.distinguished_name = DistinguishedName::new();
        params.not_after = date_time_ymd(9999, 12, 31);
    };
    let odd = |params: &mut CertificateParams| {
        let names = [
            &b"\x30\x23\x81\x05j\xf6rg@\x82\x03a\0b\x82\x01a"[..],
            b"\x86\x02\xc3\xa9\x87\x09192.0.2.1\x19\x01a\xa4\0",
        ];
        let names = CustomExtension::from_oid_content(&[2, 5, 29, 17], names.concat());
        params.subject_alt_names.clear();
        params.custom_extensions.push(names);
    };
    let root = pki::root("Root", |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(3));
    });
    [
        ("plain", pki::leaf(&root, plain).to_vec()),
        ("full", pki::leaf(&root, full).to_vec()),
        ("named", pki::leaf(&root, named).to_vec()),
        ("nameless", pki::leaf(&root, nameless).to_vec()),
        ("odd", pki::leaf(&root, odd).to_vec()),
        ("authority", root.der().to_vec()),
    ]
}

/// Changes each byte of a certificate and truncates it at each.
#[test]
fn damaged_certificates_cause_no_finding() {
    for (_, der) in genuine() {
        for index in 0..der.len() {
            run(&der[..index]);
            let mut damaged = der.clone();
            for change in [0x01, 0x02, 0x20, 0x80, 0xff] {
                damaged[index] = der[index] ^ change;
                run(&damaged);
            }
        }
    }
}

/// Changes a few bytes of each certificate that Mozilla trusts, or truncates it.
#[test]
fn damaged_roots_cause_no_finding() {
    let mut noise = Noise::new(3);
    let genuine = genuine().map(|(_, der)| der);
    for der in TLS_SERVER_ROOT_CERTS
        .iter()
        .map(|der| &der[..])
        .chain(genuine.iter().map(|der| &der[..]))
    {
        for _ in 0..100 {
            let mut damaged = der.to_vec();
            for _ in 0..noise.up_to(3) {
                let index = noise.up_to(damaged.len()) - 1;
                damaged[index] = noise.next() as u8;
            }
            run(&damaged);
            run(&der[..noise.up_to(der.len()) - 1]);
        }
    }
}

/// Changes, removes or inserts several bytes of a genuine certificate.
#[test]
fn certificates_changed_in_many_places_cause_no_finding() {
    let mut noise = Noise::new(7);
    for (_, der) in genuine() {
        for _ in 0..2_000 {
            let mut changed = der.clone();
            for _ in 0..noise.up_to(4) {
                let index = noise.up_to(changed.len()) - 1;
                match noise.up_to(3) {
                    1 => drop(changed.remove(index)),
                    2 => changed.insert(index, noise.next() as u8),
                    _ => changed[index] = noise.next() as u8,
                }
            }
            run(&changed);
        }
    }
}
