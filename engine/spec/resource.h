/*
 * A resource: one entry of a Spec's or a State's list, in Kusion's shape
 * {id, type, attributes, dependsOn, extensions}.
 *
 * It borrows everything from the document that it was read from.
 */
#ifndef ENGINE_SPEC_RESOURCE_H
#define ENGINE_SPEC_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/value.h"

#define RESOURCE_KUBERNETES "Kubernetes"
#define RESOURCE_TERRAFORM "Terraform"

/* Of a Kubernetes resource's attributes; NULL where they have none. */
struct object_ref {
    const char *api_version, *kind, *namespace_name, *name;
};

struct resource {
    const char *id;
    const char *type;
    struct object_ref object;       /* of type Kubernetes, once spec_parse() has checked it */
    const struct value *attributes; /* an object */
    const struct value *extensions; /* an object, or NULL */
    const char *const *depends_on;  /* ids, in the order written */
    size_t n_depends_on;
};

struct object_ref object_ref_of(const struct value *attributes);

/* "apiVersion:Kind[:namespace]:name", in the arena. */
const char *object_ref_id(struct arena *arena, const struct object_ref *ref);

/* "apps" of "apps/v1", "" of "v1"; length in *ret_length, not terminated. */
const char *api_group(const char *api_version, size_t *ret_length);
bool api_group_is(const char *api_version, const char *group);

/* Reads one entry (which must be well formed: spec_parse() checks that). */
struct resource resource_of(struct arena *arena, const struct value *entry);

#endif
