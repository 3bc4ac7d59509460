/* One document, open: its rows, read and checked. */
#ifndef RUNTIMES_POSTGRES_DOCUMENT_H
#define RUNTIMES_POSTGRES_DOCUMENT_H

#include "runtimes/postgres/change.h"
#include "runtimes/postgres/place.h"

#define POSTGRES_UUID_SIZE 37 /* "0b0e4bd0-…", terminated */

struct postgres_store {
    struct store base;
    struct postgres_place place;
    struct postgres_pool *pool;
};

struct postgres_document {
    struct store_file base;
    struct document_name name; /* points to the strings below */
    char *namespace_name, *spec_name, *item;
    enum store_mode mode;
    bool is_in_doubt; /* the last change was: the next read waits until that is decided */
    /* The document as this handle last saw it. */
    bool exists, is_damaged;
    char version[POSTGRES_UUID_SIZE], base_version[POSTGRES_UUID_SIZE];
    size_t entry_bytes;
};

void postgres_document_forget(struct postgres_document *file);

/* Adds the four columns of the key: $1 to $4. */
void postgres_add_key(struct postgres_statement *statement, const struct document_name *name);

/* Reads the document, and what this handle has seen with it. */
int postgres_document_read(struct postgres_document *file, const struct store_call *call,
                           struct document *ret, struct error *error);

/* How messages call a document; free(). */
char *postgres_document_describe(const struct postgres_place *place,
                                 const struct document_name *name);

#endif
