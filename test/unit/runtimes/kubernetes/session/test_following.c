/* Followings over a scripted server, and by many threads at once. */
#include "runtimes/kubernetes/session/following.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/follow/follow.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

#define FIELDS(manager, fields)                   \
    ",\"managedFields\":[{\"manager\":\"" manager \
    "\",\"operation\":\"Apply\",\"fieldsV1\":" fields "}]"
#define OURS                "kusion-operator-a5cb1ff62f8ed32c" /* of team/web */
#define WHOLE               "{\"f:data\":{\"f:a\":{}}}"
#define PART                "{\"f:data\":{}}"
#define AT(version)         ",\"resourceVersion\":\"" version "\""
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define SELECTED            "?labelSelector=api.kusion.io%2Fowner"
#define LISTED(items)                                                                \
    {                                                                                \
        .expect = "GET " MAPS SELECTED "&limit=", .status = 200, .body = LIST(items) \
    }
#define WATCHED(events)                                                             \
    {                                                                               \
        .expect = "GET " MAPS SELECTED "&watch=1", .status = 200, .body = (events), \
        .end = FAKE_HOLD                                                            \
    }

struct follower {
    atomic_int count;
    struct runtime_following *following;
    struct runtime_session *session;
};

static void on_drift(void *arg)
{
    struct follower *follower = arg;

    atomic_fetch_add(&follower->count, 1);
}

static bool is_told(struct follower *follower, int times)
{
    for (int i = 0; i < 6000 && atomic_load(&follower->count) < times; i++)
        usleep(10000);
    return atomic_load(&follower->count) >= times;
}

static bool is_in_state(struct follower *follower, enum runtime_whole wanted, struct error *why)
{
    for (int i = 0; i < 6000; i++) {
        err_clear(why);
        if (kube_follow_ops.state(follower->following, why) == wanted)
            return true;
        usleep(10000);
    }
    return false;
}

static struct runtime_session *open_with(struct stage *stage, const char *name,
                                         struct runtime_following *following)
{
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "deployer");
    struct runtime_scope scope = {.key = {"team", name},
                                  .spec_uid = "u",
                                  .identity = identity,
                                  .look = RUNTIME_LOOK_FOLLOWED,
                                  .following = following};
    struct runtime_session *session = NULL;

    EXPECT_INT(kube_session_open(&stage->runtime.base, &scope, &stage_call, &session, NULL), 0,
               "a session");
    session->is_account_known = true;
    return session;
}

static void follow(struct follower *follower, struct call *call, const char *name)
{
    const struct spec_key key = {"team", name};

    *follower = (struct follower){0};
    follower->following =
        kube_follow_ops.begin(&call->stage.runtime.base, &key, on_drift, follower);
    follower->session = open_with(&call->stage, name, follower->following);
}

static void unfollow(struct follower *follower)
{
    kube_follow_ops.end(follower->following);
    kube_follow_ops.unref(follower->following);
    session_unref(follower->session);
}

/* fields: of our manager, as State has them. */
static const struct record *record_of(const char *attributes, const char *uid, const char *fields)
{
    _cleanup_value_ const struct value *object = stage_value(attributes);
    char digest[HASH_HEX_SIZE];

    hash_hex(fields, strlen(fields), digest);
    return record_new(&(struct record){.status = RECORD_APPLIED,
                                       .id = "id",
                                       .type = "Kubernetes",
                                       .attributes = object,
                                       .uid = uid,
                                       .fields_digest = digest});
}

static void settle(struct follower *follower, const struct record *const *records, size_t n)
{
    kube_follow_ops.settle(follower->following, follower->session, records, n);
}

static struct kube_ref ref_of(struct runtime_session *session, const char *text,
                              const struct value **ret_attributes)
{
    struct kube_ref ref = {0};

    *ret_attributes = stage_value(text);
    EXPECT_INT(kube_ref_of(session, *ret_attributes, &stage_call, &ref, NULL), 0, "discovery");
    return ref;
}

