#include "cli/online/gitops.h"

#include <string.h>

#include "engine/base/str.h"

/* The labels that Flux's controllers set, and Argo CD's annotation and label. */
static const struct {
    const char *prefix, *what;
} flux[] = {
    {"kustomize.toolkit.fluxcd.io", "Kustomization"},
    {"helm.toolkit.fluxcd.io", "HelmRelease"},
};

char *gitops_owner(const struct value *spec)
{
    const struct value *labels = value_path(spec, "metadata", "labels", NULL);
    const struct value *annotations = value_path(spec, "metadata", "annotations", NULL);
    const char *tracking = value_get_string(annotations, "argocd.argoproj.io/tracking-id");

    for (size_t i = 0; i < ARRAY_SIZE(flux); i++) {
        _cleanup_free_ char *name = str_printf("%s/name", flux[i].prefix);
        _cleanup_free_ char *place = str_printf("%s/namespace", flux[i].prefix);

        if (value_get_string(labels, name))
            return str_printf("%s %s/%s", flux[i].what,
                              value_get_string(labels, place) ? value_get_string(labels, place)
                                                              : "",
                              value_get_string(labels, name));
    }
    if (tracking)
        return str_printf("Argo CD's Application %.*s", (int)strcspn(tracking, ":"), tracking);
    return NULL;
}

void gitops_warn(struct output *err, const struct value *spec)
{
    _cleanup_free_ char *owner = gitops_owner(spec);

    if (!owner)
        return;
    output_paint(err, STYLE_WARN, "warning:");
    output_line(err, " the Spec is managed by %s, which may undo this; suspend that first", owner);
    output_flush(err);
}
