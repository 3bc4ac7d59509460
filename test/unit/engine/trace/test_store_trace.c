#include "engine/trace/store_trace.h"

#include "engine/base/str.h"
#include "engine/log/log.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/suite.h"

static const struct store_call plain;

/* Each look at the clock takes 3 ms. */
static int64_t monotonic(const struct clock_source *clock)
{
    static int64_t now;

    (void)clock;
    return now += 3;
}

static const struct clock_source ticking = {.monotonic = monotonic};

/* ---- It is a store ---- */

static struct store *attach(void *arg)
{
    return store_trace_new(memory_store_new(arg), &ticking);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    if (part != DAMAGE_OPEN || how != DAMAGE_CHANGED)
        return false;
    memory_damage(arg, name, "open part");
    *ret = str_new("open part");
    return true;
}

static void break_lock(void *arg, const struct document_name *name)
{
    memory_break_lock(arg, name);
}

static void keeps_the_contract(void)
{
    static const struct memory_medium_config rows[] = {
        {0}, {.has_locks = true}, {.cannot_append = true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct memory_medium *medium = memory_medium_new(&rows[i]);

        store_contract_check(
            &(struct store_fixture){medium, attach, damage, rows[i].has_locks ? break_lock : NULL});
        memory_medium_free(medium);
    }
}

/* ---- What it says ---- */

static struct buf lines = BUF_INIT;

static int64_t now(void)
{
    return 0;
}

static void keep(const char *line, size_t length)
{
    buf_add(&lines, line, length);
}

static void says_what_was_called_and_never_what_is_in_it(void)
{
    static const struct {
        const char *call, *rest;
    } expected[] = {
        {"open to write\",\"document\":\"outcome team/web call-1\"", "ok"},
        {"read\",\"document\":\"outcome team/web call-1\"", "NotFound"},
        {"write\",\"document\":\"outcome team/web call-1\",\"bytes\":\"11\"", "ok"},
        {"append\",\"document\":\"outcome team/web call-1\",\"bytes\":\"7\"", "ok"},
        {"read\",\"document\":\"outcome team/web call-1\",\"bytes\":\"18\"", "ok"},
        {"write\",\"document\":\"outcome team/web call-1\",\"bytes\":\"11\"", "Unavailable"},
        {"remove\",\"document\":\"outcome team/web call-1\"", "ok"},
        {"list\",\"document\":\"outcome team/web\"", "ok"},
        {"list\",\"document\":\"outcome\"", "ok"},
    };
    const struct document_name name = {DOCUMENT_OUTCOME, {"team", "web"}, "call-1"};
    struct memory_medium *medium = memory_medium_new(NULL);
    struct store_faults *faults = store_faults_new();
    struct store *store =
        store_trace_new(faulty_store_new(faults, memory_store_new(medium)), &ticking);
    struct document document = DOCUMENT_INIT, back = DOCUMENT_INIT;
    struct store_file *file = NULL;
    const char *at;

    log_open(&(struct log_sink){now, keep, LOG_DEBUG, false});
    buf_add_str(&document.open, "hidden");
    buf_add_str(&document.secret, "hidde");
    store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL);
    store->ops->read(file, &plain, &back, NULL);
    store->ops->write(file, &plain, &document, NULL);
    store->ops->append(file, &plain, "hidden!", 7, NULL);
    store->ops->read(file, &plain, &back, NULL);
    store_faults_fail(faults, 1, FAULT_BEFORE);
    store->ops->write(file, &plain, &document, NULL);
    store->ops->remove(file, &plain, NULL);
    store->ops->list(store, DOCUMENT_OUTCOME, &name.spec, NULL, NULL, &plain, NULL);
    store->ops->list(store, DOCUMENT_OUTCOME, NULL, NULL, NULL, &plain, NULL);
    log_open(&(struct log_sink){now, keep, LOG_ERROR, false});
    at = lines.data;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        _cleanup_free_ char *line = str_printf(
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"message\":\"store\","
            "\"store\":\"memory\",\"call\":\"%s,\"durationMs\":\"3\",\"outcome\":\"%s\"}\n",
            expected[i].call, expected[i].rest);

        EXPECT(at && str_has_prefix(at, line), line);
        at = at ? strchr(at, '\n') : NULL;
        at = at ? at + 1 : NULL;
    }
    EXPECT_STR(at, "", "nothing else");
    EXPECT(!strstr(lines.data, "hidd"), "nothing of the content");
    document_done(&document);
    document_done(&back);
    store->ops->close(file);
    store->ops->free(store);
    memory_medium_free(medium);
    store_faults_free(faults);
    buf_done(&lines);
}

SUITE(store_trace, TEST(keeps_the_contract), TEST(says_what_was_called_and_never_what_is_in_it))
