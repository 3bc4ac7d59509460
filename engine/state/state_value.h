/*
 * Single records and heads as values: the parts of a State and of a journal's entry. The readers
 * of members are for approved plans, too.
 *
 * Readers are strict: an unknown member, a missing one, or a wrong type is ERR_CORRUPT. A State
 * that a newer version wrote is refused rather than read in part.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/state/state.h"

#define STATE_FORMAT 2

/* ERR_CORRUPT StateCorrupt. */
int state_corrupt(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* A reference; NULL: past a bound of limits.h. */
const struct value *record_to_value(const struct record *record);
/* *ret: a reference. The message does not say which record it is. */
int record_from_value(const struct value *value, const struct record **ret, struct error *error);

/* The numbers, texts and values of a head. A State and an entry have them as members of the same
 * names; a State, only those that are not 0 or NULL, or required. */
enum head_type {
    HEAD_NUMBER, /* int64_t */
    HEAD_TEXT,   /* const char *, or NULL */
    HEAD_VALUE,  /* const struct value *, or NULL */
};

enum head_presence {
    HEAD_REQUIRED,
    HEAD_OPTIONAL,
    HEAD_ELSEWHERE, /* a State has it in another place */
};

struct head_field {
    const char *name;
    enum head_type type;
    enum head_presence presence; /* in a State */
    size_t offset;               /* in struct state_head */
};

#define N_HEAD_FIELDS 11
extern const struct head_field head_fields[N_HEAD_FIELDS];

/* A reference; NULL: none. */
const struct value *head_field_value(const struct head_field *field, const struct state_head *head);
/* Absent: as before. null: none. What is read is borrowed. */
int head_field_read(const struct head_field *field, const struct value *from,
                    struct state_head *ret, struct error *error);
/* members_check() for what has members for these fields, and others (HEAD_OTHERS at most). */
#define HEAD_OTHERS 8
int head_members_check(const struct value *object, const char *const *others, struct error *error);

/* ERR_CORRUPT unless the object has only members with these names (ended by NULL). */
int members_check(const struct value *object, const char *const *names, struct error *error);
/* Required members. The string is borrowed; it holds no NUL and is not empty. */
int member_text(const struct value *object, const char *key, const char **ret, struct error *error);
int member_int(const struct value *object, const char *key, int64_t *ret, struct error *error);
/* Optional members: NULL, 0 or false if missing. */
int member_text_if(const struct value *object, const char *key, const char **ret,
                   struct error *error);
int member_int_if(const struct value *object, const char *key, int64_t *ret, struct error *error);
int member_flag_if(const struct value *object, const char *key, bool *ret, struct error *error);
/* ERR_CORRUPT unless the document is of our format. */
int format_check(const struct value *document, struct error *error);
