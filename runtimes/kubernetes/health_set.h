/* What a rule reads, and how it says what it found. */
#ifndef RUNTIMES_KUBERNETES_HEALTH_SET_H
#define RUNTIMES_KUBERNETES_HEALTH_SET_H

#include "engine/base/value.h"
#include "engine/health.h"

void health_set(struct health *health, enum health_status status, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The condition's status, or "" ; its message in *ret_message (may be NULL). */
const char *health_condition(const struct value *object, const char *type,
                             const char **ret_message);

#endif
