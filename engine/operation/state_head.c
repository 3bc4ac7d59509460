/* The head of State: its Spec, and the progress of an operation. */
#include "engine/base/str.h"
#include "engine/operation/private.h"
#include "engine/operation/records.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"

/* The policy is kept in State, too: a deletion needs it when the Spec cannot be read any more. */
static const struct value *policy_of(const struct spec *spec)
{
    const struct value *fields = value_get(spec->source, "spec");

    return value_pack("{s:v?, s:v?, s:v?, s:v?, s:v?}", "deletionPolicy",
                      value_get(fields, "deletionPolicy"), "prune", value_get(fields, "prune"),
                      "suspend", value_get(fields, "suspend"), "serviceAccountName",
                      value_get(fields, "serviceAccountName"), "kubeConfig",
                      value_get(fields, "kubeConfig"));
}

static int64_t generation_of(const struct operation *operation)
{
    return operation->spec ? operation->spec->generation : 0;
}

/* The time during which no process ran counts, too. A call that was in flight when the process died
 * is not excused: its change is deferred until the call cannot have an effect any more, and each
 * new call has its own time. */
int64_t operation_time_lost(struct operation *operation, int64_t revision)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;
    bool is_own;
    int64_t lost;

    ledger_head(operation->ledger, &arena, &head);
    /* An earlier Spec of this name may have had the same revision and generation. */
    is_own = str_equal(head.operation_uid ? head.operation_uid : head.spec_uid,
                       operation->config.scope.spec_uid);
    arena_done(&arena);
    if (!is_own || !head.progressed_at || head.revision != revision ||
        head.generation != generation_of(operation))
        return -1;
    lost = operation_wall_clock(operation) - head.progressed_at;
    return lost > 0 ? lost : 0;
}

bool operation_was_done(struct operation *operation, int64_t revision)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(operation->ledger, &arena, &head);
    arena_done(&arena);
    return !ledger_is_inherited(operation->ledger) && head.applied_revision == revision &&
           head.generation == generation_of(operation);
}

/* Where no session was needed, it stays as it is. */
static void set_place(struct operation *operation, struct state_head *head)
{
    LOCKED(&operation->lock);
    for (size_t i = 0; i < operation->config.n_runtimes; i++) {
        const struct binding *binding = &operation->bindings[i];

        if (binding->session && binding->runtime->ops->place)
            head->place = binding->runtime->ops->place(binding->session);
    }
}

/* State may have been inherited from an earlier Spec of this name. It belongs to this Spec from the
 * first success on: by then, all that was inherited is applied again, or gone. */
void operation_set_head(struct operation *operation, enum moment moment)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    _cleanup_value_ const struct value *policy = NULL;
    struct state_head head;

    ledger_head(operation->ledger, &arena, &head);
    head.revision = operation->how.revision;
    if (operation->spec) {
        policy = policy_of(operation->spec);
        head.policy = policy;
    }
    head.generation = generation_of(operation);
    set_place(operation, &head);
    head.operation_uid = moment == AT_BEGIN ? operation->config.scope.spec_uid : NULL;
    if (str_equal(head.operation_uid, head.spec_uid))
        head.operation_uid = NULL;
    if (moment != AT_BEGIN)
        head.progressed_at = 0;
    else if (!operation->continues)
        head.progressed_at = operation_wall_clock(operation);
    if (moment == AT_SUCCESS) {
        head.applied_revision = operation->how.revision;
        head.spec_uid = operation->config.scope.spec_uid;
    }
    ledger_set_head(operation->ledger, &head);
}
