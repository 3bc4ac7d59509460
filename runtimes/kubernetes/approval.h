/*
 * The approval of a plan in an object of the API: the digest that a person wrote into a field, and
 * which field manager wrote it when, by the object's managedFields.
 */
#ifndef RUNTIMES_KUBERNETES_APPROVAL_H
#define RUNTIMES_KUBERNETES_APPROVAL_H

#include "engine/base/value.h"
#include "engine/release/history.h"

/* path: the field, from the object on; NULL ends it. *ret: owned strings. */
void kube_approval_read(const struct value *object, const char *const *path,
                        struct release_approval *ret);

#endif
