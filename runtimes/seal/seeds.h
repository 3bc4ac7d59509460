/*
 * The seeds of a process: the one that seals now, and those that were unwrapped.
 */
#pragma once

#include "runtimes/seal/seal.h"
#include "runtimes/seal/source.h"

/* Shared, and wiped when nobody has it any more. */
struct seed {
    unsigned references; /* atomic */
    unsigned char bytes[SEAL_SEED_SIZE];
    struct buf block; /* wrapped, as parts hold it (format.h) */
};

void seed_unref(struct seed *seed);
DEFINE_CLEANUP(struct seed *, seed_unref)

/* Takes the sources over; the first one seals. clock: borrowed. */
struct seal_keys *seal_keys_new(struct seal_source *const *sources, size_t n, bool reads_unsealed,
                                const struct clock_source *clock);
bool seal_keys_read_unsealed(const struct seal_keys *keys);

/* The seed that seals now. ERR_UNAVAILABLE, ERR_CANCELLED. */
int seal_keys_current(struct seal_keys *keys, const struct store_call *call, struct seed **ret,
                      struct error *error);
/* The seed of a part, by its block. The same errors; ERR_CORRUPT: it is no block. */
int seal_keys_unwrap(struct seal_keys *keys, const struct store_call *call, const void *block,
                     size_t length, struct seed **ret, struct error *error);
