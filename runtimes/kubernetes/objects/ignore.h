/*
 * The Spec's `ignore`: fields of its objects that others manage, after the object was created.
 *
 *   - paths: ["/spec/replicas", "/metadata/annotations/example.com~1a",
 *             "/spec/template/spec/containers[name=side]/image"]
 *     target: {kind: Deployment, name: "web-*", labelSelector: "app=web"}
 *
 * A path is a JSON pointer. [key=value] names items of a list by the keys that the API server knows
 * them by, as in its own messages; an index is refused, because it means another item in the live
 * object. All members of a target must match; in the name and the namespace * stands for any
 * characters.
 *
 * Immutable after reading; any thread.
 */
#pragma once

#include "engine/spec/check.h"

/* One step of a path: a member of an object, or the items of a list that have these keys. */
struct ignore_step {
    const char *name; /* NULL: items */
    size_t length;    /* of the name */
    struct ignore_key {
        const char *name, *value;
    } * keys;
    size_t n_keys;
};

struct ignore_path {
    const char *text; /* as it is written */
    struct ignore_step *steps;
    size_t n_steps;
};

struct ignore;

/* Of all rules of a Spec: each is looked for in each object that it is meant for. */
#define IGNORE_PATHS 1000

/* list: the Spec's field, or NULL. Problems are reported to the check; a path with one is left out.
 * NULL: there are no rules. */
struct ignore *ignore_read(const struct value *list, struct check *check);
void ignore_free(struct ignore *ignore);
DEFINE_CLEANUP(struct ignore *, ignore_free)

/* Reports the paths that name an item of a list by its index, in the resources of the Spec. */
void ignore_check_resources(const struct ignore *ignore, struct check *check);

/* The paths that are ignored in one object. */
struct ignored {
    const struct ignore_path **paths; /* owned array; the paths are the rules' */
    size_t n;
};
/* attributes: the object as it is wanted, or what names it; in: its namespace, where it has none;
 * labels: more of them, or NULL. *ret: ignored_done(). */
void ignore_find(const struct ignore *ignore, const struct value *attributes, const char *in,
                 const struct value *labels, struct ignored *ret);
void ignored_done(struct ignored *ignored);
