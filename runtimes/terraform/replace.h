/*
 * Because of which fields an object has to be replaced.
 */
#pragma once

#include <tfplugin.pb-c.h>

#include "runtimes/terraform/schema/schema.h"

/* "attributes.length, attributes.special cannot be changed": those that the provider's plan names
 * and that differ, or that may only be written, so that nobody can tell. A field inside of a set
 * has no place: the set is named. NULL: there is none. free(). */
char *replace_reason(const struct tf_block *block, const Tfplugin__PlanResponse *answer,
                     const struct value *before, const struct value *after);
