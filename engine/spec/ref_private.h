/*
 * For this folder: the text of a reference as a NUL-terminated string.
 */
#ifndef ENGINE_SPEC_REF_PRIVATE_H
#define ENGINE_SPEC_REF_PRIVATE_H

#include "engine/spec/ref.h"

/* value: a string for which ref_is() is true. ERR_INVALID InvalidReference: it contains a NUL. */
int ref_text(const struct value *value, const char **ret, struct error *error);

#endif
