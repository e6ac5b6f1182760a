//! Cached certificates never change a verdict: every connection accepts or refuses what it would
//! without caches.

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
