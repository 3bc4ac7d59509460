
#include "engine/state/ledger_private.h"
#include "engine/store/names.h"

/* ---- One document ---- */

static int open_document(const struct ledger *ledger, const char *id, const struct store_call *call,
                         struct store_file **ret, struct error *error)
{
    struct store *store = ledger->table->config.store;
    struct document_name name = {DOCUMENT_OUTCOME, ledger->key, id};

    return store->ops->open(store, &name, STORE_WRITE, call, ret, error);
}

/* Reads the document to bring the handle up to date. Returns 0 if it does not exist or is damaged,
 * too. */
static int refresh(struct store_file *file, const struct store_call *call, struct error *error)
{
    struct document stored = DOCUMENT_INIT;
    struct error problem = {0};
    int r = file->store->ops->read(file, call, &stored, &problem);

    document_done(&stored);
    return r == ERR_NOT_FOUND || r == ERR_CORRUPT || r >= 0 ? 0 : err_copy(error, &problem);
}

/* An outcome document that exists already is our own: an earlier attempt wrote it, or it holds an
 * earlier outcome. It is replaced. */
static int write_once(const struct ledger *ledger, const char *id, const struct document *document,
                      struct error *problem)
{
    struct store_call call = ledger_call(ledger, PERMIT_RECORD);
    struct store_file *file = NULL;
    int r = open_document(ledger, id, &call, &file, problem);

    if (r < 0)
        return r;
    r = store_replace(file, &call, document, problem);
    file->store->ops->close(file);
    return r;
}

static int write_document(struct ledger *ledger, const char *id, const struct changes *changes,
                          int64_t patience)
{
    int64_t until = ledger_clock(ledger) + patience, wait = SAVE_WAIT_FIRST;
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    int r = outcome_encode(id, changes, &document, NULL);

    while (r >= 0) {
        struct error problem = {0};

        r = write_once(ledger, id, &document, &problem);
        if (r >= 0 || !err_is_transient(r) || ledger_clock(ledger) >= until)
            break;
        ledger_pause(ledger, wait);
        wait = 2 * wait < SAVE_WAIT_MOST ? 2 * wait : SAVE_WAIT_MOST;
        r = 0;
    }
    return r;
}

static int remove_one(const struct ledger *ledger, const char *id, const struct store_call *call,
                      struct error *error)
{
    struct store_file *file = NULL;
    int r = open_document(ledger, id, call, &file, error);

    if (r < 0)
        return r;
    r = refresh(file, call, error);
    if (r >= 0)
        r = file->store->ops->remove(file, call, error);
    file->store->ops->close(file);
    return r < 0 ? r : 0;
}

/* ---- Writing ---- */

static bool is_unwritten(const struct landing *landing)
{
    return landing->mark && !landing->is_written;
}

bool ledger_has_unwritten_outcomes(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->n_landed; i++)
        if (is_unwritten(&ledger->landed[i]))
            return true;
    return false;
}

/* All changes with this ticket, as their records are now. */
static void gather(const struct ledger *ledger, uint64_t ticket, struct changes *ret)
{
    for (size_t i = 0; i < ledger->n_landed; i++) {
        const struct ledger_change *change = &ledger->landed[i].change;
        struct ledger_change now = {.id = change_id(change), .deposed = change_deposed(change)};

        if (ledger->landed[i].ticket != ticket)
            continue;
        now.put = state_find(ledger->state, now.id, now.deposed);
        changes_add(ret, &now);
    }
}

static int write_one(struct ledger *ledger, size_t index, int64_t patience)
{
    _cleanup_(record_unref_p) const struct record *mark = record_ref(ledger->landed[index].mark);
    struct changes changes = CHANGES_INIT;
    int r;

    gather(ledger, ledger->landed[index].ticket, &changes);
    pthread_mutex_unlock(&ledger->lock);
    r = write_document(ledger, mark->call.id, &changes, patience);
    changes_done(&changes);
    pthread_mutex_lock(&ledger->lock);
    ledger->landed[index].is_written = r >= 0;
    return r;
}

