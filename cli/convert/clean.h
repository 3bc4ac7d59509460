/*
 * An object as a person would have written it.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/strmap.h"
#include "engine/value/value.h"

/* The object without what a server, or a client for itself, has put there: status, uid,
 * managedFields, kubectl's last-applied-configuration, and the `creationTimestamp: null` that Go
 * writes into templates. object: with an object as metadata. A reference. */
const struct value *clean_object(const struct value *object);

/* Whether a kind is namespaced. */
enum scope { SCOPE_UNKNOWN, SCOPE_CLUSTER, SCOPE_NAMESPACED };

/* known: "group\x1fKind" -> any value whose `spec.scope` says it, from CustomResourceDefinitions.
 */
enum scope clean_scope(const char *api_version, const char *kind, const struct strmap *known);
