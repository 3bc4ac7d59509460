/*
 * For this folder: a reference's text as a string, which a value's need not be.
 */
#ifndef ENGINE_SPEC_REF_TEXT_H
#define ENGINE_SPEC_REF_TEXT_H

#include "engine/spec/ref.h"

/* value: one for which ref_is(). ERR_INVALID InvalidReference: it holds a NUL. */
int ref_text(const struct value *value, const char **ret, struct error *error);

#endif
