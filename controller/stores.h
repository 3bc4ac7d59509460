/*
 * The stores of State that a place names: "TYPE", or "TYPE:…". The table of all types is in
 * stores.c.
 */
#pragma once

#include "controller/connection.h"
#include "engine/release/history.h"
#include "engine/store.h"
#include "runtimes/seal/seal.h"

struct opened_store {
    char *place;         /* for people: no password is in it */
    struct store *base;  /* which has the identity, in clear */
    struct store *store; /* of all other documents: the same, or one around it, which frees it */
    struct seal_keys *keys; /* borrowed from the store that seals; NULL: nothing is sealed */
    bool has_releases;   /* it keeps Releases, too; else they are objects of the API server */
};

/* flag: the place's flag, for messages ("--state-backend"). Nothing is sent. What the flags say is
 * sealed (runtimes/seal/seal.h). ERR_INVALID: it names no store; the message says only its type,
 * as there may be a password in it. */
int stores_open(const struct connection *connection, const char *flag, const char *place,
                struct opened_store *ret, struct error *error);
void stores_close(struct opened_store *store);

/* The Releases of Specs with State in the store, which is that of stores_open(), or one around it.
 */
struct release_history *stores_make_history(const struct connection *connection,
                                            const struct opened_store *opened, struct store *store);

/* Whether the place is of a type that there is, and whether that needs the API server. */
int stores_check(const char *flag, const char *place, bool *ret_needs_cluster, struct error *error);
