/*
 * The name of a Kubernetes object, and its id in a Spec: "apiVersion:Kind[:namespace]:name".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/value/value.h"

/* Borrowed from the attributes; a missing field is NULL. */
struct object_ref {
    const char *api_version, *kind, *namespace_name, *name;
};

struct object_ref object_ref_of(const struct value *attributes);

/* In the arena. */
const char *object_ref_id(struct arena *arena, const struct object_ref *ref);

/* True if the object is of this kind and group, in any version; "": the core group. */
bool object_ref_is(const struct object_ref *ref, const char *group, const char *kind);
bool object_ref_is_namespace(const struct object_ref *ref);
bool object_ref_is_definition(const struct object_ref *ref); /* a CustomResourceDefinition */

/* The group of an apiVersion: "apps" for "apps/v1", "" for "v1". Not NUL-terminated; the length is
 * in *ret_length. */
const char *api_group(const char *api_version, size_t *ret_length);
bool api_group_is(const char *api_version, const char *group);
