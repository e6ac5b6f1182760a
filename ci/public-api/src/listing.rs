//! Listings of public items, one line each. Reads them from rustdoc's JSON, folds several crates
//! into one, and normalises them for comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// The version of rustdoc's JSON supported by the `public-api` crate in use.
const FORMAT_VERSION: u64 = 57;

/// The public API of one crate, as rustdoc describes it.
pub(crate) struct Crate {
    lines: Vec<String>,
    json: Value,
}

/// Public paths, by the path of the definition or by an alias of it.
type Names = BTreeMap<String, BTreeSet<String>>;

impl Crate {
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
        let text = std::fs::read_to_string(file).map_err(|e| failed(&e))?;
        let json: Value = serde_json::from_str(&text).map_err(|e| failed(&e))?;
        if json["format_version"] != FORMAT_VERSION {
            let found = &json["format_version"];
            return Err(failed(&format!(
                "rustdoc JSON of format {found}, expected {FORMAT_VERSION}"
            )));
        }
        let api = public_api::Builder::from_rustdoc_json(file)
            .omit_blanket_impls(true)
            .build()
            .map_err(|e| failed(&e))?;
        Ok(Self {
            lines: api
                .items()
                .map(|item| without_captures(&item.to_string()))
                .collect(),
            json,
        })
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Returns the public paths of this crate's items and of those that it re-exports, by
    /// definition.
    fn names(&self) -> Names {
        let mut names = Names::new();
        let root = self.json["root"].to_string();
        if let Some(name) = self.item(&root)["name"].as_str() {
            self.add_names(&root, name, &mut names, &mut Vec::new());
        }
        names
    }

    /// Adds the names of the items in `module`, whose public path is `path`. `outer` contains the
    /// modules around it: re-exports may be circular.
    fn add_names(&self, module: &str, path: &str, names: &mut Names, outer: &mut Vec<String>) {
        if outer.iter().any(|id| id == module) {
            return;
        }
        outer.push(module.to_owned());
        let items = &self.item(module)["inner"]["module"]["items"];
        for id in items.as_array().into_iter().flatten() {
            let id = id.to_string();
            let item = self.item(&id);
            let reexport = &item["inner"]["use"];
            let (target, name) = match reexport {
                Value::Null => (id, &item["name"]),
                reexport => (reexport["id"].to_string(), &reexport["name"]),
            };
            if reexport["is_glob"] == true {
                self.add_name(&target, path, names);
                self.add_names(&target, path, names, outer);
                continue;
            }
            let Some(name) = name.as_str() else { continue };
            let public = format!("{path}::{name}");
            self.add_name(&target, &public, names);
            self.add_names(&target, &public, names, outer);
        }
        outer.pop();
    }

    fn add_name(&self, id: &str, public: &str, names: &mut Names) {
        let definition = self.json["paths"][id]["path"].as_array();
        let definition = definition.map(|path| {
            let parts: Vec<&str> = path.iter().filter_map(Value::as_str).collect();
            parts.join("::")
        });
        // items of other crates keep their own names
        let ours = |path: &String| {
            [
                "rustls::",
                "rustls_core",
                "rustls_provider_",
                "tokio_rustls::",
            ]
            .iter()
            .any(|start| path.starts_with(start))
        };
        if let Some(definition) = definition.filter(ours) {
            names
                .entry(definition)
                .or_default()
                .insert(public.to_owned());
        }
    }

    fn item(&self, id: &str) -> &Value {
        &self.json["index"][id]
    }
}

/// The public API of one crate, possibly folded.
pub(crate) struct Listing {
    lines: BTreeSet<String>,
    /// one path for all aliases of an item
    first_alias: BTreeMap<String, String>,
    /// True if only the names of items of rustls are compared, not their paths.
    shortens_rustls: bool,
}

