/* Subscriptions over a scripted server, and by many threads at once. */
#include "runtimes/kubernetes/session/watches.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

#define EVENT(type, name)                                                                        \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name" \
    "\":\"" name "\",\"namespace\":\"team\",\"uid\":\"u-" name "\",\"resourceVersion\":\"8\"}}}\n"
#define LISTED(names)                                                       \
    {                                                                       \
        .expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(names) \
    }
#define LISTED_AFTER(semaphore, names)                                       \
    {                                                                        \
        .expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(names), \
        .come = await_subscribers, .arg = (semaphore)                        \
    }
#define WATCHED(events)                                                                     \
    {                                                                                       \
        .expect = "GET " MAPS "?watch=1", .status = 200, .body = (events), .end = FAKE_HOLD \
    }

struct listener {
    atomic_int count;
    atomic_bool is_gone, was_late; /* unsubscribed; told after that */
    unsigned slow;                 /* µs in each call */
    struct runtime_subscription *subscription;
};

static void on_told(void *arg)
{
    struct listener *listener = arg;

    atomic_fetch_add(&listener->count, 1);
    if (listener->slow)
        usleep(listener->slow);
    if (atomic_load(&listener->is_gone))
        atomic_store(&listener->was_late, true);
}

static int subscribe(struct runtime_session *session, struct listener *listener, const char *text)
{
    _cleanup_value_ const struct value *attributes = stage_value(text);
    const struct runtime_target target = {.id = "id", .attributes = attributes};

    return kube_subscribe(session, &target, on_told, listener, &listener->subscription, NULL);
}

static void unsubscribe(struct listener *listener)
{
    kube_unsubscribe(TAKE(listener->subscription));
    atomic_store(&listener->is_gone, true);
}

static bool is_told(struct listener *listener, int times)
{
    for (int i = 0; i < 6000 && atomic_load(&listener->count) < times; i++)
        usleep(10000);
    EXPECT_INT(atomic_load(&listener->count), times, "told so often");
    return atomic_load(&listener->count) == times;
}

/* A runtime that knows the core's kinds. */
static void begin(struct call *call, const struct fake_step *steps, size_t n_steps)
{
    struct kube_ref place;

    call_begin(call, steps, n_steps, MAP("a"));
    EXPECT_INT(kube_ref_of(call->session, call->attributes, &stage_call, &place, NULL), 0,
               "discovery");
}

static size_t count(const struct call *call)
{
    return watches_count(call->session->runtime->watches);
}

/* Holds the first list back, so that no event comes before all have subscribed. */
static void await_subscribers(void *arg)
{
    sem_wait(arg);
}

static void one_watch_tells_each_of_its_own(void)
{
    static sem_t subscribed;
    static const struct fake_step steps[] = {
        DISCOVERY, LISTED_AFTER(&subscribed, META("a") "," META("b")),
        WATCHED(EVENT("MODIFIED", "a") EVENT("ADDED", "z") EVENT("DELETED", "a"))};
    struct listener a = {0}, b = {0}, again = {0};
    struct call call;

    sem_init(&subscribed, 0, 0);
    begin(&call, steps, ARRAY_SIZE(steps));
    EXPECT_INT(subscribe(call.session, &a, MAP("a")), 0, "a");
    EXPECT_INT(subscribe(call.session, &b, MAP("b")), 0, "b");
    EXPECT_INT(count(&call), 1, "shared");
    sem_post(&subscribed);
    EXPECT(is_told(&a, 3), "in force, changed, deleted");
    EXPECT(is_told(&b, 1), "in force; not of what the first list shows, nor of others");
    EXPECT_INT(subscribe(call.session, &again, MAP("a")), 0, "the same again");
    EXPECT(is_told(&again, 1), "in force at once");
    EXPECT_INT(count(&call), 1, "shared");
    unsubscribe(&a);
    unsubscribe(&b);
    EXPECT_INT(count(&call), 1, "as long as someone is there");
    unsubscribe(&again);
    EXPECT_INT(count(&call), 0, "and not longer");
    EXPECT(call_impersonates(&call, 1) && call_impersonates(&call, 2), "as the account");
    call_end(&call);
}

