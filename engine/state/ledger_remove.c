#include "engine/base/str.h"
#include "engine/state/ledger_private.h"

/* Makes the ledger that of an empty State. With the lock. */
static void empty(struct ledger *ledger)
{
    struct state_head head;

    state_head_copy(&head, state_head(ledger->state));
    head.serial = 0;
    state_free(ledger->state);
    ledger->state = state_new(&head);
    state_head_done(&head);
    ledger_forget_landed(ledger, UINT64_MAX);
    batch_free(TAKE(ledger->batch));
    ledger->saved.serial = 0;
    ledger->saved_ticket = ledger->tickets;
    ledger->is_stored = ledger->wants_snapshot = ledger->wants_write = ledger->head_changed = false;
    ledger->removal_in_doubt = false;
    ledger->snapshot_bytes = ledger->entry_bytes = ledger->n_entries = 0;
    err_clear(&ledger->failure);
}

static int try_once(struct ledger *ledger, const struct batch *batch, bool *ret_is_lost,
                    struct error *problem)
{
    bool in_doubt = batch || ledger->removal_in_doubt;
    struct store_call call = ledger_call(ledger, PERMIT_ACT);
    int r = in_doubt ? batch_look(ledger, batch, problem) : STORED_BEFORE;

    if (r < 0)
        return r;
    *ret_is_lost = r == STORED_OTHER;
    if (*ret_is_lost)
        return batch_conflict(ledger, problem);
    r = ledger->file->store->ops->remove(ledger->file, &call, problem);
    if (r != ERR_CONFLICT)
        return r;
    /* After an unanswered attempt, the conflict may come from our own late write: the caller looks
     * again. */
    *ret_is_lost = !in_doubt;
    return batch_conflict(ledger, problem);
}

static int remove_state(struct ledger *ledger, const struct batch *batch, struct error *problem)
{
    int64_t until = ledger_clock(ledger) + SAVE_PATIENCE, wait = SAVE_WAIT_FIRST;
    bool is_lost = false;

    for (;;) {
        int r = try_once(ledger, batch, &is_lost, problem);

        if (r >= 0 || is_lost || !err_is_transient(r) ||
            str_equal(problem->reason, STORE_OUTCOME_UNKNOWN))
            return r;
        ledger->removal_in_doubt = true;
        if (ledger_clock(ledger) >= until)
            return r;
        ledger_pause(ledger, wait);
        wait = 2 * wait < SAVE_WAIT_MOST ? 2 * wait : SAVE_WAIT_MOST;
    }
}

static int remove_all(struct ledger *ledger, const struct batch *batch, struct error *problem)
{
    int r = ledger_remove_outcomes(ledger, problem);

    return r < 0 ? r : remove_state(ledger, batch, problem);
}

/* Their outcomes would have no State to go to. */
static int expect_no_calls(struct ledger *ledger, struct error *error)
{
    size_t count = calls_count(ledger->calls);

    return count ? err_set(error, ERR_UNAVAILABLE, "UnderWay",
                           "State is removed when the changes that are under way have ended "
                           "(left: %zu)",
                           count)
                 : 0;
}

/* State of an earlier process would come back. */
static int expect_no_state(struct ledger *ledger, struct error *error)
{
    if (!ledger_expects_state(ledger))
        return 0;
    return err_set(error, ERR_UNAVAILABLE, STORE_OUTCOME_UNKNOWN,
                   "removing State: an earlier process may have sent a request to create it, which "
                   "may still be carried out in the first %lld s of this one: it is removed then",
                   (long long)ledgers_effect_time(&ledger->table->config) / 1000);
}

int ledger_remove(struct ledger *ledger, struct error *error)
{
    struct error problem = {0};
    int r = expect_no_calls(ledger, error);

    if (r >= 0)
        r = expect_no_state(ledger, error);
    if (r < 0)
        return r;
    pthread_mutex_lock(&ledger->lock);
    ledger_work_begin(ledger);
    if (ledger->is_lost) {
        r = err_copy(&problem, &ledger->lost);
    } else if (!ledger->is_removed) {
        pthread_mutex_unlock(&ledger->lock);
        r = remove_all(ledger, ledger->batch, &problem);
        pthread_mutex_lock(&ledger->lock);
        if (r >= 0) {
            empty(ledger);
            ledger_set_removed(ledger);
        } else if (r == ERR_CONFLICT)
            ledger_lose(ledger, &problem);
    }
    ledger_work_end(ledger);
    pthread_mutex_unlock(&ledger->lock);
    if (r >= 0)
        return 0;
    err_wrap(&problem, "removing State");
    return err_copy(error, &problem);
}
