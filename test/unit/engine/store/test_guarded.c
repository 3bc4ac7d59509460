#include "engine/store/guarded.h"

#include <stdlib.h>

#include "engine/base/str.h"
#include "engine/store/store_error.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct document_name web = {DOCUMENT_STATE, {"team", "web"}, NULL};

struct stage {
    struct memory_medium *medium;
    struct store_faults *faults;
    struct store *below, *store;
    struct store_gate *gate;
};

static void stage_init(struct stage *stage)
{
    stage->medium = memory_medium_new(NULL);
    stage->faults = store_faults_new();
    stage->below = faulty_store_new(stage->faults, memory_store_new(stage->medium));
    stage->gate = store_gate_new();
    stage->store = store_guarded_new(stage->below, stage->gate, "file:/states");
}

static void stage_done(struct stage *stage)
{
    stage->store->ops->free(stage->store);
    store_gate_free(stage->gate);
    stage->below->ops->free(stage->below);
    store_faults_free(stage->faults);
    memory_medium_free(stage->medium);
}

/* ---- It is a store ---- */

/* The stores of a contract are freed by it, and what is below them here is not. */
struct base {
    struct memory_medium *medium;
    struct store_gate *gate;
    struct store *below[1024];
    size_t count;
};

static struct store *attach(void *arg)
{
    struct base *base = arg;

    if (base->count == ARRAY_SIZE(base->below))
        abort();
    base->below[base->count++] = memory_store_new(base->medium);
    return store_guarded_new(base->below[base->count - 1], base->gate, "memory");
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    if (part != DAMAGE_OPEN || how != DAMAGE_CHANGED)
        return false;
    memory_damage(((struct base *)arg)->medium, name, "open part");
    *ret = str_new("open part");
    return true;
}

static void keeps_the_contract(void)
{
    struct base base = {.medium = memory_medium_new(NULL), .gate = store_gate_new()};

    store_gate_open(base.gate);
    store_contract_check(&(struct store_fixture){&base, attach, damage, NULL});
    for (size_t i = 0; i < base.count; i++)
        base.below[i]->ops->free(base.below[i]);
    store_gate_free(base.gate);
    memory_medium_free(base.medium);
}

/* ---- The gate ---- */

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    (void)name;
    (void)error;
    ++*(int *)arg;
    return 0;
}

static void nothing_passes_a_gate_that_is_shut(void)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error why = {0}, error = {0};
    struct stage stage;
    int names = 0;

    stage_init(&stage);
    EXPECT_INT(stage.store->ops->open(stage.store, &web, STORE_WRITE, &plain, &file, &error),
               ERR_UNAVAILABLE, "before anybody has looked");
    store_gate_open(stage.gate);
    EXPECT_INT(stage.store->ops->open(stage.store, &web, STORE_WRITE, &plain, &file, &error), 0,
               "open");
    buf_add_str(&document.open, "{}");
    EXPECT_INT(stage.store->ops->write(file, &plain, &document, &error), 0, "written");
    store_error(&why, STORE_REPLACED, "file:/states", "it is another one");
    EXPECT(store_gate_shut(stage.gate, &why), "that is news");
    EXPECT(!store_gate_shut(stage.gate, &why), "and then it is not");
    EXPECT_INT(stage.store->ops->read(file, &plain, &document, &error), ERR_UNAVAILABLE, "read");
    EXPECT_STR(error.reason, "StoreReplaced", "why");
    EXPECT_STR(error.message, why.message, "as it was said");
    EXPECT_INT(stage.store->ops->write(file, &plain, &document, NULL), ERR_UNAVAILABLE, "write");
    EXPECT_INT(stage.store->ops->append(file, &plain, "x", 1, NULL), ERR_UNAVAILABLE, "append");
    EXPECT_INT(stage.store->ops->remove(file, &plain, NULL), ERR_UNAVAILABLE, "remove");
    EXPECT_INT(
        stage.store->ops->list(stage.store, DOCUMENT_STATE, NULL, on_name, &names, &plain, NULL),
        ERR_UNAVAILABLE, "list");
    EXPECT_INT(names, 0, "no name is told");
    EXPECT_INT(memory_documents(stage.medium), 1, "it is as it was");
    stage.store->ops->close(file);
    document_done(&document);
    stage_done(&stage);
}

static void look(void *arg)
{
    store_gate_open(arg);
}

