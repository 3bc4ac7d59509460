/*
 * Whether a store is the one that the operator worked with last.
 *
 * The wrong bucket, folder or database, a volume that was not mounted, and a backup that was
 * restored all look like "no State", or like an older one. So two sides remember each other: the
 * store has a document, the identity; and the operator has a claim, which it keeps elsewhere. Both
 * have the same term: a random id, a counter that each start of a leader raises, and each hour, and
 * the random write id of that raise. Whatever is put in the place of one side does not have the
 * term of the other.
 *
 * Both are raised in three writes, each of which is a compare-and-swap:
 *
 *   1. the claim gets `next`, the term to be
 *   2. the identity becomes `next`
 *   3. the claim's term becomes `next`
 *
 * A process that was killed in between leaves a claim with `next`, and an identity that is either
 * as before or `next`. The next process goes on from there, with the same write id: a write of the
 * killed process that comes late changes nothing. So nothing else is taken for a crash: no other
 * number, and no other write id.
 *
 * A person can accept what does not match. The claim's `next` then has another id, and `accepted`
 * names the identity that was accepted, by its digest: so a kill in the middle needs no second
 * acceptance, and another store that comes meanwhile is not accepted. The other id tells an
 * operator which also uses the store that it does not any more.
 *
 * This file decides, and makes bytes. It neither reads nor writes.
 */
#pragma once

#include "engine/base/hash.h"
#include "engine/store.h"
#include "engine/value/value.h"

#define STORE_ID_SIZE    33 /* 32 hexadecimal digits */
#define STORE_TOKEN_SIZE 17

struct store_term {
    char id[STORE_ID_SIZE];
    int64_t counter; /* from 1; 0: there is no term */
    char write[STORE_ID_SIZE];
};
bool store_term_equal(const struct store_term *a, const struct store_term *b);

/* What the store says. */
struct store_identity {
    struct store_term term; /* counter 0: the store has no identity */
    char *moved_to;         /* State was copied there, and is not kept here any more; NULL */
    char *copied_from;      /* a copy from there has not come to its end; NULL */
    bool is_damaged;        /* it has one that cannot be read */
};
void store_identity_done(struct store_identity *identity);

/* What the operator says. */
struct store_claim {
    struct store_term term;       /* counter 0: it has none */
    struct store_term next;       /* counter 0: no raise is under way */
    char accepted[HASH_HEX_SIZE]; /* of the identity that `next` replaces; "": the term's */
    bool is_damaged;              /* it cannot be read */
};

/* ---- As they are kept ---- */

/* The document; its only part is the open one, JSON. */
extern const struct document_name store_identity_name;

void store_identity_write(const struct store_identity *identity, struct buf *to);
/* A text that it does not understand is damaged. */
void store_identity_parse(const struct buf *text, struct store_identity *ret);

/* The claim as an object of strings, and back. */
const struct value *store_claim_to_value(const struct store_claim *claim);
void store_claim_from_value(const struct value *value, struct store_claim *ret);

/* ---- What to do ---- */

/* Where both sides are, for messages and for the token. */
struct store_places {
    const char *store; /* "file:/var/lib/kusion" */
    const char *claim; /* "kusion-system/kusion-store" */
};

enum store_step {
    STORE_STEP_RAISE,   /* the sides agree: write 1 */
    STORE_STEP_STORE,   /* a raise is under way: write 2 */
    STORE_STEP_SETTLE,  /* write 3 */
    STORE_STEP_REFUSED, /* *why says which row of store_error.def it is, and what to do */
};

enum store_step store_step(const struct store_identity *identity, const struct store_claim *claim,
                           const struct store_places *places, struct error *why);

/* Names the two sides as they are now: what a person accepts. */
void store_token(const struct store_identity *identity, const struct store_claim *claim,
                 const struct store_places *places, char ret[STORE_TOKEN_SIZE]);

/* The claim of write 1. fresh: 32 hexadecimal digits, random, which become the write id, and the id
 * where there is none yet. */
void store_claim_raise(struct store_claim *claim, const char *fresh_id, const char *fresh_write);
/* The same, where the identity does not match, and a person says that it is meant. */
void store_claim_accept(struct store_claim *claim, const struct store_identity *identity,
                        const struct store_places *places, const char *fresh_id,
                        const char *fresh_write);
/* The claim of write 3. */
void store_claim_settle(struct store_claim *claim);
