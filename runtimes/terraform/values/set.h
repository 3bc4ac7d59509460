/*
 * The elements of sets, in the order that Terraform gives them: by value where they are strings or
 * numbers, else by a text of them. Providers may depend on it: a plan of the framework compares the
 * first element with the first one that there was, and so on.
 */
#pragma once

#include "engine/base/buf.h"
#include "runtimes/terraform/values/type.h"

struct tf_set {
    const struct tf_type *type; /* of an element */
    struct tf_element {
        const struct value *value; /* a reference */
        struct buf text;           /* by which it is ordered */
        struct buf bytes;          /* its msgpack, of tf_reorder() alone */
    } *elements;
    size_t count, capacity;
};

void tf_set_init(struct tf_set *set, const struct tf_type *type);
void tf_set_done(struct tf_set *set);
/* Takes the reference over. */
struct tf_element *tf_set_add(struct tf_set *set, const struct value *element);
/* Puts the elements in order. One that is known is there once. */
void tf_set_sort(struct tf_set *set);
/* Sorts, and adds all elements to the array that is open. */
void tf_set_put(struct tf_set *set, struct value_builder *b);
