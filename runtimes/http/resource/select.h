/*
 * The thing in an answer: the whole of it, a part (`select`), or the item of a list whose values
 * are those of the attributes (`where`).
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

/*
 * read: as in description.h. *ret: borrowed from the answer; NULL: it says that there is none (the
 * part is null, or no item fits). *ret_is_known: false: what is looked for is not known yet.
 * ERR_INTERNAL UnexpectedAnswer: the answer has no such part, it is no list, or several items fit.
 */
int select_thing(const struct value *read, const struct value *answer,
                 const struct value *attributes, const struct value **ret, bool *ret_is_known,
                 struct error *error);

/* What `where` looks for, as text that tells things of one list apart; free(). NULL: there is no
 * `where`, or it is not known yet, or a value of it is one of a secret store, which State does not
 * keep. */
char *select_key(const struct value *read, const struct value *attributes);
/* Whether that is known, or there is no `where`. */
bool select_is_known(const struct value *read, const struct value *attributes);
