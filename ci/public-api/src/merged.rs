//! Merges several crates into one, in rustdoc's JSON: the items of the parts replace their
//! re-exports. It is for programs that only read one file.
//!
//! Identifiers are numbers that are only valid within one file. Each item gets a new one here: by
//! its path if it has one, because paths are the same in all files, otherwise by its file and old
//! identifier.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Merges the items of `parts` into `facade`, all in rustdoc's JSON.
pub(crate) fn merged(facade: &Value, parts: &[Value]) -> Result<Value, String> {
    let crates: Vec<Crate<'_>> = [facade]
        .into_iter()
        .chain(parts)
        .map(Crate::new)
        .collect::<Result<_, _>>()?;
    let own: Vec<&str> = crates.iter().map(|krate| krate.name).collect();
    let mut ids = Ids {
        own,
        known: HashMap::new(),
        others: HashMap::new(),
    };
    let mut index = Map::new();
    let mut paths = Map::new();
    let mut others = Map::new();
    for krate in &crates {
        for (id, path) in krate.table("paths")? {
            let id = ids.renamed(krate, number(id)?)?.to_string();
            let mut path = path.clone();
            path["crate_id"] = ids.crate_id(krate, &path["crate_id"])?.into();
            paths.entry(id).or_insert(path);
        }
        for (id, item) in krate.table("index")? {
            let id = ids.renamed(krate, number(id)?)?.to_string();
            let is_own = item["crate_id"] == 0;
            let mut item = ids.rename_all(krate, item)?;
            item["crate_id"] = ids.crate_id(krate, &item["crate_id"])?.into();
            if is_own || !index.contains_key(&id) {
                index.insert(id, item);
            }
        }
        for (id, other) in krate.table("external_crates")? {
            match ids.crate_id(krate, &number(id)?.into())? {
                0 => {}
                id => _ = others.insert(id.to_string(), other.clone()),
            }
        }
    }
    let mut merged = facade.clone();
    merged["root"] = ids.renamed(&crates[0], crates[0].root)?.into();
    merged["index"] = index.into();
    merged["paths"] = paths.into();
    merged["external_crates"] = others.into();
    Ok(merged)
}

/// The JSON of one crate.
struct Crate<'a> {
    name: &'a str,
    root: u64,
    json: &'a Value,
}

impl<'a> Crate<'a> {
    fn new(json: &'a Value) -> Result<Self, String> {
        let root = json["root"].as_u64().ok_or("a crate without a root")?;
        let name = json["index"][root.to_string()]["name"]
            .as_str()
            .ok_or("a crate without a name")?;
        Ok(Self { name, root, json })
    }

    fn table(&self, name: &str) -> Result<&'a Map<String, Value>, String> {
        self.json[name]
            .as_object()
            .ok_or_else(|| format!("{}: no {name}", self.name))
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// crate, path, kind
    Path(String, Value, Value),
    /// crate and number within its file
    Nameless(String, u64),
}

struct Ids<'a> {
    /// the crates to merge
    own: Vec<&'a str>,
    known: HashMap<Key, u64>,
    others: HashMap<String, u64>,
}

