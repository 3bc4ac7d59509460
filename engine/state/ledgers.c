#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/ledger_private.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"

/* ---- The table ---- */

struct ledgers *ledgers_new(const struct ledgers_config *config)
{
    struct ledgers *ledgers = NEW(struct ledgers);

    ledgers->config = *config;
    pthread_mutex_init(&ledgers->lock, NULL);
    condition_init(&ledgers->changed);
    strmap_init(&ledgers->by_key);
    strmap_init(&ledgers->awaited);
    return ledgers;
}

/* ---- One ledger, as the table's entry. With the table's lock. ---- */

static struct ledger *entry_new(struct ledgers *ledgers, const struct ledger_opening *opening,
                                const char *key_text)
{
    struct ledger *ledger = NEW(struct ledger);

    ledger->table = ledgers;
    ledger->key.namespace_name = str_new(opening->key.namespace_name);
    ledger->key.name = str_new(opening->key.name);
    ledger->key_text = str_new(key_text);
    ledger->spec_uid = str_new(opening->spec_uid);
    ledger->epoch = opening->epoch;
    ledger->calls = calls_new();
    pthread_mutex_init(&ledger->lock, NULL);
    condition_init(&ledger->changed);
    condition_init(&ledger->never);
    ledger->phase = LEDGER_LOADING;
    ledger->references = 1;
    ledger->is_named = true;
    strmap_put(&ledgers->by_key, ledger->key_text, ledger);
    ledger->next = ledgers->all;
    if (ledger->next)
        ledger->next->previous = ledger;
    ledgers->all = ledger;
    return ledger;
}

static int64_t wall_clock(const struct ledgers *ledgers)
{
    return ledgers->config.clock->now(ledgers->config.clock);
}

/* Removes the ledger from the table: the next ledger_open() does not find it. */
static void entry_hide(struct ledger *ledger)
{
    if (ledger->is_named)
        strmap_remove(&ledger->table->by_key, ledger->key_text);
    ledger->is_named = false;
}

static void entry_unlink(struct ledger *ledger)
{
    entry_hide(ledger);
    if (ledger->previous)
        ledger->previous->next = ledger->next;
    else
        ledger->table->all = ledger->next;
    if (ledger->next)
        ledger->next->previous = ledger->previous;
}

static void close_file(struct ledger *ledger)
{
    struct store_file *file = TAKE(ledger->file);

    if (file)
        file->store->ops->close(file);
}

/* After close_file(). */
static void entry_free(struct ledger *ledger)
{
    ledger_forget_landed(ledger, UINT64_MAX);
    free(ledger->landed);
    batch_free(ledger->batch);
    for (size_t i = 0; i < ledger->n_written; i++)
        free(ledger->written[i]);
    free(ledger->written);
    free(ledger->late_why);
    state_head_done(&ledger->saved);
    state_free(ledger->state);
    free((char *)(uintptr_t)ledger->key.namespace_name);
    free((char *)(uintptr_t)ledger->key.name);
    calls_free(ledger->calls);
    free(ledger->key_text);
    free(ledger->spec_uid);
    pthread_cond_destroy(&ledger->never);
    pthread_cond_destroy(&ledger->changed);
    pthread_mutex_destroy(&ledger->lock);
    free(ledger);
}

/* Closes the store's document before another thread may open the Spec again. Releases the table's
 * lock meanwhile. */
static void entry_close(struct ledger *ledger)
{
    struct ledgers *ledgers = ledger->table;

    ledger->phase = LEDGER_CLOSING;
    if (ledger->is_lost)
        ledgers->lost_at = wall_clock(ledgers);
    pthread_mutex_unlock(&ledgers->lock);
    close_file(ledger);
    pthread_mutex_lock(&ledgers->lock);
    entry_unlink(ledger);
    pthread_cond_broadcast(&ledgers->changed);
    entry_free(ledger);
}

