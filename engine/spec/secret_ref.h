/*
 * Secret references, in Kusion's words: a string `ref://NAME[/MORE…]/PROPERTY[?version=V]`
 * stands for a value that a secret store has (`secretStore` of the Spec).
 *
 * The last segment is the property. `ref://NAME` is the whole secret, as JSON. Segments are decoded
 * from %XX. The reference must be the whole string.
 *
 * In `data` of a Secret of Kubernetes a reference stands for the Base64 of the value. There it may
 * be written in Base64 itself (cmVmOi8v…), as Kusion writes it.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/value/value.h"

#define SECRET_REF_PREFIX "ref://"
#define SECRET_REF_BYTES  1024 /* of one reference */

struct secret_ref {
    char *name;     /* "team/db", decoded */
    char *property; /* NULL: the whole secret */
    char *version;  /* NULL: the newest */
};

/* Whether a resource with these attributes has such `data`. */
bool secret_ref_has_data(const struct value *attributes);
/* The text of a reference, to free(), as it stands in `data` or (is_data false) elsewhere. NULL:
 * the value is none. */
char *secret_ref_text(const struct value *value, bool is_data);

/* ERR_INVALID InvalidReference. *ret: secret_ref_done(). */
int secret_ref_parse(const char *text, struct secret_ref *ret, struct error *error);
void secret_ref_done(struct secret_ref *ref);

/* Whether a resource's attributes (with its `data`), or another value, have a reference. */
bool secret_ref_is_within(const struct value *value);
/* A member of the extensions, but for `kept` (or NULL), that has a reference; NULL: none has. State
 * keeps extensions as they are resolved, for the deletion: where no platform needs the value there,
 * a reference is refused. */
const char *secret_ref_find_extension(const struct value *extensions, const char *kept);

/* What State has in place of a value of a store: "secret:DIGEST VERSION REFERENCE", or "secret64:"
 * of a value that stands there in Base64. The digest is in hexadecimal. */
#define SECRET_MARK              "secret:"
#define SECRET_MARK_BASE64       "secret64:"
#define SECRET_MARK_DIGEST_BYTES 16

bool secret_ref_is_mark(const char *text);
/* Whether the value is a mark, or has one. */
bool secret_ref_has_mark(const struct value *value);

/* Whether a member (`data`, `stringData`) of a resource's attributes, if these are a Secret, has a
 * value in clear: one that is neither sensitive nor a reference of either kind. */
bool secret_ref_is_clear(const struct value *attributes, const char *member);
