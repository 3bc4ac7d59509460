#include "runtimes/seal/cipher.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define KEY_SIZE 32
#define STEP     (1u << 30) /* OpenSSL's lengths are int */

struct cipher {
    EVP_CIPHER_CTX *context;
};

/* libcrypto fails here only if memory or its providers are missing; neither gets better by a retry.
 */
static void must(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "libcrypto: %s failed\n", what);
    abort();
}

static void derive(const unsigned char seed[SEAL_SEED_SIZE],
                   const unsigned char random[SEAL_RANDOM_SIZE], unsigned char ret[KEY_SIZE])
{
    static const char info[] = "kusion seal 1";
    EVP_KDF *algorithm = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = algorithm ? EVP_KDF_CTX_new(algorithm) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)seed,
                                          SEAL_SEED_SIZE),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)random,
                                          SEAL_RANDOM_SIZE),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info,
                                          sizeof(info) - 1),
        OSSL_PARAM_construct_end(),
    };

    must(context && EVP_KDF_derive(context, ret, KEY_SIZE, params) == 1, "HKDF");
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(algorithm);
}

struct cipher *cipher_new(const unsigned char seed[SEAL_SEED_SIZE],
                          const unsigned char random[SEAL_RANDOM_SIZE], enum cipher_mode mode)
{
    static const unsigned char nonce[12]; /* the key is used once */
    struct cipher *cipher = NEW(struct cipher);
    unsigned char key[KEY_SIZE];

    derive(seed, random, key);
    cipher->context = EVP_CIPHER_CTX_new();
    must(cipher->context && EVP_CipherInit_ex2(cipher->context, EVP_aes_256_gcm(), key, nonce,
                                               mode == CIPHER_SEAL, NULL) == 1,
         "AES-256-GCM");
    OPENSSL_cleanse(key, sizeof(key));
    return cipher;
}

void cipher_free(struct cipher *cipher)
{
    if (!cipher)
        return;
    EVP_CIPHER_CTX_free(cipher->context); /* wipes it */
    free(cipher);
}

void cipher_beside(struct cipher *cipher, const void *bytes, size_t length)
{
    int written = 0;

    must(EVP_CipherUpdate(cipher->context, NULL, &written, bytes, (int)length) == 1, "AES-256-GCM");
}

void cipher_add(struct cipher *cipher, struct buf *to, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    buf_reserve(to, length);
    if (buf_overflowed(to))
        return;
    while (length > 0) {
        size_t step = length < STEP ? length : STEP;
        int written = 0;

        must(EVP_CipherUpdate(cipher->context, (unsigned char *)to->data + to->length, &written, at,
                              (int)step) == 1,
             "AES-256-GCM");
        to->length += (size_t)written;
        at += step;
        length -= step;
    }
    to->data[to->length] = '\0';
}

void cipher_tag(struct cipher *cipher, unsigned char ret[SEAL_TAG_SIZE])
{
    unsigned char nothing[EVP_MAX_BLOCK_LENGTH];
    int written = 0;

    must(EVP_CipherFinal_ex(cipher->context, nothing, &written) == 1 &&
             EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG_SIZE, ret) == 1,
         "AES-256-GCM");
}

bool cipher_check(struct cipher *cipher, const unsigned char tag[SEAL_TAG_SIZE])
{
    unsigned char nothing[EVP_MAX_BLOCK_LENGTH];
    int written = 0;

    must(EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG_SIZE,
                             (void *)(uintptr_t)tag) == 1,
         "AES-256-GCM");
    return EVP_CipherFinal_ex(cipher->context, nothing, &written) == 1;
}

/* ---- Key wrap ---- */

static bool wrap(const unsigned char key[SEAL_SEED_SIZE], enum cipher_mode mode,
                 const unsigned char *from, size_t length, unsigned char *ret)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written = 0;
    bool done;

    must(context != NULL, "AES key wrap");
    EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    must(EVP_CipherInit_ex2(context, EVP_aes_256_wrap(), key, NULL, mode == CIPHER_SEAL, NULL) == 1,
         "AES key wrap");
    done = EVP_CipherUpdate(context, ret, &written, from, (int)length) == 1;
    EVP_CIPHER_CTX_free(context);
    return done;
}

void cipher_wrap(const unsigned char key[SEAL_SEED_SIZE], const unsigned char seed[SEAL_SEED_SIZE],
                 unsigned char ret[CIPHER_WRAPPED_SIZE])
{
    must(wrap(key, CIPHER_SEAL, seed, SEAL_SEED_SIZE, ret), "AES key wrap");
}

bool cipher_unwrap(const unsigned char key[SEAL_SEED_SIZE],
                   const unsigned char wrapped[CIPHER_WRAPPED_SIZE],
                   unsigned char ret[SEAL_SEED_SIZE])
{
    unsigned char seed[CIPHER_WRAPPED_SIZE]; /* OpenSSL may write more than it gives */
    bool done = wrap(key, CIPHER_OPEN, wrapped, CIPHER_WRAPPED_SIZE, seed);

    if (done)
        memcpy(ret, seed, SEAL_SEED_SIZE);
    OPENSSL_cleanse(seed, sizeof(seed));
    return done;
}
