#!/bin/sh
# Regenerates the private keys of these tests, written by OpenSSL in each of its encodings.
set -eu
cd "$(dirname "$0")"

openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa-2048.pkcs8.pem
openssl rsa -traditional -in rsa-2048.pkcs8.pem -out rsa-2048.pkcs1.pem
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out rsa-1024.pkcs8.pem

for curve in P-256 P-384 P-521; do
    openssl ecparam -name "$curve" -genkey -noout -out "ecdsa-$curve.sec1.pem"
    openssl pkcs8 -topk8 -nocrypt -in "ecdsa-$curve.sec1.pem" -out "ecdsa-$curve.pkcs8.pem"
done

openssl genpkey -algorithm ED25519 -out ed25519.pkcs8.pem
openssl genpkey -algorithm X25519 -out x25519.pkcs8.pem