static void begin(struct call *call, const struct fake_step *steps, size_t n)
{
    struct kube_ref ref;

    call_begin(call, steps, n, MAP("a"));
    EXPECT_INT(kube_ref_of(call->session, call->attributes, &stage_call, &ref, NULL), 0,
               "discovery");
}

static void drift_is_told_to_its_spec(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE)) "," META_OF("b",
                                                                     AT("6") FIELDS(OURS, WHOLE))),
        WATCHED(EVENT("MODIFIED", META_OF("a", AT("8") FIELDS(OURS, WHOLE)))
                    EVENT("MODIFIED", META_OF("other", AT("9")))
                        EVENT("MODIFIED", META_OF("b", AT("10") FIELDS(OURS, PART))))};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    const struct record *b = record_of(MAP("b"), "u-b", WHOLE);
    struct follower web, db;
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    follow(&db, &call, "db");
    settle(&db, &b, 1);
    settle(&web, &a, 1);
    EXPECT(is_in_state(&web, FOLLOWING_WHOLE, &why), why.message);
    EXPECT(fake_server_wait(call.stage.harness.server, ARRAY_SIZE(steps)), "it watches");
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 1, "one watch for both");
    EXPECT(call_impersonates(&call, 1), "as the account");
    EXPECT(is_told(&db, 1), "b is not as the manager of db left it");
    EXPECT_INT(atomic_load(&web.count), 0, "of a nothing changed but what others have");
    unfollow(&db);
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 1, "one is still there");
    unfollow(&web);
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 0, "none is left");
    record_unref(a);
    record_unref(b);
    call_end(&call);
}

static void drift_of_one_object(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE))),
        WATCHED(EVENT("MODIFIED", META_OF("a", AT("8") FIELDS(OURS, PART))))};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    _cleanup_value_ const struct value *attributes = NULL;
    struct follower web;
    struct kube_ref ref;
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    ref = ref_of(web.session, MAP("a"), &attributes);
    settle(&web, &a, 1);
    EXPECT(is_told(&web, 1), "told");
    EXPECT(!session_knows_untouched(web.session, &ref, a), "it is to be read");
    unfollow(&web);
    record_unref(a);
    call_end(&call);
}

/* Of a Spec whose operation failed: what is done to its objects waits for the next try. */
static void what_people_say_is_told_after_a_failure(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE)) "," META_OF("b", AT("6"))),
        WATCHED(EVENT("MODIFIED", META_OF("a", AT("8") FIELDS(OURS, PART))) EVENT(
            "MODIFIED",
            META_OF("b", AT("10") ",\"annotations\":{\"api.kusion.io/force\":\"enabled\"}")))};
    _cleanup_value_ const struct value *written =
        stage_value(META_OF("a", AT("5") FIELDS(OURS, WHOLE)));
    _cleanup_value_ const struct value *a = NULL, *b = NULL;
    struct follower web, db;
    struct kube_ref ref;
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    follow(&db, &call, "db");
    ref = ref_of(db.session, MAP("b"), &b);
    session_track(db.session, &ref);
    kube_follow_ops.listen(db.following);
    ref = ref_of(web.session, MAP("a"), &a);
    session_write_begins(web.session, &ref);
    session_write_ends(web.session, &ref, written);
    kube_follow_ops.listen(web.following);
    EXPECT(is_told(&db, 1), "somebody says that b may be replaced");
    EXPECT_INT(atomic_load(&web.count), 0, "a is looked at by the next try");
    unfollow(&db);
    unfollow(&web);
    call_end(&call);
}

