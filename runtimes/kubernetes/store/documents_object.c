/* One object of a document, and its compare-and-swap: documents_private.h. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/pause.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define WRITE_ANNOTATION                                                      \
    "api.kusion.io/write"   /* annotation: the tag of the object's last write \
                             */
#define BACKOFF_BASE    100 /* ms */
#define BACKOFF_MAXIMUM 5000
#define MAX_CONFLICTS   4 /* of one swap, though nobody changed the object */

void kube_draw_tag(char ret[TAG_SIZE])
{
    snprintf(ret, TAG_SIZE, "%08" PRIx64 "%08" PRIx64, random_below(UINT64_C(1) << 32),
             random_below(UINT64_C(1) << 32));
}

const char *kube_version_of(const struct value *object)
{
    return value_string(value_path(object, "metadata", "resourceVersion", NULL));
}

static int64_t time_left(const struct task *task)
{
    return task->deadline - system_clock.monotonic(&system_clock);
}

/* One request with the call's permit. name NULL: for the collection. timeout: ms. */
static int send(const struct task *task, const struct kube_kind *kind, const char *name,
                struct kube_request request, int64_t timeout, const struct value **ret,
                struct error *error)
{
    if (timeout <= 0)
        return err_set(error, ERR_TIMEOUT, NULL, "no time left for a request");
    request.timeout = timeout;
    request.ref = (struct kube_ref){kind, task->store->namespace_name, name, NULL};
    request.permit = task->call->permit;
    request.use = task->call->use;
    return kube_do(task->store->client, &request, ret, error);
}

int kube_object_get(const struct task *task, const struct kube_kind *kind, const char *name,
                    bool metadata_only, const struct value **ret, struct error *error)
{
    return send(task, kind, name,
                (struct kube_request){.method = "GET",
                                      .accept = metadata_only ? KUBE_METADATA : NULL,
                                      .cancel = task->call->cancel},
                time_left(task), ret, error);
}

const struct value *kube_object_metadata(const struct document_file *file, const char *name,
                                         const char *tag, const char *version)
{
    const struct documents *store = (const struct documents *)file->base.store;
    const struct document_name state = {DOCUMENT_STATE, file->name.spec, NULL};
    bool is_head = str_equal(name, file->head_name);
    char spec[KUBE_DOCUMENT_NAME_SIZE];

    kube_document_name(&state, spec);
    return value_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s?, s:s?}, s:{s:s, s:s, s:s?, s:s}, s:s?}", "name", name,
        "namespace", store->namespace_name, "labels", "app.kubernetes.io/managed-by",
        "kusion-operator", KUBE_DOCUMENT_LABEL, file->head_name, KUBE_KIND_LABEL,
        is_head ? document_kind_name(file->name.kind) : NULL, KUBE_SPEC_LABEL,
        is_head ? spec : NULL, "annotations", "api.kusion.io/spec-namespace",
        file->name.spec.namespace_name, "api.kusion.io/spec-name", file->name.spec.name,
        "api.kusion.io/item", file->name.item, WRITE_ANNOTATION, tag, "resourceVersion", version);
}

bool kube_object_text(const struct value *object, const char *key, char **ret)
{
    size_t length = 0;
    const char *text = value_string_n(value_path(object, "data", key, NULL), &length);
    _cleanup_buf_ struct buf decoded = BUF_INIT;

    *ret = NULL;
    if (!text)
        return true;
    if (!base64_decode(&decoded, text, length))
        return false;
    *ret = buf_take(&decoded);
    return true;
}

int kube_object_bytes(const struct documents *store, const struct value *object, const char *kind,
                      const char *field, const char *key, struct buf *to, struct error *error)
{
    size_t length = 0;
    const struct value *member = value_path(object, field, key, NULL);
    const char *text = value_string_n(member, &length);

    /* The API server may return empty data as null, or leave it out; the checksums tell whether
     * that is right. */
    if ((!member || value_is(member, VALUE_NULL)) || (text && base64_decode(to, text, length)))
        return 0;
    return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT,
                   "%s %s/%s is damaged: its data cannot be read", kind, store->namespace_name,
                   value_string(value_path(object, "metadata", "name", NULL)));
}

/* ---- Compare and swap ---- */

static int attempt(const struct task *task, const struct swap *swap, char **ret_version,
                   struct error *error)
{
    bool is_new = str_equal(swap->method, "POST"), is_in_doubt = false;
    _cleanup_value_ const struct value *answer = NULL;
    struct kube_request request = {
        .method = swap->method,
        .body = swap->body,
        .content_type = str_equal(swap->method, "PATCH") ? KUBE_MERGE_PATCH : NULL,
        .accept = swap->tag ? KUBE_METADATA : NULL,
        .ret_in_doubt = &is_in_doubt,
    };
    /* The request gets a part of the time, so that some is left to read the outcome. */
    int r = send(task, swap->kind, is_new ? NULL : swap->name, request, time_left(task) * 3 / 4,
                 &answer, error);

