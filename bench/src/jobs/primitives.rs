//! `primitives`: the cryptographic operations of handshakes and records, called in the provider's
//! library directly. The limits consist of them, too.

use clap::Args;
use harness::peers::configs::PROVIDERS;
use itertools::{Itertools, izip};

use super::job::{Entry, Job, Run};
use crate::choices::{Library, Provider};
use crate::limit::primitive::Primitive;
use crate::limit::{library_of, operation};
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

/// The share of the usual measuring time for one operation, because there are many.
const SHARE: f64 = 0.2;

/// The requested providers that have `primitive`.
fn providers(run: &Run, primitive: &Primitive) -> Vec<Provider> {
    let mut providers = run.common.providers.clone();
    providers.retain(|provider| primitive.is_usable_with(*provider));
    providers
}

fn measure(run: &Run, primitive: &Primitive) -> Result<Vec<Row>> {
    let providers = providers(run, primitive);
    let of = |provider: &Provider| library_of(*provider, primitive);
    let mut libraries = PROVIDERS.to_vec();
    libraries.retain(|library| providers.iter().any(|provider| of(provider) == *library));
    let contender = |library: &Library| -> Result<Contender<1>> {
        Ok(Box::new(Repeated::new(operation(*library, primitive)?)?))
    };
    let build = || libraries.iter().map(contender).collect();
    let (name, multiplier) = (primitive.to_string(), SHARE * run.common.multiplier);
    let rates = Work::new(&build, 1, multiplier, &name).interleaved()?;
    let times = |[rates]: &[Vec<f64>; 1]| rates.iter().map(|rate| 1e9 / rate).collect_vec();
    let times = izip!(libraries.clone(), rates.iter().map(times)).collect_vec();
    warn(primitive, &times);
    let rows = providers.iter().map(|provider| {
        let mut own = times.iter().filter(|(library, _)| *library == of(provider));
        let (_, times) = own.next().ok_or("nothing was measured")?;
        let row = run.row("limit", *provider).with("primitive", &name[..]);
        row.median("ns_per_op", times, 1.0)
    });
    rows.collect()
}

/// Warns if the library that the fastest provider takes is more than 5 % slower than another one.
fn warn(primitive: &Primitive, times: &[(Library, Vec<f64>)]) {
    let taken = library_of(Provider::Fastest, primitive);
    let of = |is_taken| {
        let mut of_each = times.iter();
        let (library, times) = of_each.find(|(it, _)| (*it == taken) == is_taken)?;
        Some((library.name(), median(times)?))
    };
    if let (Some((taken, taken_ns)), Some((other, other_ns))) = (of(true), of(false))
        && taken_ns > 1.05 * other_ns
    {
        eprintln!(
            "{primitive}: `fastest` takes {taken}, with {taken_ns:.0} ns. {other} takes {other_ns:.0}."
        );
    }
}
