/*
 * The fields of a Spec, beside its resources, that decide what becomes of objects. A Release that
 * previews a changed Spec carries them in its field `policies`: else the plan would be one of the
 * fields that are in force, which the change replaces.
 */
#pragma once

#include "engine/value/value.h"

/* Those of a Spec's `spec`; an object. A reference. */
const struct value *preview_policies(const struct value *fields);

/* A Spec's `spec` with these in the place of its own: one that is left out has its default. A
 * reference. */
const struct value *preview_with_policies(const struct value *fields, const struct value *policies);
