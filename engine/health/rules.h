/* The rules by kind; health.c asks them after what holds for all kinds. */
#ifndef ENGINE_HEALTH_RULES_H
#define ENGINE_HEALTH_RULES_H

#include "engine/health/health.h"

typedef void health_rule(const struct value *object, struct health *ret);

/* NULL: the kind has no rule of its own. */
health_rule *health_rule_of(const char *api_version, const char *kind);

#endif
