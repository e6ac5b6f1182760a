//! Lists in use that survive a reading, and lists that the limits drop.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, process};

use harness::peers::pki::{crl, root};
use rcgen::date_time_ymd;

use super::*;

/// A directory of lists, read repeatedly in the year 2023.
struct Directory {
    path: PathBuf,
    limits: Limits,
    held: Option<Arc<Lists>>,
}

impl Directory {
    fn new(test: &str, limits: Limits) -> Self {
        let path = env::temp_dir().join(format!("rustls-crls-{}-{test}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self {
            path,
            limits,
            held: None,
        }
    }

    /// Replaces the files in the directory and reads it. Returns the names of the lists in use, and
    /// of the lists dropped for lack of room.
    fn read(&mut self, files: &[&Crl]) -> Result<[Vec<&'static str>; 2], CrlError> {
        fs::remove_dir_all(&self.path).unwrap();
        fs::create_dir(&self.path).unwrap();
        for file in files {
            fs::write(self.path.join(file.name), &file.der).unwrap();
        }
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000));
        let source = CrlSource::Directory(self.path.clone());
        let lists = read_within(&self.limits, &source, self.held.as_ref(), Some(now))?;

        let mut in_use: Vec<_> = lists
            .lists()
            .iter()
            .map(|list| name(list.issuer()))
            .collect();
        in_use.sort_unstable();
        let mut no_room: Vec<_> = lists
            .problems()
            .iter()
            .filter_map(|problem| match &problem.reason {
                CrlProblemReason::NoRoom { issuer } => Some(name(issuer)),
                _ => None,
            })
            .collect();
        no_room.sort_unstable();
        self.held = Some(lists);
        Ok([in_use, no_room])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A list from an issuer with this name.
struct Crl {
    name: &'static str,
    der: CertificateRevocationListDer<'static>,
}

impl Crl {
    /// Creates a list issued in year `this` with the next update in year `next`.
    fn new(name: &'static str, this: i32, next: i32, entries: u8) -> Self {
        let serial_numbers: Vec<_> = (1..=entries).collect();
        let der = crl(&root(name, |_| ()), &serial_numbers, |params| {
            params.this_update = date_time_ymd(this, 1, 1);
            params.next_update = date_time_ymd(next, 1, 1);
        });
        Self { name, der }
    }
}

/// The maximum difference between the lengths of signatures.
const SIGNATURES: usize = 16;

const NAMES: [&str; 6] = ["expired", "first", "forged", "new", "newer", "old"];

fn name(issuer: &[u8]) -> &'static str {
    let ends = |name: &&&str| issuer.ends_with(name.as_bytes());
    NAMES.iter().find(ends).unwrap()
}

/// At the limit on the number of lists, removed ones are dropped in the order of expiry.
#[test]
fn removed_lists_make_room_for_lists_on_disk() {
    let limits = Limits {
        count: 4,
        bytes: LIMITS.bytes,
    };
    let mut directory = Directory::new("count", limits);
    let expired = Crl::new("expired", 2022, 2023, 1);
    let first = Crl::new("first", 2021, 2031, 1);
    let forged = Crl::new("forged", 2090, 2099, 1);
    let old = Crl::new("old", 2022, 2031, 1);
    let none: [&str; 0] = [];
    let [in_use, _] = directory.read(&[&expired, &first, &forged, &old]).unwrap();
    assert_eq!(in_use, ["expired", "first", "forged", "old"]);
    let [in_use, no_room] = directory.read(&[&old]).unwrap();
    assert_eq!(in_use, ["expired", "first", "forged", "old"]);
    assert_eq!(no_room, none);

    // first the list dated in the future
    let [new, newer] = ["new", "newer"].map(|name| Crl::new(name, 2023, 2024, 1));
    let [in_use, no_room] = directory.read(&[&new]).unwrap();
    assert_eq!(in_use, ["expired", "first", "new", "old"]);
    assert_eq!(no_room, ["forged"]);
    // then the expired list
    let [in_use, no_room] = directory.read(&[&new, &newer]).unwrap();
    assert_eq!(in_use, ["first", "new", "newer", "old"]);
    assert_eq!(no_room, ["expired"]);
    // of lists with the same expiry, the one issued first
    let [in_use, no_room] = directory.read(&[&new, &newer, &forged]).unwrap();
    assert_eq!(in_use, ["forged", "new", "newer", "old"]);
    assert_eq!(no_room, ["first"]);

    // too many lists on disk are still an error
    let error = directory.read(&[&new, &newer, &forged, &first, &expired]);
    assert!(matches!(
        error,
        Err(CrlError::TooManyLists { limit: 4, .. })
    ));
}

/// The limit on the total length works like the limit on the number.
#[test]
fn removed_lists_give_up_their_bytes_to_lists_on_disk() {
    let old = Crl::new("old", 2022, 2031, 100);
    let expired = Crl::new("expired", 2022, 2023, 1);
    let new = Crl::new("new", 2023, 2024, 100);
    let limits = Limits {
        count: MAX_LISTS,
        bytes: new.der.len() + expired.der.len() + SIGNATURES,
    };
    let mut directory = Directory::new("bytes", limits);
    directory.read(&[&old, &expired]).unwrap();
    // the longer list expires later, but does not fit
    let [in_use, no_room] = directory.read(&[&new]).unwrap();
    assert_eq!(in_use, ["expired", "new"]);
    assert_eq!(no_room, ["old"]);

    let error = directory.read(&[&new, &old]);
    assert!(matches!(error, Err(CrlError::TooLong { .. })));
}

/// A list whose file now has an older list counts as removed, but precedes lists without a file.
#[test]
fn a_list_that_does_not_fit_is_replaced_by_an_older_one_on_disk() {
    let old = Crl::new("old", 2022, 2031, 100);
    let older = Crl::new("old", 2021, 2031, 1);
    let expired = Crl::new("expired", 2022, 2023, 1);
    let new = Crl::new("new", 2023, 2024, 100);
    let limits = Limits {
        count: MAX_LISTS,
        bytes: new.der.len() + old.der.len() + SIGNATURES,
    };
    let mut directory = Directory::new("older", limits);
    let length_in_use = |directory: &Directory| {
        let lists = directory.held.as_ref().unwrap().lists();
        let list = lists.iter().find(|list| name(list.issuer()) == "old");
        list.unwrap().der().len()
    };
    directory.read(&[&old, &expired]).unwrap();
    let [in_use, no_room] = directory.read(&[&older, &new]).unwrap();
    assert_eq!(in_use, ["new", "old"]);
    assert_eq!(no_room, ["expired"]);
    assert_eq!(length_in_use(&directory), old.der.len());

    let [in_use, no_room] = directory.read(&[&older, &new, &expired]).unwrap();
    assert_eq!(in_use, ["expired", "new", "old"]);
    assert_eq!(no_room, ["old"]);
    assert_eq!(length_in_use(&directory), older.der.len());
}
