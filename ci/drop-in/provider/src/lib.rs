//! rustls-graviola, a crypto provider of others, written for rustls 0.23 and ported by `port`. It is in the tests.
