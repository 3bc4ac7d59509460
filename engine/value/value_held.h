/*
 * The set of documents that a document under construction references: a hash table of pointers. For
 * value_build.c.
 */
#pragma once

#include <stddef.h>

struct document;

struct held {
    struct document **slots; /* a reference each; NULL: free */
    size_t n_slots, count;
    struct document *last; /* added */
};

void held_done(struct held *held); /* released before */

void held_add(struct held *held, struct document *document); /* NULL: nothing */
/* Gives the references back; the set is empty then, and may be filled again. */
void held_release(struct held *held);
/* Empties the set, and moves the references to a document. */
void held_hand_over(struct held *held, struct document *document);
