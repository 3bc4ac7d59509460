/* The rules by kind; health.c asks them after what holds for all kinds. */
#ifndef RUNTIMES_KUBERNETES_HEALTH_RULES_H
#define RUNTIMES_KUBERNETES_HEALTH_RULES_H

#include "engine/base/value.h"
#include "engine/health.h"
#include "runtimes/kubernetes/object_ref.h"

typedef void health_rule(const struct value *object, struct health *ret);

/* NULL: the kind has no rule of its own. */
health_rule *health_rule_of(const struct object_ref *ref);

#endif
