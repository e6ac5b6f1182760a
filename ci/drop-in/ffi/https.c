/* HTTPS between two processes over the loopback, both with rustls-ffi's C header: one fetches a page
 * from the other.
 *
 *   https CA.pem CERTIFICATE.pem KEY.pem
 *
 * Prints how many bytes were moved. The server reads the ClientHello before it chooses its
 * configuration. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rustls.h"

enum { PAGE = 500000, TLS13 = 0x0304 };

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
static const rustls_slice_bytes alpn = {(const uint8_t *)"http/1.1", 8};

static void check(bool good, const char *what) {
  if (!good) {
    fprintf(stderr, "https: %s\n", what);
    exit(1);
  }
}

static void check_result(rustls_result result, const char *what) {
  if (result != RUSTLS_RESULT_OK) {
    char text[256];
    size_t len;
    rustls_error(result, text, sizeof text, &len);
    fprintf(stderr, "https: %s: %.*s\n", what, (int)len, text);
    exit(1);
  }
}

static uint8_t page_at(size_t i) {
  uint32_t n = (uint32_t)i;
  return (uint8_t)((n * n) >> 7);
}

static rustls_io_result read_socket(void *socket, uint8_t *buf, size_t n, size_t *out_n) {
  ssize_t len = read(*(int *)socket, buf, n);
  if (len < 0)
    return errno;
  *out_n = (size_t)len;
  return 0;
}

static rustls_io_result write_socket(void *socket, const uint8_t *buf, size_t n, size_t *out_n) {
  ssize_t len = write(*(int *)socket, buf, n);
  if (len < 0)
    return errno;
  *out_n = (size_t)len;
  return 0;
}

static void send_records(struct rustls_connection *conn, int socket) {
  size_t n;
  while (rustls_connection_wants_write(conn))
    check(rustls_connection_write_tls(conn, write_socket, &socket, &n) == 0, "writing to the socket");
}

static void receive_records(struct rustls_connection *conn, int socket) {
  size_t n;
  check(rustls_connection_read_tls(conn, read_socket, &socket, &n) == 0, "reading from the socket");
  check_result(rustls_connection_process_new_packets(conn), "a record");
}

static void write_all(struct rustls_connection *conn, int socket, const void *data, size_t len) {
  const uint8_t *next = data;
  while (len > 0) {
    size_t n;
    check_result(rustls_connection_write(conn, next, len, &n), "writing");
    send_records(conn, socket);
    next += n;
    len -= n;
  }
}

/* Reads `len` bytes, or to the end of the connection. Returns how many were read. */
static size_t read_all(struct rustls_connection *conn, int socket, uint8_t *buf, size_t len) {
  size_t have = 0;
  while (have < len) {
    size_t n = 0;
    rustls_result result = rustls_connection_read(conn, buf + have, len - have, &n);
    if (result == RUSTLS_RESULT_PLAINTEXT_EMPTY) {
      receive_records(conn, socket);
      send_records(conn, socket);
      continue;
    }
    check_result(result, "reading");
    if (n == 0)
      break;
    have += n;
  }
  return have;
}

static void handshake(struct rustls_connection *conn, int socket) {
  while (rustls_connection_is_handshaking(conn)) {
    send_records(conn, socket);
    if (rustls_connection_is_handshaking(conn))
      receive_records(conn, socket);
  }
  send_records(conn, socket);
  const uint8_t *protocol;
  size_t len;
  rustls_connection_get_alpn_protocol(conn, &protocol, &len);
  check(len == alpn.len && memcmp(protocol, alpn.data, len) == 0, "another protocol");
  check(rustls_connection_get_protocol_version(conn) == TLS13, "another version");
}

static void finish(struct rustls_connection *conn, int socket) {
  rustls_connection_send_close_notify(conn);
  send_records(conn, socket);
  rustls_connection_free(conn);
  close(socket);
}

static uint8_t *read_file(const char *path, size_t *len) {
  static const size_t most = 100000;
  FILE *file = fopen(path, "rb");
  check(file != NULL, path);
  uint8_t *content = malloc(most);
  check(content != NULL, "no memory");
  *len = fread(content, 1, most, file);
  fclose(file);
  return content;
}

static const struct rustls_server_config *server_config(const char *certificate, const char *key) {
  size_t chain_len, key_len;
  uint8_t *chain = read_file(certificate, &chain_len), *private = read_file(key, &key_len);
  const struct rustls_certified_key *certified;
  check_result(rustls_certified_key_build(chain, chain_len, private, key_len, &certified), "the key");
  check_result(rustls_certified_key_keys_match(certified), "the key is of another certificate");
  struct rustls_server_config_builder *builder = rustls_server_config_builder_new();
  check_result(rustls_server_config_builder_set_certified_keys(builder, &certified, 1), "the certificate");
  check_result(rustls_server_config_builder_set_alpn_protocols(builder, &alpn, 1), "ALPN");
  const struct rustls_server_config *config;
  check_result(rustls_server_config_builder_build(builder, &config), "the server's configuration");
  rustls_certified_key_free(certified);
  free(chain);
  free(private);
  return config;
}

