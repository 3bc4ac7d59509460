/*
 * Paths and bodies of requests, filled with values. There is no language: a value stands at a
 * place, or it does not.
 *
 * In a path, {id} is the thing's id, {/a/b} the value of the attributes at a JSON pointer, and
 * {name} that of a parameter. A value is a string, a number or a boolean, is not empty, "." or
 * "..", and is escaped: it never ends its segment. A path has no segments "." and "..", however
 * they are written.
 *
 * In a body, an object with one of these members becomes what it names:
 *
 *   {$attributes: /a}   the value of the attributes at the pointer; "" is all
 *   {$object: /a}       the value of the thing as it was read for the plan; null if it has none
 *   {$parameter: name}  that of a parameter
 *   {$id: true}         the thing's id
 *
 * Other members of such an object are added to it, if it is an object, and count more.
 */
#pragma once

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

struct fill {
    const struct value *attributes;
    const struct value *parameters; /* or NULL */
    const struct value *object;     /* or NULL */
    const char *id;                 /* or NULL */
};

/* Checks of what is written; the messages go after the field. */
int fill_check_path(const char *path, struct error *error);
int fill_check_body(const struct value *body, struct error *error);
/* Whether all names in braces are those of parameters; is_id: {id} is known. */
int fill_check_names(const char *path, const struct value *parameters, bool has_id,
                     struct error *error);
bool fill_is_name(const char *name); /* of a parameter */
bool fill_has_id(const char *path);

/* A pointer in a path to an attribute that is a reference to a secret store, free(); NULL: none. */
char *fill_find_secret(const char *path, const struct value *attributes);

/* *ret: the path, free(); NULL if a value of it is not known yet, or is one of a secret store,
 * which State does not keep. ERR_INVALID InvalidAttribute: a value is missing, or cannot stand in a
 * path. */
int fill_path(const char *path, const struct fill *from, char **ret, struct error *error);

/* *ret: a reference. Unknown values stay in it. ERR_UNSUPPORTED: a value of it is one of a secret
 * store, which State does not keep. */
int fill_body(const struct value *body, const struct fill *from, const struct value **ret,
              struct error *error);
