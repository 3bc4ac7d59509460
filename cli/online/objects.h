/*
 * Specs and Releases, as the API server has them.
 */
#pragma once

#include "cli/session/session.h"

/* References to objects; in the order of the list. */
struct objects {
    const struct value **items;
    size_t count, capacity;
};
void objects_done(struct objects *objects);
void objects_add(struct objects *objects, const struct value *object); /* takes a reference */
void objects_sort_by_age(struct objects *objects);                     /* oldest first */

/* What a person names: NAME, NAMESPACE/NAME, NAME@7, spec/NAME, what `-o name` prints. A Release's
 * name is taken, too: then it is that Release's Spec. */
struct target {
    char *namespace_name, *name;
    int64_t revision; /* 0: none is named */
};
void target_done(struct target *target);
/* ERR_INVALID InvalidArgument. Sends no request. */
int target_parse(const struct session *session, const char *text, struct target *ret,
                 struct error *error);

/* The Spec that `target` names; if there is none, but a Release of that name, the Release's Spec,
 * and *target is changed to that. *ret_release (may be NULL): that Release, else NULL.
 * ERR_NOT_FOUND with a hint. */
int spec_find(struct session *session, struct target *target, const struct value **ret,
              const struct value **ret_release, struct error *error);

/* Opens the session, and finds the Spec that the command's first argument names. session_done() and
 * target_done() also after an error. */
int spec_open(struct cli *cli, struct session *session, struct target *target,
              const struct value **ret, struct error *error);

/* The Spec that `target` names, and no other. ERR_NOT_FOUND. */
int spec_get(struct session *session, const struct target *target, const struct value **ret,
             struct error *error);

/* Specs of a namespace (NULL: of all), with these labels. */
int spec_list(struct session *session, const char *namespace_name, const char *labels,
              struct objects *ret, struct error *error);

/* The Releases of a Spec, oldest first. */
int release_list(struct session *session, const struct target *target, struct objects *ret,
                 struct error *error);
int release_get(struct session *session, const char *namespace_name, const char *name,
                const struct value **ret, struct error *error);

/* Any list. */
int object_list(struct session *session, struct kube_ref collection, struct kube_selector selector,
                struct objects *ret, struct error *error);

/* A merge patch. *ret (may be NULL): the object after it. */
int object_patch(struct session *session, struct kube_ref ref, const struct value *body,
                 const struct value **ret, struct error *error);

/* ---- Reading them ---- */

const char *object_name(const struct value *object);      /* never NULL */
const char *object_namespace(const struct value *object); /* never NULL */
const char *object_text(const struct value *object, const char *fallback, ...)
    __attribute__((sentinel)); /* at a path of keys */
int64_t object_int(const struct value *object, int64_t fallback, ...) __attribute__((sentinel));
const struct value *condition_of(const struct value *object, const char *type);
bool condition_is(const struct value *object, const char *type, const char *status);

#define LABEL_GENERATED "api.kusion.io/generated"
/* Whether the operator made it: it is the record of an operation, and not a person's request. */
bool release_is_record(const struct value *release);
bool release_has_ended(const struct value *release);
