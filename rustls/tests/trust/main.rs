//! What is trusted, judged from outside: whatever is kept of certificates from earlier connections,
//! each connection accepts and refuses what it would without.

mod bounds;
mod caches;
mod cases;
mod each_time;
mod ends;
mod isolation;
mod panics;
mod reloaded;
mod threads;
mod trial;
mod verdicts;
