/* Specs from JSON, of Kubernetes resources with all that is checked of them. */
#include "test/unit/engine/spec/parse.h"

#include "runtimes/kubernetes/objects/check.h"
#include "runtimes/kubernetes/objects/marks.h"

static const struct spec_type types[] = {{KUBE_RUNTIME_TYPE, &kube_checks, NULL}};

const struct spec_options parse_options = {.types = types, .n_types = 1};
