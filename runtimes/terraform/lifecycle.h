/*
 * A resource's `extensions.lifecycle`, with Terraform's meanings:
 *
 *   createBeforeDestroy: true   a replacement creates the new object before it deletes the old one
 *   preventDestroy: true        an object is never deleted or replaced
 *   ignoreChanges: [tags, "spec[0].replicas"], or all
 *                               what these arguments are is not changed once the object exists;
 *                               the paths are those of ignore.h
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"
#include "runtimes/terraform/schema/schema.h"

/* ERR_INVALID: it is not as above; the message begins with the field ("ignoreChanges[0]: …"). */
int lifecycle_check(const struct value *lifecycle, struct error *error);

/* ERR_INVALID InvalidAttribute: a path of ignoreChanges leads nowhere in the schema. The message
 * begins with the field of the resource. */
int lifecycle_check_paths(const struct value *extensions, const struct tf_block *block,
                          struct error *error);

bool lifecycle_creates_first(const struct value *extensions);
bool lifecycle_prevents_destroy(const struct value *extensions);

/* The configuration in which ignored arguments are as they were; so are keys of a map, also those
 * that came or went. before: the object's state, or NULL for a new one. A reference; NULL: a bound
 * of limits.h was passed. */
const struct value *lifecycle_ignore(const struct value *extensions, const struct tf_block *block,
                                     const struct value *config, const struct value *before);
/* The same for what a provider of the legacy type system has planned: it may plan another value
 * than is configured, and would do so for what is ignored. */
const struct value *lifecycle_revert(const struct value *extensions, const struct tf_block *block,
                                     const struct value *planned, const struct value *before);
