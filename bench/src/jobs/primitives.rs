//! `primitives`: the cryptographic operations of handshakes and records, called in the provider's
//! library directly. The limits consist of them, too.

use clap::Args;
use itertools::Itertools;

use super::job::{Entry, Job, Run, Step};
use crate::choices::Provider;
use crate::limit::primitive::Primitive;
use crate::measure::{Repeated, Work};
use crate::row::Row;
use crate::tables::View;
use crate::workload::Result;

pub(super) const ENTRY: Entry = Entry {
    name: "primitives",
    help: "The cryptographic operations of handshakes and records, called in the provider's library directly",
    view: View {
        across: "provider",
        main: "ns_per_op",
        once: "",
        ..View::GENERAL
    },
    ..Entry::of::<Primitives>()
};

/// The arguments of `primitives`.
#[derive(Args)]
pub(crate) struct Primitives {
    /// Run only the operations whose name contains this
    #[arg(default_value = "")]
    filter: String,
}

impl Job for Primitives {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let (filter, all) = (self.filter.to_lowercase(), Primitive::all());
        let mut steps: Vec<Step<'a>> = Vec::new();
        for primitive in &all {
            let mut providers = run.common.providers();
            providers.retain(|provider| primitive.is_usable_with(*provider));
            if !providers.is_empty() && primitive.to_string().to_lowercase().contains(&filter) {
                let primitive = primitive.clone();
                steps.push(Box::new(move || measure(run, &primitive, &providers)));
            }
        }
        if steps.is_empty() {
            let (filter, all) = (&self.filter, all.iter().join(" | "));
            let error = format!("no operation has \"{filter}\" in its name; there are {all}");
            return Err(error.into());
        }
        Ok(steps)
    }
}

/// The measuring time of one operation as a part of that of a comparison of connections, because
/// there are many.
const SHARE: f64 = 0.2;

fn measure(run: &Run, primitive: &Primitive, providers: &[Provider]) -> Result<Vec<Row>> {
    let name = primitive.to_string();
    let build = || {
        let operations = providers.iter().map(|provider| primitive.of(*provider));
        operations.map(|built| Repeated::new(built?)).collect()
    };
    let rates = Work::new(
        &build,
        providers.len(),
        SHARE * run.common.multiplier,
        &name,
    )
    .interleaved()?;
    let rows = providers.iter().zip(rates).map(|(provider, [rates])| {
        let times = rates.iter().map(|rate| 1e9 / rate).collect_vec();
        let row = run.row("limit", *provider).with("primitive", &name[..]);
        row.median("ns_per_op", &times, 1.0)
    });
    rows.collect()
}