static void users_and_places_are_watched_apart(void)
{
    static const struct fake_step steps[] = {DISCOVERY, {.status = 403, .repeat = true}};
    struct listener listeners[4] = {0};
    struct runtime_session *other;
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    other = stage_open(&call.stage, "team", "db", "other");
    EXPECT_INT(subscribe(call.session, &listeners[0], MAP("a")), 0, "a map");
    EXPECT_INT(subscribe(call.session, &listeners[1], MAP_IN("other", "a")), 0, "elsewhere");
    EXPECT_INT(subscribe(call.session, &listeners[2], NAMESPACE), 0, "of another kind");
    EXPECT_INT(subscribe(other, &listeners[3], MAP("a")), 0, "by another user");
    EXPECT_INT(count(&call), 4, "four watches");
    /* A subscription holds its session. */
    session_unref(other);
    for (size_t i = 0; i < ARRAY_SIZE(listeners); i++)
        unsubscribe(&listeners[i]);
    EXPECT_INT(count(&call), 0, "none is left");
    kube_unsubscribe(NULL);
    call_end(&call);
}

static void what_may_not_be_watched_gives_no_hints(void)
{
    static const struct fake_step steps[] = {DISCOVERY,
                                             {.status = 403, .body = DENIED, .repeat = true}};
    struct listener first = {0}, second = {0};
    struct call call;
    int r = 0;

    begin(&call, steps, ARRAY_SIZE(steps));
    EXPECT_INT(subscribe(call.session, &first, MAP("a")), 0, "not known yet");
    for (int i = 0; i < 6000 && r == 0; i++) {
        r = subscribe(call.session, &second, MAP("b"));
        if (r == 0)
            unsubscribe(&second);
        usleep(10000);
    }
    EXPECT_INT(r, ERR_FORBIDDEN, "known by now");
    EXPECT_INT(atomic_load(&first.count), 0, "no hints");
    unsubscribe(&first);
    EXPECT_INT(count(&call), 0, "tried anew by the next");
    call_end(&call);
}

static void asks_nothing_on_the_callers_thread(void)
{
    struct listener listener = {0};
    struct call call;

    call_begin(&call, NULL, 0, MAP("a"));
    EXPECT_INT(subscribe(call.session, &listener, MAP("a")), ERR_UNAVAILABLE, "not discovered");
    EXPECT_INT(subscribe(call.session, &listener, "{}"), ERR_UNAVAILABLE, "no object");
    EXPECT(!listener.subscription, "none");
    call_end(&call);
}

/* ---- While one is opened ---- */

struct opening {
    struct runtime_session *session;
    struct listener listener;
    int r;
    atomic_bool is_counted;
};

static void *open_watch(void *arg)
{
    struct opening *opening = arg;

    opening->r = subscribe(opening->session, &opening->listener, MAP("a"));
    return NULL;
}

static void *count_watches(void *arg)
{
    struct opening *opening = arg;

    watches_count(opening->session->runtime->watches);
    atomic_store(&opening->is_counted, true);
    return NULL;
}

/* To open a watch, the token's file is read. Here it is a pipe: nobody else waits for that. */
static void a_slow_file_holds_up_its_watch_alone(void)
{
    static const struct fake_step steps[] = {DISCOVERY, {.status = 403, .repeat = true}};
    char *folder = harness_folder();
    _cleanup_free_ char *path = str_printf("%s/token", folder);
    _cleanup_value_ const struct value *attributes = stage_value(MAP("a"));
    struct kube_config server = {.token_file = path};
    struct opening opening = {0};
    struct harness harness;
    struct stage stage;
    struct kube_ref ref;
    pthread_t opener, counter;
    int fd;

    harness_write(folder, "token", "a");
    harness_start(&harness, steps, ARRAY_SIZE(steps),
                  &(struct kube_client_config){.config = &server});
    stage_start(&stage, harness.client, NULL, 0);
    opening.session = stage_open(&stage, "team", "web", "deployer");
    EXPECT_INT(kube_ref_of(opening.session, attributes, &stage_call, &ref, NULL), 0, "discovery");
    unlink(path);
    mkfifo(path, 0600);
    pthread_create(&opener, NULL, open_watch, &opening);
    fd = open(path, O_WRONLY | O_CLOEXEC); /* waits until the other end is open */
    pthread_create(&counter, NULL, count_watches, &opening);
    for (int i = 0; i < 6000 && !atomic_load(&opening.is_counted); i++)
        usleep(10000);
    EXPECT(atomic_load(&opening.is_counted), "the lock is free");
    unlink(path);
    harness_write(folder, "token", "a");
    EXPECT_INT((int)write(fd, "a", 1), 1, "now the file is read");
    close(fd);
    pthread_join(opener, NULL);
    pthread_join(counter, NULL);
    EXPECT_INT(opening.r, 0, "subscribed");
    unsubscribe(&opening.listener);
    session_unref(opening.session);
    stage_stop(&stage);
    harness_stop(&harness, true);
    harness_remove(folder);
}

/* ---- How many ---- */

