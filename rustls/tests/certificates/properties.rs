//! Certificate properties as read by this crate, by OpenSSL's command line, by x509-cert and by
//! webpki. The certificates are those that Mozilla trusts, and others with properties that those
//! lack.
//!
//! Needs the `openssl` program, 3.0 or later, on the path.

use std::io::Write;
use std::process::{Command, Stdio};

use harness::peers::configs::Provider;
use harness::peers::pki;
use pki_types::pem::PemObject;
use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use rcgen::string::BmpString;
use rcgen::{
    CertificateParams, CustomExtension, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::certificates::{Certificate, GeneralName, KeyUsages, Time};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix;

/// Returns certificates of all kinds.
fn certificates() -> Vec<CertificateDer<'static>> {
    let mut certificates = TLS_SERVER_ROOT_CERTS.to_vec();
    certificates.extend(made_here());
    certificates
}

fn made_here() -> [CertificateDer<'static>; 5] {
    let root = pki::root("Root", |params| {
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Constrained(3));
    });
    let named = |params: &mut CertificateParams| {
        let name = &mut params.distinguished_name;
        name.push(DnType::CountryName, "NO");
        name.push(DnType::CommonName, "\u{c5}se, \"x\" + <y>; #z\\ ");
        name.push(DnType::OrganizationName, "#a\n\0b");
        let bmp = BmpString::try_from("bmp\u{20ac}").unwrap();
        name.push(DnType::LocalityName, DnValue::BmpString(bmp));
        let teletex = "teletex".try_into().unwrap();
        name.push(DnType::StateOrProvinceName, DnValue::TeletexString(teletex));
        name.push(DnType::CustomDnType(vec![1, 2, 3]), "x");
        name.push(DnType::CustomDnType(vec![2, 5, 4, 97]), "organization");
        name.push(DnType::CustomDnType(vec![2, 5, 4, 5]), "serial");
        let email = vec![1, 2, 840, 113549, 1, 9, 1];
        name.push(DnType::CustomDnType(email), "a@example.com");
        let domain_component = vec![0, 9, 2342, 19200300, 100, 1, 25];
        name.push(DnType::CustomDnType(domain_component), "example");
    };
    let full = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(1969, 12, 31);
        params.not_after = date_time_ymd(2050, 1, 1);
        params.serial_number = Some(SerialNumber::from(vec![0x80; 20]));
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::ContentCommitment,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::DataEncipherment,
            KeyUsagePurpose::KeyAgreement,
            KeyUsagePurpose::EncipherOnly,
            KeyUsagePurpose::DecipherOnly,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::Any,
            ExtendedKeyUsagePurpose::Other(vec![1, 2, 3, 4]),
        ];
        params.is_ca = IsCa::ExplicitNoCa;
        let text = |text: &str| text.to_owned().try_into().unwrap();
        params.subject_alt_names = vec![
            SanType::DnsName(text("*.Example.com")),
            SanType::DnsName(text("other.example")),
            SanType::Rfc822Name(text("ann@example.com")),
            SanType::URI(text("https://example.com/a,b")),
            SanType::IpAddress("192.0.2.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
        ];
    };
    let negative = |params: &mut CertificateParams| {
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.not_after = date_time_ymd(9999, 12, 31);
    };
    let custom = |params: &mut CertificateParams| {
        let oid = [1, 2, 3, 4, 5];
        let extension = CustomExtension::from_oid_content(&oid, vec![5, 0]);
        params.custom_extensions.push(extension);
    };
    [
        root.der().clone(),
        pki::leaf(&root, named),
        pki::leaf(&root, full),
        pki::leaf(&root, negative),
        pki::leaf(&root, custom),
    ]
}

#[test]
fn openssl_reads_the_same_properties() {
    for der in certificates() {
        let certificate = Certificate::new(der.clone());
        let printed = openssl(&der);
        let line = |key: &str| {
            let found = printed.lines().find_map(|line| line.strip_prefix(key));
            found.unwrap_or_else(|| panic!("{key} in {printed}"))
        };
        assert_eq!(certificate.subject().unwrap().to_string(), line("subject="));
        assert_eq!(certificate.issuer().unwrap().to_string(), line("issuer="));
        let serial = certificate.serial_number().unwrap().to_string();
        assert_eq!(serial, line("serial="));
        let validity = certificate.validity().unwrap();
        let openssl_time = |time: Time| time.to_string().replace('T', " ");
        assert_eq!(openssl_time(validity.not_before), line("notBefore="));
        assert_eq!(openssl_time(validity.not_after), line("notAfter="));

        let fingerprint = certificate.sha256_fingerprint(&Provider::Ring.this());
        let hex = fingerprint.unwrap().map(|byte| format!("{byte:02X}"));
        assert_eq!(hex.join(":"), line("sha256 Fingerprint="));

        let key = SubjectPublicKeyInfoDer::from_pem_slice(printed.as_bytes()).unwrap();
        let read = certificate.public_key().unwrap();
        assert_eq!(read.subject_public_key_info(), key);

        assert_eq!(extensions(&certificate), printed_extensions(&printed));
    }
}

