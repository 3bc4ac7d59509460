#include "controller/reconcile/run/run.h"

#include <string.h>

#include "controller/core/finalizer.h"
#include "controller/core/informer.h"
#include "controller/desk/desk.h"
#include "controller/reconcile/records/api.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/spec/check.h"
#include "runtimes/kubernetes/history/approval.h"

#define TRIGGER_BYTES 1024 /* the schema's limit of status.lastHandledReconcileAt */

void run_done(struct run *run)
{
    value_unref(run->object);
    value_unref(run->source);
    value_unref(run->sources);
    hold_done(&run->hold);
    free(run->uid);
    free(run->trigger);
    free(run->changed_at);
    free(run->written.message);
    free(run->drifted);
    free(run->unfollowed);
    release_approval_done(&run->approval);
    *run = (struct run){0};
}

/* To the cluster of its kubeConfig, in which it acts as an account only if it names one. A
 * reference; NULL: its own cluster. */
static const struct value *connection_of(const struct run *run)
{
    const struct value *kube_config = value_path(run->object, "spec", "kubeConfig", NULL);

    return kube_config ? value_pack("{s:v, s:s?}", "kubeConfig", kube_config, "serviceAccountName",
                                    run->policy.service_account)
                       : NULL;
}

static void make_plan_key(struct run *run)
{
    const struct reconcile_context *context = run->context;
    const char *account = run_account(run);
    _cleanup_(hash_free_p) struct hash *hash =
        hash_new_keyed(context->plan_key, sizeof(context->plan_key));

    hash_add_str(hash, "account");
    hash_add_str(hash, account ? account : "");
    hash_finish(hash, run->plan_key);
}

void run_read_policy(struct run *run)
{
    const struct reconcile_context *context = run->context;
    struct spec_policy *policy = &run->policy;

    spec_policy_read(run->object, policy);
    if (context->max_timeout && policy->timeout > context->max_timeout)
        policy->timeout = context->max_timeout;
    if (policy->interval < context->min_interval)
        policy->interval = context->min_interval;
    if (policy->retry_interval < context->min_retry_interval)
        policy->retry_interval = context->min_retry_interval;
    make_plan_key(run);
}

void run_note_managers(struct run *run)
{
    static const char *const approved_plan[] = {"spec", "approval", "approvedPlan", NULL};
    static const char *const spec[] = {"spec", NULL};

    release_approval_done(&run->approval);
    kube_approval_read(run->object, approved_plan, &run->approval);
    free(run->changed_at);
    run->changed_at = str_new(kube_field_time(run->object, spec));
}

void run_note_trigger(struct run *run)
{
    const char *trigger = informer_trigger(value_get(run->object, "metadata"));

    free(run->trigger);
    run->trigger = trigger && strlen(trigger) <= TRIGGER_BYTES ? str_new(trigger) : NULL;
}

/* ---- The object ---- */

void run_drop_managed_fields(struct run *run)
{
    static const char *const managed[] = {"metadata", "managedFields"};
    const struct value *copy = value_copy_without(run->object, managed, ARRAY_SIZE(managed));

    value_unref(run->object);
    run->object = copy;
}

void run_set_metadata(struct run *run, const struct value *metadata)
{
    static const char *const managed[] = {"managedFields"};
    _cleanup_value_ const struct value *kept =
        value_copy_without(metadata, managed, ARRAY_SIZE(managed));
    const struct value *object = value_with(run->object, "metadata", kept);

    value_unref(run->object);
    run->object = object;
}

/* ---- The finalizer, and events ---- */

int run_add_finalizer(struct run *run, struct error *error)
{
    const struct kube_ref ref = api_spec_ref(&run->subject.key, NULL);
    _cleanup_value_ const struct value *metadata = value_ref(value_get(run->object, "metadata"));
    int r = finalizer_add(run->context->client, &ref, &metadata, run->cancel, error);

    if (r >= 0)
        run_set_metadata(run, metadata);
    return r;
}

void run_event(const struct run *run, const char *type, const char *reason, const char *message)
{
    struct event_subject subject = {
        .api_version = API_GROUP_VERSION,
        .kind = "Spec",
        .namespace_name = run->subject.key.namespace_name,
        .name = run->subject.key.name,
        .uid = value_string(value_path(run->object, "metadata", "uid", NULL)),
    };

    if (!run->is_namespace_terminating)
        event_emit(run->context->events, &subject, type, reason, "Reconcile", "%s", message);
}

/* ---- What operations are made of ---- */

const char *run_account(const struct run *run)
{
    const struct reconcile_context *context = run->context;

    if (run->policy.service_account)
        return run->policy.service_account;
    return context->act_as_controller ? NULL : context->default_service_account;
}

char *run_user(const struct run *run)
{
    const char *account = run_account(run);

    return account
               ? str_printf("system:serviceaccount:%s:%s", run->subject.key.namespace_name, account)
               : NULL;
}

int run_read(const struct run *run, struct kube_request request, const struct value **ret,
             struct error *error)
{
    _cleanup_free_ char *user = run_user(run);

    request.method = "GET";
    request.ref.namespace_name = run->subject.key.namespace_name;
    request.impersonate = user;
    request.for_tenant = true;
    request.cancel = run->cancel;
    return kube_do(run->context->client, &request, ret, error);
}

