/* A store that fails as it is told: that it keeps the contract otherwise, and its faults. */
#include "engine/base/str.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

struct media {
    struct memory_medium *medium;
    struct store_faults *faults;
};

static struct store *attach(void *arg)
{
    struct media *media = arg;

    return faulty_store_new(media->faults, memory_store_new(media->medium));
}

static bool damage(void *arg, const struct document_name *document, enum damage_part part,
                   enum damage_how how, char **ret)
{
    if (part != DAMAGE_OPEN || how != DAMAGE_CHANGED)
        return false;
    memory_damage(((struct media *)arg)->medium, document, "open part");
    *ret = str_new("open part");
    return true;
}

static void break_lock(void *arg, const struct document_name *document)
{
    memory_break_lock(((struct media *)arg)->medium, document);
}

static void keeps_the_contract(void)
{
    static const struct memory_medium_config configs[] = {
        {0}, {.has_locks = true}, {.cannot_append = true}};

    for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
        _cleanup_(store_faults_free_p) struct store_faults *faults = store_faults_new();
        _cleanup_(memory_medium_free_p) struct memory_medium *medium =
            memory_medium_new(&configs[i]);
        struct media media = {medium, faults};

        store_contract_check(&(struct store_fixture){&media, attach, damage,
                                                     configs[i].has_locks ? break_lock : NULL});
    }
}

/* ---- Faults ---- */

struct desk {
    struct media media;
    struct store_faults *faults; /* the same */
    struct store *store;
    struct store_file *file;
    unsigned events;
    size_t kill_at; /* of the events, from 1 */
};

static void desk_open(struct desk *desk)
{
    desk->store = attach(&desk->media);
    EXPECT_INT(desk->store->ops->open(desk->store, &name, STORE_WRITE, &plain, &desk->file, NULL),
               0, "open");
}

static void desk_begin(struct desk *desk)
{
    static const struct memory_medium_config config = {.has_locks = true};

    *desk = (struct desk){.faults = store_faults_new()};
    desk->media = (struct media){memory_medium_new(&config), desk->faults};
    desk_open(desk);
}

static void desk_close(struct desk *desk)
{
    desk->store->ops->close(desk->file);
    desk->store->ops->free(desk->store);
}

static void desk_end(struct desk *desk)
{
    desk_close(desk);
    memory_medium_free(desk->media.medium);
    store_faults_free(desk->faults);
}

static int put(struct desk *desk, const char *text)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, text);
    return desk->store->ops->write(desk->file, &plain,
                                   &(struct document){.open = bytes, .secret = BUF_INIT}, NULL);
}

static void expect_text(struct desk *desk, const char *text, const char *note)
{
    struct document document = DOCUMENT_INIT;

    EXPECT_INT(desk->store->ops->read(desk->file, &plain, &document, NULL),
               text ? 0 : ERR_NOT_FOUND, note);
    EXPECT_STR(document.open.data, text ? text : "", note);
    document_done(&document);
}

static void fails_as_planned(void)
{
    static const struct {
        enum store_fault fault;
        int code;
        const char *then;
    } rows[] = {{FAULT_BEFORE, ERR_UNAVAILABLE, "1"},
                {FAULT_AFTER, ERR_UNAVAILABLE, "2"},
                {FAULT_CONFLICT, ERR_CONFLICT, "1"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct desk desk;

        desk_begin(&desk);
        store_faults_fail(desk.faults, 2, rows[i].fault);
        EXPECT_INT(put(&desk, "1"), 0, "the first");
        EXPECT_INT(put(&desk, "2"), rows[i].code, rows[i].then);
        if (!str_equal(rows[i].then, "1") || rows[i].code == ERR_CONFLICT)
            EXPECT_INT(put(&desk, "3"), ERR_CONFLICT, "the handle does not know");
        expect_text(&desk, rows[i].then, "read tells");
        EXPECT_INT(put(&desk, "4"), 0, "no fault any more");
        desk_end(&desk);
    }
}

static enum store_fault kill_at(void *arg, const struct faulty_event *event)
{
    struct desk *desk = arg;

    EXPECT(event->store == desk->store, "the store that is called");
    EXPECT_STR(event->name->spec.name, "web", "the document");
    if (++desk->events == desk->kill_at)
        faulty_store_kill(desk->store);
    return FAULT_NONE;
}

/* Each event of two writes is a place to be killed at. */
static void is_killed_at_each_place(void)
{
    static const char *const then[] = {NULL, "1", "1", "2", "2"};

    for (size_t at = 1; at <= 5; at++) {
        struct desk desk;

        desk_begin(&desk);
        desk.kill_at = at;
        store_faults_watch(desk.faults, kill_at, &desk);
        EXPECT_INT(put(&desk, "1"), at <= 2 ? ERR_UNAVAILABLE : 0, "the first");
        EXPECT_INT(put(&desk, "2"), at <= 4 ? ERR_UNAVAILABLE : 0, "the second");
        store_faults_watch(desk.faults, NULL, NULL);
        if (at == 5)
            faulty_store_kill(desk.store);
        EXPECT_INT(put(&desk, "3"), ERR_UNAVAILABLE, "dead");
        desk_close(&desk);
        desk_open(&desk); /* the lock is free */
        expect_text(&desk, then[at - 1], "what the next process finds");
        desk_end(&desk);
    }
}

SUITE(faulty_store, TEST(keeps_the_contract), TEST(fails_as_planned), TEST(is_killed_at_each_place))
