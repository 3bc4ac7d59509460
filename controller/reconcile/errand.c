#include "controller/reconcile/errand.h"

#include <stdatomic.h>

#include "controller/reconcile/inputs/spec_context.h"
#include "controller/reconcile/inputs/spec_secrets.h"
#include "controller/reconcile/inputs/spec_takeover.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/spec_export.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

struct errand {
    struct run run;           /* a copy: the attempt's goes on */
    bool is_export, is_check; /* of an export: nothing has changed since the last */
    struct spec *spec;        /* of inputs, until the operation has it */
    struct recall recall;     /* likewise */
    bool knows_state;         /* as attempt->knows_state */
    int r;
    struct error problem;
    _Atomic bool is_done; /* all else is the attempt's from then on */
};

static void errand_free(void *arg)
{
    struct errand *errand = arg;

    spec_free(errand->spec);
    recall_done(&errand->recall);
    run_done(&errand->run);
    free(errand);
}

/* ---- On the executor ---- */

static int gather(struct errand *errand, struct operation *operation)
{
    const struct run *run = &errand->run;
    struct runtime_scope scope = {0};
    struct secret_source *secrets = spec_secrets_new(run);
    int r = spec_context_read(run, &scope, &errand->problem);

    /* A secret store that is down holds only what needs the context. */
    if (r >= 0 && !scope.context_error.code)
        spec_secrets_resolve(run, secrets, &scope.context, &scope.context_error);
    if (secrets)
        operation_use_secrets(operation, secrets);
    if (r >= 0)
        operation_set_context(operation, scope.context, &scope.context_error);
    value_unref(scope.context);
    if (r >= 0)
        r = recall_state(run, operation, errand->spec, &errand->recall, &errand->problem);
    errand->knows_state = r >= 0;
    return r < 0 ? r : spec_takeover_read(run, operation, errand->spec, &errand->problem);
}

static void run_errand(void *arg, struct operation *operation, struct cancel *cancel)
{
    struct errand *errand = arg;

    errand->run.cancel = cancel;
    errand->r = errand->is_export ? spec_export(&errand->run, operation_ledger(operation),
                                                errand->is_check, &errand->problem)
                                  : gather(errand, operation);
    atomic_store(&errand->is_done, true);
}

/* ---- For the attempt ---- */

static struct errand *errand_new(const struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    const struct value *metadata = value_get(run->object, "metadata");
    struct errand *errand = NEW(struct errand);

    errand->run = (struct run){.context = run->context,
                               .subject = {.key = {value_get_string(metadata, "namespace"),
                                                   value_get_string(metadata, "name")},
                                           .generation = run->subject.generation},
                               .object = value_ref(run->object),
                               .source = value_ref(run->source),
                               .uid = str_new(run->uid),
                               .has_own_resources = run->has_own_resources,
                               .looks_up_nothing = run->looks_up_nothing,
                               .is_namespace_terminating = run->is_namespace_terminating};
    run_read_policy(&errand->run);
    return errand;
}

static void send(struct attempt *attempt, struct errand *errand)
{
    attempt->errand = errand;
    operation_send(attempt->operation, &(struct operation_errand){run_errand, errand_free, errand});
}

/* ---- Inputs ---- */

void errand_plan(struct attempt *attempt, struct recall *recall)
{
    const struct run *run = &attempt->run;
    struct errand *errand;

    progress_begin(attempt);
    if (!recall->is_needed && !value_path(run->object, "spec", "contextFrom", NULL) &&
        !spec_secrets_are_in_context(run) && !(attempt->spec && spec_takeover_is_wanted(run))) {
        attempt->knows_state = true;
        operation_use_secrets(attempt->operation, spec_secrets_new(run));
        operation_plan(attempt->operation, TAKE(attempt->spec));
        return;
    }
    errand = errand_new(attempt);
    errand->spec = TAKE(attempt->spec);
    errand->recall = *recall;
    *recall = (struct recall){0};
    send(attempt, errand);
}

int errand_plan_gathered(struct attempt *attempt, struct error *error)
{
    struct errand *errand = attempt->errand;

    if (!atomic_load(&errand->is_done))
        return 1;
    attempt->knows_state = errand->knows_state;
    if (errand->r < 0)
        return err_copy(error, &errand->problem);
    attempt->errand = NULL;
    operation_plan(attempt->operation, TAKE(errand->spec));
    return 0;
}

/* ---- The export ---- */

bool errand_is_export(const struct attempt *attempt)
{
    return attempt->errand && attempt->errand->is_export;
}

bool errand_export_is_wanted(const struct attempt *attempt)
{
    return !attempt->is_exported && spec_export_is_wanted(&attempt->run);
}

int errand_export(struct attempt *attempt, bool is_check, struct error *error)
{
    struct errand *errand = attempt->errand;

    if (!errand_export_is_wanted(attempt))
        return 0;
    if (!errand_is_export(attempt)) {
        errand = errand_new(attempt);
        errand->is_export = true;
        errand->is_check = is_check;
        send(attempt, errand);
        return 1;
    }
    if (!atomic_load(&errand->is_done))
        return 1;
    attempt->errand = NULL;
    free(attempt->run.written.message);
    attempt->run.written = errand->run.written;
    errand->run.written = (struct run_written){0};
    if (errand->r < 0)
        return err_copy(error, &errand->problem);
    attempt->is_exported = true;
    return 0;
}
