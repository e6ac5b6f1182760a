// The four encrypters of rustls-graviola, ported by the manual's chapter writing_a_provider. `port`
// replaces `encrypt` in each of them, and changes nothing else.

impl MessageEncrypter for ChaChaTls13Cipher {
    fn encrypt(
        &mut self,
        m: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = m.payload.len();
        let out = EncryptError::check_size(out, self.encrypted_payload_len(len))?;
        m.payload.copy_to_slice(&mut out[..len]);
        self.encrypt_in_place(m.typ, m.version, len, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        _version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
        let (nonce, aad) = (Nonce::new(&self.1, seq), make_tls13_aad(out.len()));
        let (text, tag) = out.split_last_chunk_mut().unwrap();
        text[payload_len] = typ.into();
        self.0.encrypt(&nonce.0, &aad, text, tag);
        Ok(out.len())
    }

    fn payload_offset(&self) -> usize {
        0
    }
}

impl MessageEncrypter for ChaChaTls12Cipher {
    fn encrypt(
        &mut self,
        m: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = m.payload.len();
        let out = EncryptError::check_size(out, self.encrypted_payload_len(len))?;
        m.payload.copy_to_slice(&mut out[..len]);
        self.encrypt_in_place(m.typ, m.version, len, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
        let nonce = Nonce::new(&self.1, seq);
        let aad = make_tls12_aad(seq, typ, version, payload_len);
        let (text, tag) = out.split_last_chunk_mut().unwrap();
        self.0.encrypt(&nonce.0, &aad, text, tag);
        Ok(out.len())
    }

    fn payload_offset(&self) -> usize {
        0
    }
}

impl MessageEncrypter for GcmTls12MessageEncrypter {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        let out = EncryptError::check_size(out, self.encrypted_payload_len(len))?;
        let text = &mut out[AESGCM_EXPLICIT_NONCE_LEN..][..len];
        msg.payload.copy_to_slice(text);
        self.encrypt_in_place(msg.typ, msg.version, len, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
        let nonce = Nonce::new(&self.1, seq);
        let aad = make_tls12_aad(seq, typ, version, payload_len);
        let (explicit, sealed) = out.split_at_mut(AESGCM_EXPLICIT_NONCE_LEN);
        explicit.copy_from_slice(&nonce.0[4..]);
        let (text, tag) = sealed.split_last_chunk_mut().unwrap();
        self.0.encrypt(&nonce.0, &aad, text, tag);
        Ok(out.len())
    }

    fn payload_offset(&self) -> usize {
        AESGCM_EXPLICIT_NONCE_LEN
    }
}

impl MessageEncrypter for GcmTls13Cipher {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        let out = EncryptError::check_size(out, self.encrypted_payload_len(len))?;
        msg.payload.copy_to_slice(&mut out[..len]);
        self.encrypt_in_place(msg.typ, msg.version, len, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        _version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
        let (nonce, aad) = (Nonce::new(&self.1, seq), make_tls13_aad(out.len()));
        let (text, tag) = out.split_last_chunk_mut().unwrap();
        text[payload_len] = typ.into();
        self.0.encrypt(&nonce.0, &aad, text, tag);
        Ok(out.len())
    }

    fn payload_offset(&self) -> usize {
        0
    }
}