static bool needs_work(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    return ledger_is_dirty(ledger);
}

static void entry_release(struct ledger *ledger)
{
    if (--ledger->references == 0 && !needs_work(ledger))
        entry_close(ledger);
}

/* ---- References ---- */

struct ledger *ledger_ref(struct ledger *ledger)
{
    if (!ledger)
        return NULL;
    LOCKED(&ledger->table->lock);
    ledger->references++;
    return ledger;
}

void ledger_unref(struct ledger *ledger)
{
    struct ledgers *ledgers;

    if (!ledger)
        return;
    ledgers = ledger->table;
    LOCKED(&ledgers->lock);
    entry_release(ledger);
}

/* ---- Opening ---- */

static void wake_all(void *arg)
{
    struct ledgers *ledgers = arg;

    LOCKED(&ledgers->lock);
    pthread_cond_broadcast(&ledgers->changed);
}

/* Waits until a ledger that another thread is opening or closing changes its phase. With the
 * table's lock. */
static int wait_for_phase(struct ledgers *ledgers, const struct ledger_opening *opening,
                          struct error *error)
{
    const struct clock_source *clock = ledgers->config.clock;

    if (cancel_fired(opening->cancel))
        return err_set(error, ERR_CANCELLED, cancel_reason(opening->cancel),
                       "State was not opened: it was cancelled");
    if (!opening->deadline) {
        pthread_cond_wait(&ledgers->changed, &ledgers->lock);
        return 0;
    }
    if (clock->monotonic(clock) >= opening->deadline)
        return err_set(error, ERR_TIMEOUT, "Timeout", "State was not opened in time");
    clock->wait(clock, &ledgers->changed, &ledgers->lock, opening->deadline);
    return 0;
}

/* Calls that users of lost ledgers of the Spec have in flight. *lost_at: now, if there are such
 * ledgers. */
static size_t count_orphaned_calls(const struct ledgers *ledgers, const char *key_text,
                                   int64_t *lost_at)
{
    size_t count = 0;

    for (const struct ledger *ledger = ledgers->all; ledger; ledger = ledger->next)
        if (!ledger->is_named && str_equal(ledger->key_text, key_text)) {
            count += calls_count(ledger->calls);
            *lost_at = wall_clock(ledgers);
        }
    return count;
}

/* With the table's lock, which is released while State is loaded. The outcomes of calls that a lost
 * ledger has in flight would not be in the new one, and it would not know of the calls. They end
 * before State is loaded. */
static int load_new(struct ledgers *ledgers, const struct ledger_opening *opening,
                    const char *key_text, struct ledger **ret, struct error *error)
{
    int64_t lost_at = ledgers->lost_at;
    size_t n_orphaned = count_orphaned_calls(ledgers, key_text, &lost_at);
    struct ledger *ledger;
    int r;

    if (n_orphaned)
        return err_set(error, ERR_UNAVAILABLE, "StateConflict",
                       "State was changed by another client: it is read again when the changes of "
                       "resources that were under way have ended (left: %zu)",
                       n_orphaned);
    ledger = entry_new(ledgers, opening, key_text);
    ledger->lost_at = lost_at;
    pthread_mutex_unlock(&ledgers->lock);
    r = ledger_load(ledger, opening, error);
    pthread_mutex_lock(&ledgers->lock);
    if (r < 0) {
        entry_close(ledger);
        return r;
    }
    ledger->phase = LEDGER_OPEN;
    pthread_cond_broadcast(&ledgers->changed);
    *ret = ledger;
    return 0;
}

/* State has to be loaded anew: the ledger is lost, or State was removed. */
static bool is_over(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    return ledger->is_lost || ledger->is_removed;
}

/* Prepares a ledger that is open already for another user. */
static int join(struct ledger *ledger, const struct ledger_opening *opening, bool is_first,
                struct error *error)
{
    int r = 0;
    LOCKED(&ledger->lock);

