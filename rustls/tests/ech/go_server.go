// A server on Go's crypto/tls with Encrypted Client Hello. It reads its settings as JSON from the
// first line of its standard input. It prints the port that it listens on, and then one line about
// each connection. It echoes data until the client closes.
//
// With QUIC there is no port. A single handshake runs over standard input and output; see converse.
package main

import (
	"bufio"
	"context"
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
	// Leaf certificates. The first serves clients that request an unknown name.
	Certificates []string
	// The PKCS#8 key of all certificates.
	Key       string
	Curves    []tls.CurveID
	Protocols []string
	// A tls.ClientAuthType.
	ClientAuth int
	QUIC       bool
}

func main() {
	var setup setup
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	must(json.Unmarshal([]byte(must1(input.ReadString('\n'))), &setup))
	config := setup.config()
	if setup.QUIC {
		converse(input, tls.QUICServer(&tls.QUICConfig{TLSConfig: config}))
		return
	}
	listener := must1(net.Listen("tcp", "127.0.0.1:0"))
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

// serve echoes data until the client closes, and describes the connection.
func serve(conn *tls.Conn) string {
	defer conn.Close()
	if err := conn.Handshake(); err != nil {
		return fmt.Sprint("failed: ", err)
	}
	_, err := io.Copy(conn, conn)
	return describe(conn.ConnectionState(), err)
}

func describe(state tls.ConnectionState, err error) string {
	return fmt.Sprintf(
		"ech=%v resumed=%v name=%v protocol=%v certificates=%v error=%v",
		state.ECHAccepted, state.DidResume, state.ServerName,
		state.NegotiatedProtocol, len(state.PeerCertificates), err,
	)
}

// converse runs a QUIC handshake. Each input line has a level and CRYPTO data. The answer is any
// number of such lines, then the status: "going on", "failed" with the reason, or the output of
// describe.
func converse(input *bufio.Reader, conn *tls.QUICConn) {
	conn.SetTransportParameters([]byte("parameters of the server"))
	must(conn.Start(context.Background()))
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return
		}
		var level tls.QUICEncryptionLevel
		var data string
		must1(fmt.Sscan(line, &level, &data))
		status := "going on"
		if err := conn.HandleData(level, bytes(data)); err != nil {
			status = fmt.Sprint("failed: ", err)
		}
		for event := conn.NextEvent(); event.Kind != tls.QUICNoEvent; event = conn.NextEvent() {
			switch event.Kind {
			case tls.QUICWriteData:
				fmt.Println(int(event.Level), hex.EncodeToString(event.Data))
			case tls.QUICHandshakeDone:
				status = describe(conn.ConnectionState(), nil)
			}
		}
		fmt.Println(status)
	}
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
