/* Lives of an operator, one after the other, with its claim in an API server and its store in a
 * medium, both in memory. */
#include "controller/store/store_check.h"

#include <stdatomic.h>

#include "engine/base/str.h"
#include "engine/store/identity.h"
#include "test/unit/api_server/api_server.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define CLAIM "/api/v1/namespaces/default/configmaps/kusion-store"

static const struct store_call plain;

struct stage {
    struct api_server *server;
    struct harness harness;
    struct fake_clock clock;
    struct memory_medium *medium;
    /* Of the operator that lives. */
    struct store_faults *faults;
    struct store *store;
    struct store_gate *gate;
    struct store_check *check;
};

static void stage_init(struct stage *stage)
{
    struct kube_config config = {0};

    *stage = (struct stage){.server = api_server_new(), .medium = memory_medium_new(NULL)};
    config.server = (char *)(uintptr_t)api_server_url(stage->server);
    harness_connect(&stage->harness, &(struct kube_client_config){.config = &config});
    fake_clock_init(&stage->clock);
    stage->faults = store_faults_new();
}

static void die(struct stage *stage)
{
    store_check_free(TAKE(stage->check));
    store_gate_free(TAKE(stage->gate));
    if (stage->store)
        stage->store->ops->free(stage->store);
    stage->store = NULL;
}

static void stage_done(struct stage *stage)
{
    die(stage);
    store_faults_free(stage->faults);
    memory_medium_free(stage->medium);
    harness_stop(&stage->harness, true);
    api_server_free(stage->server);
}

/* Begins once, and gives what the gate says. */
static int live_with(struct stage *stage, const char *accept, int64_t patience, struct error *error)
{
    die(stage);
    stage->store = faulty_store_new(stage->faults, memory_store_new(stage->medium));
    stage->gate = store_gate_new();
    stage->check = store_check_new(&(struct store_check_config){.store = stage->store,
                                                                .gate = stage->gate,
                                                                .client = stage->harness.client,
                                                                .clock = &stage->clock.source,
                                                                .namespace_name = "default",
                                                                .place = "memory:here",
                                                                .accept = accept,
                                                                .patience = patience});
    store_check_begin(stage->check, NULL);
    return store_gate_ask(stage->gate, error);
}

static int live(struct stage *stage, const char *accept, struct error *error)
{
    return live_with(stage, accept, 0, error);
}

static void pass(struct stage *stage, int64_t ms)
{
    atomic_fetch_add(&stage->clock.monotonic, ms);
    store_check_tick(stage->check);
}

static void expect_claim(struct stage *stage, const char *counter)
{
    _cleanup_value_ const struct value *claim = api_server_get(stage->server, CLAIM);

    EXPECT_STR(value_string(value_path(claim, "data", "counter", NULL)), counter, "the counter");
    EXPECT_STR(value_string(value_path(claim, "data", "nextCounter", NULL)), NULL, "at rest");
    EXPECT_STR(value_string(value_path(claim, "data", "store", NULL)), "memory:here", "its place");
}

/* Another medium. */
static void replace_store(struct stage *stage)
{
    die(stage);
    memory_medium_free(stage->medium);
    stage->medium = memory_medium_new(NULL);
}

static const char *token_of(const struct error *error)
{
    const char *flag = strstr(error->message, "--accept-store=");

    return flag ? flag + strlen("--accept-store=") : "";
}

/* ---- Starts ---- */

static void each_start_raises_both_sides(void)
{
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "the first");
    expect_claim(&stage, "1");
    EXPECT_INT(live(&stage, NULL, NULL), 0, "the second");
    expect_claim(&stage, "2");
    EXPECT_INT(live(&stage, "0123456789abcdef", NULL), 0, "a token that was never needed");
    expect_claim(&stage, "3");
    stage_done(&stage);
}

static void documents_of_an_earlier_version_are_taken_as_they_are(void)
{
    const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
    struct document document = DOCUMENT_INIT;
    struct stage stage;
    struct store *store;
    struct store_file *file = NULL;

    stage_init(&stage);
    store = memory_store_new(stage.medium);
    store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL);
    buf_add_str(&document.open, "{}");
    EXPECT_INT(store->ops->write(file, &plain, &document, NULL), 0, "there");
    store->ops->close(file);
    store->ops->free(store);
    document_done(&document);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "taken");
    expect_claim(&stage, "1");
    stage_done(&stage);
}

