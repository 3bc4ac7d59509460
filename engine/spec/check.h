/*
 * Checks of a Spec, while it is parsed: how they report, and those that a type of resources brings.
 *
 * A check reports what it finds and goes on; none ends the parsing. What holds for resources of
 * every type (ids, dependsOn, references) is checked in this folder. What only one type knows (that
 * an id fits the attributes, say) is checked by that type's spec_checks, which its runtime brings.
 */
#ifndef ENGINE_SPEC_CHECK_H
#define ENGINE_SPEC_CHECK_H

#include "engine/spec/place.h"
#include "engine/spec/spec.h"

/* The reasons of problems. */
#define INVALID_SPEC      "InvalidSpec"
#define CYCLIC_DEPENDENCY "CyclicDependency"
#define UNSUPPORTED       "Unsupported"

struct check {
    const struct spec *spec;   /* its head and all ids are read before the first resource is checked */
    struct problems *problems; /* NULL: nothing is reported */
    const char *id;            /* of the resource at hand; NULL: none, or it has no good one */
    struct arena scratch;      /* lives as long as the parsing */
};

/*
 * What one type's resources are checked by: pure functions of one thread, without any I/O. Those of
 * one Spec share a state.
 */
struct spec_checks {
    /* Before the first resource. arg: the type's. Returns the state. */
    void *(*begin)(void *arg, struct check *check);

    /* Each resource of the type, in the Spec's order: resources[index], at that place. */
    void (*resource)(void *state, struct check *check, size_t index, const struct place *place);

    /* A reference of any resource to a field of one of this type: its id and attributes may be
     * wrong or missing. place: the reference's. May be NULL. */
    void (*reference)(void *state, struct check *check, const struct resource *target,
                      const char *path, const struct place *place);

    /* After the last resource: what can be told of all of them together. Frees the state. */
    void (*end)(void *state, struct check *check);
};

/* A problem of the resource at hand. place NULL: no field of it. */
void check_problem(struct check *check, const char *reason, const struct place *place,
                   const char *format, ...) PRINTF_LIKE(4, 5);

/* Absent is NULL or null, as for the API server. */
bool check_is_absent(const struct value *value);

/* A string that is not empty and holds no NUL; else it is reported, and NULL. */
const char *check_text(struct check *check, const struct value *value, const struct place *place);

#endif
