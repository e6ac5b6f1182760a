#!/bin/sh
# Regenerates the RSA keys of the authority (0), the server (1) and the client (2).
set -eu
cd "$(dirname "$0")"

for number in 0 1 2; do
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "rsa-2048-$number.pem"
done
