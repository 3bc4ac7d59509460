/*
 * A source of secrets: what the references `ref://…` of one Spec lead to. Like a runtime and a
 * store, it is a table of functions.
 *
 * Functions block, and are called by several threads at once.
 */
#pragma once

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/spec/secret_ref.h"
#include "engine/threads/cancel.h"
#include "engine/value/value.h"

/* Bytes of one value. Kubernetes takes 1 MiB of an object, the stores take 64 KiB of a value. */
#define SECRET_BYTES (256u << 10)

struct secret {
    const struct value *value; /* a string, sensitive; a reference */
    char *version;             /* the store's own name of this version: ASCII without blanks;
                                  owned */
};

struct secret_source;

struct secret_source_ops {
    /*
     * deadline: ms, monotonic. Errors have no value in them, and nothing of an answer that could be
     * one:
     *   ERR_INVALID SecretNotFound       there is no such secret, version or property
     *   ERR_FORBIDDEN SecretDenied       the store refuses it, or the account
     *   ERR_UNAVAILABLE SecretUnavailable  no answer now
     *   ERR_UNSUPPORTED, ERR_INVALID, ERR_CANCELLED
     */
    int (*get)(struct secret_source *source, const char *reference, int64_t deadline,
               struct cancel *cancel, struct secret *ret, struct error *error);
    void (*free)(struct secret_source *source);
};

struct secret_source {
    const struct secret_source_ops *ops; /* first member of every implementation */
    /* Of the digests that State has in place of values. The same for all operations of a Spec. */
    unsigned char key[HASH_SIZE];
};