/* ---- Killed between any two writes ---- */

enum { FIRST_START, NEXT_START, ACCEPTED, KINDS_OF_START };

/* The nth write of the API server or of the store is the last one of a process. */
static void cut(struct stage *stage, bool of_store, unsigned n, enum store_fault fault)
{
    if (of_store)
        store_faults_fail(stage->faults, n, fault);
    else
        api_server_cut_after(stage->server, n);
}

static void killed_after_any_write_it_goes_on(void)
{
    static const struct {
        const char *note;
        bool of_store;
        unsigned n;
        enum store_fault fault;
    } cuts[] = {
        {"before the first write", false, 0, FAULT_NONE},
        {"after the claim's first", false, 1, FAULT_NONE},
        {"before the store's", true, 1, FAULT_BEFORE},
        {"after the store's", true, 1, FAULT_AFTER},
        {"after the claim's second", false, 2, FAULT_NONE},
    };

    for (int kind = 0; kind < KINDS_OF_START; kind++)
        for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
            _cleanup_free_ char *token = NULL;
            struct error error = {0};
            struct stage stage;

            stage_init(&stage);
            if (kind != FIRST_START)
                EXPECT_INT(live(&stage, NULL, NULL), 0, cuts[i].note);
            if (kind == ACCEPTED) {
                replace_store(&stage);
                EXPECT_INT(live(&stage, NULL, &error), ERR_UNAVAILABLE, cuts[i].note);
                token = str_new(token_of(&error));
            }
            cut(&stage, cuts[i].of_store, cuts[i].n, cuts[i].fault);
            EXPECT_INT(live(&stage, token, NULL) < 0, true, cuts[i].note);
            if (!cuts[i].of_store)
                api_server_mend(stage.server);
            store_faults_fail(stage.faults, 0, FAULT_NONE);
            if (kind == ACCEPTED && !cuts[i].of_store && cuts[i].n == 0)
                EXPECT_INT(live(&stage, NULL, NULL), ERR_UNAVAILABLE, "nothing was accepted yet");
            /* The flag is needed no more once the claim has its first write. */
            EXPECT_INT(live(&stage, kind == ACCEPTED && cuts[i].n == 0 ? token : NULL, &error), 0,
                       cuts[i].note);
            EXPECT_INT(live(&stage, NULL, NULL), 0, cuts[i].note);
            stage_done(&stage);
        }
}

/* ---- What does not match ---- */

static void another_store_is_refused_until_it_is_accepted(void)
{
    _cleanup_free_ char *token = NULL;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "its own");
    replace_store(&stage);
    EXPECT_INT(live(&stage, NULL, &error), ERR_UNAVAILABLE, "an empty one");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    EXPECT_INT(live(&stage, "0123456789abcdef", NULL), ERR_UNAVAILABLE, "not by any token");
    EXPECT_INT(memory_documents(stage.medium), 0, "nothing is written to it");
    token = str_new(token_of(&error));
    EXPECT_INT(live(&stage, token, NULL), 0, "by its own");
    EXPECT_INT(live(&stage, token, NULL), 0, "and the flag may stay");
    replace_store(&stage);
    EXPECT_INT(live(&stage, token, &error), ERR_UNAVAILABLE, "as it is of no use for another one");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    stage_done(&stage);
}

static void a_claim_that_is_gone_is_no_first_start(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "its own");
    api_server_delete(stage.server, CLAIM);
    EXPECT_INT(live(&stage, NULL, &error), ERR_UNAVAILABLE, "gone");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    EXPECT_INT(live(&stage, token_of(&error), NULL), 0, "accepted");
    stage_done(&stage);
}

static void one_of_the_two_of_yesterday_is_told(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "yesterday");
    api_server_save(stage.server);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "today");
    api_server_set_back(stage.server);
    EXPECT_INT(live(&stage, NULL, &error), ERR_UNAVAILABLE, "set back");
    EXPECT_STR(error.reason, "StoreRestored", error.message);
    EXPECT_INT(live(&stage, token_of(&error), NULL), 0, "accepted");
    EXPECT_INT(live(&stage, NULL, NULL), 0, "and from then on");
    stage_done(&stage);
}

