/*
 * A version of a provider: its program, and its schemas, which all its processes share.
 *
 * Schemas are read when they are first needed, because those of the largest providers have more
 * than 100 MB. Those of a small provider are all kept at once. Thread-safe.
 */
#pragma once

#include <pthread.h>

#include "engine/base/strmap.h"
#include "runtimes/terraform/finder_fetch.h"
#include "runtimes/terraform/plugin/diagnostics.h"
#include "runtimes/terraform/plugin/plugin.h"
#include "runtimes/terraform/schema/schema.h"
#include "runtimes/terraform/source.h"

#define TERRAFORM_VERSION "1.12.0" /* whose part we play */

/* Before the type of a data source, to tell it from a type of resources: "data.aws_ami". */
#define DATA_PREFIX "data."

struct identity_schema {
    int64_t version;
    const struct tf_type *type; /* an object */
};

struct provider {
    char *key;     /* provider_key() */
    char *address; /* "registry.terraform.io/hashicorp/random" */
    char *version;
    char *name; /* for messages: "hashicorp/random 3.7.2" */
    char *program;
    char *h1; /* of its package (package/hash.h) */

    unsigned users;       /* its processes, and who wait for one; kept by providers.h */
    int64_t unused_since; /* ms; likewise */

    pthread_mutex_t lock; /* of what follows */
    struct tf_schema *own; /* of its configuration; NULL: not known yet */
    struct strmap schemas; /* type, that of a data source with its prefix -> struct tf_schema */
    struct strmap identities; /* type -> struct identity_schema, in the arena */
    struct arena identity_arena;
    bool knows_identities;
    bool plans_destroy;
    bool moves; /* it may know how an object of another type becomes one of its own */
    bool schema_is_optional; /* a process can be called without asking for its schemas first */
};

/* A process in use. */
struct instance {
    struct provider *provider;
    struct plugin *plugin;
    struct warnings warnings; /* of its start and its configuration */
};

/* Tells one provider from another: free(). */
char *provider_key(const struct source *source, const struct found *found);
struct provider *provider_new(const struct source *source, const struct found *found);
void provider_free(struct provider *provider);

/* Asks a new process for its schemas, if it has to be asked, or they are not known. What it warns
 * of is added to `warnings`, here and below. */
int provider_greet(struct provider *provider, struct plugin *plugin, const struct plugin_call *call,
                   struct warnings *warnings, struct error *error);

/* Configures a process, once. configuration: what a Spec has as `providerMeta`, or NULL. Errors and
 * all warnings have no secrets of it. */
int provider_configure(struct provider *provider, struct plugin *plugin,
                       const struct value *configuration, const struct plugin_call *call,
                       struct warnings *warnings, struct error *error);

/* The schema of the configuration, after provider_greet(). *ret: a reference. */
struct tf_schema *provider_own_schema(struct provider *provider);
/* The schema of a type of resources, or of data sources, with its prefix. ERR_INVALID
 * UnknownResourceType. *ret: a reference. */
int provider_schema(struct provider *provider, struct plugin *plugin, const char *type,
                    const struct plugin_call *call, struct tf_schema **ret,
                    struct warnings *warnings, struct error *error);
bool provider_plans_destroy(struct provider *provider);
/* What identifies objects of a type; it lives as long as the provider. NULL: it does not say. */
const struct identity_schema *provider_identity(struct provider *provider, const char *type);
bool provider_moves(struct provider *provider);