/* Accepts a connection with `config` if the client asks for localhost and HTTP/1.1. */
static struct rustls_connection *accept_tls(int socket, const struct rustls_server_config *config) {
  struct rustls_acceptor *acceptor = rustls_acceptor_new();
  struct rustls_accepted *accepted = NULL;
  struct rustls_accepted_alert *alert = NULL;
  rustls_result result;
  do {
    size_t n;
    check(rustls_acceptor_read_tls(acceptor, read_socket, &socket, &n) == 0, "reading a ClientHello");
    result = rustls_acceptor_accept(acceptor, &accepted, &alert);
  } while (result == RUSTLS_RESULT_ACCEPTOR_NOT_READY);
  check_result(result, "a ClientHello");
  struct rustls_str name = rustls_accepted_server_name(accepted);
  check(name.len == 9 && memcmp(name.data, "localhost", 9) == 0, "another name");
  rustls_slice_bytes protocol = rustls_accepted_alpn(accepted, 0);
  check(protocol.len == alpn.len && memcmp(protocol.data, alpn.data, alpn.len) == 0, "another offer");
  struct rustls_connection *conn;
  check_result(rustls_accepted_into_connection(accepted, config, &conn, &alert), "accepting");
  rustls_accepted_free(accepted);
  rustls_acceptor_free(acceptor);
  return conn;
}

static int serve(int listener, const char *certificate, const char *key) {
  const struct rustls_server_config *config = server_config(certificate, key);
  int socket = accept(listener, NULL, NULL);
  check(socket >= 0, "accept");
  struct rustls_connection *conn = accept_tls(socket, config);
  handshake(conn, socket);
  uint8_t asked[sizeof request - 1];
  check(read_all(conn, socket, asked, sizeof asked) == sizeof asked, "a short request");
  check(memcmp(asked, request, sizeof asked) == 0, "another request");
  static uint8_t page[PAGE];
  for (size_t i = 0; i < PAGE; i++)
    page[i] = page_at(i);
  write_all(conn, socket, head, sizeof head - 1);
  write_all(conn, socket, page, PAGE);
  finish(conn, socket);
  rustls_server_config_free(config);
  return 0;
}

static const struct rustls_client_config *client_config(const char *authority) {
  struct rustls_root_cert_store_builder *roots = rustls_root_cert_store_builder_new();
  check_result(rustls_root_cert_store_builder_load_roots_from_file(roots, authority, true), authority);
  const struct rustls_root_cert_store *store;
  check_result(rustls_root_cert_store_builder_build(roots, &store), "roots");
  rustls_root_cert_store_builder_free(roots);
  struct rustls_web_pki_server_cert_verifier_builder *verifying =
      rustls_web_pki_server_cert_verifier_builder_new(store);
  struct rustls_server_cert_verifier *verifier;
  check_result(rustls_web_pki_server_cert_verifier_builder_build(verifying, &verifier), "the verifier");
  rustls_web_pki_server_cert_verifier_builder_free(verifying);
  rustls_root_cert_store_free(store);
  struct rustls_client_config_builder *builder = rustls_client_config_builder_new();
  rustls_client_config_builder_set_server_verifier(builder, verifier);
  check_result(rustls_client_config_builder_set_alpn_protocols(builder, &alpn, 1), "ALPN");
  const struct rustls_client_config *config;
  check_result(rustls_client_config_builder_build(builder, &config), "the client's configuration");
  rustls_server_cert_verifier_free(verifier);
  return config;
}

static void fetch(const struct sockaddr_in *address, const char *authority) {
  const struct rustls_client_config *config = client_config(authority);
  struct rustls_connection *conn;
  check_result(rustls_client_connection_new(config, "localhost", &conn), "a client");
  int server = socket(AF_INET, SOCK_STREAM, 0);
  check(connect(server, (const struct sockaddr *)address, sizeof *address) == 0, "connect");
  handshake(conn, server);
  check(rustls_connection_get_peer_certificate(conn, 0) != NULL, "no certificate");
  write_all(conn, server, request, sizeof request - 1);
  static uint8_t answer[sizeof head - 1 + PAGE + 1];
  size_t len = read_all(conn, server, answer, sizeof answer);
  check(len == sizeof answer - 1, "an answer of another length");
  check(memcmp(answer, head, sizeof head - 1) == 0, "another head");
  for (size_t i = 0; i < PAGE; i++)
    check(answer[sizeof head - 1 + i] == page_at(i), "another page");
  finish(conn, server);
  rustls_client_config_free(config);
  printf("%zu\n", len + sizeof request - 1);
}

/* Both providers are compiled in, so there is no automatic default. */
static void choose_provider(void) {
  const struct rustls_crypto_provider *provider = rustls_aws_lc_rs_crypto_provider();
  struct rustls_crypto_provider_builder *builder = rustls_crypto_provider_builder_new_with_base(provider);
  check_result(rustls_crypto_provider_builder_build_as_default(builder), "the provider");
  rustls_crypto_provider_builder_free(builder);
  rustls_crypto_provider_free(provider);
}

int main(int argc, char **argv) {
  check(argc == 4, "three files are needed: of the authority, the certificate and its key");
  choose_provider();
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof address;
  check(bind(listener, (struct sockaddr *)&address, len) == 0, "bind");
  check(listen(listener, 1) == 0, "listen");
  check(getsockname(listener, (struct sockaddr *)&address, &len) == 0, "getsockname");
  pid_t server = fork();
  check(server >= 0, "fork");
  if (server == 0)
    return serve(listener, argv[2], argv[3]);
  close(listener);
  fetch(&address, argv[1]);
  int status;
  check(waitpid(server, &status, 0) == server && status == 0, "the server failed");
  return 0;
}
