//! What is trusted, judged from outside: whatever is kept of certificates from earlier connections, each
//! connection accepts and refuses what it would without.

mod caches;
mod cases;
mod ends;
mod trial;
mod verdicts;
