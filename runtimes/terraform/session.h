/*
 * The inside of the Terraform runtime: sessions, steps, and a visit to a resource.
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/terraform/memory.h"
#include "runtimes/terraform/referred.h"
#include "runtimes/terraform/source.h"

struct tf_runtime {
    struct runtime base; /* first */
    struct pool *pool;
};

struct runtime_session {
    struct tf_runtime *runtime;
    char *namespace_name;
    char *account;                   /* the ServiceAccount's name, or NULL */
    const struct value *environment; /* of providers (environment.h); or NULL */
    struct known *known;             /* which packages of providers may run */
    bool is_preview;                 /* need.h */
    bool is_thorough;                /* a person reads its plan */
    const struct value *existing;    /* takeover.h; or NULL */
    struct referred referred;
    struct error existing_error;     /* if its code is set, it is not known what there is */
};

/* What a resource with these extensions needs. */
struct need *session_need(const struct runtime_session *session, const struct source *source,
                          const struct value *extensions);

/* ---- Which provider, which type ---- */

/* Reads these of a resource; errors name the field. */
int target_source(const char *id, const struct value *extensions, struct source *ret,
                  struct error *error);
/* *ret: free(). */
int target_type(const char *id, const struct value *extensions, char **ret, struct error *error);

/* Both of a target. What is to go is what State has it as: it may have moved to another id. */
int target_kind(const struct runtime_target *target, struct source *ret_source, char **ret_type,
                struct error *error);

/* ---- A visit: one call of the engine for one resource ---- */

struct visit {
    struct pool *pool;
    struct need *need; /* borrowed */
    struct instance *instance;
    struct tf_schema *schema;
    struct plugin_call call;
    struct resource_type type;
    struct warnings warnings; /* of the provider, in the calls so far */
};

/* Takes a process and the schema. type: borrowed for the visit. visit_end() also after an error. */
int visit_begin(struct visit *visit, struct pool *pool, struct need *need, const char *type,
                const struct runtime_call *call, struct error *error);
void visit_end(struct visit *visit);

/* Adds what the provider warned of when it was configured: with a change, or in a plan that a
 * person reads. */
void visit_note_warnings(struct visit *visit, const struct runtime_session *session,
                         enum plan_action action);
/* The warnings, as a step or an outcome has them. hide: takes secrets out of each, as out of an
 * error. A reference; NULL: there are none. */
const struct value *visit_warnings(const struct visit *visit,
                                   void (*hide)(const void *arg, struct error *warning),
                                   const void *arg);

/* Of an error that is a defect of the provider: whose, and what to do. Of one about a program that
 * it may not start: why. */
void visit_blame(const struct visit *visit, struct error *error);

/* The state's value for people and references: marked by the schema, and like `like` (or NULL).
 * *ret: a reference; NULL: the object does not exist. */
int visit_decode(const struct visit *visit, const struct buf *state, const struct value *like,
                 const struct value **ret, struct error *error);
/* Fills the observation and the memory of an outcome. sensitive: of the memory (memory.h). */
int visit_observe(const struct visit *visit, const struct tf_state *state,
                  const struct value *like, const struct value *sensitive,
                  struct runtime_outcome *ret, struct error *error);

/* ---- Steps ---- */

struct tf_step {
    struct runtime_step base; /* first */
    struct pool *pool;
    struct need *need;
    char *provider;      /* provider_key() of the one that planned it, and so is to carry it out */
    char *provider_name; /* for messages */
    char *type;
    const struct value *sensitive; /* of the memory (memory.h); or NULL */
    struct buf prior;        /* null: the object is created */
    struct buf config;       /* empty: the object is deleted */
    struct tf_state planned; /* as the provider gave it */
    bool is_legacy;          /* it is not checked if the result is what was planned */
    bool is_as_wanted;       /* an ADOPT that changes nothing: planned is the object */
};

extern const struct runtime_ops tf_runtime_ops;

/* A step for the target, with nothing planned yet, and without its need and type. */
struct tf_step *tf_step_new(struct runtime_session *session, const struct runtime_target *target);
int tf_plan(struct runtime_session *session, const struct runtime_target *target,
            const struct observation *hint, const struct runtime_call *call,
            struct runtime_step **ret, struct error *error);
void tf_step_free(struct runtime_step *step);
int tf_apply(struct runtime_step *step, const struct runtime_call *call,
             struct runtime_outcome *ret, struct error *error);
int tf_read(struct runtime_session *session, const struct runtime_target *target,
            const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);

/* The checks of a Spec's Terraform resources; their arg is the runtime. */
extern const struct spec_checks tf_checks;
