/*
 * The Spec's `commonMetadata`: labels and annotations of all its objects. They go before those that
 * a resource has itself, and are put on the object alone, never on a selector or on a Pod template.
 */
#pragma once

#include "engine/spec/check.h"

/* common: the Spec's field, an object; or NULL. */
void common_metadata_check(const struct value *common, struct check *check);

/* The object with them. Takes its reference over. */
const struct value *common_metadata_add(const struct value *object, const struct value *common);