void ledger_write_outcomes(struct ledger *ledger, int64_t patience)
{
    for (size_t i = 0; i < ledger->n_landed; i++)
        if (is_unwritten(&ledger->landed[i]) && write_one(ledger, i, patience) < 0)
            return;
}

void ledger_remove_written_outcomes(struct ledger *ledger)
{
    while (ledger->n_written) {
        _cleanup_free_ char *id = ledger->written[--ledger->n_written];
        struct store_call call = ledger_call(ledger, PERMIT_ACT);

        pthread_mutex_unlock(&ledger->lock);
        remove_one(ledger, id, &call, NULL);
        pthread_mutex_lock(&ledger->lock);
    }
}

/* ---- Reading those of earlier leaders ---- */

/* The begin marks of State, by call id. */
static void find_marks(const struct ledger *ledger, struct strmap *ret)
{
    const struct record *record;

    for (size_t at = 0; (record = state_next(ledger->state, &at));)
        if (record->status == RECORD_CREATING && record->call.id)
            strmap_put(ret, record->call.id, (void *)(uintptr_t)record);
}

static int read_one(const struct ledger *ledger, const char *id, const struct store_call *call,
                    struct changes *ret, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r = open_document(ledger, id, call, &file, error);

    if (r < 0)
        return r;
    r = file->store->ops->read(file, call, &document, &problem);
    if (r >= 0)
        r = outcome_decode(&document, id, ret, &problem);
    file->store->ops->close(file);
    document_done(&document);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0) {
        _cleanup_free_ char *place = ledger_describe(ledger, DOCUMENT_OUTCOME, id);

        err_wrap(&problem, "%s", place);
        return err_copy(error, &problem);
    }
    return 0;
}

static int read_marked(const struct ledger *ledger, const struct strmap *marks,
                       const struct names *names, const struct store_call *call,
                       struct changes *ret, struct error *error)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < names->count; i++)
        if (strmap_get(marks, names->items[i].item))
            r = read_one(ledger, names->items[i].item, call, ret, error);
    return r;
}

static int fold_names(struct ledger *ledger, const struct strmap *marks, const struct names *names,
                      const struct store_call *call, struct error *error)
{
    struct changes changes = CHANGES_INIT;
    int r = read_marked(ledger, marks, names, call, &changes, error);

    if (r >= 0 && changes.count)
        r = ledger_fold(ledger, &changes, error);
    changes_done(&changes);
    /* A document that could not be removed does no harm: the next ledger_open() finds it again. */
    for (size_t i = 0; r >= 0 && i < names->count; i++)
        remove_one(ledger, names->items[i].item, call, NULL);
    return r;
}

int ledger_fold_outcomes(struct ledger *ledger, const struct store_call *call, struct error *error)
{
    _cleanup_(strmap_done) struct strmap marks = STRMAP_INIT;
    _cleanup_(names_done) struct names names = NAMES_INIT;
    int r = 0;

    find_marks(ledger, &marks);
    if (marks.count)
        r = names_list_of(&names, ledger->table->config.store, DOCUMENT_OUTCOME, &ledger->key, call,
                          error);
    if (r >= 0 && names.count)
        r = fold_names(ledger, &marks, &names, call, error);
    return r;
}

int ledger_remove_outcomes(struct ledger *ledger, struct error *error)
{
    struct store_call call = ledger_call(ledger, PERMIT_ACT);
    _cleanup_(names_done) struct names names = NAMES_INIT;
    int r = names_list_of(&names, ledger->table->config.store, DOCUMENT_OUTCOME, &ledger->key,
                          &call, error);

    for (size_t i = 0; r >= 0 && i < names.count; i++)
        r = remove_one(ledger, names.items[i].item, &call, error);
    return r;
}
