/*
 * Selectors over labels or annotations, in kubectl's syntax:
 *
 *   app=web,tier!=cache,env in (test, dev),env notin (prod),owner,!legacy
 *
 * All requirements must hold. As in the API server, `!=` and `notin` hold where there is no such
 * label. Pure functions, without an allocation.
 */
#pragma once

#include <stdbool.h>

#include "engine/value/value.h"

/* NULL: it is a selector. Else what is wrong, static. */
const char *selector_check(const char *selector);
/* labels: an object, or NULL. A selector that is none matches nothing. */
bool selector_matches(const char *selector, const struct value *labels);

/* Whether the text is the pattern, in which each * stands for any characters. */
bool pattern_matches(const char *pattern, const char *text);
