//! Copying between two streams: random schedules, ends, errors, and what is held meanwhile.

mod ends;
mod schedules;
mod turns;
