#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/history/approval.h"
#include "runtimes/kubernetes/history/history_private.h"
#include "runtimes/kubernetes/objects/marks.h"

/* ---- Versions ---- */

/* A version is the object's uid and resourceVersion, and ENDED if the phase is terminal: such a
 * record never changes. */
#define ENDED " ended"

static char *version_of(const struct value *object, enum release_phase phase)
{
    return str_printf("%s %s%s", kube_history_metadata(object, "uid"),
                      kube_history_metadata(object, "resourceVersion"),
                      release_phase_is_terminal(phase) ? ENDED : "");
}

/* Splits a version: the caller frees *ret_uid; the resourceVersion borrows from it. False: the
 * record is in a terminal phase. */
static bool version_split(const char *version, char **ret_uid, const char **ret_resource_version)
{
    char *space;

    if (str_has_suffix(version, ENDED))
        return false;
    *ret_uid = str_new(version);
    space = strchr(*ret_uid, ' ');
    *ret_resource_version = space ? space + 1 : "";
    if (space)
        *space = '\0';
    return true;
}

/* ---- Records ---- */

static int absent(struct error *error)
{
    return err_set(error, ERR_NOT_FOUND, NULL, "there is no such record");
}

/* ERR_NOT_FOUND: there is no object of that name, or it is not a record. */
static int get_record(const struct history_task *task, const struct value **ret,
                      struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r = task->name ? kube_history_get(task, task->call->cancel, &object, error) : absent(error);

    if (r < 0)
        return r;
    if (!kube_history_is_record(task, object))
        return absent(error);
    *ret = TAKE(object);
    return 0;
}

/* ---- Create ---- */

/* NULL: the Spec is not known by uid. */
static const struct value *owner_of(const struct history_task *task,
                                    const struct release_head *head)
{
    if (!head->spec_uid)
        return NULL;
    return value_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", API_GROUP_VERSION, "kind",
                      "Spec", "name", task->spec, "uid", head->spec_uid, "controller", 1);
}

static const struct value *new_object(const struct history_task *task,
                                      const struct release_head *head)
{
    _cleanup_value_ const struct value *owner_reference = owner_of(task, head);
    _cleanup_free_ char *revision = str_printf("%lld", (long long)head->revision);
    _cleanup_free_ char *generation = str_printf("%lld", (long long)head->generation);
    _cleanup_value_ const struct value *to_revision =
        head->to_revision ? value_pack("I", head->to_revision) : NULL;
    const char *operation = release_operation_name(head->operation);
    const char *digest_key = head->resources ? HISTORY_RESOURCES : HISTORY_SPEC;
    char owner[SPEC_HASH_NAME_SIZE];

    spec_hash_name(task->namespace_name, task->spec, owner);
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s?}, s:v?}, "
                      "s:{s:{s:s}, s:s, s:v?, s:v?}}",
                      "apiVersion", API_GROUP_VERSION, "kind", "Release", "metadata", "name",
                      task->name, "namespace", task->namespace_name, "labels", KUBE_GENERATED_LABEL,
                      "true", KUBE_OWNER_LABEL, owner, "annotations", HISTORY_REVISION, revision,
                      HISTORY_GENERATION, generation, HISTORY_OPERATION, operation, digest_key,
                      head->spec_digest, "ownerReferences", owner_reference, "spec", "specRef",
                      "name", task->spec, "operation", operation, "toRevision", to_revision,
                      "resources", head->resources);
}

static int judge_create(const struct history_task *task, const struct history_change *change,
                        const struct value *object, bool in_doubt, bool *ret_happened,
                        struct error *error)
{
    if (!object)
        return 0;
    if (!kube_history_is_record(task, object))
        return err_set(error, ERR_CONFLICT, "ReleaseNameTaken",
                       "there is a Release %s that this controller did not make: delete it",
                       task->name);
    if (!in_doubt || kube_history_phase(object) != PHASE_NONE ||
        kube_history_generation(object) != kube_history_generation(change->body) ||
        !str_equal(kube_history_spec_uid(object), kube_history_spec_uid(change->body)) ||
        !value_equal(value_get(object, "spec"), value_get(change->body, "spec")))
        return err_set(error, ERR_EXISTS, NULL, "the revision is taken");
    *ret_happened = true;
    return 0;
}

