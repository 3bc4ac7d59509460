/*
 * The approval of a plan in an object of the API: the digest that a person wrote into a field, and
 * which field manager wrote it when, by the object's managedFields.
 */
#ifndef RUNTIMES_KUBERNETES_APPROVAL_H
#define RUNTIMES_KUBERNETES_APPROVAL_H

#include "engine/base/value.h"
#include "engine/release/history.h"

/* path: names of members from the object to the field; NULL ends it. *ret is overwritten; the
 * caller owns its strings (release_approval_done()). They are NULL if the field is no string. */
void kube_approval_read(const struct value *object, const char *const *path,
                        struct release_approval *ret);

#endif
