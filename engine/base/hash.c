#include "engine/base/hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct hash {
    EVP_MD_CTX *digest;
    EVP_MAC_CTX *mac; /* one of the two is set */
};

/* libcrypto fails here only if memory or its providers are missing; neither gets better by a retry.
 * */
static void must(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "libcrypto: %s failed\n", what);
    abort();
}

struct hash *hash_new(void)
{
    struct hash *hash = NEW(struct hash);

    hash->digest = EVP_MD_CTX_new();
    must(hash->digest && EVP_DigestInit_ex(hash->digest, EVP_sha256(), NULL) == 1, "SHA-256");
    return hash;
}

struct hash *hash_new_keyed(const void *key, size_t length)
{
    struct hash *hash = NEW(struct hash);
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    must(algorithm, "HMAC");
    hash->mac = EVP_MAC_CTX_new(algorithm);
    EVP_MAC_free(algorithm);
    /* A NULL key would mean "the key set before". */
    must(hash->mac && EVP_MAC_init(hash->mac, length ? key : "", length, params) == 1, "HMAC");
    return hash;
}

void hash_add(struct hash *hash, const void *data, size_t length)
{
    if (!length)
        return;
    if (hash->mac)
        must(EVP_MAC_update(hash->mac, data, length) == 1, "HMAC");
    else
        must(EVP_DigestUpdate(hash->digest, data, length) == 1, "SHA-256");
}

void hash_add_str(struct hash *hash, const char *s)
{
    hash_add(hash, s, strlen(s) + 1);
}

static void to_hex(const unsigned char digest[HASH_SIZE], char ret_hex[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HASH_SIZE; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[HASH_HEX_SIZE - 1] = '\0';
}

void hash_finish(struct hash *hash, unsigned char ret[HASH_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int short_length = 0;
    size_t length = 0;

    if (hash->mac) {
        must(EVP_MAC_final(hash->mac, digest, &length, sizeof(digest)) == 1, "HMAC");
    } else {
        must(EVP_DigestFinal_ex(hash->digest, digest, &short_length) == 1, "SHA-256");
        length = short_length;
    }
    must(length == HASH_SIZE, "the digest's length");
    memcpy(ret, digest, HASH_SIZE);
}

void hash_finish_hex(struct hash *hash, char ret_hex[HASH_HEX_SIZE])
{
    unsigned char digest[HASH_SIZE];

    hash_finish(hash, digest);
    to_hex(digest, ret_hex);
}

uint64_t hash_finish_short(struct hash *hash)
{
    unsigned char digest[HASH_SIZE];
    uint64_t first;

    hash_finish(hash, digest);
    memcpy(&first, digest, sizeof(first));
    return first;
}

void hash_free(struct hash *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->digest);
    EVP_MAC_CTX_free(hash->mac);
    free(hash);
}

void hash_hex(const void *data, size_t length, char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    hash_add(hash, data, length);
    hash_finish_hex(hash, ret_hex);
}

bool hash_is_hex(const char *text)
{
    return strlen(text) == HASH_HEX_SIZE - 1 && !text[strspn(text, "0123456789abcdef")];
}
