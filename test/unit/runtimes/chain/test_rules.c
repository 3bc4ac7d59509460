/* The rules of a chain, one by one (runtimes/chain/store.h), over objects in memory. */
#include <stdatomic.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "test/unit/runtimes/chain/memory_objects.h"
#include "test/unit/suite.h"

#define START_MS INT64_C(1790000000000) /* on day 20717 */
#define FOLDER   "v1/state/team/web/~"

static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
static const struct store_call plain;

struct desk {
    struct memory_objects_medium *medium;
    struct store *store;
    struct store_file *file;
    struct error error;
    enum objects_request fails; /* this request meets the fault, from the nth on, so often */
    enum objects_fault fault;
    unsigned nth, times;
};

static int64_t now;

static int64_t clock_now(const struct clock_source *clock)
{
    (void)clock;
    return now;
}

static void clock_wait(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    (void)clock, (void)condition, (void)mutex;
    now = until;
}

static const struct clock_source clock_of_ours = {clock_now, clock_now, clock_wait};

static enum objects_fault on_request(void *arg, struct objects *objects,
                                     enum objects_request request, const char *key)
{
    struct desk *desk = arg;

    (void)objects, (void)key;
    if (desk->times == 0 || request != desk->fails || (desk->nth && --desk->nth))
        return OBJECTS_WORK;
    desk->times--;
    return desk->fault;
}

static void pass(struct desk *desk, int64_t ms)
{
    now += ms;
    memory_objects_set_time(desk->medium, now);
}

static void begin(struct desk *desk)
{
    *desk = (struct desk){.medium = memory_objects_medium_new()};
    now = START_MS;
    pass(desk, 0);
    memory_objects_watch(desk->medium, on_request, desk);
    desk->store = chain_store_new(memory_objects_new(desk->medium), &clock_of_ours, false);
    desk->store->ops->open(desk->store, &name, STORE_WRITE, &plain, &desk->file, NULL);
}

static void end(struct desk *desk)
{
    desk->store->ops->close(desk->file);
    desk->store->ops->free(desk->store);
    memory_objects_medium_free(desk->medium);
}

static void fail(struct desk *desk, enum objects_request request, enum objects_fault fault,
                 unsigned nth, unsigned times)
{
    desk->fails = request;
    desk->fault = fault;
    desk->nth = nth;
    desk->times = times;
}

static int put(struct desk *desk, const char *text)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, text);
    err_clear(&desk->error);
    r = desk->store->ops->write(desk->file, &plain, &document, &desk->error);
    document_done(&document);
    return r;
}

static int take(struct desk *desk)
{
    err_clear(&desk->error);
    return desk->store->ops->remove(desk->file, &plain, &desk->error);
}

/* What a process reads that begins now; the code as text where there is none. */
static void expect_read(struct desk *desk, const char *expected, const char *note)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_free_ char *code = NULL;
    int r = store_load(desk->store, &name, &plain, &document, &desk->error);

    code = str_printf("%s", err_reason(r < 0 ? r : 0));
    EXPECT_STR(r == 0 ? document.open.data : code, expected, note);
    document_done(&document);
}

/* The numbers of the chain, and what else there is. */
static void expect_objects(struct desk *desk, const char *expected, const char *note)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const char *key;

    for (size_t i = 0; (key = memory_objects_key(desk->medium, i)); i++)
        buf_printf(&text, "%s%s", i ? " " : "",
                   str_has_prefix(key, FOLDER) ? key + strlen(FOLDER) : key);
    EXPECT_STR(text.data, expected, note);
}

static int count_name(void *arg, const struct document_name *found, struct error *error)
{
    (void)found, (void)error;
    ++*(unsigned *)arg;
    return 0;
}

static unsigned count_listed(struct desk *desk)
{
    unsigned count = 0;

    EXPECT_INT(desk->store->ops->list(desk->store, DOCUMENT_STATE, NULL, count_name, &count, &plain,
                                      &desk->error),
               0, desk->error.message);
    return count;
}

static void tidy(struct desk *desk)
{
    EXPECT_INT(desk->store->ops->tidy(desk->store, &plain, &desk->error), 0, desk->error.message);
}

/* ---- What is kept ---- */

static void keeps_the_newest_three(struct desk *desk)
{
    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    expect_objects(desk, "0207160000000000 0207170000000000", "the beginning, and it");
    EXPECT_INT(put(desk, "2"), 0, desk->error.message);
    EXPECT_INT(put(desk, "3"), 0, desk->error.message);
    expect_objects(desk, "0207170000000000 0207170000000001 0207170000000002", "three");
    fail(desk, OBJECTS_DELETE, OBJECTS_LOST, 0, 1);
    EXPECT_INT(put(desk, "4"), 0, "it is only not tidy");
    EXPECT_INT(memory_objects_count(desk->medium), 4, "one too many");
    tidy(desk);
    expect_objects(desk, "0207170000000001 0207170000000002 0207170000000003", "tidied");
    expect_read(desk, "4", "the newest");
}

