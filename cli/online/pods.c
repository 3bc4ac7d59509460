#include "cli/online/pods.h"

#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/pod_cause.h"

#define MOST 10 /* Pods of one workload that are shown */

static const struct kube_kind kube_pods = {"v1", "Pod", "pods", true};

/* "a=b,c=d" of spec.selector; free(). NULL: it selects no Pods. A Job's is made by the server from
 * its name. */
static char *selector_of(const struct value *attributes)
{
    const struct value *labels = value_path(attributes, "spec", "selector", "matchLabels", NULL);
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (str_equal(value_get_string(attributes, "kind"), "Job"))
        return str_printf("job-name=%s", object_name(attributes));
    for (size_t i = 0; i < value_count(labels); i++) {
        const char *label = value_string(value_member(labels, i));

        if (label)
            buf_printf(&text, "%s%s=%s", text.length ? "," : "", value_member_key(labels, i, NULL),
                       label);
    }
    return text.length ? buf_take(&text) : NULL;
}

void pods_show(struct session *session, struct output *out, const struct value *resource)
{
    const struct value *attributes = value_get(resource, "attributes");
    _cleanup_free_ char *labels = selector_of(attributes);
    _cleanup_(objects_done) struct objects pods = {0};
    struct error error = {0};
    size_t n_shown = 0;
    int r;

    if (!labels)
        return;
    r = object_list(session,
                    (struct kube_ref){&kube_pods, object_namespace(attributes), NULL, NULL},
                    (struct kube_selector){.labels = labels}, &pods, &error);
    if (r < 0)
        output_line(out, "      Pods cannot be listed: %s", error.message);
    for (size_t i = 0; i < pods.count; i++) {
        struct pod_cause cause;

        if (!pod_cause(pods.items[i], &cause) || n_shown++ >= MOST)
            continue;
        output_add(out, "      ");
        output_paint(out, STYLE_BAD, "✗ ");
        output_line(out, "Pod %s   %s", object_name(pods.items[i]), cause.text);
    }
    if (n_shown > MOST)
        output_line(out, "      … and %zu more Pods", n_shown - MOST);
}
