/*
 * From manifests, a Kusion spec or a Spec to one Spec.
 *
 * An object becomes a resource: its id is apiVersion:Kind[:namespace]:name, what a server wrote is
 * left out, and the namespace that it does not name is that of the Spec, if its kind is known to be
 * namespaced. The resources of a Kusion spec or a Spec stay as they are, but for what a server
 * wrote. The Spec's own Namespace is left out: a Spec cannot contain it.
 *
 * The order that other tools take from annotations becomes dependsOn (order.h), and what they obey
 * and the operator does not is told (annotations.h).
 *
 * Pure. Mistakes are findings; nothing ends at the first one.
 */
#pragma once

#include "cli/input/finding.h"
#include "cli/input/input.h"

enum convert_order {
    ORDER_WAVES, /* what annotations say: depends-on, waves, hooks */
    ORDER_REFS,  /* that, and what is mounted or named comes before its users */
    ORDER_NONE,  /* only dependsOn as it is written */
};

struct convert_options {
    const char *name;            /* of the Spec; NULL: that of the Spec in the input */
    const char *namespace_name;  /* NULL: that of the Spec in the input */
    const char *service_account; /* NULL: as in the input */
    enum convert_order order;
    bool is_checked; /* the caller checks the Spec: what it may not have is told there */
};

/* What a file has: an object, or a resource in Kusion's format. */
struct convert_item {
    const struct value *value;
    struct place_in place;
    bool is_entry;
    size_t head; /* of an entry: which head it is of */
};

/* A Spec, or a Kusion spec, without its resources. */
struct convert_head {
    const struct value *document; /* as it stands */
    const struct value *metadata; /* NULL: it is of Kusion */
    const struct value *fields;   /* of spec: a reference */
    struct place_in place;
    bool is_spec; /* a custom resource */
};

struct convert_source {
    struct convert_item *items;
    size_t n_items, items_capacity;
    struct convert_head *heads;
    size_t n_heads, heads_capacity;
    const struct value **kept; /* references to items that were made here */
    size_t n_kept, kept_capacity;
    struct arena arena;
};

/* Takes the documents of an input apart: lists, Specs. The input must outlive it. */
void convert_collect(const struct input *input, struct convert_source *ret,
                     struct findings *findings);
void convert_source_done(struct convert_source *source);

struct conversion {
    const struct value *spec; /* a reference to the custom resource */
    struct place_in
        *places; /* of each resource, in the source's arena; of an entry, or an object */
    bool *are_entries;
    size_t n;
};
void conversion_done(struct conversion *conversion);

/* ERR_INVALID: it cannot be one Spec; errors may be among the findings, too. */
int convert_make(struct convert_source *source, const struct convert_options *options,
                 struct conversion *ret, struct findings *findings, struct error *error);

/* ---- Other formats ---- */

/* {resources, secretStore, context}, and a warning for each field that it loses. */
const struct value *convert_to_kusion(const struct value *spec, const struct place_in *place,
                                      struct findings *findings);

/* The objects, as an array; dependencies become the annotation config.kubernetes.io/depends-on. */
const struct value *convert_to_manifests(const struct conversion *conversion,
                                         struct findings *findings);

/*
 * Adds the resources of a Terraform state file as those of a Spec. schemas: what `terraform
 * providers schema -json` prints; NULL: what a provider computes cannot be told from what was
 * written, and a warning says so. ERR_INVALID: it is no state file of version 4.
 */
int convert_add_tfstate(struct convert_source *source, const struct input_document *state,
                        const struct value *schemas, struct findings *findings,
                        struct error *error);
