/*
 * A resource on its way from an item to the Spec.
 */
#pragma once

#include "cli/convert/convert.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/objects/object_ref.h"

struct candidate {
    const struct convert_item *item;
    const struct value *entry;  /* {id, type, attributes, dependsOn, extensions}: a reference */
    const char *id;             /* NULL: it has none that can be used */
    const char *label;          /* "Deployment/web", or the id */
    struct object_ref ref;      /* of Kubernetes; name NULL: of none */
    const char *namespace_name; /* that it is in; "": none, or not known */
    bool is_left_out;

    /* order.c: when it is due. */
    bool has_order; /* by an annotation of its own */
    int phase;      /* -1 before, 0, 1 after */
    int64_t wave;

    const char **depends_on; /* ids that are added to those of the entry */
    size_t n_depends_on, depends_on_capacity;
};

struct candidates {
    struct candidate *items;
    size_t count;
    struct strmap by_object; /* candidate_key() -> struct candidate */
    struct strmap by_id;
    struct arena *arena;
    struct findings *findings;
};

/* group, kind, namespace ("": none) and name as one key. */
const char *candidate_key(struct arena *arena, const char *group, size_t group_length,
                          const char *kind, const char *namespace_name, const char *name);

/* Adds a dependency, once. False: it is there already, or is the candidate itself. */
bool candidate_depend(struct candidate *candidate, const struct candidate *on);

/* The annotations of an object that was an item; NULL: it has none, or is an entry. */
const struct value *candidate_annotations(const struct candidate *candidate);
/* Where an annotation stands. */
struct place_in candidate_annotation_place(const struct candidates *all,
                                           const struct candidate *candidate, const char *key);
/* Takes an annotation away: it was turned into something else. */
void candidate_drop_annotation(struct candidate *candidate, const char *key);

/* annotations.c: warns about what other tools obey. */
void annotations_check(const struct candidates *all);

/* vault_plugin.c: placeholders of Argo CD's Vault plugin become references to secrets. */
void vault_plugin_take(const struct candidates *all);

/* unsupported.c: warns about what the operator does not support, and about what it would create a
 * second time. is_refused_later: the caller checks the Spec, and says the former itself. */
void unsupported_check(const struct candidates *all, const struct convert_source *source,
                       bool is_refused_later);

/* order.c: what annotations and references say, as depends_on. */
void order_take(struct candidates *all, enum convert_order order);

/* mounts.c: calls fn for each object that this one mounts or names, in the same namespace or none.
 */
typedef void mounts_visit(void *arg, const char *group, const char *kind, bool is_namespaced,
                          const char *name);
void mounts_each(const struct value *attributes, mounts_visit *fn, void *arg);
