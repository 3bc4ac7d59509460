/* Changes of Releases whose answers are lost or late, over an API server in memory: a look tells
 * what happened, and no record of another is taken for ours. */
#include <pthread.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/history/releases.h"
#include "test/unit/suite.h"

static const struct store_call plain;

/* A change without an answer is tried again where a look tells that it did not happen (V7). */
static void tries_again_what_did_not_happen(void)
{
    static const struct {
        const char *note, *verb;
        enum api_fault fault;
        int status;
        unsigned first, times, writes; /* that changed something */
    } rows[] = {
        {"create, 503", "create", API_ANSWER, 503, 1, 1, 2},
        {"create, 503 twice", "create", API_ANSWER, 503, 1, 2, 2},
        {"create, dropped", "create", API_DROP, 0, 1, 1, 2},
        {"create, its answer is lost", "create", API_DROP_AFTER, 0, 1, 1, 2},
        {"create, 500 after it happened", "create", API_ANSWER_AFTER, 500, 1, 1, 2},
        {"update, 503", "update", API_ANSWER, 503, 1, 1, 2},
        {"update, dropped twice", "update", API_DROP, 0, 1, 2, 2},
        {"update, its answer is lost", "update", API_DROP_AFTER, 0, 1, 1, 2},
        {"update, 504 after it happened", "update", API_ANSWER_AFTER, 504, 1, 1, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL;
        struct releases scene;

        releases_begin(&scene);
        api_server_rule(scene.server, &(struct api_rule){.verb = rows[i].verb,
                                                         .first = rows[i].first,
                                                         .times = rows[i].times,
                                                         .fault = rows[i].fault,
                                                         .status = rows[i].status});
        api_server_mark(scene.server);
        EXPECT_INT(releases_create(&scene, 1, &version), 0, rows[i].note);
        EXPECT_INT(releases_update(&scene, 1, "applying", &version), 0, rows[i].note);
        EXPECT_INT(api_server_writes(scene.server), rows[i].writes, rows[i].note);
        EXPECT_INT(scene.history->ops->load(scene.history, &releases_web, 1, &plain, &record,
                                            &loaded, NULL),
                   0, rows[i].note);
        EXPECT_STR(version, loaded, "the version is that of the object");
        EXPECT_INT(record ? record->head.phase : PHASE_NONE, PHASE_APPLYING, rows[i].note);
        EXPECT_INT(releases_update(&scene, 1, "succeeded", &version), 0, "it goes on");
        releases_end(&scene);
    }
}

/* Our own create gets no answer, and the record that is there is another's. */
static void takes_no_record_of_another_for_its_own(void)
{
    static const struct {
        const char *note;
        int64_t generation;
        enum release_operation operation;
        const char *phase;
        int code;
    } rows[] = {
        {"as ours", 4, RELEASE_DESTROY, NULL, 0},
        {"of another generation", 5, RELEASE_DESTROY, NULL, ERR_EXISTS},
        {"of another operation", 4, RELEASE_APPLY, NULL, ERR_EXISTS},
        {"that is under way", 4, RELEASE_DESTROY, "applying", ERR_EXISTS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct release_head head = {.spec = releases_web,
                                          .revision = 1,
                                          .generation = rows[i].generation,
                                          .operation = rows[i].operation};
        _cleanup_free_ char *theirs = NULL, *ours = NULL;
        struct releases scene;

        releases_begin(&scene);
        EXPECT_INT(scene.history->ops->create(scene.history, &head, &plain, &theirs, NULL), 0,
                   "theirs");
        if (rows[i].phase)
            EXPECT_INT(releases_update(&scene, 1, rows[i].phase, &theirs), 0, scene.error.message);
        api_server_rule(scene.server,
                        &(struct api_rule){.verb = "create", .times = 1, .fault = API_DROP});
        EXPECT_INT(releases_create(&scene, 1, &ours), rows[i].code, rows[i].note);
        releases_end(&scene);
    }
}

/* The record was removed and made again; its status is what ours would be. */
static void an_update_of_another_record_is_not_ours(void)
{
    _cleanup_free_ char *version = NULL, *theirs = NULL;
    struct releases scene;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 1, &version), 0, scene.error.message);
    EXPECT_INT(
        scene.history->ops->remove(scene.history, &releases_web, 1, RELEASE_ANYWAY, &plain, NULL),
        0, "remove");
    EXPECT_INT(releases_create(&scene, 1, &theirs), 0, scene.error.message);
    EXPECT_INT(releases_update(&scene, 1, "applying", &theirs), 0, scene.error.message);
    api_server_rule(scene.server,
                    &(struct api_rule){.verb = "update", .times = 1, .fault = API_DROP});
    EXPECT_INT(releases_update(&scene, 1, "applying", &version), ERR_CONFLICT, scene.error.message);
    releases_end(&scene);
}

static void *remove_first(void *arg)
{
    struct releases *scene = arg;

    EXPECT_INT(scene->history->ops->remove(scene->history, &releases_web, 1, RELEASE_ANYWAY, &plain,
                                           &scene->error),
               ERR_CONFLICT, "it is another one");
    return NULL;
}

/* The deletion is on its way while the record is removed and made again. */
static void a_late_removal_takes_no_other_record(void)
{
    _cleanup_free_ char *version = NULL, *again = NULL;
    struct releases scene;
    pthread_t thread;
    unsigned held;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 1, &version), 0, scene.error.message);
    held = api_server_rule(scene.server, &(struct api_rule){.verb = "delete", .fault = API_HOLD});
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, remove_first, &scene) == 0);
    EXPECT(api_server_wait_hits(scene.server, held, 1), "sent");
    api_server_delete(scene.server, RELEASES "/web-1");
    EXPECT_INT(releases_create(&scene, 1, &again), 0, "made again");
    api_server_release(scene.server, held);
    pthread_join(thread, NULL);
    EXPECT_INT(releases_update(&scene, 1, "applying", &again), 0, "it is still there");
    releases_end(&scene);
}

static void fire(void *arg, unsigned n)
{
    (void)n;
    cancel_fire(arg, "Superseded");
}

/* A cancel ends a change only before it is sent: the look afterwards is made all the same. */
static void a_cancel_does_not_stop_the_look(void)
{
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    const struct store_call call = {.cancel = cancel};
    const struct release_head head = {
        .spec = releases_web, .revision = 1, .generation = 4, .operation = RELEASE_APPLY};
    _cleanup_free_ char *version = NULL;
    struct releases scene;

    releases_begin(&scene);
    api_server_rule(scene.server,
                    &(struct api_rule){.verb = "create", .times = 1, .fault = API_DROP_AFTER});
    api_server_on_write(scene.server, fire, cancel);
    EXPECT_INT(scene.history->ops->create(scene.history, &head, &call, &version, &scene.error), 0,
               scene.error.message);
    api_server_on_write(scene.server, NULL, NULL);
    EXPECT(cancel_fired(cancel), "it was cancelled meanwhile");
    EXPECT(version, "a version");
    if (version)
        EXPECT_INT(releases_update(&scene, 1, "applying", &version), 0, "and it goes on");
    releases_end(&scene);
}

SUITE(history_doubt, TEST(tries_again_what_did_not_happen),
      TEST(takes_no_record_of_another_for_its_own), TEST(an_update_of_another_record_is_not_ours),
      TEST(a_late_removal_takes_no_other_record), TEST(a_cancel_does_not_stop_the_look))
