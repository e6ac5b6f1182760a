//! Endpoints of this crate and of upstream, and the parts that they are made of.
//!
//! ```text
//!   endpoints ─── connections of both crates, each API, behind one trait
//!   pairs ─────── connected sides over the caller's memory, for measuring and counting
//!   clients ───── clients of both crates and both APIs, for one connection after the other
//!   servers ───── servers of both crates that answer one connection after the other
//!   additions ─── cipher suites and extensions that upstream lacks
//!   configs ───── certificates and configurations, for both crates and both providers
//!   callbacks ─── objects that configurations call: a clock, a key log, resolvers, a session store
//!   roles ─────── configurations of either role
//!   pki ───────── valid chains, and chains that are invalid in a chosen way
//!   memory ────── a transport over memory
//!   faulty ────── a transport that fails at a chosen call
//!   os ────────── loopback sockets, CPU time of threads
//!   programs ──── programs of other stacks, and the files that they read
//!   ports ─────── reserved ports for servers of other stacks
//!   log_lines ─── the log lines of a call
//!   events ────── an observer that keeps events, and checks their rules
//! ```

pub mod additions;
pub mod callbacks;
pub mod clients;
pub mod configs;
pub mod endpoints;
pub mod events;
pub mod faulty;
pub mod log_lines;
pub mod memory;
pub mod os;
pub mod pairs;
pub mod pki;
pub mod ports;
pub mod programs;
pub mod roles;
pub mod servers;
