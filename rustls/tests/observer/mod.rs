//! Tests of observers: which events each connection reports, in which order, and what they say.
//!
//! `harness::peers::events` keeps the events, and checks the rules that hold for all connections.

mod attacks;
mod drops;
mod durations;
mod failures;
mod kinds;
mod kit;
mod lifecycle;
mod other_apis;
mod pairs;
mod reasons;
mod traffic;
mod waits;
