/* What a rule reads, and how it says what it found. */
#ifndef ENGINE_HEALTH_VERDICT_H
#define ENGINE_HEALTH_VERDICT_H

#include "engine/health/health.h"

void health_set(struct health *health, enum health_status status, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The condition's status, or "" ; its message in *ret_message (may be NULL). */
const char *health_condition(const struct value *object, const char *type,
                             const char **ret_message);

#endif
