/*
 * State as bytes that fit into API objects: JSON, split into what may be
 * seen and what is secret, each gzipped, checksummed (sha256 over the gzipped
 * whole) and cut into chunks of at most LIMIT_CHUNK_BYTES.
 *
 * In the open part null stands for what is sensitive of a resource's
 * attributes, and "sensitive" beside them is the list of JSON pointers to it.
 * The secret part is {"<id>": {"<pointer>": value}}. Joined, they are the
 * State again, and what was sensitive is.
 */
#ifndef ENGINE_STATE_CODEC_H
#define ENGINE_STATE_CODEC_H

#include "engine/base/buf.h"
#include "engine/base/hash.h"
#include "engine/state/state.h"

struct payload {
    struct buf bytes;             /* gzip; empty: there is none */
    char checksum[HASH_HEX_SIZE]; /* of bytes */
};
void payload_done(struct payload *payload);

/* Chunks are slices: chunk i of payload_chunks(). */
size_t payload_chunks(const struct payload *payload);
void payload_chunk(const struct payload *payload, size_t index, const char **ret_data,
                   size_t *ret_length);

int state_encode(const struct state *state, struct payload *ret_open, struct payload *ret_secret,
                 struct error *error);
/* The checksums were compared by who read the bytes (store.h). ERR_CORRUPT. */
int state_decode(const char *open, size_t open_length, const char *secret, size_t secret_length,
                 struct state **ret, struct error *error);

/* For other documents that are stored the same way (plans). */
int payload_encode(const struct value *value, struct payload *ret, struct error *error);
int payload_decode(const char *bytes, size_t length, const struct value **ret,
                   struct error *error);

#endif