impl Ids<'_> {
    fn crate_name<'a>(&self, krate: &Crate<'a>, id: &Value) -> Result<&'a str, String> {
        if *id == 0 {
            return Ok(krate.name);
        }
        krate.json["external_crates"][id.to_string()]["name"]
            .as_str()
            .ok_or_else(|| format!("{}: no crate {id}", krate.name))
    }

    /// Returns the new identifier of a crate. 0 is the crate that a file is about.
    fn crate_id(&mut self, krate: &Crate<'_>, id: &Value) -> Result<u64, String> {
        let name = self.crate_name(krate, id)?;
        if self.own.contains(&name) {
            return Ok(0);
        }
        let next = self.others.len() as u64 + 1;
        Ok(*self.others.entry(name.to_owned()).or_insert(next))
    }

    fn renamed(&mut self, krate: &Crate<'_>, id: u64) -> Result<u64, String> {
        let key = match krate.json["paths"].get(id.to_string()) {
            Some(path) => Key::Path(
                self.crate_name(krate, &path["crate_id"])?.to_owned(),
                path["path"].clone(),
                path["kind"].clone(),
            ),
            None => Key::Nameless(krate.name.to_owned(), id),
        };
        let next = self.known.len() as u64;
        Ok(*self.known.entry(key).or_insert(next))
    }

    /// Replaces all identifiers in `value`.
    fn rename_all(&mut self, krate: &Crate<'_>, value: &Value) -> Result<Value, String> {
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), self.rename_field(krate, name, value)?)))
                .collect(),
            Value::Array(values) => values
                .iter()
                .map(|value| self.rename_all(krate, value))
                .collect(),
            _ => Ok(value.clone()),
        }
    }

    fn rename_field(
        &mut self,
        krate: &Crate<'_>,
        name: &str,
        value: &Value,
    ) -> Result<Value, String> {
        match (name, value) {
            ("id", Value::Number(_)) => self.rename_number(krate, value),
            ("links", Value::Object(links)) => links
                .iter()
                .map(|(text, id)| Ok((text.clone(), self.rename_number(krate, id)?)))
                .collect(),
            (
                "items" | "impls" | "variants" | "fields" | "implementations" | "tuple",
                Value::Array(values),
            ) => values
                .iter()
                .map(|value| self.rename_number(krate, value))
                .collect(),
            _ => self.rename_all(krate, value),
        }
    }

    /// Replaces a number, if it is an identifier. Hidden fields are null, and the elements of tuple
    /// types are types.
    fn rename_number(&mut self, krate: &Crate<'_>, value: &Value) -> Result<Value, String> {
        match value.as_u64() {
            Some(id) => Ok(self.renamed(krate, id)?.into()),
            None => self.rename_all(krate, value),
        }
    }
}

fn number(id: &str) -> Result<u64, String> {
    id.parse().map_err(|_| format!("{id} is no identifier"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(crate_id: u64, path: &[&str], kind: &str) -> Value {
        json!({ "crate_id": crate_id, "path": path, "kind": kind })
    }

    #[test]
    fn re_exports_refer_to_the_items_of_the_parts() {
        let facade = json!({
            "root": 7,
            "index": {
                "7": { "id": 7, "crate_id": 0, "name": "facade", "inner": { "module": { "items": [1, 2] } } },
                "1": { "id": 1, "crate_id": 0, "name": null, "inner": { "use": { "id": 9, "name": "A" } } },
                "2": { "id": 2, "crate_id": 0, "name": null, "inner": { "use": { "id": 8, "name": "B" } } },
            },
            "paths": {
                "7": path(0, &["facade"], "module"),
                "9": path(3, &["part", "A"], "struct"),
                "8": path(4, &["other", "B"], "struct"),
            },
            "external_crates": { "3": { "name": "part" }, "4": { "name": "other" } },
        });
        let part = json!({
            "root": 1,
            "index": {
                "1": { "id": 1, "crate_id": 0, "name": "part", "inner": { "module": { "items": [2] } } },
                "2": { "id": 2, "crate_id": 0, "name": "A", "inner": { "struct": { "kind": { "tuple": [null, 5] } } } },
                "5": { "id": 5, "crate_id": 0, "name": "1", "inner": { "struct_field": { "tuple": ["u8"] } } },
            },
            "paths": { "1": path(0, &["part"], "module"), "2": path(0, &["part", "A"], "struct") },
            "external_crates": {},
        });
        let merged = merged(&facade, &[part]).unwrap();
        let item = |id: &Value| &merged["index"][id.to_string()];
        let root = item(&merged["root"]);
        assert_eq!(root["name"], "facade");
        let uses = &root["inner"]["module"]["items"];
        let a = item(&item(&uses[0])["inner"]["use"]["id"]);
        assert_eq!((&a["name"], &a["crate_id"]), (&json!("A"), &json!(0)));
        let fields = &a["inner"]["struct"]["kind"]["tuple"];
        assert_eq!(
            (&fields[0], &item(&fields[1])["name"]),
            (&Value::Null, &json!("1"))
        );
        assert_eq!(
            item(&fields[1])["inner"]["struct_field"]["tuple"],
            json!(["u8"])
        );
        // an external item is named and has a crate
        let b = &item(&uses[1])["inner"]["use"]["id"];
        assert_eq!(item(b), &Value::Null);
        let b = &merged["paths"][b.to_string()];
        assert_eq!(b["path"], json!(["other", "B"]));
        let krate = &merged["external_crates"][b["crate_id"].to_string()];
        assert_eq!(krate["name"], "other");
    }
}