impl Listing {
    /// Returns the API of `facade` together with its re-exports from `parts`, under the paths of
    /// `facade`.
    pub(crate) fn folded(facade: &Crate, parts: &[Crate]) -> Self {
        let names = names_of_parts(facade.names(), parts);

        let mut lines = BTreeSet::new();
        for line in &facade.lines {
            // the target of a re-export is listed by the parts, unless it belongs to another crate
            let of_parts = line
                .strip_prefix("pub use ")
                .is_some_and(|path| names.values().any(|names| names.contains(path)));
            if !of_parts {
                lines.insert(replace_paths(line, |path| first_name(path, &names)));
            }
        }
        for line in parts.iter().flat_map(|part| &part.lines) {
            add_line_of_part(line, &names, &mut lines);
        }

        Self {
            lines,
            first_alias: first_aliases(&names),
            shortens_rustls: false,
        }
    }

    /// Returns the API of a crate that names items of rustls. Each crate defines them at other
    /// paths, so only their names are compared.
    pub(crate) fn of_crate_over_rustls(krate: &Crate) -> Self {
        Self {
            lines: krate.lines.iter().cloned().collect(),
            first_alias: first_aliases(&krate.names()),
            shortens_rustls: true,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_lines(lines: &str) -> Self {
        Self {
            lines: lines.lines().map(str::to_owned).collect(),
            first_alias: BTreeMap::new(),
            shortens_rustls: false,
        }
    }

    /// Returns the lines in normal form.
    pub(crate) fn compared(&self) -> BTreeSet<String> {
        self.lines
            .iter()
            .filter_map(|line| self.normal_form(line))
            .collect()
    }

    /// Normalises a line: uses one path for each type that has several, and removes names without
    /// meaning.
    ///
    /// Returns `None` for lines that are not compared. These are traits that only the compiler
    /// implements and that stable Rust cannot name, and auto traits that are *not* implemented,
    /// because implementing one is an addition.
    pub(crate) fn normal_form(&self, line: &str) -> Option<String> {
        let unnameable = [
            "core::marker::Freeze",
            "core::marker::UnsafeUnpin",
            "core::marker::StructuralPartialEq",
        ];
        let not_implemented = line.starts_with("impl") && line.contains(" !core::");
        if not_implemented || unnameable.iter().any(|name| line.contains(name)) {
            return None;
        }
        // a method of a generic type has the path of the type, of which one alias is listed
        let is_method = self.shortens_rustls && line.contains(">::");
        let own = own_path(line).filter(|_| !is_method);
        let line = replace_paths(line, |path| {
            if self.shortens_rustls && path.starts_with("rustls") {
                return path.rsplit("::").next().map(str::to_owned);
            }
            if own == Some(path) && self.first_alias.contains_key(path) {
                return None; // each path of an item must exist
            }
            prefixes(path).into_iter().find_map(|prefix| {
                let first = self.first_alias.get(prefix)?;
                Some(format!("{first}{}", &path[prefix.len()..]))
            })
        });
        // private fields have no names, whether numbered or not
        let line = match line.strip_suffix("(_)") {
            Some(start) if line.contains("struct ") => start,
            _ => &line,
        };
        let line = with_anonymous_lifetimes(&with_self(line));
        Some(with_numbered_parameters(&line))
    }
}

/// Returns one path for all aliases of an item, by alias.
fn first_aliases(names: &Names) -> BTreeMap<String, String> {
    let mut first_alias = BTreeMap::new();
    for aliases in names.values().filter(|aliases| aliases.len() > 1) {
        for alias in aliases {
            first_alias.extend(aliases.first().map(|f| (alias.clone(), f.clone())));
        }
    }
    first_alias
}

/// Returns `names` together with those of the items of `parts` below them, by each of their paths.
fn names_of_parts(mut names: Names, parts: &[Crate]) -> Names {
    let facade = names.clone();
    for (definition, paths) in parts.iter().flat_map(Crate::names) {
        let every_path = || paths.iter().chain([&definition]);
        let public: BTreeSet<String> = every_path().flat_map(|p| names_of(p, &facade)).collect();
        if !public.is_empty() {
            for path in every_path() {
                let names = names.entry(path.clone()).or_default();
                names.extend(public.iter().cloned());
            }
        }
    }
    names
}

/// Adds `line` once for each name that the facade has for its item.
fn add_line_of_part(line: &str, names: &Names, lines: &mut BTreeSet<String>) {
    let renamed = || replace_paths(line, |path| first_name(path, names));
    match own_path(line) {
        Some(own) => {
            for public in names_of(own, names) {
                lines.insert(replace_paths(line, |path| match path == own {
                    true => Some(public.clone()),
                    false => first_name(path, names),
                }));
            }
        }
        // an implementation for, or of, an item that the facade does not offer
        None if renamed().contains("rustls_core::") => {}
        None => {
            lines.insert(renamed());
        }
    }
}

fn first_name(path: &str, names: &Names) -> Option<String> {
    names_of(path, names).into_iter().next()
}

/// Returns the names of every named part of `path`, each followed by the rest of `path`. The first
/// are those of the innermost part.
fn names_of(path: &str, names: &Names) -> Vec<String> {
    let of_parts = prefixes(path).into_iter().flat_map(|prefix| {
        let rest = &path[prefix.len()..];
        let names = names.get(prefix).into_iter().flatten();
        names.map(move |name| format!("{name}{rest}"))
    });
    of_parts.collect()
}

/// Returns `path` and the modules and items around it, innermost first.
fn prefixes(path: &str) -> Vec<&str> {
    let mut prefixes: Vec<&str> = path
        .match_indices("::")
        .map(|(at, _)| &path[..at])
        .collect();
    prefixes.push(path);
    prefixes.reverse();
    prefixes
}

/// Returns a line up to the path of its item: kind and name, without the signature.
pub(crate) fn declared(line: &str) -> Option<&str> {
    let own = own_path(line)?;
    // for types with parameters, the rest of the path follows, as in `X<T>::new`
    let end = line.find(own)? + own.len();
    let method = line[end..]
        .starts_with('<')
        .then(|| line.find(">::"))
        .flatten();
    match method {
        Some(at) => {
            let name = line[at + 3..].find(|c: char| !c.is_alphanumeric() && c != '_');
            Some(&line[..name.map_or(line.len(), |name| at + 3 + name)])
        }
        None => Some(&line[..end]),
    }
}

/// Returns the path of a line's item; `None` for `impl` lines.
fn own_path(line: &str) -> Option<&str> {
    if line.starts_with("impl") {
        return None;
    }
    paths(line)
        .map(|(at, end)| &line[at..end])
        .find(|path| path.starts_with("rustls") || path.starts_with("tokio_rustls"))
}

/// Replaces the paths in `line` for which `by` returns a replacement.
fn replace_paths(line: &str, by: impl Fn(&str) -> Option<String>) -> String {
    let mut replaced = String::new();
    let mut done = 0;
    for (at, end) in paths(line) {
        if let Some(path) = by(&line[at..end]) {
            replaced.push_str(&line[done..at]);
            replaced.push_str(&path);
            done = end;
        }
    }
    replaced.push_str(&line[done..]);
    replaced
}

/// Returns the ranges of the paths and other words of `line`.
fn paths(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + line[from..].find(is_word)?;
        let mut end = at;
        loop {
            let rest = &line[end..];
            end += rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            match line[end..].strip_prefix("::") {
                Some(rest) if rest.starts_with(is_word) => end += 2,
                _ => break,
            }
        }
        from = end;
        Some((at, end))
    })
}