    if (is_new && is_in_doubt)
        kube_document_expect_create(task->store, swap->document);
    if (r == 0 && ret_version)
        *ret_version = str_new(kube_version_of(answer));
    return r;
}

enum looked { LOOKED_DONE, LOOKED_NOT_YET, LOOKED_CHANGED, LOOKED_UNKNOWN };

/* Reads the object after an attempt that failed, to learn the outcome. */
static enum looked look(const struct task *task, const struct swap *swap, char **ret_version)
{
    const struct store_call quiet = {0}; /* the call's cancel stops a change before it is sent, not
                                            this read */
    const struct task looking = {task->store, &quiet, task->deadline};
    _cleanup_value_ const struct value *object = NULL;
    const char *tag;
    int r = kube_object_get(&looking, swap->kind, swap->name, true, &object, NULL);

    if (r == ERR_NOT_FOUND && !swap->tag)
        return LOOKED_DONE;
    if (r == ERR_NOT_FOUND)
        return swap->version ? LOOKED_CHANGED : LOOKED_NOT_YET;
    if (r < 0)
        return LOOKED_UNKNOWN;
    tag = value_string(value_path(object, "metadata", "annotations", WRITE_ANNOTATION, NULL));
    if (swap->tag && str_equal(tag, swap->tag)) {
        if (ret_version)
            *ret_version = str_new(kube_version_of(object));
        return LOOKED_DONE;
    }
    if (swap->version ? str_equal(kube_version_of(object), swap->version) : !swap->tag)
        return LOOKED_NOT_YET;
    return LOOKED_CHANGED;
}

static bool is_unknown(int r)
{
    return r == ERR_UNAVAILABLE || r == ERR_TIMEOUT;
}

static bool is_conflict(int r)
{
    return r == ERR_CONFLICT || r == ERR_EXISTS;
}

static bool wait_for_another(const struct task *task, unsigned n)
{
    int64_t delay = backoff_delay(n, BACKOFF_BASE, BACKOFF_MAXIMUM);

    return delay < time_left(task) && pause_for(delay, NULL);
}

/* A 409 says too little: an API server also answers so if it cannot update a ResourceQuota, and an
 * earlier attempt of our own may have changed the object. So a look decides here, too. */
int kube_object_swap(const struct task *task, const struct swap *swap, char **ret_version,
                     struct error *error)
{
    struct error doubt = {0}; /* the error of the first attempt after which a look had to decide */

    for (unsigned n = 0, conflicts = 0;; n++) {
        struct error problem = {0};
        int r = attempt(task, swap, ret_version, &problem);
        enum looked looked;

        if (r == 0)
            return 0;
        if (!doubt.code && r == ERR_NOT_FOUND && swap->version)
            return err_set(error, ERR_CONFLICT, DOCUMENT_CONFLICT, "%s", problem.message);
        if (!doubt.code && !is_unknown(r) && !is_conflict(r))
            return err_copy(error, &problem);
        if (!doubt.code)
            doubt = problem;
        looked = look(task, swap, ret_version);
        if (looked == LOOKED_DONE)
            return 0;
        if (looked == LOOKED_CHANGED)
            return err_set(error, ERR_CONFLICT, DOCUMENT_CONFLICT, "%s", doubt.message);
        conflicts += is_conflict(r);
        if ((!is_unknown(r) && !is_conflict(r)) || conflicts > MAX_CONFLICTS ||
            !wait_for_another(task, n))
            return err_set(error, is_conflict(doubt.code) ? ERR_UNAVAILABLE : doubt.code,
                           doubt.reason, "%s", doubt.message);
    }
}

int kube_object_delete(const struct task *task, const struct kube_kind *kind, const char *name,
                       struct error *error)
{
    struct error problem = {0};
    int r = kube_object_swap(task, &(struct swap){.method = "DELETE", .kind = kind, .name = name},
                             NULL, &problem);

    if (r == 0 || r == ERR_NOT_FOUND)
        return 0;
    err_copy(error, &problem);
    err_wrap(error, "removing %s %s/%s", kind->plural, task->store->namespace_name, name);
    return r;
}

int kube_document_conflict(const struct document_file *file, const char *message,
                           struct error *error)
{
    const struct documents *store = (const struct documents *)file->base.store;

    return err_set(error, ERR_CONFLICT, DOCUMENT_CONFLICT,
                   "ConfigMap %s/%s was changed by another process meanwhile: %s",
                   store->namespace_name, file->head_name, message);
}

int kube_document_swap(const struct task *task, const struct document_file *file,
                       const struct swap *swap, char **ret_version, struct error *error)
{
    struct error problem = {0};
    int r = kube_object_swap(task, swap, ret_version, &problem);

    return r == ERR_CONFLICT ? kube_document_conflict(file, problem.message, error)
                             : err_copy(error, &problem);
}
