//! Names of 0.23's public API, from the listing with which `ci/api` compares.

use std::collections::BTreeSet;

const LISTING: &str = include_str!("../../../ci/public-api/rustls-0.23.46.txt");

/// Returns the variants of all public enums, by the paths of the enums.
pub fn variants() -> BTreeSet<String> {
    let enums: BTreeSet<_> = LISTING.lines().filter_map(enum_path).collect();
    let items = LISTING.lines().filter_map(|line| line.strip_prefix("pub "));
    items
        .filter_map(|item| {
            let path = item.split('(').next()?;
            let (parent, variant) = path.rsplit_once("::")?;
            let is_variant = enums.contains(parent) && !variant.contains(' ');
            is_variant.then(|| path.to_owned())
        })
        .collect()
}

/// Returns the types that implement `Display`.
pub fn displayed() -> BTreeSet<String> {
    LISTING
        .lines()
        .filter_map(|line| line.strip_prefix("impl core::fmt::Display for "))
        .map(str::to_owned)
        .collect()
}

/// Returns the path of the enum that `line` declares, without its generic parameters.
fn enum_path(line: &str) -> Option<&str> {
    let declared = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    declared.strip_prefix("pub enum ")?.split('<').next()
}
