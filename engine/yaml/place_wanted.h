/*
 * For those that look for paths in a text: paths that are wanted, and how much of each is found.
 */
#pragma once

#include <stdbool.h>

#include "engine/yaml/yaml.h"

/* Moves those whose next step is this key to the front of the set, gives them the mark, and returns
 * how many they are. */
size_t place_wanted_key(struct place_wanted **set, size_t n, const char *key, size_t length,
                        struct yaml_mark mark);
size_t place_wanted_index(struct place_wanted **set, size_t n, size_t index, struct yaml_mark mark);

/* Of those in the set, the ones that have a next step, at the front; and how many they are. */
size_t place_wanted_open(struct place_wanted **set, size_t n);

/* All, as a set to free(), at the mark of the document's content. */
struct place_wanted **place_wanted_begin(struct place_wanted *wanted, size_t n,
                                         struct yaml_mark mark);
void place_wanted_end(struct place_wanted *wanted, size_t n);
