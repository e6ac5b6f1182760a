//! Tests of connections after their handshakes: every API, its limits, and its errors.

mod behaviour;
mod bulk_data;
mod cases;
mod extraction;
mod observer;
mod protected_records;
mod receive_limits;
mod short_buffers;
mod split;
mod unbuffered;
