use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const OID: u8 = 6;
const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const OCTET_STRING: u8 = 4;

/// Encodes an element: tag, length, contents.
pub(super) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let mut der = match len {
        0..0x80 => Vec::from([tag, len as u8]),
        0x80..0x100 => Vec::from([tag, 0x81, len as u8]),
        0x100..0x1_0000 => Vec::from([tag, 0x82, (len >> 8) as u8, len as u8]),
        _ => Vec::from([tag, 0x83, (len >> 16) as u8, (len >> 8) as u8, len as u8]),
    };
    der.extend_from_slice(content);
    der
}

/// The fields of a certificate, which tests replace one by one.
#[derive(Clone)]
struct Fields {
    version: Vec<u8>,
    serial_number: Vec<u8>,
    signature: Vec<u8>,
    issuer: Vec<u8>,
    validity: Vec<u8>,
    subject: Vec<u8>,
    public_key: Vec<u8>,
    extensions: Option<Vec<Vec<u8>>>,
    signature_algorithm: Vec<u8>,
}

fn name(common_name: &[u8]) -> Vec<u8> {
    let attribute = [tlv(OID, &[0x55, 4, 3]), tlv(0x0c, common_name)].concat();
    tlv(SEQUENCE, &tlv(SET, &tlv(SEQUENCE, &attribute)))
}

fn extension(oid: &[u8], value: &[u8]) -> Vec<u8> {
    tlv(
        SEQUENCE,
        &[tlv(OID, oid), tlv(OCTET_STRING, value)].concat(),
    )
}

impl Fields {
    /// Creates a certificate with all properties.
    fn good() -> Self {
        let algorithm = tlv(SEQUENCE, &tlv(OID, &[0x2a, 3]));
        let times = [tlv(0x17, b"260101000000Z"), tlv(0x17, b"270101000000Z")];
        let key = [algorithm.clone(), tlv(BIT_STRING, &[0, 1, 2, 3])].concat();
        Self {
            version: tlv(0xa0, &[INTEGER, 1, 2]),
            serial_number: tlv(INTEGER, &[7]),
            signature: algorithm.clone(),
            issuer: name(b"issuer"),
            validity: tlv(SEQUENCE, &times.concat()),
            subject: name(b"subject"),
            public_key: tlv(SEQUENCE, &key),
            extensions: Some(Vec::from([
                extension(SUBJECT_ALT_NAME, &tlv(SEQUENCE, &tlv(0x82, b"a.example"))),
                extension(KEY_USAGE, &[BIT_STRING, 2, 7, 0x80]),
                extension(EXTENDED_KEY_USAGE, &tlv(SEQUENCE, &tlv(OID, &[0x2a, 4]))),
                extension(BASIC_CONSTRAINTS, &tlv(SEQUENCE, &[1, 1, 0xff])),
            ])),
            signature_algorithm: algorithm,
        }
    }

    fn to_certificate(&self) -> Certificate {
        let mut signed = [
            &*self.version,
            &self.serial_number,
            &self.signature,
            &self.issuer,
            &self.validity,
            &self.subject,
            &self.public_key,
        ]
        .concat();
        if let Some(extensions) = &self.extensions {
            signed.extend(tlv(0xa3, &tlv(SEQUENCE, &extensions.concat())));
        }
        let whole = [
            tlv(SEQUENCE, &signed),
            self.signature_algorithm.clone(),
            tlv(BIT_STRING, &[0, 9]),
        ];
        Certificate::new(tlv(SEQUENCE, &whole.concat()).into())
    }
}

/// Returns the field that each property's error names, for properties with an error.
fn errors(certificate: &Certificate) -> Vec<CertificateField> {
    let results = [
        certificate.serial_number().err(),
        certificate.signature_algorithm().err(),
        certificate.issuer().err(),
        certificate.validity().err(),
        certificate.subject().err(),
        certificate.public_key().err(),
        certificate.subject_alt_names().err(),
        certificate.key_usages().err(),
        certificate.extended_key_usages().err(),
        certificate.basic_constraints().err(),
    ];
    let errors = results.iter().flatten();
    errors.map(PropertyError::field).collect()
}

#[test]
fn every_property_is_parsed() {
    let certificate = Fields::good().to_certificate();
    assert_eq!(errors(&certificate), []);
    assert_eq!(certificate.serial_number().unwrap().to_string(), "07");
    assert_eq!(certificate.issuer().unwrap().to_string(), "CN=issuer");
    assert_eq!(certificate.subject().unwrap().to_string(), "CN=subject");
    assert_eq!(
        certificate.validity().unwrap().not_after.to_string(),
        "2027-01-01T00:00:00Z"
    );
    let key = certificate.public_key().unwrap();
    assert_eq!(key.key(), [1, 2, 3]);
    assert_eq!(key.algorithm().oid().to_string(), "1.2.3");
    assert_eq!(key.algorithm().parameters(), None);
    assert_eq!(*key.subject_public_key_info(), *Fields::good().public_key);
    let names = certificate.subject_alt_names().unwrap();
    assert_eq!(names, [GeneralName::Dns("a.example".into())]);
    assert!(
        certificate
            .key_usages()
            .unwrap()
            .unwrap()
            .digital_signature()
    );
    let purposes = certificate.extended_key_usages().unwrap().unwrap();
    assert!(purposes.contains(&"1.2.4".parse().unwrap()));
    assert!(certificate.basic_constraints().unwrap().unwrap().ca);
}