static int history_create(struct release_history *base, const struct release_head *head,
                          const struct store_call *call, char **ret_version, struct error *error)
{
    _cleanup_(kube_history_end) struct history_task task = {0};
    _cleanup_value_ const struct value *body = NULL, *object = NULL;
    struct error problem = {0};
    int r;

    kube_history_begin(&task, base, &head->spec, head->revision, call);
    if (!task.name)
        return err_set(error, ERR_INVALID, NULL, "%lld is no revision", (long long)head->revision);
    body = new_object(&task, head);
    r = kube_history_carry_out(&task, &(struct history_change){"POST", NULL, body, judge_create},
                               &object, &problem);
    if (r < 0)
        return kube_history_about(&task, &problem, error);
    *ret_version = version_of(object, PHASE_NONE);
    return 0;
}

/* ---- Update ---- */

static const struct value *status_body(const struct history_task *task, const char *uid,
                                       const char *resource_version, const struct value *status)
{
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:v}", "apiVersion", API_GROUP_VERSION,
                      "kind", "Release", "metadata", "namespace", task->namespace_name, "name",
                      task->name, "uid", uid, "resourceVersion", resource_version, "status",
                      status);
}

static int ended(struct error *error, enum release_phase phase)
{
    return err_set(error, ERR_CONFLICT, "ReleaseEnded", "it has ended: %s",
                   release_phase_name(phase));
}

static int judge_update(const struct history_task *task, const struct history_change *change,
                        const struct value *object, bool in_doubt, bool *ret_happened,
                        struct error *error)
{
    bool is_same =
        str_equal(kube_history_metadata(object, "uid"), kube_history_metadata(change->body, "uid"));

    if (!object || !kube_history_is_record(task, object))
        return err_set(error, ERR_NOT_FOUND, NULL, "it was deleted");
    if (is_same && str_equal(kube_history_metadata(object, "resourceVersion"),
                             kube_history_metadata(change->body, "resourceVersion")))
        return 0;
    if (is_same && in_doubt &&
        value_equal(value_get(object, "status"), value_get(change->body, "status"))) {
        *ret_happened = true;
        return 0;
    }
    if (release_phase_is_terminal(kube_history_phase(object)))
        return ended(error, kube_history_phase(object));
    return err_set(error, ERR_CONFLICT, NULL, "it was changed meanwhile");
}

static int put_status(const struct history_task *task, const struct value *status, char **version,
                      struct error *error)
{
    _cleanup_free_ char *uid = NULL;
    _cleanup_value_ const struct value *body = NULL, *object = NULL;
    const char *resource_version = NULL;
    int r;

    if (!task->name)
        return absent(error);
    if (!version_split(*version, &uid, &resource_version))
        return err_set(error, ERR_CONFLICT, "ReleaseEnded", "it has ended");
    body = status_body(task, uid, resource_version, status);
    r = kube_history_carry_out(task, &(struct history_change){"PUT", "status", body, judge_update},
                               &object, error);
    if (r < 0)
        return r;
    free(*version);
    *version = version_of(object, release_status_phase(status));
    return 0;
}

static int history_update(struct release_history *base, const struct release_record *record,
                          const struct store_call *call, char **version, struct error *error)
{
    _cleanup_(kube_history_end) struct history_task task = {0};
    struct error problem = {0};
    int r;

    kube_history_begin(&task, base, &record->head.spec, record->head.revision, call);
    r = put_status(&task, record->status, version, &problem);
    return r < 0 ? kube_history_about(&task, &problem, error) : 0;
}

/* ---- Load and list ---- */

/* What was recorded of the Spec. */
static void read_recorded(const struct value *object, struct release_record *record)
{
    const char *within = kube_history_digest(object, HISTORY_RESOURCES);

    release_record_set_spec_digest(record,
                                   within ? within : kube_history_digest(object, HISTORY_SPEC));
    if (within)
        record->head.resources = value_ref(value_path(object, "spec", "resources", NULL));
}

static const char *const approved_plan[] = {"spec", "approvedPlan", NULL};

/* Loads one revision, with a task of its own. */
static int load_one(struct release_history *base, const struct spec_key *spec, int64_t revision,
                    const struct store_call *call, struct release_record **ret, char **ret_version,
                    struct error *error)
{
    _cleanup_(kube_history_end) struct history_task task = {0};
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    struct release_record *record;
    int r;

