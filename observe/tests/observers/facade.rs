//! `Metrics`: the exporter's page has the same numbers as `Counters`.

use std::collections::BTreeMap;
use std::sync::Arc;

use harness::peers::configs::ClientAuth;
use harness::peers::endpoints::Endpoint;
use metrics_exporter_prometheus::PrometheusBuilder;
use rustls_observe::{Counters, Metrics, Observers};

use crate::kit::{Configs, cases, distrusting, name};

/// Returns the lines of a page with their values, without those of quantiles. Labels are sorted.
fn lines(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut values = BTreeMap::new();
    for line in lines {
        let (key, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = key.split_once('{').unwrap();
        let mut labels: Vec<_> = labels.trim_end_matches('}').split(',').collect();
        labels.sort_unstable();
        if !labels.iter().any(|label| label.starts_with("quantile=")) {
            values.insert(format!("{name} {labels:?}"), value.parse().unwrap());
        }
    }
    values
}

#[test]
fn the_exporter_has_the_numbers_of_the_counters() {
    for (provider, versions) in cases() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let counters = Arc::new(Counters::new());
        metrics::with_local_recorder(&recorder, || {
            let facade = Metrics::new();
            facade.describe();
            let both = Arc::new(Observers(vec![counters.clone(), Arc::new(facade)]));
            let configs = Configs::new(provider, versions, ClientAuth::Required);
            let configs = configs.observed_by(both.clone(), both);
            configs.talk();
            configs.talk();
            let mut pair = configs.connect();
            pair.handshake();
            pair.client.send(b"data");
            let mut record = pair.client.take_output();
            *record.last_mut().unwrap() ^= 1;
            pair.server.receive(&record).unwrap_err();
            // `pair` stays open
            let failed = distrusting(configs, provider, versions)
                .connect()
                .exchange();
            failed.unwrap_err();
            let page = recorder.handle().render();
            let ours = lines(&counters.snapshot().to_string());
            let theirs = lines(&page);
            assert!(ours.len() > 40, "{page}");
            let names = |lines: &BTreeMap<String, f64>| lines.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&ours), names(&theirs));
            for (key, value) in &ours {
                // sums of seconds are added in another order
                let difference = (value - theirs[key]).abs();
                assert!(difference <= 1e-9 * value.abs(), "{key}: {value} {page}");
            }
        });
    }
}

#[test]
fn help_and_units_are_registered() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        let facade = Arc::new(Metrics::new());
        facade.describe();
        let (provider, versions) = cases().next().unwrap();
        let configs = Configs::new(provider, versions, ClientAuth::None);
        configs.observed_by(facade.clone(), facade).talk();
    });
    let page = recorder.handle().render();
    let series: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("# TYPE "))
        .collect();
    assert!(series.len() > 10);
    for line in series {
        let name = line.split(' ').nth(2).unwrap();
        assert!(page.contains(&format!("# HELP {name} ")), "{line}");
    }
}

#[test]
fn a_label_is_added_to_all_metrics() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        let facade = Arc::new(Metrics::new().with_label("listener", "public"));
        let (provider, versions) = cases().next().unwrap();
        let configs = Configs::new(provider, versions, ClientAuth::None);
        let configs = configs.observed_by(facade.clone(), facade);
        configs.talk();
        let failed = distrusting(configs, provider, versions)
            .connect()
            .exchange();
        failed.unwrap_err();
    });
    let page = recorder.handle().render();
    assert!(page.contains("tls_failures_total{"), "{page}");
    for key in lines(&page).keys() {
        assert!(key.contains("listener=\\\"public\\\""), "{key}");
    }
}

#[test]
fn no_label_contains_a_name_chosen_by_a_peer() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        let facade = Arc::new(Metrics::new());
        let (provider, versions) = cases().next().unwrap();
        let configs = Configs::new(provider, versions, ClientAuth::None);
        configs.observed_by(facade.clone(), facade).talk();
    });
    let page = recorder.handle().render();
    assert!(page.contains("tls_handshakes_total"));
    assert!(!page.contains(&name()), "{page}");
    assert!(!page.contains("http/1.1"), "{page}");
}