static void forgets_what_was_removed(struct desk *desk)
{
    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    EXPECT_INT(take(desk), 0, desk->error.message);
    expect_objects(desk, "0207170000000001", "a tombstone");
    EXPECT_INT(count_listed(desk), 0, "which is no document");
    pass(desk, DAY_MS);
    tidy(desk);
    expect_objects(desk, "0207170000000001", "for two days");
    pass(desk, DAY_MS + 1);
    tidy(desk);
    expect_objects(desk, "0207170000000002", "then it is closed");
    expect_read(desk, "NotFound", "closed");
    EXPECT_INT(count_listed(desk), 0, "closed");
    pass(desk, 2 * DAY_MS + 1);
    tidy(desk);
    expect_objects(desk, "", "then it is gone");
}

static void begins_anew_after_a_closed_one(struct desk *desk)
{
    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    EXPECT_INT(take(desk), 0, desk->error.message);
    pass(desk, 2 * DAY_MS + 1);
    tidy(desk);
    expect_read(desk, "NotFound", "closed");
    EXPECT_INT(put(desk, "2"), ERR_CONFLICT, "it saw the tombstone, not what closed it");
    desk->store->ops->close(desk->file);
    desk->store->ops->open(desk->store, &name, STORE_WRITE, &plain, &desk->file, NULL);
    EXPECT_INT(put(desk, "2"), 0, desk->error.message);
    expect_objects(desk, "0207170000000002 0207180000000000 0207190000000000", "of a later day");
    expect_read(desk, "2", "anew");
}

static void repeats_a_removal(struct desk *desk)
{
    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    fail(desk, OBJECTS_DELETE, OBJECTS_LOST, 0, 10);
    EXPECT_INT(take(desk), 0, desk->error.message);
    desk->times = 0;
    expect_read(desk, "NotFound", "removed");
    EXPECT_INT(count_listed(desk), 1, "named, as there is something left");
    EXPECT_INT(store_drop(desk->store, &name, &plain, &desk->error), 0, desk->error.message);
    expect_objects(desk, "0207170000000002", "nothing but a tombstone");
    EXPECT_INT(count_listed(desk), 0, "not any more");
}

static void tidies_unfinished_creates(struct desk *desk)
{
    struct objects *objects = memory_objects_new(desk->medium);
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    objects->ops->create(objects, OBJECT_UNFINISHED "~1", &bytes, &plain, NULL);
    pass(desk, DAY_MS);
    tidy(desk);
    expect_objects(desk, OBJECT_UNFINISHED "~1", "it may still be at work");
    pass(desk, DAY_MS + 1);
    tidy(desk);
    expect_objects(desk, "", "it is not");
    objects->ops->free(objects);
}

/* ---- Damage ---- */

static void does_not_take_loss_for_an_empty_document(struct desk *desk)
{
    struct objects *objects = memory_objects_new(desk->medium);

    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    objects->ops->delete (objects, FOLDER "0207160000000000", &plain, NULL);
    expect_read(desk, "Corrupt", "what is before it is missing");
    EXPECT(strstr(desk->error.message, FOLDER "0207170000000000"), desk->error.message);
    EXPECT_INT(put(desk, "2"), 0, "it may be replaced");
    expect_read(desk, "2", "whole again");
    objects->ops->free(objects);
}

static void finds_an_object_of_another_document(struct desk *desk)
{
    static const struct document_name other = {DOCUMENT_STATE, {"team", "db"}, NULL};
    struct objects *objects = memory_objects_new(desk->medium);
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct document document = DOCUMENT_INIT;

    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    objects->ops->get(objects, FOLDER "0207160000000000", &bytes, &plain, NULL);
    objects->ops->create(objects, "v1/state/team/db/~0207160000000000", &bytes, &plain, NULL);
    EXPECT_INT(store_load(desk->store, &other, &plain, &document, &desk->error), ERR_CORRUPT,
               desk->error.message);
    objects->ops->free(objects);
}

/* ---- Answers that are lost ---- */

static void finds_out_what_became_of_a_create(struct desk *desk)
{
    static const struct {
        const char *note;
        enum objects_fault fault;
    } rows[] = {{"lost", OBJECTS_LOST},
                {"not answered", OBJECTS_UNANSWERED},
                {"doubled", OBJECTS_DOUBLED},
                {"late", OBJECTS_LATE}};

    EXPECT_INT(put(desk, "0"), 0, desk->error.message);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        fail(desk, OBJECTS_CREATE, rows[i].fault, 0, 1);
        EXPECT_INT(put(desk, rows[i].note), 0, desk->error.message);
        expect_read(desk, rows[i].note, "it is there");
    }
    EXPECT(memory_objects_deliver(desk->medium, 0), "the late one");
    expect_read(desk, "late", "it changes nothing");
}

static void fences_what_may_still_come(struct desk *desk)
{
    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    fail(desk, OBJECTS_CREATE, OBJECTS_LATE, 0, 10);
    EXPECT_INT(put(desk, "2"), ERR_UNAVAILABLE, desk->error.message);
    desk->times = 0;
    expect_read(desk, "1", "it has not come");
    EXPECT_INT(store_drop(desk->store, &name, &plain, &desk->error), 0, desk->error.message);
    while (memory_objects_deliver(desk->medium, 0))
        ;
    expect_read(desk, "NotFound", "its number is taken");
}

