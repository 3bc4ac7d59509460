/* The state of parsing a Spec. For this folder alone. */
#pragma once

#include "engine/spec/check.h"

/* The members of an entry of `resources`, in any order; NULL: absent. */
struct entry {
    const struct value *id, *type, *attributes, *depends_on, *extensions;
};

struct parse {
    struct check check; /* check.spec is the Spec below */
    struct spec *spec;
    const struct spec_options *options;
    bool is_partial; /* there are resources that are not known */
    void **states;   /* one state for each type's checks */

    struct entry *entries; /* by resource index */
    uint32_t *taken;       /* by index: 1 + the last resource that is known to depend on this one */
    uint32_t *found;       /* indices of the dependencies of the current resource */
    size_t n_found, capacity;
    unsigned n_compared; /* unknown ids that were compared with those that there are */
    size_t place_bytes;  /* of the paths of references so far: LIMIT_PLACE_BYTES */
};

struct entry entry_of(const struct value *value);
struct resource entry_resource(struct arena *arena, const struct entry *entry);

/* The type's index in the options; n_types: unknown, or without checks. */
size_t parse_checked_type(const struct parse *parse, const char *type);

/* check.c: the index of a text among the names, which NULL ends. absent, unreadable: in place of
 * it; what cannot be read is a problem. */
size_t check_choice(struct check *check, const struct value *value, const struct place *place,
                    const char *const *names, size_t absent, size_t unreadable);

/* policy.c: reads the fields of spec.spec other than the resources, with their defaults. */
void check_policy(struct check *check, const struct value *fields, struct spec_policy *ret);
/* object_policy.c */
void check_object_policy(struct check *check, const struct value *fields,
                         struct object_policy *ret);
/* awaited.c: reads `dependsOn` into ret, whose own name is known. no_cross_namespace: as in
 * spec_options. */
void check_awaited(struct check *check, const struct value *fields, bool no_cross_namespace,
                   struct spec *ret);
/* secret_store.c: checks `secretStore`. True: it names a provider, right or wrong. */
bool check_secret_store(struct check *check, const struct value *store);
/* dependencies.c: reads the dependencies of one resource, when all ids are known. Fills
 * spec->dependencies[index]. */
void parse_dependencies(struct parse *parse, size_t index, const struct place *place);

/* health_checks.c: reads the objects of `healthChecks`. */
void parse_health_checks(struct parse *parse, const struct value *fields);
/* Says of Flux's `healthCheckExprs` what to write in its place. */
void parse_health_check_exprs(struct parse *parse, const struct value *fields);

/* moved.c: checks the id that a resource had before. */
void parse_moved(struct parse *parse, size_t index, const struct place *place);

/* ref.c: the text of a reference, terminated. value: a string for which ref_is() is true.
 * ERR_INVALID InvalidReference: it contains a NUL. */
int ref_text(const struct value *value, const char **ret, struct error *error);
