//! The attribution of a profile's instructions in `benches/instructions`.

#[path = "../benches/instructions/profile.rs"]
mod profile;

use profile::Profile;

const PROFILE: &str = "\
# callgrind format
events: Ir

ob=/target/bench
fl=/src/core/src/record/sender.rs
fn=rustls_core::record::sender::seal
10 100
12 7
fi=/rustc/hash/library/core/src/slice/index.rs
40 20
fi=/registry/src/index/aws-lc-rs-1.19.0/src/aead.rs
5 3
fe=/src/core/src/record/sender.rs
13 1
cfi=/registry/src/index/aws-lc-rs-1.19.0/src/aead.rs
cfn=aws_lc_rs::aead::seal
calls=16 70
14 50000
cob=/lib/libc.so.6
cfi=???
cfn=memcpy
calls=16 0
15 600

fl=/registry/src/index/aws-lc-rs-1.19.0/src/aead.rs
fn=aws_lc_rs::aead::seal
70 30
fi=/rustc/hash/library/core/src/slice/index.rs
40 4

fl=/rustc/hash/library/core/src/slice/index.rs
fn=<aws_lc_rs::aead::Key as core::fmt::Debug>::fmt
1 2

fl=???
fn=ring::aead::seal
0 5

fl=/registry/src/index/ring-0.17.14/pregenerated/aesni-x86_64-elf.S
fn=ring_core_0_17_14__aes_hw_encrypt
8 70

fl=/aws-lc/crypto/fipsmodule/modes/gcm.c
fn=CRYPTO_gcm128_encrypt
300 40000

fl=/src/bench/benches/instructions/workloads.rs
fn=instructions::workloads::unbuffered_send
9 5000
fi=/src/rustls/src/conn/unbuffered.rs
20 8

fl=???
fn=0x1234
0 900

ob=/lib/libc.so.6
fl=/src/string.rs
fn=memcpy
0 600
";

#[test]
fn instructions_are_attributed_to_the_source_they_come_from() {
    let profile = Profile::parse(PROFILE, "/target/bench").unwrap();
    assert_eq!(profile.library, 100 + 7 + 20 + 1 + 8);
    assert_eq!(profile.binding, 3 + 30 + 4 + 2 + 5);
    assert_eq!(profile.foreign, 40000 + 900 + 600 + 70);
}

#[test]
fn an_invalid_profile_is_rejected() {
    let text = "fl=a.rs\nfn=f\n17 many\n";
    let error = Profile::parse(text, "").unwrap_err();
    assert!(error.contains("17 many"), "{error}");
}
