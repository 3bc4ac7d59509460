#include "controller/reconcile/inputs/spec_takeover.h"

#include <string.h>

#include "controller/reconcile/run/spec_secret.h"
#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/gzip.h"

#define READ_TIMEOUT 10000       /* ms */
#define SLOT_TIMEOUT 1000        /* ms; then it is tried again later */
#define MOST_BYTES   (16u << 20) /* of the file, as text */

#define FIELD "terraformState.from: "

/* ---- The file ---- */

static int bad_file(const struct spec_secret *secret, const char *what, struct error *error)
{
    return err_set(error, ERR_INVALID, "TakeoverFailed", FIELD "key \"%s\" of Secret \"%s\" %s",
                   secret->key, secret->name, what);
}

/* *ret: the text. */
static int read_text(const struct spec_secret *secret, const struct value *object, struct buf *ret,
                     struct error *error)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    size_t length;
    const char *data = value_string_n(value_get(value_get(object, "data"), secret->key), &length);
    int r = 0;

    if (!data)
        return err_set(error, ERR_INVALID, "TakeoverFailed",
                       FIELD "there is no key \"%s\" in Secret \"%s\"", secret->key, secret->name);
    if (!base64_decode(&bytes, data, length)) {
        explicit_bzero(bytes.data, bytes.length);
        return bad_file(secret, "is not Base64", error);
    }
    if (gzip_is(bytes.data, bytes.length))
        r = gzip_expand(bytes.data, bytes.length, ret);
    else
        buf_add(ret, bytes.data, bytes.length);
    if (r == ERR_TOO_LARGE)
        r = bad_file(secret, "has more than 16 MiB when it is unpacked", error);
    else if (r < 0)
        r = bad_file(secret, "is no whole gzip file", error);
    explicit_bzero(bytes.data, bytes.length);
    return r;
}

static int say_why(const struct spec_secret *secret, const struct run *run,
                   const struct error *problem, struct error *error)
{
    const char *namespace_name = run->subject.key.namespace_name;

    if (problem->code == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "TakeoverFailed",
                       FIELD "there is no Secret \"%s\" in namespace \"%s\"", secret->name,
                       namespace_name);
    if (problem->code == ERR_FORBIDDEN)
        return err_set(error, ERR_FORBIDDEN, "AccessDenied", FIELD "%s", problem->message);
    err_copy(error, problem);
    err_wrap(error, FIELD "Secret \"%s\"", secret->name);
    return problem->code;
}

/* ---- What is taken over ---- */

/* The resources of the type, with their records. */
struct targets {
    struct runtime_target *items;
    size_t n, n_new; /* without a record */
};

static struct targets targets_of(struct ledger *ledger, const struct spec *spec, const char *type)
{
    struct targets targets = {.items = NEW_ARRAY(struct runtime_target, spec->n_resources + 1)};

    for (size_t i = 0; i < spec->n_resources; i++) {
        const struct resource *resource = &spec->resources[i];
        const struct record *prior;

        if (!str_equal(resource->type, type))
            continue;
        prior = ledger_get(ledger, resource->id, NULL);
        if (prior && (prior->status == RECORD_CREATING || prior->lost_revision)) {
            record_unref(prior); /* State does not know which object it is */
            prior = NULL;
        }
        targets.items[targets.n++] = (struct runtime_target){.id = resource->id,
                                                             .attributes = resource->attributes,
                                                             .extensions = resource->extensions,
                                                             .prior = prior};
        targets.n_new += !prior;
    }
    return targets;
}

static void targets_done(struct targets *targets)
{
    for (size_t i = 0; i < targets->n; i++)
        record_unref(targets->items[i].prior);
    free(targets->items);
}

/* A document takes many times its size in memory. */
static int find(const struct run *run, struct runtime *runtime, const struct targets *targets,
                const struct buf *text, const struct value **ret, struct error *error)
{
    const struct reconcile_context *context = run->context;
    struct slot slot = {.slots = context->slots, .namespace_name = run->subject.key.namespace_name};
    int r = 0;

    if (text->length > RUNTIME_SMALL_ANSWER)
        r = slot_take(&slot, context_monotonic(context) + SLOT_TIMEOUT, run->cancel, error);
    if (r >= 0)
        r = runtime->ops->foreign->find(runtime, text->data, text->length, targets->items,
                                        targets->n, ret, error);
    slot_give_back(&slot);
    return r;
}

static int read(const struct run *run, struct runtime *runtime, const struct targets *targets,
                const struct value **ret, struct error *error)
{
    const struct spec_secret secret = spec_secret_of(run, "from");
    _cleanup_value_ const struct value *object = NULL;
    struct buf text;
    struct error problem = {0};
    int r = run_read(run,
                     (struct kube_request){.ref = {.kind = &kube_secrets, .name = secret.name},
                                           .timeout = READ_TIMEOUT},
                     &object, &problem);

    if (r < 0)
        return say_why(&secret, run, &problem, error);
    buf_init(&text, MOST_BYTES);
    r = read_text(&secret, object, &text, error);
    if (r >= 0) {
        r = find(run, runtime, targets, &text, ret, &problem);
        if (r < 0)
            err_wrap(&problem, FIELD "key \"%s\" of Secret \"%s\"", secret.key, secret.name);
        err_copy(error, &problem);
    }
    explicit_bzero(text.data, text.length);
    buf_done(&text);
    return r;
}

static int refuse_preview(struct error *error)
{
    return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                   FIELD "a Preview with resources of its own takes nothing over, since the right "
                         "to create Releases is not the right to see that file; suspend the Spec, "
                         "change it, and preview that");
}

bool spec_takeover_is_wanted(const struct run *run)
{
    return spec_secret_runtime(run) && spec_secret_of(run, "from").name;
}

int spec_takeover_read(const struct run *run, struct operation *operation, const struct spec *spec,
                       struct error *error)
{
    struct runtime *runtime = spec_secret_runtime(run);
    _cleanup_value_ const struct value *found = NULL;
    struct error problem = {0};
    struct targets targets;
    int r = 0;

    if (!spec || !spec_takeover_is_wanted(run))
        return 0;
    targets = targets_of(operation_ledger(operation), spec, runtime->ops->type);
    if (targets.n_new)
        r = run->has_own_resources ? refuse_preview(&problem)
                                   : read(run, runtime, &targets, &found, &problem);
    targets_done(&targets);
    if (run_may_pass(r))
        return err_copy(error, &problem);
    operation_take_over(operation, found, &problem);
    return 0;
}
