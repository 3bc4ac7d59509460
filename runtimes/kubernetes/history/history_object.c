/* A call of the history, and one Release: history_private.h. */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/pause.h"
#include "runtimes/kubernetes/history/history_private.h"

#define OWN_DEADLINE    60000 /* ms */
#define BACKOFF_BASE    100
#define BACKOFF_MAXIMUM 5000

void kube_history_end(struct history_task *task)
{
    arena_done(&task->arena);
}

void kube_history_begin(struct history_task *task, struct release_history *base,
                        const struct spec_key *spec, int64_t revision,
                        const struct store_call *call)
{
    *task = (struct history_task){
        .client = ((struct kube_history *)base)->client,
        .call = call,
        .deadline =
            call->deadline ? call->deadline : system_clock.monotonic(&system_clock) + OWN_DEADLINE,
        .arena = ARENA_INIT,
        .namespace_name = spec->namespace_name,
        .spec = spec->name,
        .revision = revision,
    };
    if (release_revision_is_valid(revision))
        task->name = release_name(&task->arena, spec->name, revision);
}

int64_t kube_history_time_left(const struct history_task *task)
{
    return task->deadline - system_clock.monotonic(&system_clock);
}

int kube_history_send(const struct history_task *task, struct kube_request request, int64_t timeout,
                      const struct value **ret, struct error *error)
{
    if (timeout <= 0)
        return err_set(error, ERR_TIMEOUT, NULL, "no time left for a request");
    request.timeout = timeout;
    request.permit = task->call->permit;
    request.use = task->call->use;
    request.ref.kind = &kube_releases;
    request.ref.namespace_name = task->namespace_name;
    request.ref.name = str_equal(request.method, "POST") ? NULL : task->name;
    return kube_do(task->client, &request, ret, error);
}

int kube_history_about(const struct history_task *task, const struct error *problem,
                       struct error *error)
{
    err_copy(error, problem);
    err_wrap(error, "Release %lld of %s/%s", (long long)task->revision, task->namespace_name,
             task->spec);
    return problem->code;
}

int kube_history_get(const struct history_task *task, struct cancel *cancel,
                     const struct value **ret, struct error *error)
{
    return kube_history_send(task, (struct kube_request){.method = "GET", .cancel = cancel},
                             kube_history_time_left(task), ret, error);
}

/* ---- What an object says ---- */

const char *kube_history_annotation(const struct value *object, const char *key)
{
    return value_string(value_path(object, "metadata", "annotations", key, NULL));
}

const char *kube_history_metadata(const struct value *object, const char *key)
{
    return value_string(value_path(object, "metadata", key, NULL));
}

/* To approve or reject takes the right to change Releases. One that was created with a decision was
 * made by somebody with the right to create Releases alone: the controller's have none then. */
static bool was_created_decided(const struct value *object)
{
    static const char *const decisions[] = {"approvedPlan", "approvedUnseen", "rejected"};

    if (value_int(value_path(object, "metadata", "generation", NULL), 1) > 1)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(decisions); i++)
        if (value_path(object, "spec", decisions[i], NULL))
            return true;
    return false;
}

/* Is it the record of the task's revision? */
bool kube_history_is_record(const struct history_task *task, const struct value *object)
{
    const char *label =
        value_string(value_path(object, "metadata", "labels", KUBE_GENERATED_LABEL, NULL));
    const char *spec = value_string(value_path(object, "spec", "specRef", "name", NULL));
    int64_t revision = 0;

    return str_equal(label, "true") && str_equal(spec, task->spec) &&
           release_revision_parse(kube_history_annotation(object, HISTORY_REVISION), &revision) &&
           revision == task->revision && !was_created_decided(object);
}

int64_t kube_history_generation(const struct value *object)
{
    int64_t generation = 0;

    str_to_int64(kube_history_annotation(object, HISTORY_GENERATION), &generation);
    return generation;
}

/* It may name a document. People can write annotations of any length and content. */
const char *kube_history_digest(const struct value *object, const char *annotation)
{
    const char *digest = kube_history_annotation(object, annotation);
    size_t length = digest ? strspn(digest, "0123456789abcdef") : 0;

    return length && length < HASH_HEX_SIZE && !digest[length] ? digest : NULL;
}

const char *kube_history_spec_uid(const struct value *object)
{
    const struct value *owners = value_path(object, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < value_count(owners); i++)
        if (str_equal(value_get_string(value_at(owners, i), "kind"), "Spec"))
            return value_get_string(value_at(owners, i), "uid");
    return NULL;
}

bool kube_release_is_orphan(const struct value *metadata)
{
    return value_path(metadata, "labels", KUBE_GENERATED_LABEL, NULL) &&
           !value_count(value_get(metadata, "ownerReferences"));
}

enum release_phase kube_history_phase(const struct value *object)
{
    return release_status_phase(value_get(object, "status"));
}

/* ---- Changes ---- */

static bool is_unknown(int r)
{
    return r == ERR_UNAVAILABLE || r == ERR_TIMEOUT;
}

static bool is_decided(int r)
{
    return !is_unknown(r) && r != ERR_EXISTS && r != ERR_CONFLICT;
}

/* Reads the object after a change; the call's cancel is ignored here. *ret: the object, if the
 * change was made. */
static int look(const struct history_task *task, const struct history_change *change, bool in_doubt,
                bool *ret_happened, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r = kube_history_get(task, NULL, &object, &problem);

    if (r < 0 && r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    r = change->judge(task, change, object, in_doubt, ret_happened, error);
    if (r == 0 && *ret_happened)
        *ret = TAKE(object);
    return r;
}

static bool wait_for_another(const struct history_task *task, unsigned n)
{
    int64_t delay = backoff_delay(n, BACKOFF_BASE, BACKOFF_MAXIMUM);

    return delay < kube_history_time_left(task) && pause_for(delay, task->call->cancel);
}

static int attempt(const struct history_task *task, const struct history_change *change,
                   const struct value **ret, struct error *error)
{
    const struct kube_request request = {
        .method = change->method,
        .ref = {.subresource = change->subresource},
        .body = change->body,
        .accept = KUBE_METADATA,
        .cancel = task->call->cancel,
        .complete_once_sent = true,
    };

    /* The request gets a part of the time, so that some is left to read the outcome. */
    return kube_history_send(task, request, kube_history_time_left(task) * 3 / 4, ret, error);
}

int kube_history_carry_out(const struct history_task *task, const struct history_change *change,
                           const struct value **ret, struct error *error)
{
    struct error doubt = {0}; /* the error of the attempt whose outcome is not known */

    for (unsigned n = 0;; n++) {
        struct error problem = {0}, answer = {0};
        bool happened = false;
        int r = attempt(task, change, ret, &problem);

        if (r == 0)
            return 0;
        if (is_decided(r) && !doubt.code)
            return err_copy(error, &problem);
        if (is_unknown(r) && !doubt.code)
            err_copy(&doubt, &problem);
        r = look(task, change, doubt.code != 0, &happened, ret, &answer);
        if (is_unknown(r))
            return err_copy(error, doubt.code ? &doubt : &answer);
        if (r < 0)
            return err_copy(error, &answer);
        if (happened)
            return 0;
        if (is_decided(problem.code) || !wait_for_another(task, n))
            return err_copy(error, doubt.code ? &doubt : &problem);
    }
}
