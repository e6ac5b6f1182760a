//! Random schedules: clients and servers over pipes with short reads and writes and calls that are
//! pending at any point, on an executor that polls a task only when it was woken. Nothing may be
//! lost, repeated or reordered, and no wake-up may be missing.

pub(crate) mod early_data;
mod ends;
mod programs;
mod talks;