/// Removes `+ use<…>`, the captures of an opaque type. In the edition of 0.23 it captures
/// everything that it names, which a listing does not show; `rustls/tests/public_api.rs` checks
/// that.
fn without_captures(line: &str) -> String {
    let mut line = line.to_owned();
    while let Some(at) = line.find(" + use<") {
        let Some(len) = line[at..].find('>') else {
            break;
        };
        line.replace_range(at..at + len + 1, "");
    }
    line
}

/// Replaces the type whose method `line` declares by `Self`. Derived implementations name the type.
fn with_self(line: &str) -> String {
    let Some(own) = own_path(line).and_then(|own| own.rsplit_once("::")) else {
        return line.to_owned();
    };
    match line.starts_with("pub fn ") {
        true => replace_paths(line, |path| (path == own.0).then(|| "Self".to_owned())),
        false => line.to_owned(),
    }
}

/// Replaces lifetimes that are used only once by `'_`, because their names have no meaning.
///
/// `impl<'a> Drop for X<'a>` becomes `impl Drop for X<'_>`, and `X<'a>::len(&self)` becomes
/// `X<'_>::len(&self)`.
fn with_anonymous_lifetimes(line: &str) -> String {
    let mut line = line.to_owned();
    let declared = usize::from(line.starts_with("impl"));
    let words: Vec<(usize, usize)> = paths(&line).collect();
    let names: BTreeSet<String> = words
        .iter()
        .filter(|(at, _)| line[..*at].ends_with('\''))
        .map(|(at, end)| line[at - 1..*end].to_owned())
        .filter(|name| !["'static", "'_"].contains(&name.as_str()))
        .collect();
    for name in names {
        let uses = |line: &str| -> Vec<usize> {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            line.match_indices(&name)
                .map(|(at, _)| at)
                .filter(|at| !line[at + name.len()..].starts_with(is_word))
                .collect()
        };
        // keep a method's own lifetime: `fn<'a>(…)`
        let own = format!("<{name}>(");
        let places = uses(&line);
        if places.len() != 1 + declared || line.contains(&own) {
            continue;
        }
        if let Some(place) = places.last() {
            line.replace_range(*place..place + name.len(), "'_");
        }
        if declared == 1 {
            let place = places[0];
            let end = place + name.len();
            let end = end + if line[end..].starts_with(", ") { 2 } else { 0 };
            line.replace_range(place..end, "");
            line = line.replacen("impl<> ", "impl ", 1);
        }
    }
    line
}

