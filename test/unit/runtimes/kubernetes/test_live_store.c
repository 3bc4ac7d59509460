/* The store in a real API server: store_fixture.h. */
#include <pthread.h>

#include "engine/base/json.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/store_fixture.h"
#include "test/unit/suite.h"

/* ---- Saving and loading ---- */

static void loads_what_was_saved(void)
{
    static const struct {
        const char *note;
        size_t bytes;
        bool secret;
        size_t maps, secrets;
    } rows[] = {
        {"small", 10, false, 1, 0},
        {"with a secret", 10, true, 1, 1},
        {"large", LARGE, false, 4, 0},
        {"large with a large secret", LARGE, true, 4, 3},
        {"small again: the chunks go", 10, false, 1, 0},
    };
    _cleanup_free_ char *version = NULL, *none = NULL;
    struct state *nothing = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    EXPECT_INT(fixture_load(&fixture, &nothing, &none), ERR_NOT_FOUND, "nothing was saved");
    EXPECT(!nothing && !none, "nor given");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(state_free_p) struct state *state =
            fixture_make(&fixture, (unsigned)i + 1, rows[i].bytes, rows[i].secret);
        _cleanup_free_ char *before = str_new(version);

        EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
        EXPECT(version && !str_equal(version, before), "a new version");
        fixture_expect(&fixture, state, rows[i].note);
        EXPECT_INT(fixture_count(&fixture, MAPS), rows[i].maps, rows[i].note);
        EXPECT_INT(fixture_count(&fixture, SECRETS), rows[i].secrets, rows[i].note);
    }
    fixture_end(&fixture);
}

static void the_second_of_two_writers_loses(void)
{
    _cleanup_free_ char *first = NULL, *second = NULL, *stale = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    for (unsigned round = 0; round < 2; round++) {
        size_t bytes = round ? LARGE : 10;
        _cleanup_(state_free_p) struct state *a = fixture_make(&fixture, 10 + round, bytes, true);
        _cleanup_(state_free_p) struct state *b = fixture_make(&fixture, 20 + round, bytes, true);
        _cleanup_(state_free_p) struct state *c = fixture_make(&fixture, 30 + round, bytes, true);

        EXPECT_INT(fixture_save(&fixture, a, &first), 0, fixture.error.message);
        EXPECT_INT(fixture_save(&fixture, b, &second), ERR_CONFLICT, "both believed the same");
        EXPECT_STR(fixture.error.reason, "StateConflict", fixture.error.message);
        fixture_expect(&fixture, a, "nothing changed");
        free(second);
        second = str_new(first);
        free(stale);
        stale = str_new(first);
        EXPECT_INT(fixture_save(&fixture, c, &second), 0, fixture.error.message);
        EXPECT_INT(fixture_save(&fixture, b, &stale), ERR_CONFLICT, "a stale version");
        fixture_expect(&fixture, c, "nothing changed");
        free(first);
        first = str_new(second);
        free(second);
        second = str_new(stale);
    }
    fixture_end(&fixture);
}