/* ---- What was seen long ago ---- */

static void looks_again_after_a_day(struct desk *desk)
{
    struct store_file *other = NULL;
    struct document document = DOCUMENT_INIT;

    EXPECT_INT(put(desk, "1"), 0, desk->error.message);
    pass(desk, 10 * DAY_MS);
    EXPECT_INT(put(desk, "2"), 0, "nothing has changed since");
    desk->store->ops->open(desk->store, &name, STORE_WRITE, &plain, &other, NULL);
    EXPECT_INT(desk->store->ops->read(other, &plain, &document, &desk->error), 0,
               desk->error.message);
    EXPECT_INT(put(desk, "3"), 0, desk->error.message);
    pass(desk, 10 * DAY_MS);
    EXPECT_INT(desk->store->ops->write(other, &plain, &document, &desk->error), ERR_CONFLICT,
               "it has");
    expect_read(desk, "3", "nothing is lost");
    document_done(&document);
    desk->store->ops->close(other);
}

/* ---- Servers that keep no condition ---- */

static int create_anyway(struct objects *objects, const char *key, const struct buf *bytes,
                         const struct store_call *call, struct error *error)
{
    (void)objects, (void)key, (void)bytes, (void)call, (void)error;
    return 0;
}

static void refuses_a_server_without_conditions(struct desk *desk)
{
    struct objects *objects = memory_objects_new(desk->medium);
    struct object_ops ops = *objects->ops;
    struct store *store;

    ops.create = create_anyway;
    objects->ops = &ops;
    store = chain_store_new(objects, &clock_of_ours, true);
    desk->store->ops->close(desk->file);
    store->ops->open(store, &name, STORE_WRITE, &plain, &desk->file, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct document document = DOCUMENT_INIT;

        err_clear(&desk->error);
        EXPECT_INT(store->ops->write(desk->file, &plain, &document, &desk->error), ERR_INVALID,
                   desk->error.message);
        EXPECT_STR(desk->error.reason, "StoreNotConditional", "each time");
    }
    store->ops->close(desk->file);
    desk->file = NULL;
    store->ops->free(store);
    expect_objects(desk, "", "nothing was written");
}

/* After the creates at once. */
static enum objects_fault lose_the_last_create(void *arg, struct objects *objects,
                                               enum objects_request request, const char *key)
{
    atomic_uint *creates = arg;

    (void)objects, (void)key;
    return request == OBJECTS_CREATE && atomic_fetch_add(creates, 1) == 8 ? OBJECTS_LOST
                                                                          : OBJECTS_WORK;
}

static void tries_a_server_again_that_went_meanwhile(struct desk *desk)
{
    struct store *store = chain_store_new(memory_objects_new(desk->medium), &clock_of_ours, true);
    struct document document = DOCUMENT_INIT;
    atomic_uint creates = 0;

    memory_objects_watch(desk->medium, lose_the_last_create, &creates);
    desk->store->ops->close(desk->file);
    store->ops->open(store, &name, STORE_WRITE, &plain, &desk->file, NULL);
    EXPECT_INT(store->ops->write(desk->file, &plain, &document, &desk->error), ERR_UNAVAILABLE,
               desk->error.message);
    err_clear(&desk->error);
    EXPECT_INT(store->ops->write(desk->file, &plain, &document, &desk->error), 0,
               desk->error.message);
    memory_objects_watch(desk->medium, NULL, NULL);
    store->ops->close(desk->file);
    desk->file = NULL;
    store->ops->free(store);
}

#define RULE(function)                \
    static void function##_rule(void) \
    {                                 \
        struct desk desk;             \
                                      \
        begin(&desk);                 \
        function(&desk);              \
        end(&desk);                   \
    }

RULE(keeps_the_newest_three)
RULE(forgets_what_was_removed)
RULE(begins_anew_after_a_closed_one)
RULE(repeats_a_removal)
RULE(tidies_unfinished_creates)
RULE(does_not_take_loss_for_an_empty_document)
RULE(finds_an_object_of_another_document)
RULE(finds_out_what_became_of_a_create)
RULE(fences_what_may_still_come)
RULE(looks_again_after_a_day)
RULE(refuses_a_server_without_conditions)
RULE(tries_a_server_again_that_went_meanwhile)

SUITE(chain_rules, TEST(keeps_the_newest_three_rule), TEST(forgets_what_was_removed_rule),
      TEST(begins_anew_after_a_closed_one_rule), TEST(repeats_a_removal_rule),
      TEST(tidies_unfinished_creates_rule), TEST(does_not_take_loss_for_an_empty_document_rule),
      TEST(finds_an_object_of_another_document_rule), TEST(finds_out_what_became_of_a_create_rule),
      TEST(fences_what_may_still_come_rule), TEST(looks_again_after_a_day_rule),
      TEST(refuses_a_server_without_conditions_rule),
      TEST(tries_a_server_again_that_went_meanwhile_rule))
