//! Tests that cached certificates never change a verdict: every connection accepts and rejects the
//! same peers as without caches.

mod caches;
mod cases;
mod each_time;
mod ends;
mod every_case;
mod histories;
mod isolation;
mod panics;
mod reloaded;
mod stated_rules;
mod threads;
mod trial;