static void what_nobody_touched_is_known(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE))), WATCHED("")};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    const struct record *anew = record_of(MAP("a"), "u-anew", WHOLE);
    _cleanup_value_ const struct value *attributes = NULL;
    struct runtime_session *next;
    struct follower web;
    struct kube_ref ref;
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    ref = ref_of(web.session, MAP("a"), &attributes);
    EXPECT(!session_knows_untouched(web.session, &ref, a), "not before it was seen");
    settle(&web, &a, 1);
    EXPECT(is_in_state(&web, FOLLOWING_WHOLE, &why), why.message);
    EXPECT(fake_server_wait(call.stage.harness.server, ARRAY_SIZE(steps)), "it watches");
    next = open_with(&call.stage, "web", web.following);
    EXPECT(session_knows_untouched(next, &ref, a), "as State has it");
    EXPECT(!session_knows_untouched(next, &ref, anew), "another object than that of the record");
    session_write_begins(next, &ref);
    EXPECT(!session_knows_untouched(next, &ref, a), "a write is in flight");
    session_write_ends(next, &ref, NULL);
    session_unref(next);
    EXPECT_INT(atomic_load(&web.count), 0, "nothing was told");
    unfollow(&web);
    record_unref(a);
    record_unref(anew);
    call_end(&call);
}

static void a_refused_watch_says_so(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = "GET " MAPS, .status = 403, .body = DENIED, .repeat = true}};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    struct follower web;
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    settle(&web, &a, 1);
    EXPECT(is_in_state(&web, FOLLOWING_BROKEN, &why), "it does not work");
    EXPECT(strstr(why.message, "the watch of configmaps in team: "), why.message);
    EXPECT_INT(why.code, ERR_FORBIDDEN, "no right");
    unfollow(&web);
    record_unref(a);
    call_end(&call);
}

/* 401 for a watch that was granted before. is_elsewhere: as in a cluster that the Spec chose. */
static int times_told_of_a_refused_token(bool is_elsewhere)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE))),
        {.expect = "GET " MAPS SELECTED, .status = 401, .repeat = true}};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    _cleanup_value_ const struct value *attributes = NULL;
    struct follow_place place;
    struct followed *followed;
    struct follower web;
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    followed = (struct followed *)web.following;
    place = (struct follow_place){.client = web.session->cluster.client,
                                  .field_manager = web.session->field_manager,
                                  .ref = ref_of(web.session, MAP("a"), &attributes),
                                  .is_elsewhere = is_elsewhere,
                                  .keep = web.session};
    followed_settle_begins(followed);
    followed_settle(followed, &place, a);
    followed_settle_ends(followed);
    EXPECT(fake_server_wait(call.stage.harness.server, ARRAY_SIZE(steps) + 1), "it is tried again");
    EXPECT(is_in_state(&web, FOLLOWING_BROKEN, &why), "it does not work");
    EXPECT_INT(why.code, ERR_UNAUTHENTICATED, why.message);
    unfollow(&web);
    record_unref(a);
    call_end(&call);
    return atomic_load(&web.count);
}

static void a_cluster_that_knows_us_no_more_is_looked_at(void)
{
    EXPECT_INT(times_told_of_a_refused_token(true), 1, "once, at once");
    EXPECT_INT(times_told_of_a_refused_token(false), 0, "not all Specs of the own cluster");
}

static void watches_are_bounded(void)
{
    static const struct fake_step steps[] = {DISCOVERY, {.status = 503, .repeat = true}};
    const struct record *records[FOLLOW_WATCHES_OF_NAMESPACE + 1];
    struct follower web;
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    follow(&web, &call, "web");
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        _cleanup_free_ char *text =
            str_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
                       "\"namespace\":\"n%zu\"}}",
                       i);

        records[i] = record_of(text, "u-a", WHOLE);
    }
    settle(&web, records, ARRAY_SIZE(records));
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), FOLLOW_WATCHES_OF_NAMESPACE,
               "no more");
    EXPECT_INT(kube_follow_ops.state(web.following, &why), FOLLOWING_BROKEN, "and it says so");
    EXPECT(strstr(why.message, "too many watches"), why.message);
    settle(&web, records, 1);
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 1, "what left is not watched");
    unfollow(&web);
    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        record_unref(records[i]);
    call_end(&call);
}

