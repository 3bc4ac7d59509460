/*
 * A Spec, parsed and checked: the intention of its user, ready to be planned.
 *
 * spec_parse() reads the whole custom resource (metadata, spec). It reports
 * every problem at once, and never acts on half of a Spec: ids are unique,
 * types are known, dependsOn names known ids and not itself, references name
 * known ids, and each resource is what its type's own checks (check.h) want.
 * Fields of the API that this version does not act on yet are problems of
 * reason Unsupported, so that none is silently ignored.
 *
 * Immutable after parsing. Defaults: api.md; they are applied here, not by the
 * schema, so that GitOps tools see no drift.
 */
#ifndef ENGINE_SPEC_SPEC_H
#define ENGINE_SPEC_SPEC_H

#include <stdint.h>

#include "engine/base/strmap.h"
#include "engine/spec/problem.h"
#include "engine/spec/resource.h"

enum deletion_policy {
    DELETION_MIRROR_PRUNE, /* as `prune` says */
    DELETION_DELETE,
    DELETION_WAIT_FOR_TERMINATION,
    DELETION_ORPHAN,
};

struct spec_policy {
    bool suspend;              /* false */
    bool prune;                /* true */
    bool wait;                 /* true */
    enum deletion_policy deletion; /* DELETION_MIRROR_PRUNE */
    int64_t interval;          /* ms: 10 m */
    int64_t retry_interval;    /* ms: 30 s */
    int64_t timeout;           /* ms: 5 m */
    const char *service_account; /* NULL: not named */
};

struct spec {
    const struct value *source; /* the custom resource */
    struct arena arena;

    const char *namespace_name, *name, *uid;
    int64_t generation;
    const char *project, *stack, *workspace;
    struct spec_policy policy;

    struct resource *resources; /* in the order written */
    size_t n_resources;
    struct strmap by_id; /* id -> struct resource * */
    /* For each resource: what it depends on, explicit and by reference, each once; indices. */
    struct spec_dependencies {
        uint32_t *indices;
        size_t count;
    } *dependencies;
};

/* A type of resources that there is a runtime for. */
struct spec_type {
    const char *name;                 /* "Kubernetes" */
    const struct spec_checks *checks; /* check.h: what only the type knows; NULL: nothing */
    void *arg;                        /* given to checks->begin() */
};

struct spec_options {
    const struct spec_type *types;
    size_t n_types;
};

/* object is referenced. Returns 0; or what problems_to_error() gives, with all problems in
 * `problems` (initialised by the caller, who keeps it). */
int spec_parse(const struct value *object, const struct spec_options *options, struct spec **ret,
               struct problems *problems, struct error *error);
void spec_free(struct spec *spec);
DEFINE_CLEANUP(struct spec *, spec_free)

/* The policy alone, as far as it can be read: for deletion, when the rest may be broken. What
 * is there and cannot be read counts as what deletes less. service_account is borrowed from
 * object. */
void spec_policy_read(const struct value *object, struct spec_policy *ret);

size_t spec_index(const struct spec *spec, const struct resource *resource);

#endif