static void secrets_lie_in_secrets_alone(void)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_value_ const struct value *head = NULL, *open = NULL;
    _cleanup_free_ char *version = NULL, *text = NULL, *path = NULL, *secret = NULL;
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    const char *data;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    state = fixture_make(&fixture, 1, 10, true);
    EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
    path = str_printf(MAPS "/%s", fixture.head);
    EXPECT_INT(live_do(&fixture.live, "GET", path, NULL, &head, &fixture.error), 0, "head");
    data = value_string(value_path(head, "binaryData", KEY_DATA, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    EXPECT(base64_decode(&bytes, data, strlen(data)), "base64");
    EXPECT_INT(payload_decode(bytes.data, bytes.length, &open, NULL), 0, "all that is open");
    text = json_to_str(open);
    EXPECT(strstr(text, "v1:Secret:a:a") != NULL, "the record is there");
    EXPECT(strstr(text, STATES_SECRET) == NULL, "without what is secret");
    EXPECT_INT(fixture_count(&fixture, MAPS), 1, "no other ConfigMap");
    secret = fixture_chunk(&fixture, SECRETS, "-s0");
    fixture_end(&fixture);
}

/* ---- Removing ---- */

static void removes_all_of_it(void)
{
    _cleanup_(state_free_p) struct state *state = NULL, *killed = NULL, *other = NULL;
    _cleanup_free_ char *version = NULL, *stale = NULL, *none = NULL;
    struct state *gone = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    fixture_turn_to(&fixture, "other");
    other = fixture_make(&fixture, 5, LARGE, true);
    EXPECT_INT(fixture_save(&fixture, other, &none), 0, fixture.error.message);
    free(TAKE(none));
    fixture_turn_to(&fixture, "web");
    state = fixture_make(&fixture, 1, LARGE, true);
    killed = fixture_make(&fixture, 2, LARGE, true);
    EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
    stale = str_new(version);
    EXPECT_INT(fixture_save(&fixture, state, &version), 0, "the same again");
    fixture_begin_to_save(&fixture, killed);

    if (!str_equal(stale, version)) {
        EXPECT_INT(fixture_remove(&fixture, stale), ERR_CONFLICT, "changed meanwhile");
        EXPECT_STR(fixture.error.reason, "StateConflict", fixture.error.message);
    }
    EXPECT_INT(fixture_remove(&fixture, "1"), ERR_CONFLICT, "a version of long ago");
    EXPECT_INT(fixture_remove(&fixture, NULL), ERR_CONFLICT, "there should be none");
    fixture_expect(&fixture, state, "nothing changed");
    EXPECT_INT(fixture_remove(&fixture, version), 0, fixture.error.message);
    EXPECT_INT(fixture_load(&fixture, &gone, &none), ERR_NOT_FOUND, "gone");
    EXPECT_INT(fixture_remove(&fixture, version), 0, "again");
    EXPECT_INT(fixture_remove(&fixture, NULL), 0, "and again");
    EXPECT_INT(fixture_count(&fixture, MAPS), 4, "the other Spec's are left");
    EXPECT_INT(fixture_count(&fixture, SECRETS), 3, "the other Spec's are left");
    fixture_turn_to(&fixture, "other");
    fixture_expect(&fixture, other, "whole");
    fixture_end(&fixture);
}

/* Killed after the head went, or before there was one. */
static void removes_what_no_head_names(void)
{
    _cleanup_(state_free_p) struct state *killed = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    killed = fixture_make(&fixture, 2, LARGE, true);
    fixture_begin_to_save(&fixture, killed);
    EXPECT_INT(fixture_remove(&fixture, NULL), 0, fixture.error.message);
    EXPECT_INT(fixture_count(&fixture, MAPS), 0, "none");
    EXPECT_INT(fixture_count(&fixture, SECRETS), 0, "none");
    fixture_end(&fixture);
}

/* ---- What it takes ---- */

static void small_ones_are_saved_in_one_request(void)
{
    struct kube_client_stats before, after;
    _cleanup_free_ char *version = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    for (unsigned i = 0; i < 3; i++) {
        _cleanup_(state_free_p) struct state *state = fixture_make(&fixture, i, 10, false);

        kube_client_stats(fixture.live.harness.client, &before);
        EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
        kube_client_stats(fixture.live.harness.client, &after);
        EXPECT_INT(after.writes - before.writes, 1, "the head");
        EXPECT_INT(after.reads - before.reads, i ? 0 : 2, "the first looks for leftovers");
    }
    fixture_end(&fixture);
}

#define N_THREADS 4

struct worker {
    struct fixture fixture; /* of its own Spec */
    char spec_name[16];
    pthread_t thread;
    int failed;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    _cleanup_free_ char *version = NULL;

    for (unsigned i = 0; i < 6; i++) {
        _cleanup_(state_free_p) struct state *back = NULL,
                                             *state = fixture_make(&worker->fixture, i,
                                                                   i == 3 ? LARGE : 10, i % 2 == 1);
        _cleanup_free_ char *loaded = NULL;

        worker->failed += fixture_save(&worker->fixture, state, &version) != 0;
        worker->failed += fixture_load(&worker->fixture, &back, &loaded) != 0;
        worker->failed += !back || !states_equal(state, back) || !str_equal(loaded, version);
    }
    worker->failed += fixture_remove(&worker->fixture, version) != 0;
    return NULL;
}

static void many_are_saved_at_once(void)
{
    struct worker workers[N_THREADS];
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    for (size_t i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.fixture = fixture};
        snprintf(workers[i].spec_name, sizeof(workers[i].spec_name), "thread-%zu", i);
        fixture_turn_to(&workers[i].fixture, workers[i].spec_name);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        EXPECT_INT(workers[i].failed, 0, workers[i].fixture.error.message);
    }
    EXPECT_INT(fixture_count(&fixture, MAPS), 0, "all removed");
    EXPECT_INT(fixture_count(&fixture, SECRETS), 0, "all removed");
    fixture_end(&fixture);
}

SUITE(live_store, TEST(loads_what_was_saved), TEST(the_second_of_two_writers_loses),
      TEST(secrets_lie_in_secrets_alone), TEST(removes_all_of_it), TEST(removes_what_no_head_names),
      TEST(small_ones_are_saved_in_one_request), TEST(many_are_saved_at_once))
