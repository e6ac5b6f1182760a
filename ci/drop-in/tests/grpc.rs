//! gRPC: tonic as client and server, each with a certificate.

use std::convert::Infallible;
use std::task::{Context, Poll};

use drop_in::{Credentials, moved, page, run};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::client::Grpc as GrpcClient;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service, http, tokio_stream};
use tonic::server::{Grpc as GrpcServer, NamedService, StreamingService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Chunk {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
}

/// A service with one method, which echoes a stream of messages.
#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "drop_in.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut grpc = GrpcServer::new(ProstCodec::<Chunk, Chunk>::default());
        Box::pin(async move { Ok(grpc.streaming(Self, request).await) })
    }
}

impl StreamingService<Chunk> for Echo {
    type Response = Chunk;
    type ResponseStream = Streaming<Chunk>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<Chunk>>) -> Self::Future {
        // tonic only passes on certificates that the authority vouches for
        let known = request.peer_certs().is_some_and(|certs| certs.len() == 1);
        Box::pin(async move {
            match known {
                true => Ok(Response::new(request.into_inner())),
                false => Err(Status::unauthenticated("no certificate")),
            }
        })
    }
}

/// Sends messages of several lengths. Returns the received ones.
async fn ask(channel: Channel, sent: Vec<Chunk>) -> Result<Vec<Chunk>, Status> {
    let mut client = GrpcClient::new(channel);
    client.ready().await.unwrap();
    let method = PathAndQuery::from_static("/drop_in.Echo/Echo");
    let request = Request::new(tokio_stream::iter(sent));
    let codec = ProstCodec::<Chunk, Chunk>::default();
    let mut answers = client.streaming(request, method, codec).await?.into_inner();
    let mut received = Vec::new();
    while let Some(chunk) = answers.message().await? {
        received.push(chunk);
    }
    Ok(received)
}

#[test]
fn tonic_streams() {
    run(async {
        let credentials = Credentials::new();
        let authority = Certificate::from_pem(&credentials.authority_pem);
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(
                &credentials.certificate_pem,
                &credentials.key_pem,
            ))
            .client_ca_root(authority.clone());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Server::builder()
            .tls_config(tls)
            .unwrap()
            .add_service(Echo)
            .serve_with_incoming_shutdown(TcpIncoming::from(listener), async {
                let _ = stopped.await;
            });

        let asking = async {
            let (certificate, key) = credentials.client_pem("a client");
            let tls = ClientTlsConfig::new()
                .ca_certificate(authority)
                .domain_name("localhost")
                .identity(Identity::from_pem(certificate, key));
            let url = format!("https://127.0.0.1:{port}");
            let endpoint = Channel::from_shared(url).unwrap().tls_config(tls).unwrap();
            let channel = endpoint.connect().await.unwrap();
            let sent: Vec<_> = [0, 1, 16_384, page().len()]
                .map(|len| Chunk {
                    data: page()[..len].to_vec(),
                })
                .into();
            let received = ask(channel, sent.clone()).await.unwrap();
            assert!(received == sent, "wrong messages");
            let bytes = 2 * sent.iter().map(|chunk| chunk.data.len()).sum::<usize>();
            moved("tonic", "client and server", "gRPC", bytes);
            stop.send(()).unwrap();
        };
        let (served, ()) = tokio::join!(serving, asking);
        served.unwrap();
    });
}
