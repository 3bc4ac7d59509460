/*
 * Taking objects over from a state file of Terraform (tfstate/tfstate.h): what the Spec's
 * terraformState.from has of a resource. It counts until State has a record of the resource, and if
 * the resource has no import id. What is found has all values of the object, secrets among them.
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/terraform/session.h"

/* What was found of the target; borrowed. NULL: nothing. The file could not be read: its error. */
int takeover_find(const struct runtime_session *session, const struct runtime_target *target,
                  const struct value **ret, struct error *error);

/* The object as it is now. ERR_INVALID TakeoverFailed: it is gone, or cannot be taken over. */
int takeover_read(const struct visit *visit, const struct value *found, struct tf_state *ret,
                  struct error *error);

/* The object's value, with what the file calls sensitive marked. A reference. */
const struct value *takeover_mark(const struct value *found, const struct value *object);

/* Hides what is sensitive of it. found: NULL is allowed; visit: with a schema. */
void takeover_redact(const struct visit *visit, const struct value *found, struct error *error);
