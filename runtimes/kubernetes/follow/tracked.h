/*
 * The objects that one watch tracks, by the hash of their names, and what an event says of each.
 *
 * Of an object three things are kept, as fingerprints: how it has to be (`base`), how the watch
 * showed it last (`seen`), and what of our fields was verified (`values`). A fingerprint is made of
 * the uid, of the digest of our fields (objects/managers.h), and of whether it is being deleted.
 * The bytes of names, values and managers are not kept: 96 bytes for each object, and 8 to 16 for
 * its place in the table.
 *
 * An event of our own write may come before its answer, or after it. So events are only noted
 * while a write is in flight, or while an operation of the Spec is under way, and judged later.
 *
 * Not thread-safe, but for the pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/value/value.h"

struct followed;
struct follow_watch;

#define TRACKED_UNKNOWN 0u /* no fingerprint is known */
#define TRACKED_ABSENT  1u /* the object is not there, or has our label no more */

struct tracked {
    struct tracked *next;         /* in its bucket */
    struct tracked *next_of_spec; /* of the same Spec */
    struct followed *of;          /* the Spec */
    struct follow_watch *in;
    uint64_t name;               /* its hash */
    uint64_t base, seen, values; /* fingerprints */
    uint64_t treatment;          /* fingerprint of the annotations that say how it is treated */
    uint64_t seen_version;       /* resourceVersion of `seen`; 0: not known */
    uint64_t answered_version;   /* of the last answer to a write of ours; 0: none */
    uint32_t list;               /* the number of the list that it was last in */
    uint8_t n_in_flight;         /* writes of ours */
    bool has_news : 1;           /* an event came since the last operation began to read */
    bool was_written : 1;        /* by that operation */
    bool is_wanted : 1;          /* while it is settled: it stays tracked */
    bool is_treated_anew : 1;    /* these annotations changed, by somebody else */
};

/* ---- The table ---- */

struct tracked_table {
    struct tracked **buckets;
    size_t n_buckets; /* a power of two; 0: nothing was ever put */
    size_t count;
};

void tracked_table_done(struct tracked_table *table); /* frees all that is in it */
/* Takes it over. */
void tracked_table_put(struct tracked_table *table, struct tracked *tracked);
/* It is not freed. */
void tracked_table_remove(struct tracked_table *table, struct tracked *tracked);
/* The first, or the next after `last`, with that name; NULL: no more. Two Specs may track one. */
struct tracked *tracked_table_find(const struct tracked_table *table, uint64_t name,
                                   const struct tracked *last);
/* All; NULL begins and ends. */
struct tracked *tracked_table_next(const struct tracked_table *table, const struct tracked *last);

/* ---- Fingerprints ---- */

uint64_t tracked_name(const char *name, uint64_t seed);
/* digest: NULL where no manager of ours has a field. */
uint64_t tracked_print(const char *uid, const char *digest, bool is_terminating);
/* Of an object or its metadata, as the manager's. */
uint64_t tracked_print_of(const struct value *object, const char *field_manager);
/* Of the annotations that treatment_reads(). */
uint64_t tracked_treatment_of(const struct value *object);
/* A resourceVersion; 0: it is no number. */
uint64_t tracked_version(const struct value *object);

/* ---- One object ---- */

/* The watch showed it so. */
void tracked_see(struct tracked *tracked, uint64_t print, uint64_t version);
/* An operation is about to read it: what was seen before is what it reads, or older. */
void tracked_hold(struct tracked *tracked);
/* A write of ours was answered. print: TRACKED_UNKNOWN if the answer does not tell. */
void tracked_answer(struct tracked *tracked, uint64_t print, uint64_t version);
/* After tracked_see() or tracked_answer(): how the object is to be treated. A person who lets an
 * object go, or takes it back, is heard at once. */
void tracked_see_treatment(struct tracked *tracked, uint64_t treatment);
void tracked_answer_treatment(struct tracked *tracked, uint64_t treatment);
/* The operation has ended, and State has the object so. is_done: it may be absent. */
void tracked_settle(struct tracked *tracked, uint64_t recorded, bool is_done);
/* Somebody else changed it: what was seen is neither as it has to be, nor older than our own last
 * write; or it is to be treated in another way. False while a write is in flight. */
bool tracked_has_drifted(const struct tracked *tracked);
