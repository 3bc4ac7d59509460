/*
 * The secrets of an operation: what the references of its Spec (secret_ref.h) lead to. Each is
 * asked for once, by the first visit that needs it, and kept as long as the operation.
 *
 * State gets none of the values. In the attributes of a record, a mark stands in place of each: the
 * reference, the version, and a keyed digest of the value. A runtime never sees a mark of a value
 * that is known: its record is opened before it plans.
 */
#pragma once

#include "engine/operation/private.h"
#include "engine/secrets.h"

/* A ref_lookup() of secrets; `ret` is NULL where there is no source: nobody may know them. */
int operation_find_secret(struct operation *operation, const char *text, const struct value **ret,
                          struct error *error);

/* A copy with marks in place of the values that were looked up, wherever they are: as they are, or
 * in Base64. A reference; NULL stays NULL. */
const struct value *operation_seal_secrets(struct operation *operation, const struct value *value);
/* operation_seal_secrets() of a result, of which nothing that quotes a secret stays open
 * (operation_mark_quotes()), unless the records of its runtime are written as documents of other
 * tools (runtime_foreign), which need the values. */
const struct value *operation_seal_result(struct node *node, const struct value *result);
/* The record with opened attributes and result; a reference, which is the record itself where it
 * has no mark. NULL stays NULL. */
const struct record *operation_open_record(struct operation *operation,
                                           const struct record *record);
/* The same without any mark, for redaction: null in place of those whose values are not known. */
const struct value *operation_unmark_secrets(struct operation *operation,
                                             const struct value *value);

/* Keeps what the object has where the record has marks of values that are not known any more: its
 * platform may quote it. record: or NULL. */
void operation_note_former(struct node *node, const struct record *record,
                           const struct runtime_step *step);
/* Which secrets a step's attributes and extensions have, in which versions: an array of strings,
 * "ref://db/password version 3"; a reference; NULL: none. */
const struct value *operation_list_secrets(struct operation *operation,
                                           const struct runtime_step *step);
/* Why a change is needed, in the plan's arena, where secrets of the record have other versions now;
 * NULL: none has. record: or NULL. */
const char *operation_rotation(struct operation *operation, const struct record *record,
                               const struct runtime_step *step);
/* Where nobody may know them, the plan of a resource that has references says so. */
void operation_note_unread_secrets(const struct operation *operation, struct plan_change *change);

void operation_free_secrets(struct operation *operation);
