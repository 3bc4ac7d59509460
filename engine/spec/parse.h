/* A Spec in the making. For this folder alone. */
#ifndef ENGINE_SPEC_PARSE_H
#define ENGINE_SPEC_PARSE_H

#include "engine/spec/check.h"

/* An entry's members, wherever they stand in it; NULL: absent. */
struct entry {
    const struct value *id, *type, *attributes, *depends_on, *extensions;
};

struct parse {
    struct check check; /* of the Spec below */
    struct spec *spec;
    const struct spec_options *options;
    void **states; /* of each type's checks */

    struct entry *entries; /* by index */
    uint32_t *taken;       /* by index: 1 + the last resource that was found to depend on it */
    uint32_t *found;       /* indices of what the resource at hand depends on */
    size_t n_found, capacity;
};

struct entry entry_of(const struct value *value);
struct resource entry_resource(struct arena *arena, const struct entry *entry);

/* Where the type is among those of the options; n_types: nowhere, or it has no checks. */
size_t parse_checked_type(const struct parse *parse, const char *type);

/* policy.c: those fields of a Spec's spec that say how, with their defaults. */
void check_policy(struct check *check, const struct value *fields, struct spec_policy *ret);
/* unsupported.c: fields that a later version will act on. */
void check_unsupported(struct check *check, const struct value *fields);
/* dependencies.c: of one resource, when all ids are known. Fills spec->dependencies[index]. */
void parse_dependencies(struct parse *parse, size_t index, const struct place *place);

#endif
