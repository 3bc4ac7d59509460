/* Several calls of one discovery, while the API server is slow to answer one of them. */
#include <pthread.h>
#include <time.h>

#include "engine/base/str.h"
#include "engine/threads/condition.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/discovery.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define SLOW     "apps/v1"
#define SLOW_URL "/apis/apps/v1"
#define LIST_URL "/apis"
#define SOON     8000 /* ms: longer than anything takes that nothing holds up */

struct desk {
    struct api_server *server;
    struct api_client client;
    struct kube_discovery *discovery;
};

static void begin(struct desk *desk)
{
    *desk = (struct desk){.server = api_server_new()};
    api_client_start(&desk->client, desk->server, NULL, NULL);
    desk->discovery = kube_discovery_new(desk->client.client, &system_clock);
}

static void end(struct desk *desk)
{
    kube_discovery_free(desk->discovery);
    api_client_stop(&desk->client);
    api_server_free(desk->server);
}

static unsigned hold(struct desk *desk, const char *path, unsigned times)
{
    return api_server_rule(desk->server,
                           &(struct api_rule){.path = path, .times = times, .fault = API_HOLD});
}

/* A call of kube_discovery_find() on a thread of its own. */
struct search {
    struct desk *desk;
    const char *group_version, *kind;
    struct kube_wait wait;
    pthread_t thread;
    bool is_joined;
    int code;
    struct error error;
    const struct kube_kind *found;
};

static void *run(void *arg)
{
    struct search *search = arg;

    search->code = kube_discovery_find(search->desk->discovery, search->group_version, search->kind,
                                       &search->wait, &search->found, &search->error);
    return NULL;
}

static void look(struct search *search, struct desk *desk, const char *group_version,
                 const char *kind, int64_t time, struct cancel *cancel)
{
    *search = (struct search){
        .desk = desk,
        .group_version = group_version,
        .kind = kind,
        .wait = {&system_clock, system_clock.monotonic(&system_clock) + time, cancel}};
    pthread_create(&search->thread, NULL, run, search);
}

/* Whether it ends by itself, in SOON and a little more. */
static bool ends(struct search *search)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SOON / 1000 + 2;
    search->is_joined = pthread_timedjoin_np(search->thread, NULL, &until) == 0;
    return search->is_joined;
}

static void expect_end(struct search *search, int code, const char *note)
{
    if (!search->is_joined)
        pthread_join(search->thread, NULL);
    EXPECT_INT(search->code, code, note);
    EXPECT_INT(search->found != NULL, code == 0, note);
}

static void let_wait(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    int64_t until = system_clock.monotonic(&system_clock) + 50;

    condition_init(&never);
    pthread_mutex_lock(&lock);
    while (system_clock.monotonic(&system_clock) < until)
        system_clock.wait(&system_clock, &never, &lock, until);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    pthread_mutex_destroy(&lock);
}