/// Numbers the type parameters of `line` instead of naming them.
fn with_numbered_parameters(line: &str) -> String {
    let mut numbered = String::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut done = 0;
    for (at, end) in paths(line) {
        let word = &line[at..end];
        let parameter = word.starts_with(|c: char| c.is_ascii_uppercase())
            && word != "Self"
            && !word.contains("::")
            && !line[..at].ends_with("::")
            && !line[end..].starts_with(" = ");
        if !parameter {
            continue;
        }
        let number = seen
            .iter()
            .position(|name| *name == word)
            .unwrap_or_else(|| {
                seen.push(word);
                seen.len() - 1
            });
        numbered.push_str(&line[done..at]);
        numbered.push_str(&format!("T{number}"));
        done = end;
    }
    numbered.push_str(&line[done..]);
    numbered
}

#[cfg(test)]
mod tests {
    use super::{with_anonymous_lifetimes, with_numbered_parameters, with_self, without_captures};

    #[test]
    fn names_that_do_not_change_the_meaning_are_ignored() {
        for (named, expected) in [
            (
                "impl<'a> Drop for rustls::X<'a>",
                "impl Drop for rustls::X<'_>",
            ),
            ("impl<'c, D> rustls::X<'c, D>", "impl<D> rustls::X<'_, D>"),
            (
                "pub fn rustls::X<'a>::len(&self)",
                "pub fn rustls::X<'_>::len(&self)",
            ),
        ] {
            assert_eq!(with_anonymous_lifetimes(named), expected);
        }
        let parameters = with_numbered_parameters("impl<Data: a::B> rustls::X<Data, Self>");
        assert_eq!(parameters, "impl<T0: a::B> rustls::X<T0, Self>");
        let captures = without_captures("pub fn rustls::x() -> Option<impl Iterator + use<'a>>");
        assert_eq!(captures, "pub fn rustls::x() -> Option<impl Iterator>");
        let derived = with_self("pub fn rustls::X::eq(&self, &rustls::X) -> bool");
        assert_eq!(derived, "pub fn rustls::X::eq(&self, &Self) -> bool");
    }

    #[test]
    fn names_that_change_the_meaning_are_compared() {
        for line in [
            "pub fn rustls::X<'a>::rest(&self) -> &'a [u8]",
            "pub fn rustls::X::add<'a>(&self, &'a u8)",
            "impl<'a> From<&'a u8> for rustls::X<'a>",
            "pub fn rustls::x(&'static str)",
        ] {
            assert_eq!(with_anonymous_lifetimes(line), line);
        }
        let swapped = with_numbered_parameters("impl<A, B> rustls::X<B, A>");
        assert_ne!(
            swapped,
            with_numbered_parameters("impl<A, B> rustls::X<A, B>")
        );
    }
}
