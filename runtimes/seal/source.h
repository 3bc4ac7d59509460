/*
 * A source of keys: it wraps seeds, and unwraps them (seal.h). There are two: files (keys_file.h)
 * and KMS plugins (keys_kms.h).
 */
#pragma once

#include <stdint.h>

#include "engine/store.h"

#define SEAL_SEED_SIZE 32 /* bytes */

/* Bounds of what a source gives, as Kubernetes has them for KMS plugins. */
#define SEAL_MAX_KEY_ID      1024
#define SEAL_MAX_WRAPPED     1024
#define SEAL_MAX_ANNOTATIONS (32u << 10) /* names and values together */

struct seal_annotation {
    char *name;
    struct buf value;
};

/* A wrapped seed, and all that is needed to unwrap it. */
struct seal_wrapped {
    char *provider; /* "file", "kms" */
    char *key_id;
    struct buf bytes;
    struct seal_annotation *annotations;
    size_t n_annotations;
};

#define SEAL_WRAPPED_INIT \
    {                     \
        .bytes = BUF_INIT \
    }
void seal_wrapped_done(struct seal_wrapped *wrapped);

struct seal_source {
    const struct seal_source_ops *ops; /* first member of every implementation */
};

/* Of the calls, deadline and cancel count; a deadline of 0 is the source's own. */
struct seal_source_ops {
    const char *provider;
    void (*free)(struct seal_source *source);
    /* A text that changes when seeds are to be wrapped by another key from now on; free(). Quick,
     * most of the time: it is asked before each save. One thread at a time calls it, and wrap(). */
    int (*current)(struct seal_source *source, const struct store_call *call, char **ret,
                   struct error *error);
    /* *ret: initialised; seal_wrapped_done(), also after an error. */
    int (*wrap)(struct seal_source *source, const struct store_call *call,
                const unsigned char seed[SEAL_SEED_SIZE], struct seal_wrapped *ret,
                struct error *error);
    /* Thread-safe. wrapped is of this provider, and may be damaged. */
    int (*unwrap)(struct seal_source *source, const struct store_call *call,
                  const struct seal_wrapped *wrapped, unsigned char ret_seed[SEAL_SEED_SIZE],
                  struct error *error);
};