/* Each event of the object costs all of them. */
static void specs_of_one_object_are_bounded(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE))), WATCHED("")};
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    struct follower specs[FOLLOW_SPECS_OF_OBJECT + 1], *last = &specs[FOLLOW_SPECS_OF_OBJECT];
    struct error why = {0};
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        _cleanup_free_ char *name = str_printf("web-%zu", i);

        follow(&specs[i], &call, name);
        settle(&specs[i], &a, 1);
    }
    EXPECT(is_in_state(&specs[0], FOLLOWING_WHOLE, &why), why.message);
    EXPECT(fake_server_wait(call.stage.harness.server, ARRAY_SIZE(steps)), "it watches");
    EXPECT_INT(kube_follow_ops.state(last->following, &why), FOLLOWING_BROKEN, "one too many");
    EXPECT(strstr(why.message, "too many Specs have the same object"), why.message);
    unfollow(&specs[0]);
    settle(last, &a, 1);
    EXPECT(is_in_state(last, FOLLOWING_WHOLE, &why), "in the place of one that went");
    for (size_t i = 1; i < ARRAY_SIZE(specs); i++)
        unfollow(&specs[i]);
    record_unref(a);
    call_end(&call);
}

/* ---- Threads ---- */

#define THREADS 8
#define ROUNDS  150
#define EVENTS  2000

static void *churn(void *arg)
{
    struct call *call = arg;
    const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
    _cleanup_value_ const struct value *attributes = NULL;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct follower web;
        struct kube_ref ref;

        follow(&web, call, "web");
        if (!attributes)
            ref = ref_of(web.session, MAP("a"), &attributes);
        else
            kube_ref_if_known(web.session, attributes, &ref);
        session_track(web.session, &ref);
        session_write_begins(web.session, &ref);
        session_write_ends(web.session, &ref, NULL);
        settle(&web, &a, 1);
        kube_follow_ops.state(web.following, NULL);
        session_knows_untouched(web.session, &ref, a);
        settle(&web, &a, i % 2);
        unfollow(&web);
    }
    record_unref(a);
    return NULL;
}

static void followings_come_and_go_at_once(void)
{
    _cleanup_buf_ struct buf events = BUF_INIT;
    struct follower stays;
    struct call call;

    for (int i = 0; i < EVENTS; i++)
        buf_add_str(&events, EVENT("MODIFIED", META_OF("a", AT("8") FIELDS(OURS, WHOLE))));
    {
        const struct fake_step steps[] = {
            DISCOVERY, LISTED(META_OF("a", AT("5") FIELDS(OURS, WHOLE))), WATCHED(events.data)};
        const struct record *a = record_of(MAP("a"), "u-a", WHOLE);
        pthread_t threads[THREADS];

        begin(&call, steps, ARRAY_SIZE(steps));
        follow(&stays, &call, "stays");
        settle(&stays, &a, 1);
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, churn, &call);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 1, "one watch");
        unfollow(&stays);
        EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 0, "none is left");
        record_unref(a);
        call_end(&call);
    }
}

static void watches_come_and_go_with_what_is_followed(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = "GET " MAPS, .status = 503, .repeat = true}};
    pthread_t threads[THREADS];
    struct call call;

    begin(&call, steps, ARRAY_SIZE(steps));
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, churn, &call);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT((long long)follows_count(call.stage.runtime.follows), 0, "none is left");
    call_end(&call);
}

SUITE(kube_following, TEST(drift_is_told_to_its_spec), TEST(drift_of_one_object),
      TEST(what_people_say_is_told_after_a_failure), TEST(what_nobody_touched_is_known),
      TEST(a_refused_watch_says_so), TEST(a_cluster_that_knows_us_no_more_is_looked_at),
      TEST(watches_are_bounded), TEST(specs_of_one_object_are_bounded),
      TEST(followings_come_and_go_at_once), TEST(watches_come_and_go_with_what_is_followed))
