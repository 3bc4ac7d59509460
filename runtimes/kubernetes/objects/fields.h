/*
 * Sets of fields, in the form of fieldsV1 of an object's managedFields.
 *
 * A set is a tree of objects. The key of each member is one step from a field to what is in it:
 *
 *   "f:replicas"          the member of that name
 *   "k:{\"name\":\"web\"}"    the item of a list whose key fields have these values
 *   "v:\"example.com/a\""   the item of a list (a set) that is this value
 *   "i:3"                 the item at this position
 *   "."                   not a step: the field that has this member belongs to the set itself
 *
 * A leaf {} is a field of the set, with all that is in it. The root {} is the empty set.
 *
 * Pure functions. They accept NULL and values of any form: what is no step is no field.
 */
#pragma once

#include "engine/value/value.h"

/* The set has the field at this path, or fields in it. path: names of members from the root on;
 * NULL ends it. */
bool fields_has(const struct value *set, const char *const *path);

/* A key's part after "f:" and the like, for that letter. NULL: the key is not such a step. */
const char *fields_step(const char *key, size_t length, char type, size_t *ret_length);
/* The set of what is in an object's member. NULL: the set has nothing of it. */
const struct value *fields_member(const struct value *set, const char *name, size_t length);

/* Whether `theirs` has a field of `own` that `now` does not have: it was taken from us. */
bool fields_were_taken(const struct value *own, const struct value *now,
                       const struct value *theirs);

/* All fields of both. A reference; NULL: more than one document holds (limits.h). */
const struct value *fields_union(const struct value *a, const struct value *b);

/*
 * The object without the fields that are given up and not kept. What is in such a field goes with
 * it, kept or not, if the field is an item of a list: others that keep a field in an item do not
 * keep the item. So the API server prunes an object whose manager gives up fields; here as in its
 * answer, a list or an object that loses all it has is gone. A reference; NULL: more than one
 * document holds.
 */
const struct value *fields_prune(const struct value *object, const struct value *given_up,
                                 const struct value *kept);
