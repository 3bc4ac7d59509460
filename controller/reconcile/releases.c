#include "controller/reconcile/releases.h"

#include "controller/reconcile/api.h"
#include "controller/reconcile/report.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/plans.h"
#include "runtimes/kubernetes/runtime.h"

#define REVISION_ANNOTATION   "api.kusion.io/revision"
#define GENERATION_ANNOTATION "api.kusion.io/spec-generation"

void release_free(struct release *release)
{
    if (!release)
        return;
    value_unref(release->metadata);
    value_unref(release->spec);
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
    release->spec = value_ref(value_get(object, "spec"));
    release->revision = annotated(object, REVISION_ANNOTATION);
    release->generation = annotated(object, GENERATION_ANNOTATION);
    release_operation_parse(value_get_string(release->spec, "operation"), &release->operation);
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
    struct spec_key all = {.namespace_name = subject->key.namespace_name};
    _cleanup_free_ char *collection = api_release_path(&all, NULL);
    _cleanup_free_ char *field = str_printf("spec.specRef.name=%s", subject->key.name);
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
        struct spec_key name = {subject->key.namespace_name, newest.name};
        _cleanup_free_ char *path = api_release_path(&name, NULL);

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
    _cleanup_free_ char *revision_text = str_printf("%lld", (long long)revision);
    _cleanup_free_ char *generation = str_printf("%lld", (long long)subject->generation);
    const struct spec_key *key = &subject->key;
    char owner[SPEC_HASH_NAME_SIZE];

    spec_hash_name(key->namespace_name, key->name, owner);
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s}}, s:{s:{s:s}, s:s}}",
                      "apiVersion", API_GROUP_VERSION, "kind", "Release", "metadata", "name", name,
                      "namespace", key->namespace_name, "labels", RELEASE_GENERATED_LABEL, "true",
                      KUBE_OWNER_LABEL, owner, "annotations", REVISION_ANNOTATION, revision_text,
                      GENERATION_ANNOTATION, generation, "spec", "specRef", "name", key->name,
                      "operation", release_operation_name(operation));
}

int release_begin(const struct reconcile_context *context, const struct release_subject *subject,
                  enum release_operation operation, int64_t revision, struct release **ret,
                  struct error *error)
{
    struct arena arena = ARENA_INIT;
    const char *name = release_name(&arena, subject->key.name, revision);
    struct spec_key all = {.namespace_name = subject->key.namespace_name};
    struct spec_key own = {subject->key.namespace_name, name};
    _cleanup_value_ const struct value *body = release_object(subject, name, operation, revision);
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *collection = api_release_path(&all, NULL);
    _cleanup_free_ char *path = api_release_path(&own, NULL);
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

/* Of the Release itself, which a person's approval raises. */
static int64_t generation_of(const struct release *release)
{
    return value_int(value_get(release->metadata, "generation"), 1);
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
    /* Its own: it may be a later one that cancels it. */
    set(&status, "specGeneration",
        value_pack("I", release->generation ? release->generation : subject->generation));
    set(&status, "phase", value_pack("s", release_phase_name(phase)));
    set(&status, "observedGeneration", value_pack("I", generation_of(release)));
    return status;
}

/* Results into a status; all of them beside it, where there are too many. */
static int set_results(const struct reconcile_context *context, const struct release *release,
                       const struct release_report *report, const struct value **status,
                       struct error *error)
{
    const char *namespace_name = value_get_string(release->metadata, "namespace");
    const char *name = value_get_string(release->metadata, "name");
    _cleanup_value_ const struct value *all = NULL;
    char ref[PLAN_NAME_SIZE];
    size_t omitted;

    set(status, "results", report_results(report->plan, report->results, &omitted));
    set(status, "omitted", value_pack("I", (int64_t)omitted));
    if (!omitted)
        return 0;
    all = report_all_results(report->plan, report->results);
    plan_name(namespace_name, name, ref);
    set(status, "planRef", value_pack("{s:s}", "name", ref));
    return plan_save(context->client, context->state_namespace, namespace_name, name, all, error);
}

/* Whoever ended it meanwhile, it stays as it is. */
static bool was_ended(void *arg, const struct value *object)
{
    struct release *release = arg;
    const struct value *status = value_get(object, "status");
    enum release_phase phase = PHASE_NONE;

    release_phase_parse(value_get_string(status, "phase"), &phase);
    if (!release_phase_is_terminal(phase))
        return false;
    release->phase = phase;
    value_assign(&release->status, status);
    return true;
}

/* It does not stop the work if somebody deletes a record. */
static int write_status(const struct reconcile_context *context, struct release *release,
                        enum release_phase phase, const struct value *status, struct error *error)
{
    struct spec_key key = {value_get_string(release->metadata, "namespace"),
                           value_get_string(release->metadata, "name")};
    _cleanup_free_ char *path = api_release_path(&key, "status");
    struct api_status write = {
        .path = path, .kind = "Release", .status = status, .is_final = was_ended, .arg = release};
    struct error problem = {0};
    int r = api_put_status(context, &write, &release->metadata, &problem);

    if (r < 0 && r != ERR_NOT_FOUND) {
        err_wrap(&problem, "writing the status of Release %s", key.name);
        return err_copy(error, &problem);
    }
    if (r == API_IS_FINAL)
        return 0;
    value_assign(&release->status, status);
    release->phase = phase;
    return 0;
}

static int check_order(const struct release *release, enum release_phase phase, struct error *error)
{
    if (phase == release->phase ||
        release_phase_may_follow(release->operation, release->phase, phase))
        return 0;
    return err_set(error, ERR_INTERNAL, "PhaseOrder", "Release %s cannot go from \"%s\" to \"%s\"",
                   value_get_string(release->metadata, "name"), release_phase_name(release->phase),
                   release_phase_name(phase));
}

int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, const struct release_report *report, struct error *error)
{
    int64_t now = context->clock->now(context->clock);
    const struct value *status;
    char time[TIMESTAMP_SIZE];
    int r;

    if (!release || release_phase_is_terminal(release->phase))
        return 0;
    r = check_order(release, report->phase, error);
    if (r < 0)
        return r;
    timestamp_format(now, time);
    status = status_with_phase(subject, release, report->phase, time);
    if (report->plan)
        set(&status, "plan", report_plan(report->plan, report->digest));
    if (report->results || (report->plan && release_phase_is_terminal(report->phase)))
        r = set_results(context, release, report, &status, error);
    if (report->results)
        set(&status, "counts", report_counts(report->results));
    if (report->verdict)
        set(&status, "conditions",
            conditions_make(value_get(release->status, "conditions"), report->verdict,
                            generation_of(release), now));
    if (r >= 0)
        r = write_status(context, release, report->phase, status, error);
    value_unref(status);
    return r;
}
