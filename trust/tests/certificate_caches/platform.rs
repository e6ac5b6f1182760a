//! The platform's roots, in a process of its own because environment variables can change them.

use std::env;
use std::process::Command;
use std::sync::Arc;

use rustls_trust::{IgnoredReason, RootCache, RootSource, RootsError};

use crate::certificate_caches::kit::{Folder, bundle, some_roots};

#[test]
fn the_roots_of_the_platform() {
    let folder = Folder::new("platform");
    let roots = some_roots::<3>();
    let damaged = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    for (file, expected) in [
        (
            folder.write("roots.pem", bundle(&roots)),
            "3 roots, 0 ignored",
        ),
        (
            folder.write("cut.pem", bundle(&roots) + damaged),
            "3 roots, 1 ignored",
        ),
        (folder.path("missing.pem"), "no roots, 1 ignored"),
    ] {
        let child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "certificate_caches::platform::in_a_process_of_its_own",
                "--ignored",
                "--nocapture",
            ])
            .env("SSL_CERT_FILE", file)
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{output}");
        assert!(output.contains(expected), "{expected}: {output}");
    }
}

#[test]
#[ignore = "run by the_roots_of_the_platform"]
fn in_a_process_of_its_own() {
    let cache = RootCache::new();
    let is_of_the_platform = |reason: &IgnoredReason| matches!(reason, IgnoredReason::Platform(_));
    match cache.load(&RootSource::Platform) {
        Ok(loaded) => {
            println!(
                "{} roots, {} ignored",
                loaded.store.len(),
                loaded.ignored_count
            );
            let mut ignored = loaded.ignored.iter();
            assert!(ignored.all(|ignored| is_of_the_platform(&ignored.reason)));
            let again = cache.store(&RootSource::Platform).unwrap();
            assert!(Arc::ptr_eq(&loaded.store, &again));
            assert_eq!(cache.stats().misses, 1);
            // the platform has no version to compare
            let watchful = RootCache::new().with_change_detection(true);
            watchful.store(&RootSource::Platform).unwrap();
            watchful.store(&RootSource::Platform).unwrap();
            assert_eq!(watchful.stats().misses, 1);
        }
        Err(RootsError::NoRoots { ignored }) => println!("no roots, {} ignored", ignored.len()),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(format!("{:?}", RootSource::Platform), "Platform");
}
