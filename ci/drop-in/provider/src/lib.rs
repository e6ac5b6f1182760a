//! Tests of rustls-graviola: an external crypto provider, written for rustls 0.23 and ported by
//! `port`.
