/*
 * Implicit references: a string value `$kusion_path.<id>.<path>` stands for
 * the value at that path of another resource's live result.
 *
 * The id is the longest known one that the text goes on with, followed by a
 * dot or the end (example.com/v1:Widget:ns:x.spec.rules[0].host). List
 * indices are written [0] or .0. The whole string is the reference; one inside
 * a longer text is not.
 */
#ifndef ENGINE_SPEC_REF_H
#define ENGINE_SPEC_REF_H

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/base/value.h"

#define REF_PREFIX "$kusion_path."

struct ref {
    void *target;     /* what `ids` holds for the id */
    const char *id;   /* its key in `ids` */
    const char *path; /* after the id's dot; "" : the whole result */
};

bool ref_is(const struct value *value);

/* ERR_NOT_FOUND (reason UnknownReference): no known id begins the text. ERR_INVALID: the
 * path is not well formed. */
int ref_parse(const char *text, const struct strmap *ids, struct ref *ret, struct error *error);

/* Calls fn for each reference in a value, with its field path for people; fn's nonzero
 * ends the walk and is returned. */
typedef int ref_visit(void *arg, const char *text, const char *field, struct error *error);
int ref_each(const struct value *value, ref_visit *fn, void *arg, struct error *error);

/* The value that a reference stands for. */
struct ref_value {
    const struct value *value; /* owned by who fills it: one reference; NULL: not known before apply */
    bool sensitive;
};

/*
 * Puts values for references. lookup gives each (an error ends it). Unknown ones become the
 * string "(known after apply)" and set *ret_unknown. In *ret_sensitive (may be
 * NULL) comes an array value of JSON pointers to what was taken from something
 * sensitive, or NULL. Without references *ret is the value itself, referenced.
 */
#define REF_UNKNOWN "(known after apply)"
typedef int ref_lookup(void *arg, const char *text, struct ref_value *ret, struct error *error);
int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                bool *ret_unknown, const struct value **ret_sensitive, struct error *error);

#endif
