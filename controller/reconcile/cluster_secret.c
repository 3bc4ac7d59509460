#include "controller/reconcile/cluster_secret.h"

#include "controller/reconcile/inputs/source_watches.h"

void cluster_secret_follow(const struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    struct source_watches *watches = run->context->secret_watches;
    const char *name =
        value_string(value_path(run->object, "spec", "kubeConfig", "secretRef", "name", NULL));
    struct spec_source secret = {.kind = &kube_secrets, .name = name, .is_read_later = true};
    const struct spec_sources one = {.items = &secret, .count = 1};
    _cleanup_free_ char *user = run_user(run);

    if (!name || !*name) {
        source_watches_forget(watches, &attempt->object);
        return;
    }
    source_watches_follow(watches, &attempt->object, user, &one);
    source_watches_note(watches, &attempt->object, &one);
}
