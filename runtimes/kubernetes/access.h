/*
 * What carries the rights of the account that a Spec acts as: the ServiceAccount itself, the
 * bindings that name it, and the roles of these. An operation that removes them with that account's
 * rights does so last: after that it may have no rights any more.
 */
#ifndef RUNTIMES_KUBERNETES_ACCESS_H
#define RUNTIMES_KUBERNETES_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/value.h"

/* A ServiceAccount. Objects without a namespace count as of its own, as everywhere. */
struct access_account {
    const char *namespace_name, *name; /* name NULL: none */
};

/*
 * Which of n objects these are, in the order in which they go: the account, which needs no rights
 * to be acted as; bindings; roles. (A binding that is left gives away rights, a role does not.)
 * attributes: each may be NULL. ret_nodes: room for n. Returns how many.
 */
size_t access_find(const struct value *const *attributes, size_t n,
                   const struct access_account *account, uint32_t *ret_nodes);

#endif
