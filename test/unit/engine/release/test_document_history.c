#include "engine/release/document_history.h"

#include "engine/base/str.h"
#include "engine/state/compress.h"
#include "engine/value/json.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct spec_key web = {"team", "web"};

struct desk {
    struct memory_medium *medium;
    struct store_faults *faults;
    struct store *store;
    struct release_history *history;
    struct error error;
};

static void begin(struct desk *desk, const struct memory_medium_config *config)
{
    *desk = (struct desk){.medium = memory_medium_new(config)};
    desk->faults = store_faults_new();
    desk->store = faulty_store_new(desk->faults, memory_store_new(desk->medium));
    desk->history = document_history_new(desk->store);
}

static void end(struct desk *desk)
{
    desk->history->ops->free(desk->history);
    desk->store->ops->free(desk->store);
    memory_medium_free(desk->medium);
    store_faults_free(desk->faults);
}

/* ---- The contract ---- */

static struct release_history *attach(void *arg)
{
    struct desk *desk = arg;

    return document_history_new(desk->store);
}

static void lose_answer(void *arg, bool is_after)
{
    struct desk *desk = arg;

    store_faults_fail(desk->faults, 1, is_after ? FAULT_AFTER : FAULT_BEFORE);
}

static void keeps_the_contract(void)
{
    static const struct memory_medium_config rows[] = {{0}, {.has_locks = true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct desk desk;

        begin(&desk, &rows[i]);
        history_contract_check(&(struct history_fixture){&desk, "team", attach, lose_answer});
        end(&desk);
    }
}

/* ---- What the store has to say ---- */

static int create(struct desk *desk, int64_t revision)
{
    const struct release_head head = {
        .spec = web, .revision = revision, .generation = 1, .operation = RELEASE_APPLY};
    _cleanup_free_ char *version = NULL;

    return desk->history->ops->create(desk->history, &head, &plain, &version, &desk->error);
}

static int load(struct desk *desk, int64_t revision)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;

    err_clear(&desk->error);
    return desk->history->ops->load(desk->history, &web, revision, &plain, &record, &version,
                                    &desk->error);
}

static void tells_a_lock(void)
{
    const struct document_name name = {DOCUMENT_RELEASE, web, "1"};
    struct store_file *file = NULL;
    struct desk desk;

    begin(&desk, &(struct memory_medium_config){.has_locks = true});
    EXPECT_INT(desk.store->ops->open(desk.store, &name, STORE_WRITE, &plain, &file, NULL), 0, "");
    EXPECT_INT(create(&desk, 1), ERR_CONFLICT, desk.error.message);
    EXPECT_STR(desk.error.reason, "StateLocked", desk.error.message);
    desk.store->ops->close(file);
    EXPECT_INT(create(&desk, 1), 0, desk.error.message);
    end(&desk);
}

static void tells_damage_and_removes_it(void)
{
    const struct document_name name = {DOCUMENT_RELEASE, web, "2"};
    struct desk desk;

    begin(&desk, NULL);
    EXPECT_INT(create(&desk, 1), 0, desk.error.message);
    EXPECT_INT(create(&desk, 2), 0, desk.error.message);
    memory_damage(desk.medium, &name, "head");
    EXPECT_INT(load(&desk, 2), ERR_CORRUPT, "itself");
    EXPECT_STR(desk.error.message, "release 2 of team/web: the head is damaged", "which");
    EXPECT_INT(load(&desk, 0), ERR_CORRUPT, "the newest");
    EXPECT_INT(create(&desk, 2), ERR_EXISTS, "taken");
    EXPECT_INT(
        desk.history->ops->remove(desk.history, &web, 2, RELEASE_ANYWAY, &plain, &desk.error), 0,
        "remove");
    EXPECT_INT(load(&desk, 0), 0, "the one before");
    end(&desk);
}

