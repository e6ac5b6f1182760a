//! Tests of root sources with unreadable parts: those are reported and the rest is used. A source
//! without any usable part causes an error.

use std::error::Error as _;
use std::fs::{self, File};

use rustls::{CertificateError, Error};
use rustls_trust::{FileErrorCause, IgnoredReason, LoadedRoots, RootCache, RootSource, RootsError};

use crate::certificate_caches::kit::{GARBAGE, Root, assert_has, bundle, in_memory, some_roots};
use crate::directory::Directory;
#[cfg(unix)]
use crate::directory::make_pipe;

/// Returns the ignored parts as (position, kind and text of the reason).
fn reasons(loaded: &LoadedRoots) -> Vec<(Option<usize>, String)> {
    assert_eq!(loaded.ignored.len(), loaded.ignored_count);
    loaded
        .ignored
        .iter()
        .map(|ignored| (ignored.position, format!("{:?}", ignored.reason)))
        .collect()
}

fn damage(pem: &str, by: impl FnOnce(&mut Vec<&str>)) -> String {
    let mut lines = pem.lines().collect();
    by(&mut lines);
    lines.join("\n") + "\n"
}

#[test]
fn each_kind_of_damage_is_reported_and_the_rest_used() {
    let [a, b] = some_roots::<2>();
    let other = Root::new("damaged");
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let last = other.pem.lines().count() - 1;
    let bad_encoding = "Certificate(InvalidCertificate(BadEncoding))";
    let begin =
        "Pem(\"more, or less, on the line that begins the section CERTIFICATE than its mark\")";
    let line = |number: usize, text| damage(&other.pem, |lines| lines[number] = text);
    let without_a_line = damage(&other.pem, |lines| _ = lines.remove(2));
    let of_openssl = other.pem.replace("CERTIFICATE", "TRUSTED CERTIFICATE");
    let (once, twice) = (GARBAGE.to_owned(), GARBAGE.repeat(2));
    #[rustfmt::skip] // a table
    let cases = [
        ("a comment", "# a comment\n".to_owned(), &[][..]),
        ("a private key", key, &[]),
        ("not base64", line(1, "!!!!"), &[(Some(2), "Pem(\"base64 decode error")]),
        ("no certificate", once, &[(Some(2), bad_encoding)]),
        ("a line is missing", without_a_line, &[(Some(2), bad_encoding)]),
        ("an invalid header", line(0, "-----BEGIN CERTIFICATE---"), &[(Some(2), begin)]),
        ("a format of OpenSSL's", of_openssl, &[(None, "Marked(1)")]),
        ("a header in a line", line(0, " -----BEGIN CERTIFICATE-----"), &[(None, "Marked(1)")]),
        ("two of them", twice, &[(Some(2), bad_encoding), (Some(3), bad_encoding)]),
    ];
    for (case, between, expected) in cases {
        let pem = format!("{}{between}{}", a.pem, b.pem);
        let loaded = RootCache::new().load(&in_memory(pem)).unwrap();
        assert_has(&loaded.store, &[&a, &b]);
        let found = reasons(&loaded);
        assert_eq!(found.len(), expected.len(), "{case}: {found:?}");
        for ((position, reason), (expected_position, expected)) in found.iter().zip(expected) {
            assert_eq!(position, expected_position, "{case}");
            assert!(reason.starts_with(expected), "{case}: {reason}");
        }
    }

    // without its end marker, it includes the next certificate
    let no_end = damage(&other.pem, |lines| _ = lines.remove(last));
    let pem = format!("{}{no_end}{}{}", a.pem, other.pem, b.pem);
    let loaded = RootCache::new().load(&in_memory(pem)).unwrap();
    assert_has(&loaded.store, &[&a, &b]);
    assert_eq!(loaded.ignored_count, 2);
}

