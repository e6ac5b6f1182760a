// The chapters are Markdown files in `rustls/manual`, which code hosts render too. Each chapter
// ends with the link targets for that. In rustdoc, `links.md` precedes each chapter with other
// targets: if a link is defined twice, Markdown takes the first definition.
#![doc = include_str!("manual/links.md")]
#![doc = include_str!("../manual/README.md")]

macro_rules! chapters {
    ($($name:ident,)*) => {$(
        #[doc = include_str!("manual/links.md")]
        #[doc = include_str!(concat!("../manual/", stringify!($name), ".md"))]
        pub mod $name {}
    )*};
}

// its program is tested in `tokio`
#[doc = include_str!("manual/links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../manual/tokio_streams.md"))]
pub mod tokio_streams {}

chapters! {
    capacity,
    certificates,
    choosing_an_api,
    choosing_by_client_hello,
    debugging,
    early_data,
    encrypted_client_hello,
    features,
    idle_connections,
    in_place,
    kernel_tls,
    moving_from_0_23,
    observers,
    operations,
    sessions,
    throughput,
    when_not_to_use,
    writing_a_provider,
}
