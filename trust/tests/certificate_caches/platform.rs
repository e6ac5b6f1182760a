//! Tests of the platform's roots, in a separate process because environment variables can change
//! them.

use std::env;
use std::process::Command;
use std::sync::Arc;

use rustls_trust::{IgnoredReason, RootCache, RootSource, RootsError};

use crate::certificate_caches::kit::{bundle, some_roots};
use crate::directory::Directory;

#[test]
fn the_roots_of_the_platform_are_loaded() {
    let folder = Directory::of_old_files();
    let roots = some_roots::<3>();
    let damaged = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    let good = folder.write("roots.pem", bundle(&roots));
    let cut = folder.write("cut.pem", bundle(&roots) + damaged);
    for (file, expected) in [
        (good, "3 roots, 0 ignored"),
        (cut, "3 roots, 1 ignored"),
        (folder.path("missing.pem"), "no roots, 1 ignored"),
    ] {
        let child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "certificate_caches::platform::a_separate_process_loads_the_roots",
            ])
            .args(["--ignored", "--nocapture"])
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
#[ignore = "run by the_roots_of_the_platform_are_loaded"]
fn a_separate_process_loads_the_roots() {
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
