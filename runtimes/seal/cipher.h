/*
 * AES-256-GCM with a key that is derived for one use (format.h), by OpenSSL. What fails there only
 * without memory aborts, as of mem.h.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/buf.h"
#include "runtimes/seal/source.h"

#define SEAL_RANDOM_SIZE 32
#define SEAL_TAG_SIZE    16

struct cipher;

enum cipher_mode { CIPHER_OPEN, CIPHER_SEAL };

struct cipher *cipher_new(const unsigned char seed[SEAL_SEED_SIZE],
                          const unsigned char random[SEAL_RANDOM_SIZE], enum cipher_mode mode);
void cipher_free(struct cipher *cipher);
DEFINE_CLEANUP(struct cipher *, cipher_free)

/* The additional data; before all else. */
void cipher_beside(struct cipher *cipher, const void *bytes, size_t length);
/* Adds the bytes to a buffer, encrypted or decrypted. A buffer that is too small overflows. */
void cipher_add(struct cipher *cipher, struct buf *to, const void *bytes, size_t length);
/* At the end, one of these. */
void cipher_tag(struct cipher *cipher, unsigned char ret[SEAL_TAG_SIZE]);
bool cipher_check(struct cipher *cipher, const unsigned char tag[SEAL_TAG_SIZE]);

/* AES key wrap, RFC 3394. */
#define CIPHER_WRAPPED_SIZE (SEAL_SEED_SIZE + 8)
void cipher_wrap(const unsigned char key[SEAL_SEED_SIZE], const unsigned char seed[SEAL_SEED_SIZE],
                 unsigned char ret[CIPHER_WRAPPED_SIZE]);
/* False: by another key, or damaged. */
bool cipher_unwrap(const unsigned char key[SEAL_SEED_SIZE],
                   const unsigned char wrapped[CIPHER_WRAPPED_SIZE],
                   unsigned char ret[SEAL_SEED_SIZE]);
