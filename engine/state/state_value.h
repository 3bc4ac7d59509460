/*
 * Single records and heads as values: the parts of a State and of a journal's entry. For the files
 * of this folder.
 *
 * Readers are strict: an unknown member, a missing one, or a wrong type is ERR_CORRUPT. A State
 * that a newer version wrote is refused rather than read in part.
 */
#ifndef ENGINE_STATE_STATE_VALUE_H
#define ENGINE_STATE_STATE_VALUE_H

#include "engine/base/error.h"
#include "engine/state/state.h"

#define STATE_FORMAT 2

/* ERR_CORRUPT StateCorrupt. */
int state_corrupt(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* A reference; NULL: past a bound of limits.h. */
const struct value *record_to_value(const struct record *record);
/* *ret: a reference. The message does not say which record it is. */
int record_from_value(const struct value *value, const struct record **ret, struct error *error);

/* ERR_CORRUPT unless the object has only members with these names (ended by NULL). */
int members_check(const struct value *object, const char *const *names, struct error *error);
/* Required members. The string is borrowed; it holds no NUL and is not empty. */
int member_text(const struct value *object, const char *key, const char **ret, struct error *error);
int member_int(const struct value *object, const char *key, int64_t *ret, struct error *error);
/* Optional members: NULL or 0 if missing. */
int member_text_if(const struct value *object, const char *key, const char **ret,
                   struct error *error);
int member_int_if(const struct value *object, const char *key, int64_t *ret, struct error *error);
/* ERR_CORRUPT unless the document is of our format. */
int format_check(const struct value *document, struct error *error);

#endif
