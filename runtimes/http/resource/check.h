/*
 * Whether a resource of type HTTP is described as it has to be. For the operator, and for the CLI,
 * which knows no hosts that may be asked.
 */
#pragma once

#include "engine/spec/check.h"

/* Reports each problem at its place. */
void http_resource_check(struct check *check, const struct resource *resource,
                         const struct place *place);

/* The same for the resources of a Spec. */
extern const struct spec_checks http_resource_checks;
