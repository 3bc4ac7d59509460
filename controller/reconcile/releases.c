#include "controller/reconcile/releases.h"

#include "controller/reconcile/api.h"
#include "controller/reconcile/report.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/plans.h"

#define REVISION_ANNOTATION   "api.kusion.io/revision"
#define GENERATION_ANNOTATION "api.kusion.io/spec-generation"

void release_free(struct release *release)
{
    if (!release)
        return;
    value_unref(release->metadata);
    value_unref(release->status);
    free(release);
}

static int64_t annotated(const struct value *object, const char *key)
{
    const char *text = value_string(value_path(object, "metadata", "annotations", key, NULL));
    int64_t number = 0;

    return text && str_to_int64(text, &number) ? number : 0;
}

struct release *release_of(const struct value *object)
{
    struct release *release = NEW(struct release);
    const struct value *status = value_get(object, "status");

    release->metadata = value_ref(value_get(object, "metadata"));
    release->revision = annotated(object, REVISION_ANNOTATION);
    release->generation = annotated(object, GENERATION_ANNOTATION);
    release_operation_parse(value_string(value_path(object, "spec", "operation", NULL)),
                            &release->operation);
    release_phase_parse(value_get_string(status, "phase"), &release->phase);
    release->status = value_ref(status);
    return release;
}

/* ---- Finding ---- */

struct newest {
    int64_t revision;
    char *name;
};

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct newest *newest = arg;
    int64_t revision = annotated(item, REVISION_ANNOTATION);

    (void)error;
    if (revision > newest->revision) {
        newest->revision = revision;
        free(newest->name);
        newest->name = str_new(value_string(value_path(item, "metadata", "name", NULL)));
    }
    return 0;
}

static int find_newest(const struct reconcile_context *context,
                       const struct release_subject *subject, struct cancel *cancel,
                       struct newest *ret, struct error *error)
{
    _cleanup_free_ char *collection = api_release_path(subject->namespace_name, NULL, NULL);
    _cleanup_free_ char *field = str_printf("spec.specRef.name=%s", subject->name);
    _cleanup_buf_ struct buf path = BUF_INIT;
    struct kube_list list = {
        .metadata_only = true, .cancel = cancel, .on_item = on_item, .arg = ret};

    buf_add_str(&path, collection);
    kube_path_query(&path, "fieldSelector", field);
    kube_path_query(&path, "labelSelector", RELEASE_GENERATED_LABEL "=true");
    list.path = path.data;
    return kube_list(context->client, &list, NULL, error);
}

int releases_latest(const struct reconcile_context *context, const struct release_subject *subject,
                    struct cancel *cancel, struct release **ret, int64_t *ret_highest,
                    struct error *error)
{
    struct newest newest = {0};
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r = find_newest(context, subject, cancel, &newest, &problem);

    if (r >= 0 && newest.name) {
        _cleanup_free_ char *path = api_release_path(subject->namespace_name, newest.name, NULL);

        r = kube_get(context->client, path, cancel, &object, &problem);
        if (r == ERR_NOT_FOUND)
            r = 0;
    }
    free(newest.name);
    if (r < 0) {
        err_wrap(&problem, "looking for Releases");
        return err_copy(error, &problem);
    }
    *ret = object ? release_of(object) : NULL;
    *ret_highest = newest.revision;
    return 0;
}

/* ---- Making and writing ---- */

static const struct value *release_object(const struct release_subject *subject, const char *name,
                                          enum release_operation operation, int64_t revision)
{
    struct state_key key = {subject->namespace_name, subject->name};
    _cleanup_free_ char *revision_text = str_printf("%lld", (long long)revision);
    _cleanup_free_ char *generation = str_printf("%lld", (long long)subject->generation);
    char owner[STATE_NAME_SIZE];

    state_key_name(&key, owner);
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s}}, s:{s:{s:s}, s:s}}",
                      "apiVersion", API_GROUP_VERSION, "kind", "Release", "metadata", "name", name,
                      "namespace", subject->namespace_name, "labels", RELEASE_GENERATED_LABEL,
                      "true", "api.kusion.io/owner", owner, "annotations", REVISION_ANNOTATION,
                      revision_text, GENERATION_ANNOTATION, generation, "spec", "specRef", "name",
                      subject->name, "operation", release_operation_name(operation));
}

int release_begin(const struct reconcile_context *context, const struct release_subject *subject,
                  enum release_operation operation, int64_t revision, struct release **ret,
                  struct error *error)
{
    struct arena arena = ARENA_INIT;
    const char *name = release_name(&arena, subject->name, revision);
    _cleanup_value_ const struct value *body = release_object(subject, name, operation, revision);
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *collection = api_release_path(subject->namespace_name, NULL, NULL);
    _cleanup_free_ char *path = api_release_path(subject->namespace_name, name, NULL);
    struct kube_request request = {.method = "POST", .path = collection, .body = body};
    struct error problem = {0};
    int r = kube_do(context->client, &request, &object, &problem);

