/* The health rules of single kinds. health.c applies them after the rules for all kinds. */
#ifndef RUNTIMES_KUBERNETES_OBJECTS_HEALTH_RULES_H
#define RUNTIMES_KUBERNETES_OBJECTS_HEALTH_RULES_H

#include "engine/health.h"
#include "engine/value/value.h"
#include "runtimes/kubernetes/objects/object_ref.h"

typedef void health_rule(const struct value *object, struct health *ret);

/* The rule of a kind; NULL: it has none. */
health_rule *health_rule_of(const struct object_ref *ref);

#endif