#[test]
fn a_truncated_file_is_used_up_to_its_end() {
    let folder = Directory::of_old_files();
    let roots = some_roots::<2>();
    let whole = bundle(&roots);
    let cut = &whole[..whole.len() - 40];
    let path = folder.write("cut.pem", cut);
    let loaded = RootCache::new().load(&RootSource::PemFile(path.clone()));
    let loaded = loaded.unwrap();
    assert_has(&loaded.store, &[&roots[0]]);
    let [ignored] = &*loaded.ignored else {
        panic!("{:?}", loaded.ignored);
    };
    assert_eq!(
        (ignored.file.as_deref(), ignored.position),
        (Some(&*path), Some(2))
    );
    let text = "certificate 2: no line that ends the section CERTIFICATE";
    assert_eq!(ignored.to_string(), format!("{}: {text}", path.display()));
}

#[test]
fn a_certificate_that_begins_in_the_middle_of_a_line_is_reported() {
    let [a, b, c] = some_roots::<3>();
    let glued = format!("{}{}{}", a.pem.trim_end(), b.pem, c.pem);
    let behind_a_mark = format!("\u{feff}{}{}{}", b.pem, a.pem, c.pem);
    for pem in [glued, behind_a_mark] {
        let loaded = RootCache::new().load(&in_memory(pem)).unwrap();
        assert_has(&loaded.store, &[&a, &c]);
        assert_eq!(reasons(&loaded), [(None, "Marked(1)".to_owned())]);
    }
}

#[test]
fn at_most_a_thousand_ignored_parts_are_reported() {
    let [a] = some_roots();
    let pem = GARBAGE.repeat(3000) + &a.pem;
    let loaded = RootCache::new().load(&in_memory(pem)).unwrap();
    assert_has(&loaded.store, &[&a]);
    assert_eq!((loaded.ignored_count, loaded.ignored.len()), (3000, 1000));
}

