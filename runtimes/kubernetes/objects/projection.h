/*
 * The projection of an object: the part of it that a plan is about. These are the fields that our
 * manager has, takes, or gives up. A plan's diff shows them, and its digest is made of them.
 *
 * Fields of others, and values that the API server sets by itself, are not part of it: the status,
 * defaults, addresses, a container that a webhook adds. So they can change without changing the
 * plan. Where a change of ours takes something of others away, that is part of the projection: a
 * field that we give up may be an object or an item of a list in which others have fields, and goes
 * with all that is in it.
 *
 * Fields of the projection are shown whole:
 *   - an atomic list or object, with the defaults that the server sets in it;
 *   - a field that gets its default because we give it up;
 *   - of an item of a list, also the fields that tell it from others (protocol: TCP);
 *   - the order of our items, but not where items of others are between them.
 * Three kinds are left out if they do not change: what we give up; what we send as {}, [] or null,
 * because what is in there is others'; and objects and lists of which nothing else is left.
 *
 * `fields` are sets in the form of fieldsV1 (fields.h). Objects are without managedFields, status
 * and metadata that only the server sets. Sensitive values stay so. Pure functions; time is linear
 * in the objects, but for lists with more than MAX_GUESSED items.
 */
#pragma once

#include "engine/value/value.h"

/* An object before and after an apply. NULL: there is none, or nothing of it. */
struct projection {
    const struct value *before, *after; /* references, if it was made here */
};
void projection_done(struct projection *projection);

/* What an apply is known by. Borrowed. */
struct projection_input {
    const struct value *live;  /* NULL: it is created */
    const struct value *after; /* by a dry-run of the apply */
    const struct value *own;   /* the fields of our manager's entry in that dry-run's answer */
    const struct value *was;   /* those of its entry in the live object, and of the entries that it
                                  takes over; NULL: none */
    const struct value *sent;  /* the object that was sent */
};
void projection_of(const struct projection_input *input, struct projection *ret);

/*
 * The same without a dry-run, because values of `sent` are unknown: for people. What the live
 * object has as it is wanted is shown as it is there; other fields are shown as they are sent.
 */
void projection_expect(const struct value *live, const struct value *was, const struct value *sent,
                       struct projection *ret);

/* What the live object has of these fields. A reference; NULL: nothing. */
const struct value *projection_part(const struct value *live, const struct value *fields);