    if (r == ERR_EXISTS || r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) {
        err_clear(&problem);
        r = kube_get(context->client, path, NULL, &object, &problem);
        if (r == ERR_NOT_FOUND)
            r = err_set(&problem, ERR_UNAVAILABLE, err_reason(ERR_UNAVAILABLE), "it is not there");
    }
    if (r >= 0)
        *ret = release_of(object);
    else
        err_wrap(&problem, "making Release %s", name);
    arena_done(&arena);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static void set(const struct value **status, const char *key, const struct value *taken)
{
    const struct value *next;

    if (!taken)
        return;
    next = value_with(*status, key, taken);
    value_unref(*status);
    value_unref(taken);
    *status = next;
}

static void set_first(const struct value **status, const char *key, const char *text)
{
    if (text && !value_get(*status, key))
        set(status, key, value_pack("s", text));
}

static const struct value *status_with_phase(const struct release_subject *subject,
                                             const struct release *release,
                                             enum release_phase phase, const char *now)
{
    const struct value *status = value_ref(release->status);

    if (!value_get(status, "createTime"))
        set(&status, "createTime", value_pack("s", now));
    set(&status, "modifiedTime", value_pack("s", now));
    set_first(&status, "project", subject->project);
    set_first(&status, "stack", subject->stack);
    set_first(&status, "workspace", subject->workspace);
    if (release->revision)
        set(&status, "revision", value_pack("I", release->revision));
    /* Its own: who cancels it is perhaps of a later one. */
    set(&status, "specGeneration",
        value_pack("I", release->generation ? release->generation : subject->generation));
    set(&status, "phase", value_pack("s", release_phase_name(phase)));
    set(&status, "observedGeneration", value_pack("i", 1));
    return status;
}

/* Results into a status; all of them beside it, where there are too many. */
static int set_results(const struct reconcile_context *context, const struct release *release,
                       const struct plan *plan, const struct operation_results *results,
                       const struct value **status, struct error *error)
{
    const char *namespace_name = value_get_string(release->metadata, "namespace");
    const char *name = value_get_string(release->metadata, "name");
    _cleanup_value_ const struct value *all = NULL;
    char ref[PLAN_NAME_SIZE];
    size_t omitted;

    set(status, "results", report_results(plan, results, &omitted));
    set(status, "omitted", value_pack("I", (int64_t)omitted));
    if (!omitted)
        return 0;
    all = report_all_results(plan, results);
    plan_name(namespace_name, name, ref);
    set(status, "planRef", value_pack("{s:s}", "name", ref));
    return plan_save(context->client, context->state_namespace, namespace_name, name, all, error);
}

/* Who deletes a record does not stop the work. */
static int write_status(const struct reconcile_context *context, struct release *release,
                        const struct value *status, struct error *error)
{
    const char *name = value_get_string(release->metadata, "name");
    _cleanup_free_ char *path =
        api_release_path(value_get_string(release->metadata, "namespace"), name, "status");
    struct error problem = {0};
    int r = api_put_status(context, path, "Release", &release->metadata, status, &problem);

    if (r >= 0 || r == ERR_NOT_FOUND)
        return 0;
    err_wrap(&problem, "writing the status of Release %s", name);
    return err_copy(error, &problem);
}

int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, enum release_phase phase, const struct plan *plan,
                  const char *digest, const struct operation_results *results,
                  const struct verdict *verdict, struct error *error)
{
    int64_t now = context->clock->now(context->clock);
    const struct value *status;
    char time[TIMESTAMP_SIZE];
    int r = 0;

    if (!release || release_phase_is_terminal(release->phase))
        return 0;
    if (phase != release->phase &&
        !release_phase_may_follow(release->operation, release->phase, phase))
        return err_set(error, ERR_INTERNAL, "PhaseOrder",
                       "Release %s cannot go from \"%s\" to \"%s\"",
                       value_get_string(release->metadata, "name"),
                       release_phase_name(release->phase), release_phase_name(phase));
    timestamp_format(now, time);
    status = status_with_phase(subject, release, phase, time);
    if (plan)
        set(&status, "plan", report_plan(plan, digest));
    if (results || (plan && release_phase_is_terminal(phase)))
        r = set_results(context, release, plan, results, &status, error);
    if (results)
        set(&status, "counts", report_counts(results));
    if (verdict)
        set(&status, "conditions",
            conditions_make(value_get(release->status, "conditions"), verdict, 1, now));
    if (r >= 0)
        r = write_status(context, release, status, error);
    if (r < 0) {
        value_unref(status);
        return r;
    }
    value_unref(release->status);
    release->status = status;
    release->phase = phase;
    return 0;
}
