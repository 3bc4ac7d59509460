/*
 * Implicit references: a string value `$kusion_path.<id>.<path>` stands for the value at that path
 * in the live object of another resource.
 *
 * Ids may contain dots. The reference means the longest known id that is followed by a dot or by
 * the end of the text (example.com/v1:Widget:ns:x.spec.rules[0].host). List indices are written [0]
 * or .0. The reference must be the whole string. In the middle of a longer text it would not be
 * replaced, so a Spec with such a text is refused.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/value/value.h"

#define REF_PREFIX "$kusion_path."

struct ref {
    void *target;     /* the value of the id in `ids` */
    const char *id;   /* the id, a key of `ids` */
    const char *path; /* the text after the id's dot; "": the whole result */
};

bool ref_is(const struct value *value);
/* True for a string that contains REF_PREFIX after other text. */
bool ref_is_within(const struct value *value);

/* ERR_NOT_FOUND UnknownReference: the text begins with no known id. ERR_INVALID: the path is
 * malformed. */
int ref_parse(const char *text, const struct strmap *ids, struct ref *ret, struct error *error);

/* Returns the value of a reference; it is sensitive if it was sensitive in the result. *ret is a
 * reference, or stays NULL if the value is not known before apply. */
typedef int ref_lookup(void *arg, const char *text, const struct value **ret, struct error *error);

/* Calls fn with the text of each reference in a value (NULL has none). If fn returns nonzero, that
 * ends it and is returned. Malformed references are left out. */
typedef int ref_visit(void *arg, const char *text, struct error *error);
int ref_each(const struct value *value, ref_visit *fn, void *arg, struct error *error);

/*
 * Replaces each reference in a value with the result of lookup(); an error of lookup() ends it. An
 * unknown value becomes VALUE_UNKNOWN. A replaced value is sensitive if either the reference or the
 * looked-up value was sensitive. References inside looked-up values are not resolved. Without any
 * reference, *ret is a reference to the value itself. ERR_TOO_LARGE: more than
 * LIMIT_REFERRED_BYTES.
 */
int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                struct error *error);

/* The same for references to secrets (secret_ref.h) as well, by a function of their own. One pass
 * does both: nothing that was looked up is taken for a reference, of either kind. has_data: the
 * value is attributes with `data` in Base64 (secret_ref_has_data). kept: a member of the value in
 * which references to secrets stay as they are; NULL: none. */
struct ref_lookups {
    ref_lookup *reference, *secret;
    void *arg;
    bool has_data;
    const char *kept;
};
int ref_resolve_all(const struct value *value, const struct ref_lookups *lookups,
                    const struct value **ret, struct error *error);