#[test]
fn a_malformed_field_leaves_the_others_readable() {
    let good = Fields::good();
    let junk = tlv(0x0c, &[0xff]);
    type Replace = fn(&mut Fields, Vec<u8>);
    let cases: [(CertificateField, Replace); 6] = [
        (CertificateField::SerialNumber, |fields, junk| {
            fields.serial_number = junk;
        }),
        (CertificateField::Issuer, |fields, junk| {
            fields.issuer = junk
        }),
        (CertificateField::Validity, |fields, junk| {
            fields.validity = junk
        }),
        (CertificateField::Subject, |fields, junk| {
            fields.subject = junk
        }),
        (CertificateField::SubjectPublicKeyInfo, |fields, junk| {
            fields.public_key = junk;
        }),
        (CertificateField::SignatureAlgorithm, |fields, junk| {
            fields.signature = junk.clone();
            fields.signature_algorithm = junk;
        }),
    ];
    for (field, replace) in cases {
        let mut fields = good.clone();
        replace(&mut fields, junk.clone());
        assert_eq!(errors(&fields.to_certificate()), [field]);
    }

    let extensions = [
        (CertificateField::SubjectAltName, SUBJECT_ALT_NAME),
        (CertificateField::KeyUsage, KEY_USAGE),
        (CertificateField::ExtendedKeyUsage, EXTENDED_KEY_USAGE),
        (CertificateField::BasicConstraints, BASIC_CONSTRAINTS),
    ];
    for (index, (field, oid)) in extensions.into_iter().enumerate() {
        let mut fields = good.clone();
        fields.extensions.as_mut().unwrap()[index] = extension(oid, &junk);
        assert_eq!(errors(&fields.to_certificate()), [field]);
    }
}

#[test]
fn a_malformed_container_makes_its_contents_unreadable() {
    let good = Fields::good();
    let der = good.to_certificate().der().to_vec();
    let cut = [&der[..der.len() - 1], &[]].concat();
    let with_tail = [&der[..], &[0]].concat();
    for der in [Vec::new(), cut, with_tail] {
        let certificate = Certificate::new(der.into());
        assert_eq!(errors(&certificate), [CertificateField::Certificate; 10]);
    }

    for extensions in [
        Vec::new(),
        Vec::from([tlv(SEQUENCE, &tlv(OID, KEY_USAGE))]),
        Vec::from([tlv(
            SEQUENCE,
            &[tlv(OID, KEY_USAGE), tlv(0x19, b"")].concat(),
        )]),
    ] {
        let mut fields = good.clone();
        fields.extensions = Some(extensions);
        let certificate = fields.to_certificate();
        assert_eq!(errors(&certificate), [CertificateField::Extensions; 4]);
    }

    for version in [Vec::new(), tlv(0xa0, &[INTEGER, 1, 1])] {
        let mut fields = good.clone();
        fields.version = version;
        let certificate = fields.to_certificate();
        assert_eq!(errors(&certificate), [CertificateField::Version; 4]);
    }
}

/// A name, a parameter or an extension that violates RFC 5280 does not hide the others.
#[test]
fn a_malformed_entry_does_not_hide_the_others() {
    // a GraphicString, and a private type with a high number
    for odd in [tlv(0x19, b"text"), [&[0xdf, 0x2a][..], &[1, 8]].concat()] {
        let mut fields = Fields::good();
        let attribute = |value: &[u8]| {
            let attribute = [&tlv(OID, &[0x55, 4, 3])[..], value].concat();
            tlv(SET, &tlv(SEQUENCE, &attribute))
        };
        fields.subject = tlv(SEQUENCE, &attribute(&odd));
        fields.issuer = fields.subject.clone();
        let parameters = tlv(SEQUENCE, &[tlv(OID, &[0x2a, 3]), odd.clone()].concat());
        fields.signature = parameters.clone();
        fields.signature_algorithm = parameters.clone();
        let key = [parameters, tlv(BIT_STRING, &[0, 1, 2, 3])].concat();
        fields.public_key = tlv(SEQUENCE, &key);
        let extensions = fields.extensions.as_mut().unwrap();
        extensions.push(extension(&[0x55, 0x80], b"malformed identifier"));
        let alt_names = [odd.clone(), tlv(0x82, b"a.example")].concat();
        extensions[0] = extension(SUBJECT_ALT_NAME, &tlv(SEQUENCE, &alt_names));
        let certificate = fields.to_certificate();
        assert_eq!(errors(&certificate), []);
        assert_eq!(certificate.subject().unwrap().der(), fields.subject);
        assert_eq!(certificate.subject().unwrap().common_name(), None);
        let parameters = certificate.public_key().unwrap().algorithm().parameters();
        assert_eq!(parameters, Some(&odd[..]));
        let alt_names = certificate.subject_alt_names().unwrap();
        assert_eq!(alt_names[0], GeneralName::Other(odd.clone().into()));
        assert_eq!(alt_names[1], GeneralName::Dns("a.example".into()));
        assert!(certificate.key_usages().unwrap().is_some());
    }
}

