//! `primitives`: the cryptographic operations of handshakes and records, called in the provider's
//! library directly. The limits consist of them, too.

use clap::Args;
use itertools::Itertools;

use super::job::{Entry, Job, Run};
use crate::choices::Provider;
use crate::limit::Library;
use crate::limit::primitive::Primitive;
use crate::measure::{Contender, Repeated, Work};
use crate::row::Row;
use crate::statistics::median;
use crate::workload::Result;

pub(super) const ENTRY: Entry = {
    let mut entry = Entry::of::<Primitives>("primitives", "ns_per_op", "", "");
    entry.view.across = "provider";
    entry
};

/// The cryptographic operations of handshakes and records, called in the provider's library
/// directly
#[derive(Args)]
pub(crate) struct Primitives {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    filter: String,
}

impl Job for Primitives {
    fn measure(&self, run: &Run) -> Result<()> {
        let (filter, mut chosen) = (self.filter.to_lowercase(), Primitive::all());
        chosen.retain(|primitive| {
            let is_chosen = primitive.to_string().to_lowercase().contains(&filter);
            is_chosen && !providers(run, primitive).is_empty()
        });
        if chosen.is_empty() {
            let (filter, all) = (&self.filter, Primitive::all().iter().join(" | "));
            let error = format!("no operation has \"{filter}\" in its name; there are {all}");
            return Err(error.into());
        }
        for primitive in chosen {
            run.print(measure(run, &primitive)?)?;
        }
        Ok(())
    }
}

/// The measuring time of one operation as a part of that of a comparison of connections, because
/// there are many.
const SHARE: f64 = 0.2;

/// The requested providers that have `primitive`.
fn providers(run: &Run, primitive: &Primitive) -> Vec<Provider> {
    let mut providers = run.common.providers.clone();
    providers.retain(|provider| primitive.is_usable_with(*provider));
    providers
}

fn measure(run: &Run, primitive: &Primitive) -> Result<Vec<Row>> {
    let providers = providers(run, primitive);
    let libraries = providers.iter().map(|it| Library::of(*it, primitive));
    let libraries: Vec<_> = libraries.unique().collect();
    let build = || {
        let operations = libraries.iter().map(|library| library.operation(primitive));
        operations
            .map(|built| Ok(Box::new(Repeated::new(built?)?) as Contender<1>))
            .collect()
    };
    let (name, multiplier) = (primitive.to_string(), SHARE * run.common.multiplier);
    let rates = Work::new(&build, libraries.len(), multiplier, &name).interleaved()?;
    let times = rates
        .iter()
        .map(|[rates]| rates.iter().map(|rate| 1e9 / rate).collect_vec());
    let times: Vec<_> = libraries.into_iter().zip(times).collect();
    warn(primitive, &times);
    let rows = providers.iter().map(|provider| {
        let library = Library::of(*provider, primitive);
        let (_, times) = times
            .iter()
            .find(|(it, _)| *it == library)
            .expect("measured");
        let row = run.row("limit", *provider).with("primitive", &name[..]);
        row.median("ns_per_op", times, 1.0)
    });
    rows.collect()
}

/// Warns if the library that the fastest provider takes is more than 5 % slower than another one.
fn warn(primitive: &Primitive, times: &[(Library, Vec<f64>)]) {
    let taken = Library::of(Provider::Fastest, primitive);
    let of = |library| {
        let (_, times) = times.iter().find(|(it, _)| *it == library)?;
        median(times)
    };
    let other = if taken == Library::Ring {
        Library::AwsLc
    } else {
        Library::Ring
    };
    if let (Some(taken_ns), Some(other_ns)) = (of(taken), of(other))
        && taken_ns > 1.05 * other_ns
    {
        let (taken, other) = (taken.name(), other.name());
        eprintln!(
            "{primitive}: `fastest` takes {taken}, with {taken_ns:.0} ns. {other} takes {other_ns:.0}."
        );
    }
}
