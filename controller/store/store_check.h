/*
 * Finds out whether the store is the one that the operator knows (engine/store/identity.h), and
 * opens or shuts the gate by that.
 *
 * At its start a leader raises the identity and the claim. From then on it looks now and then
 * whether the identity is still its own: a volume may be taken away, or a store replaced, at any
 * time. A store that does not answer is no such sign, once the gate is open: each call of it says
 * so itself.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/store.h"
#include "engine/store/gate.h"
#include "engine/threads/clock.h"
#include "engine/threads/permit.h"
#include "runtimes/kubernetes/client/client.h"

/* All borrowed. */
struct store_check_config {
    struct store *store; /* the store itself, not the one that asks the gate */
    struct store_gate *gate;
    struct kube_client *client;
    const struct clock_source *clock;
    const char *namespace_name; /* of the claim */
    const char *place;          /* of the store, for people */
    const char *accept;         /* the token that a person gave; NULL */
    const struct permit *permit;
    int64_t patience; /* ms that store_check_begin() gives a store that does not answer */
};

struct store_check;

/* From then on the gate asks it (store_gate_confirm()). */
struct store_check *store_check_new(const struct store_check_config *config);
void store_check_free(struct store_check *check);
DEFINE_CLEANUP(struct store_check *, store_check_free)

/* Raises identity and claim, unless they do not match, and opens or shuts the gate. What may heal
 * by itself is tried for a while, so that not all Specs hear of a moment. stop: NULL: none. */
void store_check_begin(struct store_check *check, struct cancel *stop);
/* Looks again, if it is time to. Fits ticker_new(). arg: the check. */
void store_check_tick(void *arg);
