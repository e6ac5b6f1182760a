//! Failures of everything a connection calls. Transports block, fail, lie and panic, and so do
//! callbacks of the application and its crypto provider. Data is neither lost nor sent twice,
//! nothing wrong is accepted, and a failed connection uses no more keys.

mod absurd;
mod acceptor;
mod bomb;
mod callbacks;
mod ends;
mod guards;
mod halves;
mod liars;
mod other_calls;
mod pieces;
mod rigged;
mod scripts;
mod splitting;
mod stores;
mod talk;
mod transport;
mod unpolled;