static void two_operators_do_not_share_a_store_unnoticed(void)
{
    struct stage one, other;
    struct error error = {0};

    stage_init(&one);
    stage_init(&other);
    EXPECT_INT(live(&one, NULL, NULL), 0, "one");
    memory_medium_free(other.medium);
    other.medium = one.medium;
    EXPECT_INT(live(&other, NULL, &error), ERR_UNAVAILABLE, "the other");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    EXPECT_INT(live(&other, token_of(&error), NULL), 0, "if somebody insists");
    pass(&one, 60000);
    EXPECT_INT(store_gate_ask(one.gate, &error), ERR_UNAVAILABLE, "the one finds out");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    other.medium = memory_medium_new(NULL);
    die(&other);
    stage_done(&other);
    stage_done(&one);
}

static void two_leaders_of_one_namespace_agree(void)
{
    struct stage one, other;

    stage_init(&one);
    other = one;
    EXPECT_INT(live(&one, NULL, NULL), 0, "one");
    EXPECT_INT(live(&other, NULL, NULL), 0, "the other raises it once more");
    pass(&one, 60000);
    EXPECT_INT(store_gate_ask(one.gate, NULL), 0, "that is no other store");
    pass(&other, 60000);
    EXPECT_INT(store_gate_ask(other.gate, NULL), 0, "nor is it for the other");
    die(&other);
    stage_done(&one);
}

/* ---- While it works ---- */

static void a_store_that_loses_its_identity_shuts_the_gate(void)
{
    struct error error = {0};
    struct stage stage;
    struct store *store;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "its own");
    store = memory_store_new(stage.medium);
    EXPECT_INT(store_drop(store, &store_identity_name, &plain, NULL), 0, "gone");
    store->ops->free(store);
    EXPECT_INT(store_gate_ask(stage.gate, NULL), 0, "nobody has looked");
    EXPECT_INT(store_gate_confirm(stage.gate, &error), ERR_UNAVAILABLE, "somebody asks");
    EXPECT_STR(error.reason, "StoreReplaced", error.message);
    stage_done(&stage);
}

/* A backup of the time before is found then, though no process began since. */
static void it_is_raised_every_hour(void)
{
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(live(&stage, NULL, NULL), 0, "its own");
    pass(&stage, 60000);
    expect_claim(&stage, "1");
    pass(&stage, 3600000);
    expect_claim(&stage, "2");
    store_faults_fail(stage.faults, 1, FAULT_BEFORE);
    pass(&stage, 3600000);
    EXPECT_INT(store_gate_ask(stage.gate, NULL), 0, "what does not answer says nothing");
    pass(&stage, 60000);
    EXPECT_INT(store_gate_ask(stage.gate, NULL), 0, "nor does half a raise");
    pass(&stage, 3600000);
    expect_claim(&stage, "3");
    stage_done(&stage);
}

static void a_store_that_does_not_answer_is_tried_again(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    store_faults_fail(stage.faults, 1, FAULT_BEFORE);
    EXPECT_INT(live(&stage, NULL, &error), ERR_UNAVAILABLE, "not now");
    EXPECT_STR(error.reason, "StoreUnreachable", error.message);
    pass(&stage, 1000);
    EXPECT_INT(store_gate_ask(stage.gate, NULL), ERR_UNAVAILABLE, "not at once");
    pass(&stage, 10000);
    EXPECT_INT(store_gate_ask(stage.gate, NULL), 0, "then");
    expect_claim(&stage, "1");
    store_faults_fail(stage.faults, 1, FAULT_AFTER);
    EXPECT_INT(live_with(&stage, NULL, 10000, NULL), 0, "a start has some patience");
    expect_claim(&stage, "2");
    stage_done(&stage);
}

SUITE(store_check, TEST(each_start_raises_both_sides),
      TEST(documents_of_an_earlier_version_are_taken_as_they_are),
      TEST(killed_after_any_write_it_goes_on), TEST(another_store_is_refused_until_it_is_accepted),
      TEST(a_claim_that_is_gone_is_no_first_start), TEST(one_of_the_two_of_yesterday_is_told),
      TEST(two_operators_do_not_share_a_store_unnoticed), TEST(two_leaders_of_one_namespace_agree),
      TEST(a_store_that_loses_its_identity_shuts_the_gate), TEST(it_is_raised_every_hour),
      TEST(a_store_that_does_not_answer_is_tried_again))
