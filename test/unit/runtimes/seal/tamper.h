/* What is in a store below a sealed one: taken out, changed, and put back. */
#pragma once

#include "engine/store.h"

/* The document as the store has it. Aborts if that fails. *ret: initialised. */
void tamper_take(struct store *store, const struct document_name *name, struct document *ret);
/* Puts it in the document's place, with its entries. */
void tamper_put(struct store *store, const struct document_name *name,
                const struct document *document);
void tamper_copy(const struct document *from, struct document *ret); /* *ret: initialised */

/* Writes and reads a document whole; the error's code. */
int tamper_write(struct store *store, const struct document_name *name, const char *open,
                 const char *secret, const char *const *entries, struct error *error);
int tamper_read(struct store *store, const struct document_name *name, struct document *ret,
                struct error *error);
