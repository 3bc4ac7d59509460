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

/* Gives the value that a reference stands for, sensitive where it comes from what is: *ret is a
 * reference, or stays NULL where the value is not known before apply. */
typedef int ref_lookup(void *arg, const char *text, const struct value **ret, struct error *error);

/*
 * Puts values for references. lookup gives each (an error ends it). One that is not known becomes
 * VALUE_UNKNOWN; one that is sensitive, or stands where the value is, is sensitive in the result.
 * What a reference brings is not looked at for references. Without any, *ret is the value
 * itself, referenced.
 */
int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                struct error *error);

#endif
