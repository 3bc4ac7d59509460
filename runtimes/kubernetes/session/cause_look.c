#include "runtimes/kubernetes/session/cause_look.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

static const struct kube_kind kube_pods = {"v1", "Pod", "pods", true};

static const char *text_of(const struct value *object, const char *key)
{
    const char *text = value_get_string(object, key);

    return text ? text : "";
}

static int stop(struct error *error)
{
    return err_set(error, ERR_TOO_LARGE, "Enough", "more is not looked at");
}

/* A list that was ended because enough was seen is a success. */
static int list(struct runtime_session *session, struct kube_list *list,
                const struct kube_wait *wait, struct error *error)
{
    struct error why = {0};
    int r;

    list->page = CAUSE_PAGE;
    list->impersonate = session->impersonate;
    list->for_tenant = true;
    list->wait = *wait;
    r = kube_list(session->cluster.client, list, NULL, &why);
    return r < 0 && r != ERR_TOO_LARGE ? err_copy(error, &why) : 0;
}

/* ---- Whose a Pod is ---- */

/* "a=b,c=d" of the workload's matchLabels; its other terms are left out, so that more Pods may be
 * listed than are its own. */
static char *selector_of(const struct value *workload)
{
    const struct value *labels = value_path(workload, "spec", "selector", "matchLabels", NULL);
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < value_count(labels); i++) {
        const char *label = value_string(value_member(labels, i));

        if (label)
            buf_printf(&text, "%s%s=%s", text.length ? "," : "", value_member_key(labels, i, NULL),
                       label);
    }
    return buf_take(&text);
}

static const struct value *controller_of(const struct value *object)
{
    const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < value_count(owners); i++)
        if (value_bool(value_get(value_at(owners, i), "controller"), false))
            return value_at(owners, i);
    return NULL;
}

static const char *hash_of(const struct value *pod)
{
    return text_of(value_path(pod, "metadata", "labels", NULL), "pod-template-hash");
}

/* The Pod of a Deployment belongs to a ReplicaSet, which is named after both. */
static bool is_of(const struct value *pod, const struct object_ref *workload, const char *uid)
{
    const struct value *controller = controller_of(pod);
    _cleanup_free_ char *set = NULL;

    if (!object_ref_is(workload, "apps", "Deployment"))
        return str_equal(value_get_string(controller, "uid"), uid);
    set = str_printf("%s-%s", workload->name, hash_of(pod));
    return str_equal(value_get_string(controller, "kind"), "ReplicaSet") &&
           str_equal(value_get_string(controller, "name"), set);
}

/* ---- Pods ---- */

struct found {
    char name[256], uid[64], hash[64];
    struct pod_cause cause;
};

struct pods {
    struct object_ref workload;
    const char *uid;
    unsigned n_seen;
    char newest[64], hash[64]; /* when the newest Pod was created, and its template's hash */
    struct found *found;
    size_t n_found;
};

static void note_newest(struct pods *pods, const struct value *pod)
{
    const char *created = text_of(value_get(pod, "metadata"), "creationTimestamp");

    if (strcmp(created, pods->newest) < 0)
        return;
    str_copy(pods->newest, sizeof(pods->newest), created);
    str_copy(pods->hash, sizeof(pods->hash), hash_of(pod));
}

static int on_pod(void *arg, const struct value *pod, struct error *error)
{
    struct pods *pods = arg;
    const struct value *metadata = value_get(pod, "metadata");
    struct found *found = &pods->found[pods->n_found];

    if (pods->n_seen++ == CAUSE_PODS_SEEN)
        return stop(error);
    if (!is_of(pod, &pods->workload, pods->uid))
        return 0;
    note_newest(pods, pod);
    if (!pod_cause(pod, &found->cause))
        return 0;
    str_copy(found->name, sizeof(found->name), text_of(metadata, "name"));
    str_copy(found->uid, sizeof(found->uid), text_of(metadata, "uid"));
    str_copy(found->hash, sizeof(found->hash), hash_of(pod));
    return ++pods->n_found == CAUSE_PODS_FOUND ? stop(error) : 0;
}

/* Pods of an older revision of a Deployment are about to go. */
static bool counts(const struct pods *pods, const struct found *found)
{
    return str_equal(found->hash, pods->hash) ||
           !object_ref_is(&pods->workload, "apps", "Deployment");
}

