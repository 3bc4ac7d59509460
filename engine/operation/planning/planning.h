/*
 * Planning: from a Spec and State to a plan.
 *
 *   relate.c         the list of changes, and the edges among them
 *   rename.c         resources that got another id
 *   planning.c       a visit of the planning walk;  plan_one.c: one change
 *   target.c         the targets of runtime calls (target.h)
 *   doubt.c          objects of which State does not tell whether they are there (doubt.h)
 *   resolve.c        the values of references;  outputs.c: the part of a live object that they take
 *   read_only.c      objects that are only read
 *   conclude_plan.c  what depends on the whole plan: the order of its steps
 *   approved.c       compares it with the approved plan
 *
 * Carrying out plans single changes anew, by plan_one.c.
 */
#pragma once

#include "engine/operation/private.h"
#include "engine/operation/session.h"

/* ---- relate.c: before planning ---- */

/* Makes the plan's changes and the nodes: for the Spec's resources, then for the records that
 * leave. */
void operation_list_changes(struct operation *operation);
/* The Spec's resource that a record belongs to; NULL: the record leaves. */
const struct resource *operation_resource_of(const struct operation *operation,
                                             const struct record *record);
/* Lists the edges: dependencies of the Spec and of the records, and what the runtimes relate. */
int operation_relate(struct operation *operation, struct error *error);

/* ---- rename.c: resources that got another id ---- */

/* Finds those that count. Before the changes are listed. */
void operation_list_moved(struct operation *operation);
/* The id that State has of the resource; NULL: its own, or none. */
const char *operation_moved_from(const struct operation *operation,
                                 const struct resource *resource);
/* ERR_INVALID MoveFailed: the record is of another type. */
int operation_check_moved(const struct plan_change *change, struct error *error);
/* Gives the change's record the new id, with which it is planned. */
void operation_take_moved(struct operation *operation, struct plan_change *change);
/* Moves the records in State, before anything else is done: durable when it returns 0. */
int operation_move_records(struct operation *operation, struct error *error);

/* ---- planning.c ---- */

/* A look at all targets of one runtime. */
void operation_prefetch(struct operation *operation, struct binding *binding);
enum walk_verdict operation_plan_visit(struct operation *operation, struct walk_visit *visit);

/* ---- plan_one.c ---- */

/* One change as planned: what plan_change keeps of it. */
struct planned {
    enum plan_action action;
    bool create_first, cannot_create_first, has_unknown, is_only_read;
    struct runtime_step *step, *removal; /* owned */
    const struct value *secrets;         /* as plan_change.secrets */
    struct runtime_step *answer;         /* owned: that it has to be replaced, and why; or NULL */
};
void planned_done(struct planned *planned);

/* ms since 1970, before the object that a plan goes by was looked for: now, or when its hint was
 * made, which may be long ago if the visit had to wait. */
int64_t operation_asked_at(const struct node *node, bool is_due);

/* Plans one change with what is known now. prior: what State has of the resource, or NULL. is_due:
 * everything that it depends on is applied. */
int operation_plan_one(struct node *node, const struct record *prior, bool is_due,
                       struct planned *ret, struct error *error);
/* Plans only the deletion of the old object of a replacement: ret->removal. */
int operation_plan_removal(struct node *node, const struct record *old, struct planned *ret,
                           struct error *error);

/* ---- resolve.c ---- */

/* A resource's attributes or extensions with values for its references. kept: a member in which
 * references to secrets stay; or NULL. is_due: all that they refer to is applied, so that nothing
 * is unknown. A reference; NULL stays NULL. */
int operation_resolve(struct operation *operation, const struct value *value, const char *kept,
                      bool is_due, const struct value **ret, struct error *error);

/* ---- outputs.c ---- */

/* A value that references take from a node's object: one for all references of the same text. */
struct output {
    struct node *node;
    const char *path; /* "": the whole object; borrowed from the Spec */
    struct output *next;
    const struct value *value; /* in node->seen. Under the lock, and so are: */
    bool is_there;
    size_t reached; /* bytes of the path that were found */
};

/* Lists the outputs that the Spec's references take from each node. Before planning. */
void operation_list_outputs(struct operation *operation);
/* Sets the outputs that references to the node get. Values that were secret in what was sent are
 * marked. live: the whole object, of which nothing else is kept; NULL: it is not known any more. */
void operation_set_live(struct node *node, const struct value *live);
/* An output as it was seen last. */
struct seen {
    bool is_seen;              /* false: its object has not been seen */
    const struct value *value; /* a reference; NULL: the object does not have it */
    size_t reached;            /* bytes of its path that were found */
};
struct seen operation_seen(const struct output *output);

/* ---- read_only.c: objects that are only read ---- */

/* The change is planned: sets is_behind_change. What it depends on was planned before. */
void operation_note_planned(struct node *node);
/* Whether a resource that this one depends on directly, or that one of its explicit dependencies
 * depends on, is still to be changed. */
bool operation_is_too_early(const struct node *node);
/* ERR_INVALID: under this id, State has an object that is ours. */
int operation_check_reading(const struct record *record, struct error *error);

/* ---- conclude_plan.c ---- */

/* When all changes are planned: checks the approved plan, and makes the steps. */
int operation_conclude_plan(struct operation *operation, struct error *error);
/* ---- deletions.c ---- */

/* ERR_CONFLICT DeletionGuardTripped: the plan would delete more than the Spec's `maxDeletions`. */
int operation_guard_deletions(const struct operation *operation, struct error *error);

/* ERR_CONFLICT DeletionGuardTripped: it leaves, and a resource of the Spec would go with it. */
int operation_guard_content(const struct node *node, struct error *error);

/* ---- approved.c: nothing, where no approval is needed ---- */

/* Before the steps are made: leaves out what the approved plan does not cover, and takes over the
 * order of its replacements. */
void operation_take_approved(struct operation *operation);
/* With the steps: everything that would be done is what was approved. ERR_CONFLICT PlanStale. */
int operation_check_approved(struct operation *operation, struct error *error);
