/* What operations hold in memory: they reserve it before they begin, and are evicted for it. */
#include "controller/reconcile/operations_private.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- Reservations ---- */

bool operations_reserve(struct attempt *attempt, size_t bytes)
{
    size_t needed = attempt->needed;

    attempt->estimate = bytes;
    if (needed > bytes)
        bytes = needed;
    attempt->waits = !budget_reserve(&attempt->table->budget, &attempt->reservation, bytes);
    return !attempt->waits;
}

void operations_give_back(struct attempt *attempt)
{
    if (!attempt->waits)
        budget_give_back(&attempt->table->budget, &attempt->reservation);
}

void operations_stop_waiting(struct attempt *attempt)
{
    attempt->waits = false;
    attempt->wait_report_at = 0;
    operations_give_back(attempt);
    attempt->needed = 0;
    budget_drop_ticket(&attempt->table->budget, &attempt->reservation);
}

void attempt_measure(struct attempt *attempt)
{
    budget_measure(&attempt->table->budget, &attempt->reservation,
                   operation_memory(attempt->operation));
}

bool attempt_waits_for_memory(struct attempt *attempt, int64_t *ret_after)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t report_at = attempt->wait_report_at, now = clock->monotonic(clock);
    bool is_report_due = report_at && now >= report_at;

    attempt->waits = attempt->waits && !is_report_due && !attempt_is_outdated(attempt) &&
                     budget_is_waiting(&attempt->table->budget, &attempt->reservation);
    if (attempt->waits)
        *ret_after = report_at ? report_at - now : 0;
    return attempt->waits;
}

void attempt_give_up_ticket(struct attempt *attempt)
{
    if (!attempt->operation && !attempt->waits)
        budget_drop_ticket(&attempt->table->budget, &attempt->reservation);
}

void operations_on_park(void *arg, size_t bytes)
{
    struct attempt *attempt = arg;

    budget_park(&attempt->table->budget, &attempt->reservation, bytes);
}

/* All that an operation holds is reserved, as it grows. Of twice its estimate it is not ended. What
 * ends it is reserved by the next attempt before that begins, so that it waits rather than fails
 * again. A quarter of the budget, which it never gets so, is not waited for. */
int operations_grow(void *arg, size_t bytes, struct error *error)
{
    struct attempt *attempt = arg;
    struct error problem = {0};
    int r = budget_grow(&attempt->table->budget, &attempt->reservation, bytes,
                        2 * attempt->estimate, &problem);

    if (r >= 0)
        return 0;
    if (r == ERR_UNAVAILABLE)
        attempt->needed = bytes;
    return err_copy(error, &problem);
}

/* ---- Previews ---- */

/* Those of one namespace. */
struct previews {
    char *namespace_name;
    const struct attempt *live[PREVIEWS_OF_NAMESPACE]; /* or NULL */
    unsigned count;
};

static void previews_free(struct previews *previews)
{
    free(previews->namespace_name);
    free(previews);
}

void operations_forget_preview(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    struct previews *of_namespace;

    if (!attempt->preview_of)
        return;
    free(TAKE(attempt->preview_of));
    of_namespace = strmap_get(&operations->previews, attempt->object.namespace_name);
    for (size_t i = 0; i < ARRAY_SIZE(of_namespace->live); i++)
        if (of_namespace->live[i] == attempt)
            of_namespace->live[i] = NULL;
    if (--of_namespace->count)
        return;
    strmap_remove(&operations->previews, of_namespace->namespace_name);
    previews_free(of_namespace);
}

/* A place for one more Preview of the Spec; NULL: as many of them live as may. */
static const struct attempt **find_place(struct previews *of_namespace, const char *spec)
{
    const struct attempt **place = NULL;
    size_t of_spec = 0;

    for (size_t i = 0; i < ARRAY_SIZE(of_namespace->live); i++) {
        const struct attempt *other = of_namespace->live[i];

        of_spec += other && str_equal(other->preview_of, spec);
        if (!other)
            place = &of_namespace->live[i];
    }
    return of_spec < PREVIEWS_OF_SPEC ? place : NULL;
}

static struct previews *previews_of(struct operations *operations, const char *namespace_name)
{
    struct previews *of_namespace = strmap_get(&operations->previews, namespace_name);

    if (of_namespace)
        return of_namespace;
    of_namespace = NEW(struct previews);
    of_namespace->namespace_name = str_new(namespace_name);
    strmap_put(&operations->previews, of_namespace->namespace_name, of_namespace);
    return of_namespace;
}

bool attempt_reserve_preview(struct attempt *attempt, const char *spec)
{
    struct operations *operations = attempt->table;
    struct previews *of_namespace;
    const struct attempt **place;

    pthread_mutex_lock(&operations->lock);
    operations_forget_preview(attempt);
    of_namespace = previews_of(operations, attempt->object.namespace_name);
    place = find_place(of_namespace, spec);
    if (place) {
        *place = attempt;
        of_namespace->count++;
        attempt->preview_of = str_new(spec);
    }
    free(attempt->to_preview);
    attempt->to_preview = place ? NULL : str_new(spec);
    pthread_mutex_unlock(&operations->lock);
    return place;
}

bool attempt_waits_for_place(struct attempt *attempt)
{
    _cleanup_free_ char *spec = TAKE(attempt->to_preview);

    return spec && attempt_is_listed(attempt) && !attempt_reserve_preview(attempt, spec);
}

/* ---- Eviction ---- */

bool attempt_is_chosen(struct attempt *attempt)
{
    return budget_is_chosen(&attempt->table->budget, &attempt->reservation);
}

/* ms before the operation would be out of time. */
static int64_t time_left(const struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t left;

    ledger_head(operation_ledger(attempt->operation), &arena, &head);
    arena_done(&arena);
    left = head.progressed_at + attempt->run.policy.timeout - clock->now(clock);
    return left > 0 ? left : 0;
}

int64_t attempt_next_rest(const struct attempt *attempt)
{
    int64_t rest = EVICTED_FIRST << (attempt->evictions < 8 ? attempt->evictions : 8);
    int64_t left = time_left(attempt);

    if (rest > EVICTED_MOST)
        rest = EVICTED_MOST;
    return left < rest ? left : rest;
}

/* What cannot be stored now is kept, and tried again, by the ledger. */
void attempt_evict(struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t rest = attempt_next_rest(attempt);

    ledger_flush(operation_ledger(attempt->operation), NULL);
    attempt_empty(attempt);
    attempt->evictions++;
    attempt->rests_until = clock->monotonic(clock) + rest;
}

int64_t attempt_rests(struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t left = attempt->rests_until - clock->monotonic(clock);

    if (attempt->rests_until && left > 0 && !attempt_is_outdated(attempt) &&
        !attempt_is_asked_for(attempt))
        return left;
    attempt->rests_until = 0;
    return 0;
}