#[test]
fn usable_files_of_a_mixed_directory_are_loaded() {
    let folder = Directory::of_old_files();
    let [a, b, c, below] = some_roots::<4>();
    folder.write("1-a.pem", &a.pem);
    folder.write("2-b.crt", &b.der);
    folder.write("3-bundle.pem", bundle(&[b.clone(), c.clone()]));
    folder.write("4-readme.txt", "Certificates are in the other files.");
    folder.write("5-empty", "");
    folder.write("6-damaged.der", &c.der[..c.der.len() - 1]);
    folder.write("7-damaged.pem", damage(&c.pem, |lines| lines[1] = "!!!!"));
    fs::create_dir(folder.path("8-directory")).unwrap();
    folder.write("8-directory/below.pem", &below.pem);
    let mut expected = vec![
        ("4-readme.txt", None, "NoCertificate"),
        ("5-empty", None, "NoCertificate"),
        ("6-damaged.der", None, "Certificate"),
        ("7-damaged.pem", Some(1), "Pem"),
    ];
    let mut duplicates = 1;
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("1-a.pem", folder.path("9-link.0")).unwrap();
        symlink("nowhere.pem", folder.path("9-nowhere.0")).unwrap();
        symlink("8-directory", folder.path("9-directory")).unwrap();
        make_pipe(&folder.path("9-pipe"));
        duplicates += 1;
        expected.push(("9-nowhere.0", None, "File"));
        expected.push(("9-pipe", None, "File"));
    }

    let source = RootSource::Directory(folder.path(""));
    let loaded = RootCache::new().load(&source).unwrap();
    assert_has(&loaded.store, &[&a, &b, &c]);
    assert_eq!(loaded.duplicates, duplicates);
    let found: Vec<_> = loaded
        .ignored
        .iter()
        .map(|ignored| {
            let name = ignored.file.as_ref().unwrap().file_name().unwrap();
            let reason = match ignored.reason {
                IgnoredReason::NoCertificate => "NoCertificate",
                IgnoredReason::Certificate(_) => "Certificate",
                IgnoredReason::Pem(_) => "Pem",
                IgnoredReason::File(_) => "File",
                _ => "another",
            };
            (name.to_str().unwrap(), ignored.position, reason)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_bytes_read_from_a_directory_are_limited() {
    let folder = Directory::of_old_files();
    let [a, b] = some_roots::<2>();
    folder.write("0.pem", &a.pem);
    for number in 1..=4 {
        let file = File::create(folder.path(&format!("{number}.pem"))).unwrap();
        file.set_len(16 << 20).unwrap();
    }
    folder.write("5.pem", &b.pem);
    let source = RootSource::Directory(folder.path(""));
    let loaded = RootCache::new().load(&source).unwrap();
    // the fourth exceeds what is left of 64 MiB, the last one does not
    assert_has(&loaded.store, &[&a, &b]);
    let reasons = reasons(&loaded);
    assert_eq!(
        reasons[..3],
        [(); 3].map(|()| (None, "NoCertificate".to_owned()))
    );
    let too_long = format!("TooLong {{ limit: {} }}", (16 << 20) - a.pem.len());
    assert!(reasons[3].1.contains(&too_long), "{reasons:?}");
}

#[cfg(unix)]
#[test]
fn a_directory_of_too_many_files_is_an_error() {
    let folder = Directory::of_old_files();
    let [a] = some_roots();
    let one = folder.write("a.pem", &a.pem);
    for number in 1..16_384 {
        fs::hard_link(&one, folder.path(&number.to_string())).unwrap();
    }
    let source = RootSource::Directory(folder.path(""));
    let cache = RootCache::new();
    assert_eq!(cache.load(&source).unwrap().duplicates, 16_383);
    fs::hard_link(&one, folder.path("one more")).unwrap();
    let kept = cache.reload(&source).unwrap();
    let failure = kept.failed_reload.unwrap().to_string();
    assert!(failure.ends_with(": more than 16384 entries"), "{failure}");
}

#[test]
fn a_source_without_roots_is_an_error() {
    let folder = Directory::of_old_files();
    let [a] = some_roots();
    fs::create_dir(folder.path("empty")).unwrap();
    let der = RootSource::PemFile(folder.write("a.der", &a.der));
    let damaged = RootSource::PemFile(folder.write("damaged", a.pem.replace('M', "!")));
    let empty = RootSource::Directory(folder.path("empty"));
    for (source, expected) in [
        (in_memory(""), "no certificate"),
        (in_memory("text"), "no certificate"),
        (in_memory(&*a.der), "DER, not PEM"),
        (der, "a.der: DER, not PEM"),
        (damaged, "damaged: certificate 1: base64 decode error"),
        (empty, "empty: no certificate"),
    ] {
        let cache = RootCache::new();
        let error = cache.load(&source).unwrap_err();
        assert!(matches!(error, RootsError::NoRoots { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("no usable root certificate"), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(cache.store(&source).is_err());
        assert_eq!((cache.stats().entries, cache.stats().failures), (0, 2));

        let Error::Other(error) = Error::from(error) else {
            panic!("another error");
        };
        assert_eq!(error.0.to_string(), text);
    }
    assert_eq!(
        rustls::RootCertStore::empty().add(a.der[1..].into()),
        Err(CertificateError::BadEncoding.into())
    );
}

#[test]
fn special_and_oversized_files_are_errors() {
    let folder = Directory::of_old_files();
    folder.write("file", "");
    let long = File::create(folder.path("long")).unwrap();
    long.set_len((16 << 20) + 1).unwrap();
    let file = |name| RootSource::PemFile(folder.path(name));
    let directory = |name| RootSource::Directory(folder.path(name));
    let mut cases = vec![
        (file("missing"), "Io"),
        (directory("missing"), "Io"),
        (directory("file"), "Io"),
        (file("long"), "TooLong { limit: 16777216 }"),
        (file("."), "NotRegular"),
    ];
    #[cfg(unix)]
    {
        make_pipe(&folder.path("pipe"));
        cases.push((file("pipe"), "NotRegular"));
        cases.push((RootSource::PemFile("/dev/zero".into()), "NotRegular"));
    }
    for (source, expected) in cases {
        let error = RootCache::new().load(&source).unwrap_err();
        let RootsError::File(file_error) = &error else {
            panic!("{source:?}: {error}");
        };
        let cause = format!("{:?}", file_error.cause);
        assert!(cause.starts_with(expected), "{source:?}: {cause}");
        let path = file_error.path.display().to_string();
        assert!(error.to_string().starts_with(&path), "{error}");
        let is_io = matches!(file_error.cause, FileErrorCause::Io(_));
        assert_eq!(error.source().unwrap().source().is_some(), is_io);
    }
}
