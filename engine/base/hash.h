/*
 * SHA-256 and HMAC-SHA-256, from OpenSSL's libcrypto, most often as hexadecimal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"

#define HASH_SIZE 32                    /* bytes of a digest */
#define HASH_HEX_SIZE (2 * HASH_SIZE + 1) /* as hexadecimal, terminated */

struct hash; /* one digest in the making */

struct hash *hash_new(void);
struct hash *hash_new_keyed(const void *key, size_t length); /* HMAC */
void hash_add(struct hash *hash, const void *data, size_t length);
void hash_add_str(struct hash *hash, const char *s); /* with its NUL, so that "a","bc" and "ab","c"
                                                        differ */
/* Afterwards the hash can only be freed. */
void hash_finish(struct hash *hash, unsigned char ret[HASH_SIZE]);
void hash_finish_hex(struct hash *hash, char ret_hex[HASH_HEX_SIZE]);
uint64_t hash_finish_short(struct hash *hash); /* the first 64 bits: a fingerprint in memory */
void hash_free(struct hash *hash);
DEFINE_CLEANUP(struct hash *, hash_free)

void hash_hex(const void *data, size_t length, char ret_hex[HASH_HEX_SIZE]);

/* Whether the text is such a digest, in lower case. */
bool hash_is_hex(const char *text);