    if (opening->epoch > ledger->epoch)
        ledger->epoch = opening->epoch;
    if (opening->spec_uid && !str_equal(ledger->spec_uid, opening->spec_uid)) {
        free(ledger->spec_uid);
        ledger->spec_uid = str_new(opening->spec_uid);
    }
    if (ledger->is_removed)
        r = ledger_refuse_removed(error);
    else if (ledger_is_dirty(ledger) && (is_first || ledger->failure.code)) {
        r = ledger_save_all(ledger, SAVE_PATIENCE, error);
        if (r < 0)
            err_wrap(error, "saving State");
    }
    if (r >= 0)
        r = ledger_check_epoch(ledger, opening->epoch, error);
    return r;
}

/* With the table's lock, which is released meanwhile. 0 with *ret NULL: the ledger is over. */
static int join_open(struct ledger *ledger, const struct ledger_opening *opening,
                     struct ledger **ret, struct error *error)
{
    struct ledgers *ledgers = ledger->table;
    bool is_first = ledger->references++ == 0;
    int r;

    pthread_mutex_unlock(&ledgers->lock);
    r = join(ledger, opening, is_first, error);
    pthread_mutex_lock(&ledgers->lock);
    if (r >= 0) {
        *ret = ledger;
        return 0;
    }
    if (is_over(ledger)) {
        entry_hide(ledger);
        err_clear(error);
        r = 0;
    }
    entry_release(ledger);
    return r;
}

static int open_locked(struct ledgers *ledgers, const struct ledger_opening *opening,
                       const char *key_text, struct ledger **ret, struct error *error)
{
    int r = 0;

    for (*ret = NULL; r >= 0 && !*ret;) {
        struct ledger *ledger = strmap_get(&ledgers->by_key, key_text);

        if (!ledger)
            r = load_new(ledgers, opening, key_text, ret, error);
        else if (ledger->phase != LEDGER_OPEN)
            r = wait_for_phase(ledgers, opening, error);
        else if (is_over(ledger))
            entry_hide(ledger);
        else
            r = join_open(ledger, opening, ret, error);
    }
    return r;
}

int ledger_open(struct ledgers *ledgers, const struct ledger_opening *opening, struct ledger **ret,
                struct error *error)
{
    _cleanup_free_ char *key_text =
        str_printf("%s/%s", opening->key.namespace_name, opening->key.name);
    struct cancel_listener *listener = cancel_listen(opening->cancel, wake_all, ledgers);
    struct ledger *ledger = NULL;
    int r;

    pthread_mutex_lock(&ledgers->lock);
    r = open_locked(ledgers, opening, key_text, &ledger, error);
    pthread_mutex_unlock(&ledgers->lock);
    cancel_unlisten(opening->cancel, listener);
    if (r >= 0)
        *ret = ledger;
    return r;
}

/* ---- State that an earlier process may still create ---- */

int64_t ledgers_effect_time(const struct ledgers_config *config)
{
    return config->effect_time ? config->effect_time : EFFECT_TIME;
}

/* A request of an earlier term may still be carried out. With the table's lock. */
static bool is_in_effect(const struct ledgers *ledgers)
{
    return wall_clock(ledgers) - ledgers->config.term < ledgers_effect_time(&ledgers->config);
}

static void forget_awaited(struct ledgers *ledgers)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&ledgers->awaited, e));)
        free(e->value);
    strmap_done(&ledgers->awaited);
    strmap_init(&ledgers->awaited);
}

void ledger_expect_state(struct ledger *ledger)
{
    struct ledgers *ledgers = ledger->table;
    LOCKED(&ledgers->lock);

    if (is_in_effect(ledgers) && !strmap_get(&ledgers->awaited, ledger->key_text)) {
        char *key = str_new(ledger->key_text);

        strmap_put(&ledgers->awaited, key, key);
    }
}

