//! Tests of revocation lists read from files, and of sources that cannot be used at first.

use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use harness::peers::pki::{at, crl, crl_of, root};
use rustls::certificates::RevocationList;
use rustls::pki_types::CertificateRevocationListDer as Crl;
use rustls_trust::{CrlCache, CrlError, CrlProblem, CrlProblemReason, CrlSource, FileErrorCause};

use crate::directory::Directory;

/// Returns the problems that a new cache reports for `source`.
fn problems_of(source: &CrlSource) -> Arc<[CrlProblem]> {
    match CrlCache::new().load(source) {
        Err(CrlError::Unusable(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

/// Compares lists in any order.
#[track_caller]
pub(crate) fn assert_lists(lists: &[Arc<RevocationList>], expected: &[&Crl<'_>]) {
    let mut ders: Vec<&[u8]> = lists.iter().map(|list| list.der().as_ref()).collect();
    let mut expected: Vec<&[u8]> = expected.iter().map(AsRef::as_ref).collect();
    ders.sort();
    expected.sort();
    assert!(ders == expected);
}

#[test]
fn der_and_pem_lists_are_loaded() {
    let folder = Directory::of_old_files();
    let [one, two] = ["One", "Two"].map(|name| crl_of(&root(name, |_| ()), [3], |_| ()));
    let cache = CrlCache::new();

    let der = CrlSource::File(folder.write("der", one.der()));
    let lists = cache.lists(&der).unwrap();
    assert_eq!(lists.len(), 1);
    assert_eq!(lists[0].der(), one.der());
    assert_eq!(lists[0].this_update(), Some(at(1_672_531_200)));
    assert_eq!(lists[0].next_update(), Some(at(1_704_067_200)));
    assert_eq!(lists[0].number(), Some(&[7][..]));
    assert!(lists[0].issuer().ends_with(b"One"));

    let [first, second] = [&one, &two].map(|list| list.pem().unwrap());
    let text = format!("a word before\n{first}{second}and one after\n");
    let pem = CrlSource::File(folder.write("pem", text));
    let loaded = cache.load(&pem).unwrap();
    assert_eq!(loaded.lists.len(), 2);
    // each list is parsed once, even if several files contain it
    assert!(Arc::ptr_eq(&loaded.lists[0], &lists[0]));
    assert_eq!(loaded.lists[1].der(), two.der());
    assert!(loaded.problems.is_empty() && loaded.failed_reload.is_none());

    assert!(Arc::ptr_eq(&loaded.lists, &cache.lists(&pem).unwrap()));
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.hits, stats.misses), (2, 1, 2));
    assert_eq!(stats.bytes, Some(2 * one.der().len() + two.der().len()));
}

#[test]
fn all_lists_of_a_directory_are_loaded() {
    let folder = Directory::of_old_files();
    let [one, two] = ["One", "Two"].map(|name| root(name, |_| ()));
    let old = crl_of(&one, [3], |_| ());
    let new = crl_of(&one, [3, 4], |params| {
        params.this_update = rcgen::date_time_ymd(2023, 2, 1);
    });
    let of_two = crl_of(&two, [5], |params| {
        params.this_update = rcgen::date_time_ymd(2022, 1, 1);
    });

    folder.write("a.crl", old.der());
    folder.write("b.pem", new.pem().unwrap());
    folder.write("c.pem", of_two.pem().unwrap());
    // other files are skipped without a problem
    folder.write("d.pem", two.pem());
    folder.write("e.txt", "what these files are for");
    fs::create_dir(folder.path("f")).unwrap();
    fs::write(folder.path("f").join("g"), [7]).unwrap();
    // a link like those of `openssl rehash`
    #[cfg(unix)]
    std::os::unix::fs::symlink("c.pem", folder.path("5ed36f99.r0")).unwrap();

    let source = CrlSource::Directory(folder.as_ref().into());
    let loaded = CrlCache::new().load(&source).unwrap();
    // the latest list of an authority is used, no matter which file contains it
    assert_lists(&loaded.lists, &[new.der(), of_two.der()]);
    assert!(loaded.problems.is_empty());
}

#[test]
fn unusable_sources_are_errors() {
    let folder = Directory::of_old_files();
    let good = crl_of(&root("One", |_| ()), [3], |_| ());
    let der = good.der().to_vec();
    let pem = good.pem().unwrap();
    let trailing = [&der[..], &[0]].concat();
    let cut_base64 = pem.replace("-----END", "A-----END");

    type IsIt = fn(&CrlProblemReason) -> bool;
    let is_list: IsIt = |reason| matches!(reason, CrlProblemReason::List(_));
    let is_pem: IsIt = |reason| matches!(reason, CrlProblemReason::Pem(_));
    let is_marked: IsIt = |reason| matches!(reason, CrlProblemReason::Marked(1));
    let is_no_list: IsIt = |reason| matches!(reason, CrlProblemReason::NoList);
    let is_empty: IsIt = |reason| matches!(reason, CrlProblemReason::Empty);
    let is_certificate: IsIt = |reason| matches!(reason, CrlProblemReason::Certificate);
    let is_utf_16: IsIt = |reason| match reason {
        CrlProblemReason::Pem(text) => text == "UTF-16, not UTF-8",
        _ => false,
    };
    let certificate = root("One", |_| ()).der().to_vec();
    let utf_16 = pem.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let page = "<html>404 Not Found</html>";
    let second = [&pem, &pem[..100]].concat();
    let damaged = pem.replacen("\nM", "\nN", 1);
    let cut = &pem[..pem.len() - 10];
    let cases: [(_, Vec<u8>, _, _); 14] = [
        ("cut.crl", der[..der.len() - 1].into(), None, is_list),
        ("trailing.crl", trailing, None, is_list),
        ("cut.pem", cut.into(), Some(1), is_pem),
        ("base64.pem", cut_base64.into(), Some(1), is_pem),
        ("second.pem", second.into(), Some(2), is_pem),
        ("damaged.pem", damaged.into(), Some(1), is_list),
        ("joined.pem", format!("x{pem}").into(), None, is_marked),
        // a downloaded error page instead of a list
        ("page.crl", page.into(), None, is_no_list),
        ("5ed36f99.r0", page.into(), None, is_no_list),
        ("empty.pem", Vec::new(), None, is_empty),
        // the content after a crash
        ("zeros.crl", vec![0; 4096], None, is_empty),
        ("zeros", vec![0; 4096], None, is_empty),
        ("certificate.der", certificate, None, is_certificate),
        ("utf-16.pem", utf_16, None, is_utf_16),
    ];
    for (name, content, position, is_right) in cases {
        let path = folder.write(name, content);
        // on its own, and in a directory that also has a valid list
        let directory = Directory::of_old_files();
        fs::copy(&path, directory.path(name)).unwrap();
        directory.write("good.crl", &der);

        let in_directory = CrlSource::Directory(directory.as_ref().into());
        for (source, file) in [
            (CrlSource::File(path.clone()), path),
            (in_directory, directory.path(name)),
        ] {
            let problems = problems_of(&source);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert_eq!(problems[0].file.as_deref(), Some(&*file));
            assert_eq!(problems[0].position, position, "{name}");
            assert!(is_right(&problems[0].reason), "{name}: {problems:?}");
            assert!(problems[0].to_string().contains(name), "{}", problems[0]);
        }
    }
}

#[test]
fn problems_are_summarised() {
    let folder = Directory::of_old_files();
    for number in 0..100 {
        folder.write(&format!("{number:03}"), "");
    }
    let error = CrlCache::new()
        .load(&CrlSource::Directory(folder.as_ref().into()))
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("000: empty file (and 99 more)"), "{text}");
}

#[test]
fn missing_files_are_reported() {
    let folder = Directory::of_old_files();
    let source = CrlSource::Directory(folder.as_ref().into());
    let has_no_list =
        |source: &CrlSource| matches!(CrlCache::new().load(source), Err(CrlError::NoLists { .. }));
    assert!(has_no_list(&source), "an empty directory");
    folder.write("text", "no list");
    assert!(has_no_list(&source), "a directory with another file");
    let text = CrlSource::File(folder.path("text"));
    assert!(has_no_list(&text), "another file");

    let (none, directory) = (folder.path("none"), folder.path(""));
    for (source, path) in [
        (CrlSource::File(none.clone()), &none),
        (CrlSource::Directory(none.clone()), &none),
        (CrlSource::File(directory.clone()), &directory),
    ] {
        let cache = CrlCache::new();
        let Err(CrlError::File(error)) = cache.load(&source) else {
            panic!("there is no such file");
        };
        assert_eq!(error.path, *path);
        assert_eq!(cache.stats().failures, 1);
    }

    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("gone", folder.path("link")).unwrap();
        let problems = problems_of(&CrlSource::Directory(folder.as_ref().into()));
        let CrlProblemReason::File(error) = &problems[0].reason else {
            panic!("{problems:?}");
        };
        assert!(matches!(error.cause, FileErrorCause::Io(_)));
    }
}

#[test]
fn the_number_of_shared_lists_is_limited() {
    let test = "certificate_caches::revocation::a_separate_process_limits_shared_lists";
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let is_passed = child.status.success() && output.contains("1 passed");
    assert!(is_passed, "{output}");
}

/// A process shares a limited number of lists. While the table is full, other tests would not find
/// their lists.
#[test]
#[ignore = "run by the_number_of_shared_lists_is_limited"]
fn a_separate_process_limits_shared_lists() {
    let folder = Directory::of_old_files();
    // one list for each authority: only the name is changed, and nothing checks the signature
    let der = crl(&root("00000", |_| ()), &[], |_| ());
    let name = der.windows(5).position(|bytes| bytes == b"00000").unwrap();
    let write = |number: usize| {
        let mut der = der.to_vec();
        der[name..name + 5].copy_from_slice(format!("{number:05}").as_bytes());
        folder.write(&number.to_string(), &der);
        der
    };
    for number in 0..4097 {
        write(number);
    }
    let source = CrlSource::Directory(folder.as_ref().into());
    assert!(matches!(
        CrlCache::new().load(&source),
        Err(CrlError::TooManyLists { limit: 4096, .. })
    ));
    fs::remove_file(folder.path("7")).unwrap();
    let [lists, others] = [(); 2].map(|()| CrlCache::new().lists(&source).unwrap());
    assert_eq!((lists.len(), others.len()), (4096, 4096));
    // all of them are shared
    let mut pairs = lists.iter().zip(&*others);
    assert!(pairs.all(|(one, other)| Arc::ptr_eq(one, other)));

    // lists of other authorities replace those whose files were removed
    let cache = CrlCache::new();
    cache.load(&source).unwrap();
    for number in 0..4097 {
        fs::remove_file(folder.path(&number.to_string())).unwrap_or_default();
    }
    let new: Vec<_> = (5000..5257).map(write).collect();
    let loaded = cache.reload(&source).unwrap();
    assert!(loaded.failed_reload.is_none());
    let lists = loaded.lists.iter().map(|list| list.der().as_ref());
    assert!(new.iter().all(|der| lists.clone().any(|list| list == der)));
    assert_eq!(loaded.lists.len(), 4096);
    let problems = loaded.problems.iter().map(|problem| &problem.reason);
    let without_room = problems.filter(|reason| matches!(reason, CrlProblemReason::NoRoom { .. }));
    assert_eq!(without_room.count(), new.len());
}

#[test]
fn there_is_one_cache_for_the_process() {
    let folder = Directory::of_old_files();
    let der = crl(&root("Global", |_| ()), &[3], |_| ());
    let source = CrlSource::File(folder.write("crl", &der));
    let lists = CrlCache::global().lists(&source).unwrap();
    let again = CrlCache::global().lists(&source).unwrap();
    assert!(Arc::ptr_eq(&lists, &again));
    assert!(CrlCache::new().install_global().is_err());

    let parsed = RevocationList::from_der(der).unwrap();
    assert!(Arc::ptr_eq(&lists[0], &parsed));
    assert!(RevocationList::sharing_stats().hits > 0);
}