#[test]
fn absent_extensions_are_not_errors() {
    let mut fields = Fields::good();
    let mut others = Vec::from([extension(&[0x2a, 5], b"x")]);
    for extensions in [None, Some(core::mem::take(&mut others))] {
        fields.extensions = extensions;
        let certificate = fields.to_certificate();
        assert_eq!(certificate.subject_alt_names(), Ok(&[][..]));
        assert_eq!(certificate.key_usages(), Ok(None));
        assert_eq!(certificate.extended_key_usages(), Ok(None));
        assert_eq!(certificate.basic_constraints(), Ok(None));
    }
}

#[test]
fn duplicate_extensions_are_rejected() {
    let good = Fields::good();
    let extensions = [
        (CertificateField::SubjectAltName, SUBJECT_ALT_NAME),
        (CertificateField::KeyUsage, KEY_USAGE),
        (CertificateField::ExtendedKeyUsage, EXTENDED_KEY_USAGE),
        (CertificateField::BasicConstraints, BASIC_CONSTRAINTS),
    ];
    for (index, (field, oid)) in extensions.into_iter().enumerate() {
        let mut fields = good.clone();
        let list = fields.extensions.as_mut().unwrap();
        list.push(list[index].clone());
        let certificate = fields.to_certificate();
        assert_eq!(errors(&certificate), [field]);
        let oid = Oid::from_content(oid).unwrap();
        let error = certificate.extension(&oid).unwrap_err();
        assert_eq!(error.field(), CertificateField::Extension);
    }
}

#[test]
fn any_extension_is_found_by_its_identifier() {
    let mut fields = Fields::good();
    let oid: Oid = "1.2.5".parse().unwrap();
    let critical = [
        tlv(OID, oid.as_bytes()),
        [1, 1, 0xff].into(),
        tlv(OCTET_STRING, b"x"),
    ];
    let list = fields.extensions.as_mut().unwrap();
    list.push(tlv(SEQUENCE, &critical.concat()));
    let certificate = fields.to_certificate();
    let expected = Extension {
        is_critical: true,
        value: b"x",
    };
    assert_eq!(certificate.extension(&oid), Ok(Some(expected)));
    assert_eq!(certificate.extension(&"1.2.6".parse().unwrap()), Ok(None));
}

#[test]
fn inner_and_outer_algorithm_must_be_equal() {
    let mut fields = Fields::good();
    fields.signature_algorithm = tlv(SEQUENCE, &tlv(OID, &[0x2a, 4]));
    let error = fields.to_certificate().signature_algorithm().unwrap_err();
    assert_eq!(
        error.to_string(),
        "malformed signature algorithm: another within the signed part"
    );
}

#[test]
fn each_property_is_parsed_once() {
    for fields in [
        Fields::good(),
        Fields {
            subject: tlv(0x0c, &[0xff]),
            ..Fields::good()
        },
    ] {
        let certificate = fields.to_certificate();
        let reads = || certificate.properties().reads.load(Ordering::Relaxed);
        assert_eq!(reads(), 0);
        let first = errors(&certificate);
        // ten properties, the frame, and the index of extensions
        assert_eq!(reads(), 12);
        assert_eq!(errors(&certificate), first);
        assert_eq!(reads(), 12);
    }
}

#[cfg(feature = "std")]
#[test]
fn concurrent_threads_share_one_parsed_value() {
    use std::sync::Barrier;
    use std::thread;

    const THREADS: usize = 16;
    let certificate = &Fields::good().to_certificate();
    let barrier = &Barrier::new(THREADS);
    let addresses: Vec<_> = thread::scope(|scope| {
        let read = || {
            barrier.wait();
            let subject: *const Name = certificate.subject().unwrap();
            let names = certificate.subject_alt_names().unwrap().as_ptr();
            (subject as usize, names as usize)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(read)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(addresses.iter().all(|address| *address == addresses[0]));
    // two properties, the frame, and the index of extensions
    assert_eq!(certificate.properties().reads.load(Ordering::Relaxed), 4);
}