/* Documents that are whole, and no records of ours. */
static void reads_its_own_records_alone(void)
{
    static const struct {
        const char *text; /* NULL: no JSON */
        int code;
    } rows[] = {
#define RECORD(format, space, name, revision, operation)                            \
    "{\"format\":" format ",\"spec\":{\"namespace\":\"" space "\",\"name\":\"" name \
    "\"},\"revision\":" revision ",\"generation\":1,\"operation\":\"" operation     \
    "\",\"written\":1}"
        {RECORD("1", "team", "web", "7", "Apply"), 0},
        {RECORD("2", "team", "web", "7", "Apply"), ERR_CORRUPT},
        {RECORD("1", "team", "cache", "7", "Apply"), ERR_CORRUPT},
        {RECORD("1", "team-2", "web", "7", "Apply"), ERR_CORRUPT},
        {RECORD("1", "team", "web", "8", "Apply"), ERR_CORRUPT},
        {RECORD("1", "team", "web", "7", "Repair"), ERR_CORRUPT},
        {"[]", ERR_CORRUPT},
        {NULL, ERR_CORRUPT},
    };
    const struct document_name name = {DOCUMENT_RELEASE, web, "7"};

    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) { /* each plain, and as before, compressed */
        const char *text = rows[i / 2].text;
        _cleanup_value_ const struct value *value = NULL;
        struct document document = DOCUMENT_INIT;
        struct store_file *file = NULL;
        struct desk desk;

        begin(&desk, NULL);
        if (!text || i % 2 == 0)
            buf_add_str(&document.open, text ? text : "{");
        else if (json_read(text, strlen(text), &value, NULL) == 0)
            value_compress(value, &document.open, NULL);
        desk.store->ops->open(desk.store, &name, STORE_WRITE, &plain, &file, NULL);
        EXPECT_INT(desk.store->ops->write(file, &plain, &document, NULL), 0, "write");
        desk.store->ops->close(file);
        EXPECT_INT(load(&desk, 7), rows[i / 2].code, text);
        document_done(&document);
        end(&desk);
    }
}

/* Whatever else is kept under that kind. */
static void passes_over_what_is_no_revision(void)
{
    static const char *const items[] = {"0", "007", "-1", "1.5", "x", "9007199254740993", "+9"};
    struct desk desk;

    begin(&desk, NULL);
    EXPECT_INT(create(&desk, 5), 0, desk.error.message);
    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        const struct document_name name = {DOCUMENT_RELEASE, web, items[i]};
        const struct document document = DOCUMENT_INIT;
        struct store_file *file = NULL;

        desk.store->ops->open(desk.store, &name, STORE_WRITE, &plain, &file, NULL);
        EXPECT_INT(desk.store->ops->write(file, &plain, &document, NULL), 0, items[i]);
        desk.store->ops->close(file);
        EXPECT_INT(load(&desk, 0), 0, items[i]);
    }
    end(&desk);
}

/* ---- Records that go meanwhile ---- */

/* Another process removes revision 2 when it is about to be read: after it was listed. */
static enum store_fault remove_second(void *arg, const struct faulty_event *event)
{
    struct desk *desk = arg;
    struct store *other = memory_store_new(desk->medium);
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    if (event->call == FAULTY_READ && !event->is_done && str_equal(event->name->item, "2")) {
        other->ops->open(other, event->name, STORE_WRITE, &plain, &file, NULL);
        if (other->ops->read(file, &plain, &document, NULL) == 0)
            EXPECT_INT(other->ops->remove(file, &plain, NULL), 0, "removed");
        other->ops->close(file);
    }
    document_done(&document);
    other->ops->free(other);
    return FAULT_NONE;
}

static int add_revision(void *arg, const struct release_head *head, struct error *error)
{
    (void)error;
    *(int64_t *)arg = *(int64_t *)arg * 10 + head->revision;
    return 0;
}

static void passes_over_what_goes_meanwhile(void)
{
    for (int is_list = 0; is_list < 2; is_list++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = NULL;
        int64_t listed = 0;
        struct desk desk;

        begin(&desk, NULL);
        for (int64_t revision = 1; revision <= 2; revision++)
            EXPECT_INT(create(&desk, revision), 0, desk.error.message);
        store_faults_watch(desk.faults, remove_second, &desk);
        if (is_list) {
            EXPECT_INT(desk.history->ops->list(desk.history, &web, add_revision, &listed, &plain,
                                               &desk.error),
                       0, desk.error.message);
            EXPECT_INT(listed, 1, "the other one alone");
        } else {
            EXPECT_INT(desk.history->ops->load(desk.history, &web, 0, &plain, &record, &version,
                                               &desk.error),
                       0, desk.error.message);
            EXPECT_INT(record ? record->head.revision : 0, 1, "the newest that is left");
        }
        EXPECT_INT((long long)memory_documents(desk.medium), 1, "it did go");
        end(&desk);
    }
}

SUITE(document_history, TEST(keeps_the_contract), TEST(tells_a_lock),
      TEST(tells_damage_and_removes_it), TEST(reads_its_own_records_alone),
      TEST(passes_over_what_is_no_revision), TEST(passes_over_what_goes_meanwhile))