/* metadata.creationTimestamp, in ms since 1970; 0: not known. */
static int64_t spec_created_at(const struct run *run)
{
    const char *text = value_string(value_path(run->object, "metadata", "creationTimestamp", NULL));

    return text ? timestamp_parse(text) : 0;
}

int run_open_state(const struct run *run, struct ledger **ret, struct error *error)
{
    const struct reconcile_context *context = run->context;
    struct ledger_opening opening = {
        .key = run->subject.key,
        .spec_uid = run->uid,
        .spec_created_at = spec_created_at(run),
        .epoch = context_epoch(context),
        .cancel = run->cancel,
    };

    return ledger_open(context->ledgers, &opening, ret, error);
}

struct state_head run_state_numbers(struct ledger *ledger)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(ledger, &arena, &head);
    return head;
}

bool run_may_pass(int r)
{
    return err_is_transient(r) || r == ERR_CANCELLED;
}

const struct value *run_source(const struct run *run)
{
    return run->source ? run->source : run->object;
}

int run_parse(const struct run *run, struct spec **ret, struct error *error)
{
    const struct reconcile_context *context = run->context;
    _cleanup_free_ struct spec_type *types = NEW_ARRAY(struct spec_type, context->n_runtimes + 1);
    struct problems problems = PROBLEMS_INIT;
    int r;

    for (size_t i = 0; i < context->n_runtimes; i++) {
        struct runtime *runtime = context->runtimes[i];

        types[i] = (struct spec_type){runtime->ops->type, runtime->ops->check, runtime};
    }
    r = spec_parse(run_source(run),
                   &(struct spec_options){.types = types,
                                          .n_types = context->n_runtimes,
                                          .no_cross_namespace = context->no_cross_namespace,
                                          .may_lack_store = run->has_own_resources,
                                          .has_sources = true},
                   ret, &problems, error);
    problems_done(&problems);
    if (r >= 0)
        (*ret)->shared_memory = run->source_memory;
    return r;
}

/* Nothing of the Spec is wanted any more, but a person may settle doubts in its extensions. */
static const struct value *extensions_by_id(const struct run *run)
{
    const struct value *resources = value_path(run->object, "spec", "resources", NULL);
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const struct value *extensions = value_get(resource, "extensions");
        const char *id = value_get_string(resource, "id");

        if (id && value_count(extensions)) {
            value_key(b, id);
            value_add(b, extensions);
        }
    }
    value_end_object(b);
    return value_finish(b);
}

void run_operation_init(struct run_operation *operation, const struct run *run)
{
    const struct reconcile_context *context = run->context;
    const char *account = run_account(run);

    *operation = (struct run_operation){0};
    operation->identity = account ? value_pack("{s:s}", "serviceAccountName", account) : NULL;
    operation->connection = connection_of(run);
    operation->config = (struct operation_config){
        .clock = context->clock,
        .executor = context->executor,
        .slots = context->slots,
        .ledgers = context->ledgers,
        .runtimes = context->runtimes,
        .n_runtimes = context->n_runtimes,
        .permit = context->permit,
        .scope = {.key = run->subject.key,
                  .spec_uid = value_string(value_path(run->object, "metadata", "uid", NULL)),
                  .identity = operation->identity,
                  .connection = operation->connection,
                  .context = value_path(run_source(run), "spec", "context", NULL),
                  .force = run->policy.force,
                  .objects = run->policy.objects,
                  .terminating = run->is_namespace_terminating,
                  .is_foreign = run->has_own_resources},
        .spec_created_at = spec_created_at(run),
        .epoch = context_epoch(context),
        .parallelism = context->parallelism,
        .timeout = run->policy.timeout,
        .keeps_state = run->hold.operation == RELEASE_DESTROY, /* it has the hold */
        .cancel = run->cancel,
        .digest_key = {run->plan_key, sizeof(run->plan_key)},
    };
    if (run->hold.operation == RELEASE_DESTROY || api_is_deleting(run->object))
        operation->extensions = extensions_by_id(run);
    operation->config.extensions = operation->extensions;
}

void run_operation_done(struct run_operation *operation)
{
    value_unref(operation->identity);
    value_unref(operation->connection);
    value_unref(operation->extensions);
}

/* ---- Releases of which nothing comes ---- */

int run_cancel_release(const struct run *run, struct release *release, const char *why,
                       struct error *error)
{
    return run_cancel_release_as(run, release, "Superseded", why, error);
}

int run_cancel_release_as(const struct run *run, struct release *release, const char *reason,
                          const char *why, struct error *error)
{
    const struct outcome outcome = {.phase = PHASE_CANCELLED,
                                    .verdict = verdict_of_end(reason, why)};

    return release_write(run->context, &run->subject, release, &outcome, error);
}

int run_cancel_latest(const struct run *run, const char *why, struct error *error)
{
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);

    return r < 0 ? r : run_cancel_release(run, latest, why, error);
}

int run_supersede(const struct run *run, struct release *release, struct error *error)
{
    _cleanup_free_ char *why = desk_superseded_by(run->subject.generation);

    return release ? run_cancel_release(run, release, why, error)
                   : run_cancel_latest(run, why, error);
}
