/* A store that is reached over a network: a change that seemed to fail arrives a moment later,
 * after it was looked for, and just before it is tried again. */
#include "engine/base/mem.h"
#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

struct late_store {
    struct store base; /* first */
    struct store *under;
    enum { NOT_LATE, NEXT_IS_LATE, IS_ON_ITS_WAY } phase;
    size_t tries;
};

struct late_file {
    struct store_file base; /* first */
    struct store_file *under;
};

static struct store_file *under_of(struct store_file *file)
{
    return ((struct late_file *)file)->under;
}

static int late_open(struct store *base, const struct document_name *name, enum store_mode mode,
                     const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct late_store *store = (struct late_store *)base;
    struct late_file *file = NEW(struct late_file);
    int r = store->under->ops->open(store->under, name, mode, call, &file->under, error);

    if (r < 0) {
        free(file);
        return r;
    }
    file->base.store = base;
    *ret = &file->base;
    return 0;
}

static void late_close(struct store_file *file)
{
    under_of(file)->store->ops->close(under_of(file));
    free(file);
}

static int late_read(struct store_file *file, const struct store_call *call, struct document *ret,
                     struct error *error)
{
    return under_of(file)->store->ops->read(under_of(file), call, ret, error);
}

struct change {
    const struct document *document;
    const void *bytes;
    size_t length;
};

static int make(struct store_file *file, const struct store_call *call, const struct change *change,
                struct error *error)
{
    const struct store_ops *ops = file->store->ops;

    if (change->document)
        return ops->write(file, call, change->document, error);
    if (change->bytes)
        return ops->append(file, call, change->bytes, change->length, error);
    return ops->remove(file, call, error);
}

/* The try before was of the same bytes: it arrives now, by a connection of its own. */
static void arrive(struct late_store *store, const struct store_call *call,
                   const struct change *change)
{
    struct document_name name = {DOCUMENT_STATE, stage_key, NULL};
    struct document before = DOCUMENT_INIT;
    struct store_file *file = NULL;

    store->under->ops->open(store->under, &name, STORE_WRITE, call, &file, NULL);
    store->under->ops->read(file, call, &before, NULL);
    EXPECT_INT(make(file, call, change, NULL), 0, "arrived");
    document_done(&before);
    store->under->ops->close(file);
}

static int late_change(struct store_file *file, const struct store_call *call,
                       const struct change *change, struct error *error)
{
    struct late_store *store = (struct late_store *)file->store;

    store->tries++;
    if (store->phase == NEXT_IS_LATE) {
        store->phase = IS_ON_ITS_WAY;
        return err_set(error, ERR_TIMEOUT, NULL, "no answer");
    }
    if (store->phase == IS_ON_ITS_WAY)
        arrive(store, call, change);
    store->phase = NOT_LATE;
    return make(under_of(file), call, change, error);
}

static int late_write(struct store_file *file, const struct store_call *call,
                      const struct document *document, struct error *error)
{
    return late_change(file, call, &(struct change){.document = document}, error);
}

static int late_append(struct store_file *file, const struct store_call *call, const void *bytes,
                       size_t length, struct error *error)
{
    return late_change(file, call, &(struct change){.bytes = bytes, .length = length}, error);
}

static int late_remove(struct store_file *file, const struct store_call *call, struct error *error)
{
    return late_change(file, call, &(struct change){0}, error);
}

static int late_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                     store_on_name *fn, void *arg, const struct store_call *call,
                     struct error *error)
{
    struct late_store *store = (struct late_store *)base;

    return store->under->ops->list(store->under, kind, spec, fn, arg, call, error);
}

static char *late_describe(struct store *base, const struct document_name *name)
{
    struct late_store *store = (struct late_store *)base;

    return store->under->ops->describe(store->under, name);
}

static const struct store_ops late_ops = {.type = "late",
                                          .open = late_open,
                                          .close = late_close,
                                          .read = late_read,
                                          .write = late_write,
                                          .append = late_append,
                                          .remove = late_remove,
                                          .list = late_list,
                                          .describe = late_describe};

/* ---- The tests ---- */

static struct stage stage;
static struct late_store store;
static struct ledgers *ledgers;
static struct ledger *ledger;

static void set_up(size_t size)
{
    struct ledger_opening opening = {.key = stage_key, .spec_uid = "uid-1", .epoch = 1};

    stage_init(&stage, NULL);
    store = (struct late_store){.base = {&late_ops}, .under = memory_store_new(stage.medium)};
    ledgers =
        ledgers_new(&(struct ledgers_config){.store = &store.base, .clock = &stage.clock.source});
    CU_ASSERT_EQUAL_FATAL(ledger_open(ledgers, &opening, &ledger, NULL), 0);
    land_put(ledger, large_record("big", size), LEDGER_NOW, NULL);
    store.tries = 0;
    store.phase = NEXT_IS_LATE;
}

static void tear_down(void)
{
    ledger_unref(ledger);
    ledgers_free(ledgers);
    store.under->ops->free(store.under);
    stage_done(&stage);
}

/* Written whole, and appended. */
static void our_own_late_change_is_no_conflict(void)
{
    static const size_t sizes[] = {10, 200000};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct error error = {0};

        set_up(sizes[i]);
        EXPECT_INT(land_put(ledger, record_of("a", 1), LEDGER_NOW, &error), 0, error.message);
        EXPECT_INT((long long)store.tries, 2, "tried twice");
        EXPECT_INT(stored_number(&stage, "a"), 1, "stored");
        store.phase = NEXT_IS_LATE;
        EXPECT_INT(begin_put(ledger, record_of("b", 1), &error), 0, error.message);
        EXPECT_INT(stored_number(&stage, "b"), 1, "stored");
        EXPECT_INT(land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL), 0, "and it goes on");
        tear_down();
    }
}

static void our_own_late_removal_is_no_conflict(void)
{
    struct error error = {0};

    set_up(10);
    EXPECT_INT(ledger_remove(ledger, &error), 0, error.message);
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
    EXPECT_INT(begin_put(ledger, record_of("b", 1), &error), ERR_CONFLICT, "it is over");
    tear_down();
}

SUITE(ledger_late, TEST(our_own_late_change_is_no_conflict),
      TEST(our_own_late_removal_is_no_conflict))
