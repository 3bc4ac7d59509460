/*
 * A Spec, parsed and checked, ready to be planned.
 *
 * spec_parse() reads the whole custom resource (metadata, spec) and reports all problems at once. A
 * Spec with any problem is refused as a whole. Checks: ids are unique, types are known, dependsOn
 * names known ids other than the resource's own, references name known ids, and each resource
 * passes the checks of its type (check.h). What this version does not have (a runtime, a provider
 * of secrets, a health check in KCL or CEL) is a problem with reason Unsupported; no field is
 * silently ignored.
 *
 * Immutable after parsing. Defaults (api.md) are applied here and not by the API's schema, so
 * GitOps tools see no drift.
 */
#pragma once

#include <stdint.h>

#include "engine/base/limits.h"
#include "engine/base/strmap.h"
#include "engine/spec/object_policy.h"
#include "engine/spec/problem.h"
#include "engine/spec/resource.h"

enum deletion_policy {
    DELETION_MIRROR_PRUNE, /* delete if `prune` is true */
    DELETION_DELETE,
    DELETION_WAIT_FOR_TERMINATION,
    DELETION_ORPHAN,
};

enum drift_mode {
    DRIFT_ENABLED,  /* corrected */
    DRIFT_WARN,     /* told */
    DRIFT_DISABLED, /* not looked for */
};

struct spec_policy {
    bool suspend;                  /* false */
    bool prune;                    /* true */
    bool wait;                     /* true */
    bool force;                    /* false */
    bool needs_approval;           /* false: approval.mode is Automatic */
    enum deletion_policy deletion; /* DELETION_MIRROR_PRUNE */
    enum drift_mode drift;         /* DRIFT_ENABLED */
    int64_t interval;              /* ms: 10 m */
    int64_t retry_interval;        /* ms: 30 s */
    int64_t timeout;               /* ms: 5 m */
    int64_t history_limit;         /* Releases that are kept: 10 */
    bool rolls_back;               /* false: remediation.strategy is none */
    int64_t retries;               /* of a failed operation before that: 0; -1: without an end */
    int64_t max_deletions;         /* of an apply; -1: without a bound */
    const char *service_account;   /* NULL: not set */
    struct object_policy objects;  /* its values are borrowed */
};

/* Another Spec that a Spec waits for: an entry of `dependsOn`. Borrowed from the custom resource.
 */
struct spec_awaited {
    const char *namespace_name, *name;
};

/* An object that the Spec does not own: it has to be healthy, too, when everything is applied. */
struct spec_health_check {
    const char *id;                 /* "apiVersion:Kind[:namespace]:name", for messages */
    const struct value *attributes; /* what names it; owned */
};
#define SPEC_HEALTH_CHECK_TYPE "Kubernetes" /* the type of all of them */

struct spec {
    const struct value *source; /* the custom resource */
    size_t shared_memory; /* bytes of other documents, which the source shares; set by who knows */
    struct arena arena;

    const char *namespace_name, *name, *uid;
    int64_t generation;
    const char *project, *stack, *workspace;
    struct spec_policy policy;
    struct spec_awaited *awaited;
    size_t n_awaited;
    bool has_secret_store; /* `secretStore` names a provider, or need not */

    struct resource *resources; /* in the order written */
    size_t n_resources;
    struct spec_health_check *health_checks; /* in the order written */
    size_t n_health_checks;
    struct strmap by_id; /* id -> struct resource * */
    struct strmap moved; /* the ids before (moved.h) -> struct resource * */
    /* The dependencies of each resource, as indices: from dependsOn and from references, without
     * duplicates. */
    struct spec_dependencies {
        uint32_t *indices;
        size_t count;
    } * dependencies;
};

/* A type of resources that has a runtime. */
struct spec_type {
    const char *name;                 /* "Kubernetes" */
    const struct spec_checks *checks; /* the type's own checks (check.h); NULL: none */
    void *arg;                        /* given to checks->begin() */
};

struct spec_options {
    const struct spec_type *types;
    size_t n_types;
    bool no_cross_namespace; /* a Spec may not name objects of another namespace */
    bool may_lack_store; /* references to secrets may be there without `secretStore`: of a Preview,
                            which has resources alone and looks nothing up */
    bool has_sources; /* the resources of `resourcesFrom` are among `resources`. False: they are not
                         known, and an unknown id may be one of theirs */
};

/* Takes a reference to object. Returns 0, or the error of problems_to_error() with all problems in
 * `problems`, which the caller initialises and owns. */
int spec_parse(const struct value *object, const struct spec_options *options, struct spec **ret,
               struct problems *problems, struct error *error);
void spec_free(struct spec *spec);
DEFINE_CLEANUP(struct spec *, spec_free)

/* Reads the policy alone, for the deletion of a Spec whose other fields may be broken. A field that
 * cannot be read gets the value that deletes less. service_account and the values of `objects` are
 * borrowed from object. */
void spec_policy_read(const struct value *object, struct spec_policy *ret);

/* Reads `dependsOn` alone, of a Spec whose other fields may be broken. Entries that are wrong, and
 * what is refused, are left out. Returns how many there are. */
size_t spec_awaited_read(const struct value *object, bool no_cross_namespace,
                         struct spec_awaited ret[LIMIT_AWAITED]);

size_t spec_index(const struct spec *spec, const struct resource *resource);
