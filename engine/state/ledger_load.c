#include "engine/base/str.h"
#include "engine/state/ledger_private.h"

static void start_empty(struct ledger *ledger)
{
    struct state_head head = {.spec_namespace = ledger->key.namespace_name,
                              .spec_name = ledger->key.name,
                              .spec_uid = ledger->spec_uid};

    ledger->state = state_new(&head);
    state_head_copy(&ledger->saved, &head);
}

/* An intent of an earlier term: its create may have been sent, up to the end of that term. */
static bool is_of_earlier_term(const struct ledgers_config *config, const struct record *record)
{
    return config->term && record->status == RECORD_INTENT && record->call.term != config->term;
}

/* A ledger of this process was lost, with the outcomes of its last calls: an intent in State may be
 * of such a call. Returns the time until which its create may take effect; 0: there was none. */
static int64_t lost_until(const struct ledgers_config *config, const struct record *record,
                          int64_t lost_at)
{
    int64_t now = config->clock->now(config->clock);

    if (!lost_at || record->status != RECORD_INTENT)
        return 0;
    return (lost_at < now ? lost_at : now) + ledgers_effect_time(config);
}

/* The time until which the record's create may take effect. An earlier process may have had another
 * clock, and ours may have been set back since: by ours, none takes effect later than so long after
 * now, and none of an earlier term later than so long after ours began. A begin mark has a time of
 * its own, because its call may take longer. */
static int64_t create_until(const struct ledgers_config *config, const struct record *record)
{
    int64_t now = config->clock->now(config->clock);
    int64_t effect_time = ledgers_effect_time(config);
    int64_t latest = now + effect_time;

    if (!config->term || record->status == RECORD_CREATING)
        return record->call.until;
    if (is_of_earlier_term(config, record))
        return (config->term < now ? config->term : now) + effect_time;
    return record->call.until < latest ? record->call.until : latest;
}

static void expect_earlier_creates(const struct ledgers_config *config, int64_t lost_at,
                                   struct state *state)
{
    for (size_t i = 0; i < state_count(state); i++) {
        struct record record = *state_at(state, i);
        int64_t until = create_until(config, &record);
        int64_t of_lost = lost_until(config, &record, lost_at);
        const struct record *expected;

        if (of_lost > until)
            until = of_lost;
        if (record.call.until == until)
            continue;
        record.call.until = until;
        expected = record_new(&record);
        state_put(state, expected);
        record_unref(expected);
    }
}

static int check_key(const struct ledger *ledger, const struct state *state, struct error *error)
{
    const struct state_head *head = state_head(state);

    if (str_equal(head->spec_namespace, ledger->key.namespace_name) &&
        str_equal(head->spec_name, ledger->key.name))
        return 0;
    return err_set(error, ERR_CORRUPT, "StateCorrupt", "it is the State of another Spec, %s/%s",
                   head->spec_namespace, head->spec_name);
}

static int start_with(struct ledger *ledger, const struct document *document, struct error *error)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    int r = state_decode(document, &state, error);

    if (r >= 0)
        r = check_key(ledger, state, error);
    if (r < 0) {
        _cleanup_free_ char *place = ledger_describe(ledger, DOCUMENT_STATE, NULL);

        err_wrap(error, "%s", place);
        return r;
    }
    state_head_copy(&ledger->saved, state_head(state));
    expect_earlier_creates(&ledger->table->config, ledger->lost_at, state);
    ledger->state = TAKE(state);
    ledger->is_stored = true;
    ledger->snapshot_bytes = document->open.length + document->secret.length;
    ledger->n_entries = document->n_entries;
    for (size_t i = 0; i < document->n_entries; i++)
        ledger->entry_bytes += document->entries[i].length;
    return 0;
}

/* By the second, as platforms write it. A Spec of the second in which the term began is of this
 * term: else each Spec that is created as soon as the process runs would be an earlier one. */
static bool is_spec_of_earlier_term(const struct ledgers_config *config,
                                    const struct ledger_opening *opening)
{
    return opening->spec_created_at && opening->spec_created_at / 1000 < config->term / 1000;
}

static int read_state(struct ledger *ledger, const struct ledger_opening *opening,
                      const struct store_call *call, struct error *error)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    int r = ledger->file->store->ops->read(ledger->file, call, &document, &problem);

    if (r == ERR_NOT_FOUND) {
        start_empty(ledger);
        if (is_spec_of_earlier_term(&ledger->table->config, opening))
            ledger_expect_state(ledger);
        r = 0;
    } else if (r >= 0) {
        r = start_with(ledger, &document, error);
    } else {
        err_copy(error, &problem);
    }
    return r;
}

int ledger_check_epoch(const struct ledger *ledger, int64_t epoch, struct error *error)
{
    int64_t stored = ledger->saved.epoch;

    if (!epoch || stored <= epoch)
        return 0;
    return err_set(error, ERR_CONFLICT, "StateOfLaterLeader",
                   "State was written by a later leader (epoch %lld, ours is %lld). If another "
                   "controller keeps State here, stop one of the two. If none does (etcd was set "
                   "back, or a clock was wrong), set spec.leaseTransitions of this operator's "
                   "Lease to %lld",
                   (long long)stored, (long long)epoch, (long long)stored);
}

static void name_way_out(const struct ledger *ledger, struct error *error)
{
    struct store *store = ledger->table->config.store;
    const struct document_name name = {DOCUMENT_STATE, ledger->key, NULL};
    _cleanup_free_ char *removal = store->ops->removal ? store->ops->removal(store, &name) : NULL;

    err_hint(error,
             "nothing is changed or deleted until it is whole: restore it from a backup. Without "
             "one, stop the operator, delete all of this Spec's State%s%s%s, and start it: objects "
             "with the Spec's label are taken over again, and others are held until you say what "
             "is true of them",
             removal ? " (" : "", removal ? removal : "", removal ? ")" : "");
}

int ledger_load(struct ledger *ledger, const struct ledger_opening *opening, struct error *error)
{
    struct store *store = ledger->table->config.store;
    struct document_name name = {DOCUMENT_STATE, ledger->key, NULL};
    struct store_call call = {.deadline = opening->deadline,
                              .cancel = opening->cancel,
                              .permit = ledger->table->config.permit,
                              .use = PERMIT_ACT};
    int r = store->ops->open(store, &name, STORE_WRITE, &call, &ledger->file, error);

    if (r >= 0)
        r = read_state(ledger, opening, &call, error);
    if (r < 0) {
        err_wrap(error, "loading State");
        if (r == ERR_CORRUPT)
            name_way_out(ledger, error);
        return r;
    }
    r = ledger_check_epoch(ledger, opening->epoch, error);
    return r < 0 ? r : ledger_fold_outcomes(ledger, &call, error);
}
