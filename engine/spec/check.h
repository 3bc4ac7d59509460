/*
 * A Spec in the making, with what its checks share. Each check reports what
 * it finds and goes on; none ends the parsing. For this folder alone.
 */
#ifndef ENGINE_SPEC_CHECK_H
#define ENGINE_SPEC_CHECK_H

#include "engine/spec/place.h"
#include "engine/spec/spec.h"

#define INVALID_SPEC      "InvalidSpec"
#define CYCLIC_DEPENDENCY "CyclicDependency"
#define UNSUPPORTED       "Unsupported"

/* An entry's members, wherever they stand in it; NULL: absent. */
struct entry {
    const struct value *id, *type, *attributes, *depends_on, *extensions;
};

struct check {
    struct spec *spec;
    const struct spec_options *options;
    struct problems *problems; /* NULL: nothing is reported */

    const char *id; /* of the resource at hand; NULL: none, or it has no good one */
    struct arena scratch;

    struct strmap versions;                         /* kind -> its first apiVersion */
    bool several_versions;                          /* some kind has more */
    bool namespace_left_out, own_namespace_written; /* in ids, where the object goes there */

    struct entry *entries; /* by index */
    uint32_t *taken;       /* by index: 1 + the last resource that was found to depend on it */
    uint32_t *found;       /* indices of what the resource at hand depends on */
    size_t n_found, capacity;
};

void check_done(struct check *check);

/* A problem of the resource at hand. place NULL: no field of it. */
void check_problem(struct check *check, const char *reason, const struct place *place,
                   const char *format, ...) PRINTF_LIKE(4, 5);

/* Absent is NULL or null, as for the API server. */
bool check_is_absent(const struct value *value);

struct entry entry_of(const struct value *value);
struct resource entry_resource(struct arena *arena, const struct entry *entry);

/* A string that is not empty and holds no NUL; else it is reported, and NULL. */
const char *check_text(struct check *check, const struct value *value, const struct place *place);

/* policy.c: those fields of a Spec's spec that say how, with their defaults. */
void check_policy(struct check *check, const struct value *fields, struct spec_policy *ret);
/* unsupported.c: fields that a later version will act on. */
void check_unsupported(struct check *check, const struct value *fields);
/* kubernetes.c: one Kubernetes resource, at resources[index]. */
void check_kubernetes(struct check *check, struct resource *resource, const struct place *place);
/* After these of all resources: no two name the same object. */
void check_objects_differ(struct check *check);
/* dependencies.c: of one resource, when all ids are known. Fills spec->dependencies[index]. */
void check_dependencies(struct check *check, size_t index, const struct place *place);

#endif
