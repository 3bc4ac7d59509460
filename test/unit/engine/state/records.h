/* Records and States for tests. */
#pragma once

#include "engine/state/state.h"

#define SECRET        "hunter2-in-the-clear"
#define SECRET_BASE64 "aHVudGVyMi1pbi10aGUtY2xlYXI=" /* the same */

const struct value *json(const char *text); /* a reference */

/* A reference. An applied one with {"n": n}. */
const struct record *record_of(const char *id, int n);
/* With every field set, and SECRET in attributes, extensions, result and memory. */
const struct record *full_record(const char *id);
/* A begin mark of a call. */
const struct record *mark_of(const char *id, const char *call);
/* With so many bytes of attributes that cannot be compressed. */
const struct record *large_record(const char *id, size_t length);

struct state *empty_state(void); /* of team/web, revision 7, … */

/* Fails unless they have the same head and the same records in the same order. */
void expect_same_state(struct state *a, struct state *b, const char *note);
