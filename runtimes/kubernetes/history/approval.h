/*
 * What an object of the API tells of a field by its managedFields: who wrote it, and when. Of the
 * approval of a plan, which is the digest that a person wrote into a field, it tells both, and
 * what `approvedBy` and `approvedUnseen` beside it say.
 */
#pragma once

#include "engine/release/history.h"
#include "engine/value/value.h"

/* path: names of members from the object to the field; NULL ends it. *ret is overwritten; the
 * caller owns its strings (release_approval_done()). They are NULL if the field is no string. */
void kube_approval_read(const struct value *object, const char *const *path,
                        struct release_approval *ret);

/* Of a Release: spec.rejected, and the reason beside it; the caller owns it
 * (release_rejection_done()). */
void kube_rejection_read(const struct value *object, struct release_rejection *ret);

/* When a manager that owns the field, or fields in it, wrote last: RFC 3339, of whole seconds;
 * borrowed. NULL: not known. */
const char *kube_field_time(const struct value *object, const char *const *path);
