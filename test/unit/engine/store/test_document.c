#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/store.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

static void kinds_have_names_of_their_own(void)
{
    static const char *const names[DOCUMENT_KINDS] = {"state", "outcome", "plan", "approval",
                                                      "spec",  "release", "store"};

    for (size_t i = 0; i < DOCUMENT_KINDS; i++)
        EXPECT_STR(document_kind_name((enum document_kind)i), names[i], "as messages have it");
}

static void done_leaves_an_empty_document(void)
{
    struct document document = DOCUMENT_INIT;

    document_done(&document);
    buf_add_str(&document.open, "open");
    buf_add_str(&document.secret, "secret");
    document.entries = NEW_ARRAY(struct buf, 2);
    document.n_entries = 2;
    buf_init(&document.entries[0], 0);
    buf_init(&document.entries[1], 0);
    buf_add_str(&document.entries[1], "entry");
    document_done(&document);
    EXPECT_INT(document.open.length + document.secret.length + document.n_entries, 0, "nothing");
    EXPECT(!document.entries, "no entries");
    buf_add_str(&document.open, "again");
    EXPECT_STR(document.open.data, "again", "it can be used again");
    document_done(&document);
}

/* ---- Dropping one, while others change it ---- */

struct others {
    unsigned conflicts; /* removals that are still to meet one */
};

static enum store_fault change_first(void *arg, const struct faulty_event *event)
{
    struct others *others = arg;

    if (event->call != FAULTY_REMOVE || event->is_done || !others->conflicts)
        return FAULT_NONE;
    others->conflicts--;
    return FAULT_CONFLICT;
}

static void one_that_others_change_is_dropped(void)
{
    static const struct {
        unsigned conflicts;
        int result;
        size_t left;
    } rows[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, ERR_CONFLICT, 1}};
    const struct document_name name = {DOCUMENT_PLAN, {"team", "web"}, "preview"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(store_faults_free_p) struct store_faults *faults = store_faults_new();
        _cleanup_(memory_medium_free_p) struct memory_medium *medium = memory_medium_new(NULL);
        struct store *store = faulty_store_new(faults, memory_store_new(medium));
        const struct store_call call = {0};
        struct document document = DOCUMENT_INIT;
        struct others others = {.conflicts = rows[i].conflicts};
        struct store_file *file = NULL;
        struct error error = {0};

        buf_add_str(&document.open, "plan");
        EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &call, &file, &error), 0, "open");
        EXPECT_INT(store->ops->write(file, &call, &document, &error), 0, error.message);
        store->ops->close(file);
        document_done(&document);
        store_faults_watch(faults, change_first, &others);
        EXPECT_INT(store_drop(store, &name, &call, &error), rows[i].result, error.message);
        EXPECT_INT((long long)memory_documents(medium), (long long)rows[i].left, "left");
        EXPECT_INT(store_drop(store, &name, &call, &error), 0, "of one that is gone, too");
        store->ops->free(store);
    }
}

/* ---- Replacing one that nobody has read ---- */

static int replace(struct store *store, const struct document_name *name, const char *text,
                   struct error *error)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    int r;

    buf_add_str(&document.open, text);
    EXPECT_INT(store->ops->open(store, name, STORE_WRITE, &call, &file, error), 0, "open");
    r = store_replace(file, &call, &document, error);
    store->ops->close(file);
    document_done(&document);
    return r;
}

static enum store_fault refuse(void *arg, const struct faulty_event *event)
{
    (void)arg;
    return event->call == FAULTY_WRITE && !event->is_done ? FAULT_CONFLICT : FAULT_NONE;
}

static void what_is_there_is_replaced(void)
{
    _cleanup_(store_faults_free_p) struct store_faults *faults = store_faults_new();
    _cleanup_(memory_medium_free_p) struct memory_medium *medium = memory_medium_new(NULL);
    struct store *store = faulty_store_new(faults, memory_store_new(medium));
    const struct document_name name = {DOCUMENT_PLAN, {"team", "web"}, "web-1"};
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct error error = {0};

    EXPECT_INT(replace(store, &name, "first", &error), 0, "there is none");
    EXPECT_INT(replace(store, &name, "second", &error), 0, error.message);
    memory_damage(medium, &name, "open part");
    EXPECT_INT(replace(store, &name, "third", &error), 0, error.message);
    EXPECT_INT(store_load(store, &name, &call, &document, &error), 0, error.message);
    EXPECT_STR(document.open.data, "third", "the last one");
    document_done(&document);
    store_faults_watch(faults, refuse, NULL);
    EXPECT_INT(replace(store, &name, "fourth", &error), ERR_CONFLICT, "others write it");
    store->ops->free(store);
}

SUITE(document, TEST(kinds_have_names_of_their_own), TEST(done_leaves_an_empty_document),
      TEST(one_that_others_change_is_dropped), TEST(what_is_there_is_replaced))
