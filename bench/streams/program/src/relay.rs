//! A proxy: it accepts connections, and opens another one for each.

use tokio::net::TcpListener;

use crate::Result;
use crate::socket::Socket;
use crate::wire::Wire;

pub(crate) async fn serve<W: Wire>(listener: &TcpListener, wire: W, port: u16) -> Result<()> {
    loop {
        let (socket, wire) = (Socket::accept(listener).await?, wire.clone());
        tokio::spawn(async move {
            // a client that measured enough is gone
            let _ = relay(socket, wire, port).await;
        });
    }
}

async fn relay<W: Wire>(socket: Socket, wire: W, port: u16) -> Result<()> {
    let client = wire.accept(socket).await?;
    let server = wire.connect(Socket::connect(port).await?).await?;
    Ok(W::relay(client, server).await?)
}
