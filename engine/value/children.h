/*
 * Two containers side by side, child by child: for values that are made of others, or compared.
 */
#pragma once

#include <stddef.h>

#include "engine/value/path.h"
#include "engine/value/value.h"

/* What `other` has in the place of a container's child: under its key, or at its index. NULL: it
 * has nothing there. */
const struct value *value_counterpart(const struct value *other, const struct value *container,
                                      size_t index);

/* Before what is made of a container's child: adds its key, if the container is an object. */
void value_key_like(struct value_builder *b, const struct value *container, size_t index);

/* The step that leads to a container's child. */
void path_push_child(struct path *path, const struct value *container, size_t index);

/* Replaces the reference in *field with one that is taken over, and may have been made of it. */
void value_move(const struct value **field, const struct value *taken);