/// Returns OpenSSL's output for all properties of one certificate.
fn openssl(der: &CertificateDer<'_>) -> String {
    let names = "-nameopt RFC2253,utf8,-esc_msb";
    let arguments = format!(
        "x509 -inform DER -noout -subject -issuer -serial -dates -dateopt iso_8601 {names} \
         -fingerprint -sha256 -pubkey \
         -ext subjectAltName,keyUsage,extendedKeyUsage,basicConstraints"
    );
    let mut openssl = Command::new("openssl")
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is on the path");
    openssl.stdin.take().unwrap().write_all(der).unwrap();
    let output = openssl.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the extensions in OpenSSL's output, sorted by kind.
fn printed_extensions(printed: &str) -> Vec<(String, String)> {
    let mut extensions: Vec<_> = printed
        .lines()
        .zip(printed.lines().skip(1))
        .filter_map(|(title, value)| {
            let kind = title.strip_prefix("X509v3 ")?.split(':').next()?;
            Some((kind.to_owned(), value.trim().to_owned()))
        })
        .collect();
    extensions.sort();
    extensions
}

/// Returns the extensions as this crate reads them, formatted like OpenSSL's.
fn extensions(certificate: &Certificate) -> Vec<(String, String)> {
    let mut extensions = Vec::new();
    if let Some(constraints) = certificate.basic_constraints().unwrap() {
        let ca = if constraints.ca { "TRUE" } else { "FALSE" };
        let path_len = constraints.path_len_constraint;
        let path_len = path_len.map_or(String::new(), |len| format!(", pathlen:{len}"));
        extensions.push(("Basic Constraints", format!("CA:{ca}{path_len}")));
    }
    if let Some(purposes) = certificate.extended_key_usages().unwrap() {
        let names = purposes.iter().map(|oid| match &*oid.to_string() {
            "1.3.6.1.5.5.7.3.1" => "TLS Web Server Authentication".to_owned(),
            "1.3.6.1.5.5.7.3.2" => "TLS Web Client Authentication".to_owned(),
            "2.5.29.37.0" => "Any Extended Key Usage".to_owned(),
            other => other.to_owned(),
        });
        let names: Vec<_> = names.collect();
        extensions.push(("Extended Key Usage", names.join(", ")));
    }
    if let Some(usages) = certificate.key_usages().unwrap() {
        extensions.push(("Key Usage", key_usages(usages)));
    }
    let names = certificate.subject_alt_names().unwrap();
    if !names.is_empty() {
        let names = names.iter().map(|name| match name {
            GeneralName::Ip(std::net::IpAddr::V6(address)) => {
                let parts = address.segments().map(|part| format!("{part:X}"));
                format!("IP Address:{}", parts.join(":"))
            }
            GeneralName::Ip(address) => format!("IP Address:{address}"),
            GeneralName::DirectoryName(name) => {
                let parts = name.attributes().map(|attribute| format!("/{attribute}"));
                let parts = parts.collect::<String>();
                format!("DirName:{}", parts.replace("/STREET=", "/street="))
            }
            other => other.to_string(),
        });
        let names: Vec<_> = names.collect();
        extensions.push(("Subject Alternative Name", names.join(", ")));
    }
    let mut extensions: Vec<_> = extensions
        .into_iter()
        .map(|(kind, value)| (kind.to_owned(), value))
        .collect();
    extensions.sort();
    extensions
}

fn key_usages(usages: KeyUsages) -> String {
    let names = [
        (usages.digital_signature(), "Digital Signature"),
        (usages.content_commitment(), "Non Repudiation"),
        (usages.key_encipherment(), "Key Encipherment"),
        (usages.data_encipherment(), "Data Encipherment"),
        (usages.key_agreement(), "Key Agreement"),
        (usages.key_cert_sign(), "Certificate Sign"),
        (usages.crl_sign(), "CRL Sign"),
        (usages.encipher_only(), "Encipher Only"),
        (usages.decipher_only(), "Decipher Only"),
    ];
    let names = names
        .into_iter()
        .filter_map(|(is, name)| is.then_some(name));
    names.collect::<Vec<_>>().join(", ")
}

#[test]
fn x509_cert_and_webpki_read_the_same_properties() {
    let mut compared = 0;
    for der in certificates() {
        let certificate = Certificate::new(der.clone());
        let webpki = webpki::EndEntityCert::try_from(&der);
        if let Ok(webpki) = webpki {
            let read = certificate.public_key().unwrap();
            let spki = webpki.subject_public_key_info();
            assert_eq!(read.subject_public_key_info(), spki);
            let names = certificate.subject_alt_names().unwrap();
            let dns_names = names.iter().filter_map(|name| match name {
                GeneralName::Dns(name) => Some(&**name),
                _ => None,
            });
            assert!(dns_names.eq(webpki.valid_dns_names()));
        }
        // x509-cert does not support times before 1970
        let Ok(bare) = x509_cert::Certificate::from_der(&der) else {
            continue;
        };
        compared += 1;
        let tbs = bare.tbs_certificate();
        let subject = certificate.subject().unwrap();
        assert_eq!(subject.der(), tbs.subject().to_der().unwrap());
        let issuer = certificate.issuer().unwrap();
        assert_eq!(issuer.der(), tbs.issuer().to_der().unwrap());
        assert_eq!(subject.attributes().count(), tbs.subject().iter().count());
        for (ours, theirs) in subject.attributes().zip(tbs.subject().iter()) {
            assert_eq!(ours.oid().as_bytes(), theirs.oid.as_bytes());
            assert_eq!(ours.value_der(), theirs.value.to_der().unwrap());
        }
        let serial = certificate.serial_number().unwrap();
        assert_eq!(
            serial.as_bytes(),
            &tbs.serial_number().to_der().unwrap()[2..]
        );
        let validity = certificate.validity().unwrap();
        let bare_validity = tbs.validity();
        for (ours, theirs) in [
            (validity.not_before, bare_validity.not_before),
            (validity.not_after, bare_validity.not_after),
        ] {
            let seconds = theirs.to_unix_duration().as_secs() as i64;
            assert_eq!(ours.as_unix_seconds(), seconds);
        }
        let key = certificate.public_key().unwrap();
        let bare_key = tbs.subject_public_key_info();
        assert_eq!(key.key(), bare_key.subject_public_key.raw_bytes());
        let oid = bare_key.algorithm.oid.to_string();
        assert_eq!(key.algorithm().oid().to_string(), oid);
        let algorithm = certificate.signature_algorithm().unwrap();
        let bare_algorithm = bare.signature_algorithm();
        assert_eq!(algorithm.oid().to_string(), bare_algorithm.oid.to_string());
        let parameters = bare_algorithm.parameters.as_ref();
        let parameters = parameters.map(|parameters| parameters.to_der().unwrap());
        assert_eq!(algorithm.parameters(), parameters.as_deref());

        let bare = tbs.get_extension::<pkix::BasicConstraints>().unwrap();
        let bare = bare.map(|(_, bare)| (bare.ca, bare.path_len_constraint.map(u32::from)));
        let read = certificate.basic_constraints().unwrap();
        assert_eq!(read.map(|read| (read.ca, read.path_len_constraint)), bare);
        let purposes = tbs.get_extension::<pkix::ExtendedKeyUsage>().unwrap();
        let bare_purposes = purposes.map(|(_, bare)| {
            let oids = bare.0.iter().map(ToString::to_string);
            oids.collect::<Vec<_>>()
        });
        let purposes = certificate.extended_key_usages().unwrap();
        let purposes = purposes.map(|read| read.iter().map(ToString::to_string).collect());
        assert_eq!(purposes, bare_purposes);
        for bare in tbs.extensions().unwrap_or(&Vec::new()) {
            let oid = bare.extn_id.to_string().parse().unwrap();
            let read = certificate.extension(&oid).unwrap().unwrap();
            assert_eq!(read.is_critical, bare.critical);
            assert_eq!(read.value, bare.extn_value.as_bytes());
        }
    }
    assert!(compared > 100, "{compared}");
}

/// The verifier accepts a certificate for its valid names, even if it also has malformed ones. The
/// application sees exactly the valid names.
#[test]
fn malformed_names_do_not_hide_accepted_names() {
    let element = |tag: u8, content: &[u8]| {
        let len = u8::try_from(content.len()).unwrap();
        [&[tag, len][..], content].concat()
    };
    let root = pki::root("Root", |_| ());
    for odd in [
        element(0x81, b"j\xf6rg@a.example"),
        element(0x82, b"good.example\0.evil.example"),
        element(0x82, b"\xe5.example"),
        element(0x86, "https://a.example/\u{e9}".as_bytes()),
        element(0x87, b"192.0.2.1"),
        element(0xa4, b"no directory name"),
        element(0x88, &[0x2a]),
    ] {
        let der = pki::leaf(&root, |params| {
            let good = ["a.example", "b.example"].map(|name| element(0x82, name.as_bytes()));
            let names = element(0x30, &[&good[0][..], &odd, &good[1]].concat());
            params.subject_alt_names.clear();
            let extension = CustomExtension::from_oid_content(&[2, 5, 29, 17], names);
            params.custom_extensions.push(extension);
        });
        let webpki = webpki::EndEntityCert::try_from(&der).unwrap();
        let accepts = |name: &str| {
            let name = name.try_into().unwrap();
            webpki.verify_is_valid_for_subject_name(&name).is_ok()
        };
        assert!(accepts("a.example") && !accepts("good.example"), "{odd:x?}");
        let certificate = Certificate::new(der.clone());
        let expected = [
            GeneralName::Dns("a.example".into()),
            GeneralName::Other(odd.into()),
            GeneralName::Dns("b.example".into()),
        ];
        assert_eq!(certificate.subject_alt_names(), Ok(&expected[..]));
    }
}
