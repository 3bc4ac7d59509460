/*
 * The calls of the protocol for one resource.
 *
 * States and configurations are the msgpack of the protocol. What a provider gave is handed back to
 * it byte by byte: its private data, its planned state, and the state that it read. In a planned
 * state, sets are put in order, and changes that lifecycle.h ignores are taken back, as Terraform
 * does.
 *
 * Each function blocks. Errors are those of plugin_call(), and ERR_INVALID ProviderError for what
 * the provider says.
 */
#pragma once

#include "runtimes/terraform/plugin/diagnostics.h"
#include "runtimes/terraform/pool.h"

/* Everything of a call that is the same for all calls of one visit. Borrowed. */
struct resource_type {
    struct instance *instance;
    const char *name; /* "random_password" */
    const struct tf_schema *schema;
    const struct plugin_call *call;
    struct warnings *warnings; /* of the calls so far; NULL: they are dropped */
};

/* A state, and what the provider keeps beside it. What it gave is handed back to it. */
struct tf_state {
    struct buf value; /* null if there is no such object */
    struct buf private;
    struct buf identity; /* an IdentityData (memory.c); empty: there is none */
};
#define TF_STATE_INIT                                                \
    {                                                                \
        .value = BUF_INIT, .private = BUF_INIT, .identity = BUF_INIT \
    }
void tf_state_done(struct tf_state *state);
/* The state of an object that does not exist. */
void tf_state_set_null(struct tf_state *state);
bool tf_state_is_null(const struct tf_state *state);
void tf_state_copy(struct tf_state *to, const struct tf_state *from);

int resource_validate(const struct resource_type *type, const struct buf *config,
                      struct error *error);
/* json: as State has it, of that version of the schema. */
int resource_upgrade(const struct resource_type *type, int64_t version, const char *json,
                     struct buf *ret, struct error *error);
/* Of a type that the object had before, maybe of another provider. */
struct tf_origin {
    const char *provider; /* "registry.terraform.io/hashicorp/random" */
    const char *type;
    int64_t version;      /* of its schema */
    const char *json;     /* as State has it */
    const char *identity; /* likewise; NULL: there is none */
    int64_t identity_version;
};
/* state: has the private data of that type, and becomes that of the type. */
int resource_move(const struct resource_type *type, const struct tf_origin *origin,
                  struct tf_state *state, struct error *error);
/* state: becomes what was read. */
int resource_read(const struct resource_type *type, struct tf_state *state, struct error *error);

/* Of a data source; its name without DATA_PREFIX (data.h). */
int data_validate(const struct resource_type *type, const struct buf *config, struct error *error);
int data_read(const struct resource_type *type, const struct buf *config, struct buf *ret,
              struct error *error);

/* The object that has this id for the provider, as it is now. ERR_INVALID ImportFailed: there is
 * none, or objects of the type cannot be imported. Messages may have the id. */
int resource_import(const struct resource_type *type, const char *id, struct tf_state *ret,
                    struct error *error);

struct tf_plan {
    struct tf_state planned;
    Tfplugin__PlanResponse *answer; /* the rest of it */
};
#define TF_PLAN_INIT             \
    {                            \
        .planned = TF_STATE_INIT \
    }
void tf_plan_done(struct tf_plan *plan);

/* proposed and config NULL: the object is to be deleted. */
int resource_plan(const struct resource_type *type, const struct tf_state *prior,
                  const struct buf *proposed, const struct buf *config, struct tf_plan *ret,
                  struct error *error);

/* ret: what is there afterwards, also after an error that the provider told of (*ret_told).
 * config NULL: a deletion. */
int resource_apply(const struct resource_type *type, const struct buf *prior,
                   const struct tf_state *planned, const struct buf *config, struct tf_state *ret,
                   bool *ret_told, enum grpc_delivery *ret_delivery, struct error *error);