static int subscribe_to(struct runtime_session *session, struct listener *listener, unsigned n)
{
    _cleanup_free_ char *text =
        str_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
                   "\"namespace\":\"n%u\"}}",
                   n);

    return subscribe(session, listener, text);
}

/* 64 for a namespace, 512 in all. */
static void watches_are_bounded(void)
{
    static const struct fake_step steps[] = {DISCOVERY, {.status = 403, .repeat = true}};
    static struct listener listeners[513], refused;
    struct runtime_session *sessions[9];
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    for (unsigned i = 0; i < ARRAY_SIZE(sessions); i++) {
        _cleanup_free_ char *name = str_printf("team-%u", i);

        sessions[i] = stage_open(&call.stage, name, "db", "deployer");
    }
    for (unsigned i = 0; i < 512; i++)
        EXPECT_INT(subscribe_to(sessions[i / 64], &listeners[i], i), 0, "one of 64");
    EXPECT_INT(count(&call), 512, "all of them");
    EXPECT_INT(subscribe_to(sessions[8], &refused, 1), ERR_UNAVAILABLE, "too many in all");
    unsubscribe(&listeners[0]);
    unsubscribe(&listeners[1]);
    EXPECT_INT(subscribe_to(sessions[7], &refused, 1000), ERR_UNAVAILABLE, "too many of one");
    EXPECT_INT(subscribe_to(sessions[8], &listeners[512], 1), 0, "another has room");
    EXPECT_INT(subscribe_to(sessions[0], &listeners[0], 1), 0, "and so has the first, again");
    EXPECT_INT(count(&call), 512, "all of them");
    for (unsigned i = 0; i < 513; i++)
        if (listeners[i].subscription)
            unsubscribe(&listeners[i]);
    EXPECT_INT(count(&call), 0, "none is left");
    for (unsigned i = 0; i < ARRAY_SIZE(sessions); i++)
        session_unref(sessions[i]);
    call_end(&call);
}

/* ---- Threads ---- */

#define THREADS 4
#define ROUNDS  300
#define EVENTS  4000

struct churn {
    struct runtime_session *session;
    atomic_int told, late, failed;
};

static void *churn(void *arg)
{
    struct churn *churn = arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct listener listener = {.slow = i % 50 == 0 ? 1000 : 0};

        if (subscribe(churn->session, &listener, MAP("a")) < 0) {
            atomic_fetch_add(&churn->failed, 1);
            continue;
        }
        if (i % 3 == 0)
            usleep(200);
        unsubscribe(&listener);
        atomic_fetch_add(&churn->told, atomic_load(&listener.count));
        usleep(i % 10 == 0 ? 100 : 0);
        atomic_fetch_add(&churn->late, atomic_load(&listener.was_late));
    }
    return NULL;
}

static void run_threads(struct churn *all)
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, churn, all);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Of a watch on which much happens, with one subscriber that stays. */
static void no_event_comes_after_its_end(void)
{
    _cleanup_buf_ struct buf events = BUF_INIT;
    struct listener stays = {0};
    struct churn all = {0};
    struct call call;

    for (int i = 0; i < EVENTS; i++)
        buf_add_str(&events, EVENT("MODIFIED", "a"));
    {
        const struct fake_step steps[] = {DISCOVERY, LISTED(META("a")), WATCHED(events.data)};

        begin(&call, steps, ARRAY_SIZE(steps));
        EXPECT_INT(subscribe(call.session, &stays, MAP("a")), 0, "stays");
        all.session = call.session;
        run_threads(&all);
        EXPECT_INT(all.late, 0, "none after its end");
        EXPECT_INT(all.failed, 0, "all subscribed");
        EXPECT(is_told(&stays, EVENTS + 1), "the one that stays heard everything");
        EXPECT_INT(count(&call), 1, "one watch");
        unsubscribe(&stays);
        call_end(&call);
    }
}

/* Watches that come and go: each unsubscription may be the last. */
static void watches_come_and_go_with_their_subscribers(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = "GET " MAPS, .status = 503, .repeat = true}};
    struct churn all = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    all.session = call.session;
    run_threads(&all);
    EXPECT_INT(all.late + all.failed, 0, "none failed, none came late");
    EXPECT_INT(count(&call), 0, "none is left");
    call_end(&call);
}

SUITE(kube_watches, TEST(one_watch_tells_each_of_its_own), TEST(users_and_places_are_watched_apart),
      TEST(what_may_not_be_watched_gives_no_hints), TEST(asks_nothing_on_the_callers_thread),
      TEST(a_slow_file_holds_up_its_watch_alone), TEST(watches_are_bounded),
      TEST(no_event_comes_after_its_end), TEST(watches_come_and_go_with_their_subscribers))