/* Neither for its kinds, nor for the list that says whether the server has it. */
static void waits_for_no_other_group(void)
{
    static const struct {
        const char *note, *held, *slow, *other;
        int code, other_code;
    } rows[] = {
        {"kinds", SLOW_URL, SLOW, "batch/v1", 0, 0},
        {"kinds, and a group that is not there", SLOW_URL, SLOW, "a.example/v1", 0, ERR_NOT_FOUND},
        {"the list of groups", LIST_URL, "a.example/v1", "b.example/v1", ERR_NOT_FOUND,
         ERR_NOT_FOUND},
        {"the list of groups, and one that is there", LIST_URL, "a.example/v1", "batch/v1",
         ERR_NOT_FOUND, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct search slow, other;
        struct desk desk;
        unsigned rule;

        begin(&desk);
        rule = hold(&desk, rows[i].held, 1);
        look(&slow, &desk, rows[i].slow, "Deployment", 10 * SOON, NULL);
        EXPECT(api_server_wait_hits(desk.server, rule, 1), rows[i].note);
        look(&other, &desk, rows[i].other, "Job", SOON, NULL);
        EXPECT(ends(&other), rows[i].note);
        EXPECT(!kube_discovery_known(desk.discovery, rows[i].slow, "Deployment"), "at once");
        api_server_release(desk.server, rule);
        expect_end(&other, rows[i].other_code, rows[i].note);
        expect_end(&slow, rows[i].code, rows[i].note);
        end(&desk);
    }
}

/* One call asks; of those that wait for it, each does so as long as it may. */
static void asks_once_for_all_that_wait(void)
{
    struct cancel *cancel = cancel_new(NULL), *fired = cancel_new(NULL);
    struct search first, patient, hasty, cancelled, late;
    struct desk desk;
    unsigned rule;

    begin(&desk);
    cancel_fire(fired, "Superseded");
    rule = hold(&desk, SLOW_URL, 0);
    look(&first, &desk, SLOW, "Deployment", SOON, NULL);
    EXPECT(api_server_wait_hits(desk.server, rule, 1), "it asks");
    look(&patient, &desk, SLOW, "StatefulSet", SOON, NULL);
    look(&cancelled, &desk, SLOW, "Deployment", SOON, cancel);
    look(&hasty, &desk, SLOW, "Deployment", 100, NULL);
    expect_end(&hasty, ERR_TIMEOUT, "its time is over");
    cancel_fire(cancel, "Shutdown");
    expect_end(&cancelled, ERR_CANCELLED, "its cancel fired");
    EXPECT_STR(cancelled.error.message, "Shutdown", "why");
    look(&late, &desk, SLOW, "Deployment", SOON, fired);
    expect_end(&late, ERR_CANCELLED, "it had fired before");
    api_server_release(desk.server, rule);
    expect_end(&first, 0, "who asked");
    expect_end(&patient, 0, "who waited");
    EXPECT_INT(api_server_count(desk.server, NULL, SLOW_URL), 1, "requests");
    end(&desk);
    cancel_free(cancel);
    cancel_free(fired);
}

/* That the call which asked was cancelled is no answer to the others: the next one asks. */
static void another_asks_when_the_first_gives_up(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct search first, second;
    struct desk desk;
    unsigned rule;

    begin(&desk);
    rule = hold(&desk, SLOW_URL, 1);
    look(&first, &desk, SLOW, "Deployment", SOON, cancel);
    EXPECT(api_server_wait_hits(desk.server, rule, 1), "it asks");
    look(&second, &desk, SLOW, "Deployment", SOON, NULL);
    let_wait();
    cancel_fire(cancel, "Shutdown");
    expect_end(&first, ERR_CANCELLED, "the first");
    expect_end(&second, 0, "the second");
    EXPECT_INT(api_server_hits(desk.server, rule), 1, "one is held");
    EXPECT_INT(api_server_count(desk.server, NULL, SLOW_URL), 1, "one was answered");
    api_server_release(desk.server, rule);
    end(&desk);
    cancel_free(cancel);
}

/* What the server refused, it refused to all that waited for it. */
static void an_error_is_shared(void)
{
    static const struct fake_step steps[] = {
        {.status = 403,
         .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403}",
         .delay = 1000}};
    struct search searches[4];
    struct harness harness;
    struct desk desk = {0};

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    desk.discovery = kube_discovery_new(harness.client, &system_clock);
    look(&searches[0], &desk, SLOW, "Deployment", SOON, NULL);
    EXPECT(fake_server_wait(harness.server, 1), "it asks");
    for (size_t i = 1; i < ARRAY_SIZE(searches); i++)
        look(&searches[i], &desk, SLOW, "Deployment", SOON, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
        expect_end(&searches[i], ERR_FORBIDDEN, "each");
        EXPECT(str_has_prefix(searches[i].error.message, "discovery of apps/v1: "),
               searches[i].error.message);
    }
    kube_discovery_free(desk.discovery);
    harness_stop(&harness, true);
}

/* An answer that was asked for before is none any more, except to the call that asked. */
static void forgets_what_is_being_asked(void)
{
    struct search first, second;
    struct desk desk;
    unsigned rule;

    begin(&desk);
    rule = hold(&desk, SLOW_URL, 1);
    look(&first, &desk, SLOW, "Deployment", SOON, NULL);
    EXPECT(api_server_wait_hits(desk.server, rule, 1), "it asks");
    kube_discovery_forget(desk.discovery, SLOW); /* returns at once */
    api_server_release(desk.server, rule);
    expect_end(&first, 0, "who asked");
    EXPECT(!kube_discovery_known(desk.discovery, SLOW, "Deployment"), "forgotten");
    look(&second, &desk, SLOW, "Deployment", SOON, NULL);
    expect_end(&second, 0, "who asks later");
    EXPECT_INT(api_server_count(desk.server, NULL, SLOW_URL), 2, "requests");
    end(&desk);
}

SUITE(kube_discovery_shared, TEST(waits_for_no_other_group), TEST(asks_once_for_all_that_wait),
      TEST(another_asks_when_the_first_gives_up), TEST(an_error_is_shared),
      TEST(forgets_what_is_being_asked))
