/*
 * Which providers are looked for, and for whom: the finder's queue and its results.
 *
 * A look is one provider with one constraint. Namespaces that want the same share it: each has a
 * claim on it. A namespace has LOOKS_OF_NAMESPACE claims at most; for one more, the claim goes that
 * was not used for the longest time. A look goes with its last claim. So what a namespace wants
 * takes no result and no place in the queue from another.
 *
 * Turns go round between the namespaces, and in a namespace to what waits longest. A namespace has
 * LOOKS_UNDER_WAY turns at once, and a provider has one.
 *
 * Above LOOKS_NAMESPACES, the one goes that wanted nothing for the longest time.
 *
 * Not locked.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "engine/base/strmap.h"
#include "runtimes/terraform/source.h"

#define LOOKS_OF_NAMESPACE 32
#define LOOKS_UNDER_WAY    2
#define LOOKS_NAMESPACES   1024

enum look_phase { LOOK_IDLE, LOOK_QUEUED, LOOK_UNDER_WAY, LOOK_FOUND, LOOK_FAILED };

struct claim;
struct claimant; /* a namespace */

struct look {
    char *key;
    struct source allowed, wanted;
    enum look_phase phase;
    int64_t since;      /* when it was queued, found, or failed; kept by the caller */
    struct error error; /* of the last failure, if there were any since it was found */
    unsigned failures;
    char *version; /* that was found first; NULL: none yet */
    char *package; /* the name of the copy, which may be removed meanwhile; NULL: none yet */
    char *program;
    bool is_locked;

    struct claimant *served; /* under way: whose turn it is */
    LIST_ENTRY(look) under_way;
    LIST_HEAD(, claim) claims;
};

struct claim {
    struct look *look;
    unsigned callers; /* that wait for it: it stays meanwhile; kept by the caller */

    struct claimant *claimant;
    TAILQ_ENTRY(claim) place; /* among its namespace's */
    LIST_ENTRY(claim) beside; /* among the look's */
};

struct looks {
    struct strmap by_key;
    struct strmap by_namespace;
    TAILQ_HEAD(, claimant) turns; /* the next is the first */
    LIST_HEAD(, look) under_way;
    uint64_t uses; /* so far */
};

void looks_init(struct looks *looks);
void looks_done(struct looks *looks); /* when none is under way */

/* NULL: nobody looks for that. */
struct look *looks_get(const struct looks *looks, const struct source *wanted);
/* A namespace wants that, from now on. NULL: all of its claims are waited for, queued or under way,
 * or those of all namespaces are. */
struct claim *looks_claim(struct looks *looks, const char *namespace_name,
                          const struct source *allowed, const struct source *wanted);

/* The queued look whose turn it is, which is under way from then on; NULL: none may begin. */
struct look *looks_begin(struct looks *looks);
/* It is not under way any more. Its new phase is set by the caller. */
void looks_end(struct look *look);
bool look_is_at_work(const struct look *look); /* queued or under way */
