#include "test/unit/engine/spec/parse.h"

static const struct spec_type types[] = {{.name = "Kubernetes"}};

const struct spec_options parse_options = {.types = types, .n_types = 1};