static unsigned count_like(const struct pods *pods, const struct found *like)
{
    unsigned count = 0;

    for (size_t i = 0; i < pods->n_found; i++)
        count +=
            counts(pods, &pods->found[i]) && str_equal(pods->found[i].cause.text, like->cause.text);
    return count;
}

/* Of the causes that tell most, the one that most Pods have; NULL: there is none. */
static const struct found *choose(const struct pods *pods, unsigned *ret_count)
{
    const struct found *best = NULL;

    for (size_t i = 0; i < pods->n_found; i++) {
        const struct found *found = &pods->found[i];
        unsigned count = count_like(pods, found);

        if (!counts(pods, found) || (best && found->cause.weight < best->cause.weight) ||
            (best && found->cause.weight == best->cause.weight && count <= *ret_count))
            continue;
        best = found;
        *ret_count = count;
    }
    return best;
}

static void tell(const struct pods *pods, struct cause *ret)
{
    unsigned count = 0;
    const struct found *found = choose(pods, &count);
    _cleanup_free_ char *which = NULL, *text = NULL;

    if (!found)
        return;
    which = count > 1 ? str_printf("%u Pods (%s, …)", count, found->name)
                      : str_printf("Pod %s", found->name);
    text = str_printf("%s: %s", which, found->cause.text);
    str_copy(ret->text, sizeof(ret->text), text);
    str_copy(ret->pod, sizeof(ret->pod), which);
    str_copy(ret->uid, sizeof(ret->uid), found->uid);
    ret->may_have_event = found->cause.weight == POD_CAUSE_STATE;
}

int cause_look_at_pods(struct runtime_session *session, const struct value *workload,
                       const struct kube_wait *wait, struct cause *ret, struct error *error)
{
    _cleanup_free_ char *labels = selector_of(workload);
    _cleanup_free_ struct found *found = NEW_ARRAY(struct found, CAUSE_PODS_FOUND + 1);
    struct pods pods = {
        .workload = object_ref_of(workload),
        .uid = text_of(value_get(workload, "metadata"), "uid"),
        .found = found,
    };
    struct kube_list pods_list = {
        .ref = {&kube_pods, pods.workload.namespace_name, NULL, NULL},
        .selector = {.labels = *labels ? labels : NULL},
        .on_item = on_pod,
        .arg = &pods,
    };
    int r = list(session, &pods_list, wait, error);

    if (r >= 0)
        tell(&pods, ret);
    return r;
}

/* ---- Events ---- */

struct events {
    unsigned n_seen;
    char newest[64];
    char *text; /* CAUSE_SIZE */
};

/* When it was seen last: by the older API, or by the newer one. */
static const char *when_seen(const struct value *event)
{
    const char *series = value_string(value_path(event, "series", "lastObservedTime", NULL));
    const char *last = value_get_string(event, "lastTimestamp");
    const char *only = value_get_string(event, "eventTime");

    if (series)
        return series;
    return last ? last : only ? only : "";
}

static int on_event(void *arg, const struct value *event, struct error *error)
{
    struct events *events = arg;
    const char *when = when_seen(event);
    _cleanup_free_ char *text = NULL;

    if (events->n_seen++ == CAUSE_EVENTS)
        return stop(error);
    if (strcmp(when, events->newest) < 0)
        return 0;
    str_copy(events->newest, sizeof(events->newest), when);
    text = str_printf("%s: %s", text_of(event, "reason"), text_of(event, "message"));
    str_copy(events->text, CAUSE_SIZE, text);
    return 0;
}

int cause_look_at_events(struct runtime_session *session, const char *in, const char *uid,
                         enum cause_events which, const struct kube_wait *wait, char *ret,
                         struct error *error)
{
    _cleanup_free_ char *fields =
        str_printf("involvedObject.uid=%s%s", uid, which == CAUSE_WARNINGS ? ",type=Warning" : "");
    struct events events = {.text = ret};
    struct kube_list events_list = {
        .ref = {&kube_events, in, NULL, NULL},
        .selector = {.fields = fields},
        .on_item = on_event,
        .arg = &events,
    };

    *ret = '\0';
    return list(session, &events_list, wait, error);
}
