//! Sealing and opening one record, by suite, provider and size. Only the record protection, without
//! a connection.
//!
//! `cargo bench -p bench --bench records`; a filter such as `seal/.*/16384` goes after `--`.

use core::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::{ContentType, ProtocolVersion, SupportedCipherSuite};

/// A short message, a packet, a full record.
const SIZES: [usize; 3] = [64, 1400, 16384];

criterion_group!(benches, seal, open);
criterion_main!(benches);

fn seal(criterion: &mut Criterion) {
    for (name, suite) in suites() {
        let mut group = criterion.benchmark_group(format!("seal/{name}"));
        let mut encrypter = encrypter(suite);
        for size in SIZES {
            let payload = vec![0x17; size];
            let mut record = vec![0; encrypter.encrypted_payload_len(size)];
            let mut seq = 0;
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter(|| {
                    seq += 1;
                    seal_record(&mut *encrypter, seq, black_box(&payload), &mut record)
                });
            });
        }
    }
}

fn open(criterion: &mut Criterion) {
    for (name, suite) in suites() {
        let mut group = criterion.benchmark_group(format!("open/{name}"));
        let (mut encrypter, mut decrypter) = (encrypter(suite), decrypter(suite));
        for size in SIZES {
            let mut sealed = vec![0; encrypter.encrypted_payload_len(size)];
            seal_record(&mut *encrypter, 1, &vec![0x17; size], &mut sealed);
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                // opening overwrites the record, so each iteration has its own copy; batches are
                // small enough for the processor's cache
                bencher.iter_batched_ref(
                    || sealed.clone(),
                    |record| open_record(&mut *decrypter, 1, record),
                    BatchSize::NumIterations(16),
                );
            });
        }
    }
}

/// Every TLS 1.3 suite of every provider, with a name.
fn suites() -> Vec<(String, SupportedCipherSuite)> {
    let named = |provider: &str, from: CryptoProvider| -> Vec<_> {
        let tls13 = from.cipher_suites.into_iter();
        tls13
            .filter(|suite| suite.tls13().is_some())
            .map(|suite| (format!("{:?}/{provider}", suite.suite()), suite))
            .collect()
    };
    let mut all = named("aws-lc-rs", aws_lc_rs::default_provider());
    all.extend(named("ring", ring::default_provider()));
    all
}

fn encrypter(suite: SupportedCipherSuite) -> Box<dyn MessageEncrypter> {
    let aead = suite.tls13().expect("a TLS 1.3 suite").aead_alg;
    aead.encrypter(key(aead.key_len()), Iv::new([7; 12]))
}

fn decrypter(suite: SupportedCipherSuite) -> Box<dyn MessageDecrypter> {
    let aead = suite.tls13().expect("a TLS 1.3 suite").aead_alg;
    aead.decrypter(key(aead.key_len()), Iv::new([7; 12]))
}

fn key(len: usize) -> AeadKey {
    AeadKey::new(&[0x2a; AeadKey::MAX_LEN][..len])
}

fn seal_record(encrypter: &mut dyn MessageEncrypter, seq: u64, payload: &[u8], out: &mut [u8]) {
    let message = OutboundPlainMessage {
        typ: ContentType::ApplicationData,
        version: ProtocolVersion::TLSv1_2,
        payload: payload.into(),
    };
    let written = encrypter.encrypt(message, seq, out);
    assert_eq!(written, Ok(out.len()));
}

fn open_record(decrypter: &mut dyn MessageDecrypter, seq: u64, record: &mut [u8]) -> usize {
    let message = InboundOpaqueMessage::new(
        ContentType::ApplicationData,
        ProtocolVersion::TLSv1_2,
        record,
    );
    let opened = decrypter.decrypt(message, seq);
    opened.expect("the record is authentic").payload.len()
}