    kube_history_begin(&task, base, spec, revision, call);
    r = get_record(&task, &object, &problem);
    if (r < 0)
        return kube_history_about(&task, &problem, error);
    record = release_record_new(spec, revision);
    record->head.generation = kube_history_generation(object);
    release_operation_parse(value_string(value_path(object, "spec", "operation", NULL)),
                            &record->head.operation);
    record->head.phase = kube_history_phase(object);
    record->head.to_revision = value_int(value_path(object, "spec", "toRevision", NULL), 0);
    release_record_set_spec_uid(record, kube_history_spec_uid(object));
    read_recorded(object, record);
    record->own_generation = value_int(value_path(object, "metadata", "generation", NULL), 1);
    kube_approval_read(object, approved_plan, &record->approval);
    kube_rejection_read(object, &record->rejection);
    if (record->head.phase != PHASE_NONE) /* an empty status counts as none */
        record->status = value_ref(value_get(object, "status"));
    *ret_version = version_of(object, record->head.phase);
    *ret = record;
    return 0;
}

/* Of the Releases that are listed, some may be gone by now. Any number may have been made by people
 * to look like records. */
#define LOAD_ATTEMPTS 8

/* Loads the newest record that still exists. */
static int load_newest(struct release_history *base, const struct spec_key *spec,
                       const struct store_call *call, struct release_record **ret,
                       char **ret_version, struct error *error)
{
    _cleanup_(kube_history_heads_done) struct history_heads listing = {0};
    int r = kube_history_find(base, spec, call, &listing, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < listing.count && i < LOAD_ATTEMPTS; i++) {
        struct error problem = {0};

        r = load_one(base, spec, listing.items[i].revision, call, ret, ret_version, &problem);
        if (r != ERR_NOT_FOUND)
            return r < 0 ? err_copy(error, &problem) : 0;
    }
    return err_set(error, ERR_NOT_FOUND, NULL, "%s/%s has no Releases", spec->namespace_name,
                   spec->name);
}

static int history_load(struct release_history *base, const struct spec_key *spec, int64_t revision,
                        const struct store_call *call, struct release_record **ret,
                        char **ret_version, struct error *error)
{
    return revision ? load_one(base, spec, revision, call, ret, ret_version, error)
                    : load_newest(base, spec, call, ret, ret_version, error);
}

static int history_list(struct release_history *base, const struct spec_key *spec,
                        release_on_head *fn, void *arg, const struct store_call *call,
                        struct error *error)
{
    _cleanup_(kube_history_heads_done) struct history_heads listing = {0};
    int r = kube_history_find(base, spec, call, &listing, error);

    for (size_t i = 0; i < listing.count && r == 0; i++)
        r = fn(arg, &listing.items[i], error);
    return r;
}

/* ---- Remove ---- */

static int remove_object(const struct history_task *task, const struct value *object,
                         struct error *error)
{
    _cleanup_value_ const struct value *options =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", kube_history_metadata(object, "uid"));

    return kube_history_send(task,
                             (struct kube_request){.method = "DELETE",
                                                   .body = options,
                                                   .idempotent = true,
                                                   .cancel = task->call->cancel,
                                                   .complete_once_sent = true},
                             kube_history_time_left(task), NULL, error);
}

static int history_remove(struct release_history *base, const struct spec_key *spec,
                          int64_t revision, enum release_removal how, const struct store_call *call,
                          struct error *error)
{
    _cleanup_(kube_history_end) struct history_task task = {0};
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r;

    kube_history_begin(&task, base, spec, revision, call);
    r = get_record(&task, &object, &problem);
    if (r == 0 && how == RELEASE_IF_ENDED && !release_phase_is_terminal(kube_history_phase(object)))
        r = err_set(&problem, ERR_CONFLICT, "ReleaseNotEnded", "it has not ended yet");
    if (r == 0)
        r = remove_object(&task, object, &problem);
    return r < 0 && r != ERR_NOT_FOUND ? kube_history_about(&task, &problem, error) : 0;
}

static void history_free(struct release_history *base)
{
    free(base);
}

static const struct release_history_ops ops = {
    .type = "kubernetes",
    .goes_with_spec = true,
    .is_in_api = true,
    .free = history_free,
    .create = history_create,
    .update = history_update,
    .load = history_load,
    .list = history_list,
    .remove = history_remove,
};

struct release_history *kube_history_new(const struct kube_cluster *cluster)
{
    struct kube_history *history = NEW(struct kube_history);

    history->base.ops = &ops;
    history->client = cluster->client;
    return &history->base;
}