void ledger_was_removed(struct ledger *ledger)
{
    struct ledgers *ledgers = ledger->table;
    LOCKED(&ledgers->lock);

    free(strmap_remove(&ledgers->awaited, ledger->key_text));
}

bool ledger_expects_state(struct ledger *ledger)
{
    struct ledgers *ledgers = ledger->table;
    LOCKED(&ledgers->lock);

    if (!is_in_effect(ledgers))
        forget_awaited(ledgers);
    return strmap_get(&ledgers->awaited, ledger->key_text);
}

/* ---- All ---- */

/* The ledgers with unsaved outcomes; a reference to each. */
static struct ledger **dirty_ledgers(struct ledgers *ledgers, size_t *ret_count)
{
    struct ledger **dirty = NULL;
    size_t count = 0, capacity = 0;

    pthread_mutex_lock(&ledgers->lock);
    for (struct ledger *ledger = ledgers->all; ledger; ledger = ledger->next) {
        if (ledger->phase != LEDGER_OPEN || !needs_work(ledger))
            continue;
        ledger->references++;
        dirty = mem_grow(dirty, count, &capacity, sizeof(struct ledger *));
        dirty[count++] = ledger;
    }
    pthread_mutex_unlock(&ledgers->lock);
    *ret_count = count;
    return dirty;
}

/* One attempt without waiting. True: unsaved outcomes are left. is_document_enough: an outcome in a
 * outcome document counts as saved. */
static bool retry_one(struct ledger *ledger, bool is_document_enough)
{
    LOCKED(&ledger->lock);

    if (ledger->is_lost) {
        ledger_work_begin(ledger);
        ledger_write_outcomes(ledger, 0);
        ledger_work_end(ledger);
    } else {
        ledger_save_all(ledger, 0, NULL);
    }
    return is_document_enough ? ledger_has_unwritten_outcomes(ledger) : ledger_is_dirty(ledger);
}

static size_t retry_all(struct ledgers *ledgers, bool is_document_enough)
{
    size_t count = 0, left = 0;
    _cleanup_free_ struct ledger **dirty = dirty_ledgers(ledgers, &count);

    for (size_t i = 0; i < count; i++) {
        left += retry_one(dirty[i], is_document_enough);
        ledger_unref(dirty[i]);
    }
    return left;
}

size_t ledgers_retry(struct ledgers *ledgers)
{
    return retry_all(ledgers, false);
}

size_t ledgers_drain(struct ledgers *ledgers)
{
    return retry_all(ledgers, permit_ask(ledgers->config.permit, PERMIT_ACT, NULL) < 0);
}

void ledgers_free(struct ledgers *ledgers)
{
    if (!ledgers)
        return;
    ledgers_retry(ledgers);
    pthread_mutex_lock(&ledgers->lock);
    while (ledgers->all)
        entry_close(ledgers->all);
    pthread_mutex_unlock(&ledgers->lock);
    strmap_done(&ledgers->by_key);
    forget_awaited(ledgers);
    pthread_cond_destroy(&ledgers->changed);
    pthread_mutex_destroy(&ledgers->lock);
    free(ledgers);
}

/* ---- For the other files ---- */

int64_t ledger_clock(const struct ledger *ledger)
{
    const struct clock_source *clock = ledger->table->config.clock;

    return clock->monotonic(clock);
}

void ledger_pause(struct ledger *ledger, int64_t ms)
{
    const struct clock_source *clock = ledger->table->config.clock;
    int64_t until = clock->monotonic(clock) + ms;
    LOCKED(&ledger->lock);

    while (clock->monotonic(clock) < until)
        clock->wait(clock, &ledger->never, &ledger->lock, until);
}

char *ledger_describe(const struct ledger *ledger, enum document_kind kind, const char *item)
{
    struct store *store = ledger->table->config.store;
    struct document_name name = {kind, ledger->key, item};

    return store->ops->describe(store, &name);
}
