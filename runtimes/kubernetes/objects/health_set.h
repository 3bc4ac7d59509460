/* Helpers of health rules: read fields and conditions, set the result. */
#pragma once

#include "engine/health.h"
#include "engine/value/value.h"

void health_set(struct health *health, enum health_status status, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* NULL: it has none of that type. */
const struct value *health_find_condition(const struct value *object, const char *type);
/* Returns the condition's status, or "". *ret_message (may be NULL) is its message. */
const char *health_condition(const struct value *object, const char *type,
                             const char **ret_message);
