/*
 * Finds the RBAC objects that give a Spec's service account its rights: the ServiceAccount itself,
 * the bindings that name it, and their roles. An operation that acts as that account deletes these
 * objects last, because it may have no rights afterwards.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/value/value.h"

/* The service account in a scope's identity, borrowed; NULL: none. */
const char *kube_service_account(const struct value *identity);

/* A ServiceAccount. An object without a namespace counts as in the account's namespace. */
struct access_account {
    const char *namespace_name, *name; /* name NULL: no account */
};

/*
 * Finds these objects among n, in the order of their deletion: the account (acting as it needs no
 * ServiceAccount object), then the bindings, then the roles. A remaining binding gives away rights,
 * a remaining role does not. attributes: each may be NULL. ret_nodes: room for n. Returns how many
 * were found.
 */
size_t access_find(const struct value *const *attributes, size_t n,
                   const struct access_account *account, uint32_t *ret_nodes);
