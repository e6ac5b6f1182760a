//! Tests of observers: which events each connection reports, in which order, and what they say.

mod attacks;
mod kit;
mod lifecycle;
