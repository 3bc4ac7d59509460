/*
 * Releases, from their beginning through their phases to their end: what is said of them. Where
 * they are kept is the history's affair (engine/release/history.h), except for those that a person
 * made: these are objects of the API, as Specs are.
 *
 * Every function accepts a NULL release and does nothing then: in a namespace
 * that is being deleted an operation has none.
 */
#pragma once

#include "controller/reconcile/records/context.h"
#include "controller/reconcile/status/outcome.h"
#include "engine/release/history.h"

/* Whose release: what is known of the Spec, whether or not it can be parsed. */
struct release_subject {
    struct spec_key key;
    const char *uid; /* of the Spec; NULL: not known */
    int64_t generation;
    const char *project, *stack, *workspace; /* NULL: not known */
    const char *spec_digest;       /* of what is applied (recorded.h); NULL: nothing is recorded */
    const struct value *resources; /* what is applied, if the Release is to have it; borrowed */
    const struct value *sources;   /* of what is applied, as the Release records them
                                      (spec_spec_source.h);   borrowed. NULL: it has none */
    int64_t to_revision;           /* of a Rollback; 0: it is none */
};

struct release {
    char *name;
    int64_t revision;   /* 0: a person made it */
    int64_t generation; /* of the Spec; 0: a person made it */
    enum release_operation operation;
    enum release_phase phase;
    int64_t own_generation;              /* of the Release, which an approval raises */
    struct release_approval approval;    /* in the Release itself */
    struct release_rejection rejection;  /* likewise */
    const struct value *status;          /* as last written */
    char *version;                       /* in the history; NULL: a person made it */
    char *spec_uid;                      /* of the Spec it was made for; NULL: not known */
    char *spec_digest;                   /* of what it applies; NULL: nothing was recorded */
    const struct value *resources;       /* what it applies; NULL: it does not have it itself */
    const struct value *metadata, *spec; /* of one that a person made: as last written */
};

/* One that a person made; NULL: the object has no name. */
struct release *release_of(const struct value *object);
void release_free(struct release *release);
DEFINE_CLEANUP(struct release *, release_free)

/* The Spec's Release of that revision in the history, or NULL. */
int releases_load(const struct reconcile_context *context, const struct release_subject *subject,
                  int64_t revision, struct cancel *cancel, struct release **ret,
                  struct error *error);
/* The newest, or NULL. */
int releases_latest(const struct reconcile_context *context, const struct release_subject *subject,
                    struct cancel *cancel, struct release **ret, struct error *error);

/* Revisions of a Spec, newest first, and the documents that record what they apply (recorded.h). */
struct release_revisions {
    int64_t *items;
    char **documents; /* the digest of each, owned; NULL: there is none */
    size_t count, capacity;
};
void release_revisions_add(struct release_revisions *revisions, int64_t revision,
                           const char *document); /* at the end */
void release_revisions_done(struct release_revisions *revisions);

/* The revisions of which the history has a Release. *ret: empty before. */
int releases_list(const struct reconcile_context *context, const struct release_subject *subject,
                  struct cancel *cancel, struct release_revisions *ret, struct error *error);
/* Both at once: the revisions, and the newest Release, or NULL. */
int releases_find(const struct reconcile_context *context, const struct release_subject *subject,
                  struct cancel *cancel, struct release_revisions *ret, struct release **ret_latest,
                  struct error *error);

/* The digest of the plan that its status shows; NULL: none. */
const char *release_plan(const struct release *release);
/* What its condition Ready says; NULL: nothing. */
const char *release_message(const struct release *release);
/* It was cancelled for that reason: PLAN_STALE, say. */
bool release_was_cancelled(const struct release *release, const char *reason);
#define RELEASE_REJECTED "Rejected" /* a person rejected its plan */

/* Makes the Release of a revision. One that exists already, for the same, is taken up where it was
 * left; where the name is another's, the next revision that is free is taken, of eight. */
int release_begin(const struct reconcile_context *context, const struct release_subject *subject,
                  enum release_operation operation, int64_t revision, struct release **ret,
                  struct error *error);

/* Makes the Release of revision 1. If that fails, for whatever reason, *ret is not set. */
void release_begin_first(const struct reconcile_context *context,
                         const struct release_subject *subject, enum release_operation operation,
                         struct release **ret);

/* Of one that has ended nothing is written any more, whoever ended it. It is no error if somebody
 * deleted it. */
int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, const struct outcome *outcome, struct error *error);
