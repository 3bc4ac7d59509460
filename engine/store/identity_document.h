/*
 * The identity, in its store (identity.h).
 */
#pragma once

#include "engine/store/identity.h"

/* *ret_file: open to write, for store_identity_put(); NULL: it is only read. *ret: one without a
 * term where there is none; store_identity_done(). A damaged one is no error. */
int store_identity_open(struct store *store, const struct store_call *call,
                        struct store_file **ret_file, struct store_identity *ret,
                        struct error *error);
/* A compare-and-swap. */
int store_identity_put(struct store_file *file, const struct store_call *call,
                       const struct store_identity *identity, struct error *error);
