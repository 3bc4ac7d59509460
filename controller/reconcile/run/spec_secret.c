#include "controller/reconcile/run/spec_secret.h"

#define TYPE        "Terraform" /* of the resources in the files */
#define DEFAULT_KEY "tfstate"

struct spec_secret spec_secret_of(const struct run *run, const char *direction)
{
    const struct value *ref =
        value_path(run->object, "spec", "terraformState", direction, "secretRef", NULL);
    const char *key = value_get_string(ref, "key");

    return (struct spec_secret){value_get_string(ref, "name"), key ? key : DEFAULT_KEY};
}

struct runtime *spec_secret_runtime(const struct run *run)
{
    struct runtime *runtime = context_runtime(run->context, TYPE);

    return runtime && runtime->ops->foreign ? runtime : NULL;
}