static void who_misses_something_has_it_looked_at(void)
{
    struct stage stage;
    struct error error = {0};

    stage_init(&stage);
    EXPECT_INT(store_gate_confirm(stage.gate, &error), ERR_UNAVAILABLE, "nobody looks");
    store_gate_on_confirm(stage.gate, look, stage.gate);
    EXPECT_INT(store_gate_confirm(stage.gate, NULL), 0, "somebody does");
    EXPECT_INT(store_gate_confirm(NULL, NULL), 0, "there is no gate");
    stage_done(&stage);
}

/* ---- What it says ---- */

static void failures_say_what_is_wrong_with_the_store(void)
{
    static const struct {
        int code;
        const char *reason, *told, *begins, *hint;
    } rows[] = {
        {ERR_UNAVAILABLE, "ServiceUnavailable", "StoreUnreachable",
         "the store file:/states does not answer: it", "look at the store"},
        {ERR_UNAVAILABLE, STORE_NO_SPACE, "StoreFull", "the store file:/states is full: it",
         "make room"},
        {ERR_UNAVAILABLE, "TooManyRequests", "StoreSlow", "the store file:/states does not answer",
         "the load of the store"},
        {ERR_TIMEOUT, "Timeout", "StoreSlow", "the store file:/states does not answer in time: it",
         "the load of the store"},
        {ERR_FORBIDDEN, "AccessDenied", "StoreRefused",
         "the store file:/states refuses the operator: it", "correct its credentials"},
        {ERR_UNAUTHENTICATED, "Unauthorized", "StoreRefused", "the store file:/states refuses",
         "correct its credentials"},
        {ERR_UNAVAILABLE, "TLSVerification", "TLSVerification",
         "the store file:/states has a certificate that is not accepted: it", "renew it"},
        /* In words of the store's own: what is missing is what to do. */
        {ERR_UNAVAILABLE, "StoreUnreachable", "StoreUnreachable", "it", "look at the store"},
        {ERR_UNAVAILABLE, "StoreNotFound", "StoreNotFound", "it", "--state-backend"},
        {ERR_UNAVAILABLE, "StoreBusy", "StoreBusy", "it", "it is tried again"},
        {ERR_UNAVAILABLE, "StoreFull", "StoreFull", "it", "make room"},
        {ERR_FORBIDDEN, "StoreRefused", "StoreRefused", "it", "correct its credentials"},
        {ERR_UNAVAILABLE, STORE_OUTCOME_UNKNOWN, STORE_OUTCOME_UNKNOWN, "it", NULL},
        {ERR_UNAVAILABLE, "KeyUnavailable", "KeyUnavailable", "it", NULL},
        {ERR_UNAVAILABLE, "NotSealed", "NotSealed", "it", NULL},
        {ERR_CORRUPT, "StateCorrupt", "StateCorrupt", "it", NULL},
        {ERR_CONFLICT, "StateConflict", "StateConflict", "it", NULL},
        {ERR_NOT_FOUND, "NotFound", "NotFound", "it", NULL},
        {ERR_FENCED, "NotLeader", "NotLeader", "it", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        err_set(&error, rows[i].code, rows[i].reason, "it went wrong");
        store_error_explain(&error, "file:/states");
        store_error_explain(&error, "file:/states"); /* once more changes nothing */
        EXPECT_INT(error.code, rows[i].code, "the code stays");
        EXPECT_STR(error.reason, rows[i].told, rows[i].reason);
        EXPECT(str_has_prefix(error.message, rows[i].begins), error.message);
        if (rows[i].hint)
            EXPECT(strstr(err_hints(error.message), rows[i].hint), error.message);
        else
            EXPECT_STR(err_hints(error.message), "", rows[i].reason);
    }
    store_error_explain(NULL, "file:/states");
}

static void a_store_that_fails_is_explained(void)
{
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    store_gate_open(stage.gate);
    faulty_store_kill(stage.below);
    EXPECT_INT(store_load(stage.store, &web, &plain, &document, &error), ERR_UNAVAILABLE, "killed");
    EXPECT_STR(error.reason, "StoreUnreachable", "why");
    document_done(&document);
    stage_done(&stage);
}

SUITE(guarded, TEST(keeps_the_contract), TEST(nothing_passes_a_gate_that_is_shut),
      TEST(who_misses_something_has_it_looked_at), TEST(failures_say_what_is_wrong_with_the_store),
      TEST(a_store_that_fails_is_explained))
