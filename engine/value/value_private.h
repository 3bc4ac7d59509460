/*
 * The memory layout of values: for the files of this folder that build and read values.
 *
 * A node has 24 bytes. It lies in the block of an array or object, or it is the root of its
 * document. Sharing copies only the node. The copy belongs to the new document, but the block it
 * points to stays in its owner's document, which the new document references. Each block knows its
 * owner, so a document that shares a shared value references the original document and none in
 * between. The text of scalars is copied, unless it is long: references of a few bytes each may
 * name one long string thousands of times. Long text lies in a block, too.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/value/value.h"

/* Objects with more members have an index. */
#define VALUE_LINEAR_MEMBERS 16

/* Marks of a node. A sensitive container has sensitive nodes only, however deep. */
#define MARK_SENSITIVE     1u /* this node, and so all below it */
#define MARK_HAS_SENSITIVE 2u /* this node, or some below it */
#define MARK_HAS_UNKNOWN   4u /* the same for unknown values */
#define MARKS_OF_PARENTS   (MARK_HAS_SENSITIVE | MARK_HAS_UNKNOWN)

struct value {
    struct document *document; /* the one this node lies in */
    uint8_t type;
    uint8_t marks;
    uint16_t height; /* levels of containers, this one included */
    uint32_t count;  /* items, members, or bytes of text */
    union {
        bool boolean;
        const char *text;
        const struct array_block *array;   /* NULL: empty */
        const struct object_block *object; /* NULL: empty */
    };
};

/* A string of so many bytes is shared. */
#define VALUE_LONG_TEXT 1024

struct text_block {
    struct document *owner;
    char text[];
};

struct array_block {
    struct document *owner;
    size_t size; /* values in the tree, that of the array itself included */
    struct value items[];
};

struct member {
    const char *key;
    size_t key_length;
    struct value value;
};

struct object_block {
    struct document *owner;
    size_t size;
    const uint32_t *sorted; /* members in the order of their keys, or NULL */
    struct member members[];
};

struct document {
    atomic_size_t references;
    struct arena arena;
    struct document **held; /* whose blocks this one's nodes point to; in the arena */
    size_t n_held;
    struct document *next_dead;
    struct value root;
};

struct document *document_new(void);
void document_ref(struct document *document);
void document_unref(struct document *document);

/* The document that a container's block lies in; NULL where it has none. */
struct document *value_owner(const struct value *value);

/* Compares keys by bytes; a prefix sorts before the longer key. */
int value_key_compare(const struct member *a, const struct member *b);
