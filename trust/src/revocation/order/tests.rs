//! The order of issues of one list.

use std::sync::Arc;

use harness::peers::pki::{at, crl, root};
use rcgen::{SerialNumber, date_time_ymd};

use super::*;

#[test]
fn lists_are_ordered_by_date_and_then_by_number() {
    let issuer = root("Root", |_| ());
    let issue = |day, number: &[u8]| -> Arc<RevocationList> {
        let list = crl(&issuer, &[], |params| {
            params.this_update = date_time_ymd(2023, 1, day);
            params.crl_number = SerialNumber::from_slice(number);
        });
        RevocationList::from_der(list).unwrap()
    };
    let now = Some(at(1_672_963_200)); // the 6th of January

    // by time first, then by number; a list without a number comes first
    let ascending = [
        issue(2, &[7]),
        issue(3, &[1]),
        issue(3, &[9]),
        issue(3, &[1, 0]),
        issue(5, &[0]),
    ];
    for (at, one) in ascending.iter().enumerate() {
        for (other_at, other) in ascending.iter().enumerate() {
            assert_eq!(is_older(one, other, now), at < other_at);
        }
    }

    let third = at(1_672_704_000);
    let no_number = || issue_key(third, None, now);
    assert!(no_number() < issue_key(third, Some(&[]), now));
    assert!(issue_key(at(1_672_617_600), Some(&[7]), now) < no_number());

    // dated in the future, unless the time is unknown
    let forged = issue(7, &[0x7f; 20]);
    let is_first = |now| ascending.iter().all(|issue| is_older(&forged, issue, now));
    let is_last = |now| ascending.iter().all(|issue| is_older(issue, &forged, now));
    assert!(is_first(now));
    assert!(is_last(None));
    assert!(is_last(Some(at(u64::MAX))));
    // up to five minutes are tolerated
    assert!(is_last(Some(at(1_673_049_600 - 5 * 60))));
    assert!(is_first(Some(at(1_673_049_600 - 5 * 60 - 1))));
}
