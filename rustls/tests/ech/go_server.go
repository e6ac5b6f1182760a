// A server of Go's crypto/tls with Encrypted Client Hello. It reads what it is set up with from its standard input, as
// JSON, and says on its standard output which port it listens on, and then in one line what each connection was. What a
// client sends it sends back, until the client closes.
package main

import (
	"bufio"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
)

type setup struct {
	Keys []struct {
		Config, PrivateKey string
		SendAsRetry        bool
	}
	// Leaf certificates; the first is for those who ask for a name that none has.
	Certificates []string
	// PKCS#8, of all certificates.
	Key       string
	Curves    []tls.CurveID
	Protocols []string
	// Of tls.ClientAuthType.
	ClientAuth int
}

func main() {
	var setup setup
	must(json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&setup))
	listener := must1(net.Listen("tcp", "127.0.0.1:0"))
	config := setup.config()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		socket, err := listener.Accept()
		must(err)
		fmt.Println(serve(tls.Server(socket, config)))
	}
}

func (s *setup) config() *tls.Config {
	key := must1(x509.ParsePKCS8PrivateKey(bytes(s.Key))).(crypto.PrivateKey)
	config := &tls.Config{
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: s.Curves,
		NextProtos:       s.Protocols,
		ClientAuth:       tls.ClientAuthType(s.ClientAuth),
	}
	for _, certificate := range s.Certificates {
		chain := tls.Certificate{Certificate: [][]byte{bytes(certificate)}, PrivateKey: key}
		config.Certificates = append(config.Certificates, chain)
	}
	for _, key := range s.Keys {
		config.EncryptedClientHelloKeys = append(config.EncryptedClientHelloKeys, tls.EncryptedClientHelloKey{
			Config:      bytes(key.Config),
			PrivateKey:  bytes(key.PrivateKey),
			SendAsRetry: key.SendAsRetry,
		})
	}
	return config
}

// What the connection was.
func serve(conn *tls.Conn) string {
	defer conn.Close()
	if err := conn.Handshake(); err != nil {
		return fmt.Sprint("failed: ", err)
	}
	_, err := io.Copy(conn, conn)
	state := conn.ConnectionState()
	return fmt.Sprintf(
		"ech=%v resumed=%v name=%v protocol=%v certificates=%v error=%v",
		state.ECHAccepted, state.DidResume, state.ServerName,
		state.NegotiatedProtocol, len(state.PeerCertificates), err,
	)
}

func bytes(digits string) []byte { return must1(hex.DecodeString(digits)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}
