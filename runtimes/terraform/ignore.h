/*
 * One path of `extensions.lifecycle.ignoreChanges`, as Terraform writes them:
 *
 *   tags    network.zone    spec[0].replicas    spec.0.replicas    tags["owner"]    tags.owner
 *
 * It leads through the type of the resource: an argument's or a member's name in an object, an
 * index in a list, a key in a map, anything in what is dynamic. Elements of a set have no names.
 */
#pragma once

#include "runtimes/terraform/values/type.h"

/* ERR_INVALID InvalidAttribute: the path leads nowhere in the type. The message begins with the
 * part of the path that is wrong. */
int ignore_check(const char *path, const struct tf_type *type, struct error *error);

/* The configuration in which what the path leads to is as it was before. What one of them does not
 * have stays as it is, but for a key of a map, which comes back or goes. A reference; NULL: a bound
 * of limits.h was passed. */
const struct value *ignore_apply(const char *path, const struct tf_type *type,
                                 const struct value *config, const struct value *before);
