/*
 * The answers of a KMS plugin (keys_kms.h), which is another's program: each is checked before it
 * is used. Errors are ERR_UNAVAILABLE, whatever is wrong with an answer.
 */
#pragma once

#include "runtimes/seal/source.h"

/* Of a plugin that is healthy and speaks our version: its key id; free(). */
int kms_read_status(const void *bytes, size_t length, char **ret_key_id, struct error *error);
/* *ret: initialised; seal_wrapped_done(), also after an error. Without the provider. */
int kms_read_wrapped(const void *bytes, size_t length, struct seal_wrapped *ret,
                     struct error *error);
int kms_read_seed(const void *bytes, size_t length, unsigned char ret[SEAL_SEED_SIZE],
                  struct error *error);
