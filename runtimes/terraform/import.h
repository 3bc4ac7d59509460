/*
 * Taking over the object that the provider knows by the id of a resource's extensions
 * (engine/spec/import_id.h).
 */
#pragma once

#include "engine/runtime.h"
#include "engine/spec/import_id.h"
#include "runtimes/terraform/session.h"

/* The id by which the target's object is to be taken over: a string, or VALUE_UNKNOWN. Borrowed.
 * NULL: there is none, or it does not count any more. */
const struct value *import_id(const struct runtime_target *target);
/* The extensions without the id. A reference, or NULL. */
const struct value *import_strip(const struct value *extensions);

/* The object as it is now. ERR_INVALID ImportFailed. Messages do not have the id. */
int import_read(const struct visit *visit, const struct value *id, struct tf_state *ret,
                struct error *error);

/* Hides the id in the error. id: NULL is allowed. */
void import_redact(const struct value *id, struct error *error);
