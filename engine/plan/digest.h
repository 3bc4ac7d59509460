/*
 * Digests of changes: HMAC-SHA-256 with a key, so that nobody can guess a short secret from one.
 *
 * A change has up to two halves: what is made (created, adopted, updated, or read) and what is
 * removed. Each
 * half has a digest over the resource's id and type, the uid of the object (unless it is only
 * forgotten), what is ours of the object before (unless it is deleted, and has a uid) and after,
 * the attributes and the extensions, in canonical JSON, with what is unknown as such, and the
 * versions of the secrets that these refer to. The attributes count beside what is ours afterwards
 * because a value may have no place in the object: an empty string, for example. Where a value is
 * unknown, the attributes and extensions as the Spec has them count as well: they say which
 * resource the value will be taken from.
 *
 * The digest of the change is over the action, the order of a replacement, the halves, and where
 * values are unknown. What it depends on is no part of it: that is no change of an object. The
 * halves of a replacement have the digests that a creation and a deletion by themselves would have:
 * that is what a plan shows for them when the operation was killed in between.
 *
 * What a creation shows has a digest of its own, which is in none of these: only a thorough plan
 * shows what the platform would make of what is sent (runtime_step.shown_after).
 */
#pragma once

#include "engine/base/hash.h"
#include "engine/plan/change.h"

/* What the digest of a plan begins with. It is another one as soon as any digest is made of
 * something else ("plan 2"): then no approval of a plan from before holds, and people are told. */
#define DIGEST_PLAN "plan"

/* Borrowed. */
struct digest_key {
    const void *data;
    size_t length;
};

/* Of one change. Both are "" where there is no such half. */
struct digest_halves {
    char made[HASH_HEX_SIZE], removed[HASH_HEX_SIZE];
};

/* unknown: such pointers, to what counts as unknown; or NULL. False: a value of it is past a bound
 * of limits.h, and cannot be digested. */
bool digest_halves_of(const struct plan_change *change, const struct value *unknown,
                      struct digest_key key, struct digest_halves *ret);

/* What a creation shows of the object that it would make. */
struct digest_shown {
    char hex[HASH_HEX_SIZE];      /* "": it was not tried, is no creation, or is past a bound of
                                     limits.h */
    const struct value *assigned; /* JSON pointers to values that are other ones each time
                                     ("/data/at"); a reference; NULL: none are */
};
struct digest_shown digest_shown(const struct plan_change *change, struct digest_key key);
/* hex alone: with the values at these pointers as ones that are other ones each time. */
struct digest_shown digest_shown_like(const struct plan_change *change,
                                      const struct value *assigned, struct digest_key key);

/* What a digest needs of a change as it was planned, so that its objects can be freed. */
struct change_digest {
    struct digest_halves halves;
    /* JSON pointers to what is unknown of what is made: "/after/spec/replicas" is a field of the
     * object, "/attributes/spec/replicas" and "/extensions/region" are fields of what is wanted. A
     * reference; NULL: nothing is. */
    const struct value *unknown;
    bool is_cut; /* a value is past a bound of limits.h: there is no digest */
    struct digest_shown shown;
};
struct change_digest *change_digest_new(const struct plan_change *change, struct digest_key key);
void change_digest_free(struct change_digest *digest);
DEFINE_CLEANUP(struct change_digest *, change_digest_free)

/* What the digest of a change is made of. Borrowed. */
struct digest_parts {
    const char *id, *type;
    enum plan_action action;
    bool leaves;       /* it is of no resource of the Spec */
    bool create_first; /* of REPLACE */
    bool has_unknown;  /* plan_change.has_unknown */
    const struct digest_halves *halves;
    const struct value *unknown; /* JSON pointers; or NULL */
};
void digest_change(const struct digest_parts *parts, struct digest_key key,
                   char ret_hex[HASH_HEX_SIZE]);

/* JSON pointers, whatever is in them. NULL: none. */
void digest_add_pointers(struct hash *hash, const struct value *pointers);
