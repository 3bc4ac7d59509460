/*
 * What implementations of stores share: names in memory of their own, and errors that all have.
 */
#pragma once

#include "engine/store.h"

#define STORE_CORRUPT  "StateCorrupt"  /* reason of ERR_CORRUPT */
#define STORE_CONFLICT "StateConflict" /* reason of ERR_CONFLICT */

/* ---- Names ---- */

struct own_name {
    struct document_name name; /* points to the strings */
    char *namespace_name, *spec_name, *item;
};

void own_name_copy(struct own_name *to, const struct document_name *from);
/* The strings were set: makes `name` point to them. */
void own_name_set(struct own_name *name, enum document_kind kind);
void own_name_done(struct own_name *name);

bool document_name_equal(const struct document_name *a, const struct document_name *b);
/* The inverse of document_kind_name(). False: it is the name of no kind. */
bool document_kind_parse(const char *text, enum document_kind *ret);

/* ---- Errors ---- */

/* ERR_CANCELLED: the call's cancel has fired. */
int store_check_cancel(const struct store_call *call, struct error *error);
/* The same, and ERR_INVALID: the handle is not open for writing. */
int store_check_change(enum store_mode mode, const struct store_call *call, struct error *error);
/* ERR_CONFLICT: another process has changed the document since this handle saw it. */
int store_changed(const struct document_name *name, struct error *error);
