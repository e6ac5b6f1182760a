//! Copying between two streams: random schedules, ends, errors, and the data that is buffered.

mod ends;
mod schedules;
mod turns;
