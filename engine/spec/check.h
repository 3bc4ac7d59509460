/*
 * Checks of a Spec during parsing: how a check reports problems, and the checks that a type of
 * resources adds.
 *
 * A check reports each problem and goes on; no check ends the parsing. The files of this folder
 * check the rules for resources of every type (ids, dependsOn, references). The runtime of a type
 * provides spec_checks for the rules of its own type, such as that an id fits the attributes.
 */
#pragma once

#include "engine/spec/place.h"
#include "engine/spec/spec.h"

/* Reasons of problems. */
#define INVALID_SPEC      "InvalidSpec"
#define CYCLIC_DEPENDENCY "CyclicDependency"
#define UNSUPPORTED       "Unsupported"

struct check {
    const struct spec *spec;   /* the head and all ids are read before the first resource is checked
                                */
    struct problems *problems; /* NULL: problems are not reported */
    const char *id;            /* id of the resource that is being checked; NULL: none, or its id is
                                  not valid */
    struct arena scratch;      /* scratch memory until the end of parsing */
};

/*
 * The checks of one type of resources: pure functions without I/O, called by one thread. The checks
 * of one Spec share a state.
 */
struct spec_checks {
    /* Called before the first resource. arg: spec_type.arg. Returns the state. NULL: that is arg.
     */
    void *(*begin)(void *arg, struct check *check);

    /* Called for each resource of the type, in the Spec's order: resources[index], at that place.
     * */
    void (*resource)(void *state, struct check *check, size_t index, const struct place *place);

    /* May be NULL. Called for each reference to a resource of this type, whose id and attributes
     * may be wrong or missing. place: where the reference stands. */
    void (*reference)(void *state, struct check *check, const struct resource *target,
                      const char *path, const struct place *place);

    /* Called after the last resource, for checks of all resources together. Frees the state. May be
     * NULL. */
    void (*end)(void *state, struct check *check);
};

/* Reports a problem of the current resource. place NULL: it concerns no single field. */
void check_problem(struct check *check, const char *reason, const struct place *place,
                   const char *format, ...) PRINTF_LIKE(4, 5);

/* True for NULL and for JSON null, as in the API server. */
bool check_is_absent(const struct value *value);

/* Returns the string if it is not empty and contains no NUL; otherwise reports a problem and
 * returns NULL. */
const char *check_text(struct check *check, const struct value *value, const struct place *place);
