#include "runtimes/kubernetes/client/discovery.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/str.h"
#include "runtimes/io/address_filter.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define RESOURCES(...) "{\"kind\":\"APIResourceList\",\"resources\":[" __VA_ARGS__ "]}"
#define RESOURCE(name, kind, namespaced) \
    "{\"name\":\"" name "\",\"kind\":\"" kind "\",\"namespaced\":" #namespaced "}"
#define GROUPS(...)    "{\"kind\":\"APIGroupList\",\"groups\":[" __VA_ARGS__ "]}"
#define GROUP(version) "{\"name\":\"x\",\"versions\":[{\"groupVersion\":\"" version "\"}]}"

#define NO_PAGE                                                             \
    {                                                                       \
        .status = 404, .body = "404 page not found\n", .type = "text/plain" \
    }

struct fixture {
    struct harness harness;
    struct fake_clock clock;
    struct kube_discovery *discovery;
    struct kube_wait wait; /* of what asks */
    struct error error;
};

static void fixture_start(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    *fixture = (struct fixture){0};
    harness_start(&fixture->harness, steps, n_steps, NULL);
    fake_clock_init(&fixture->clock);
    fixture->discovery = kube_discovery_new(fixture->harness.client, &fixture->clock.source);
}

static void fixture_stop(struct fixture *fixture)
{
    kube_discovery_free(fixture->discovery);
    harness_stop(&fixture->harness, true);
}

static int find(struct fixture *fixture, const char *group_version, const char *kind,
                const struct kube_kind **ret)
{
    fixture->error = (struct error){0};
    return kube_discovery_find(fixture->discovery, group_version, kind, &fixture->wait, ret,
                               &fixture->error);
}

static void finds_kinds(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET /api/v1 ",
         .status = 200,
         .body = RESOURCES(
             RESOURCE("pods", "Pod", true) "," RESOURCE("pods/status", "Pod", true) "," RESOURCE(
                 "pods/eviction", "Eviction", true) "," RESOURCE("namespaces", "Namespace",
                                                                 false))},
        {.expect = "GET /apis/apps/v1 ",
         .status = 200,
         .body = RESOURCES(RESOURCE("deployments", "Deployment", true))},
    };
    const struct kube_kind *kind = NULL, *again = NULL;
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(find(&fixture, "v1", "Pod", &kind), 0, fixture.error.message);
    EXPECT_STR(kind->plural, "pods", "");
    EXPECT_STR(kind->kind, "Pod", "");
    EXPECT_STR(kind->group_version, "v1", "");
    EXPECT(kind->namespaced, "");
    EXPECT_INT(find(&fixture, "v1", "Namespace", &kind), 0, "without a request");
    EXPECT(!kind->namespaced, "");
    EXPECT_INT(find(&fixture, "v1", "Eviction", &again), ERR_NOT_FOUND, "only a subresource");
    EXPECT_STR(fixture.error.reason, "KindNotServed", fixture.error.message);
    EXPECT_INT(find(&fixture, "apps/v1", "Deployment", &kind), 0, fixture.error.message);
    EXPECT_INT(find(&fixture, "apps/v1", "Deployment", &again), 0, "");
    EXPECT(kind == again, "one record");
    fixture_stop(&fixture);
}

static void looks_again_for_a_new_kind(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = RESOURCES(RESOURCE("as", "A", true))},
        {.status = 200, .body = RESOURCES(RESOURCE("as", "A", true))},
        {.status = 200,
         .body = RESOURCES(RESOURCE("aas", "A", false) "," RESOURCE("bs", "B", true))},
    };
    const struct kube_kind *a = NULL, *b = NULL, *changed = NULL;
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(find(&fixture, "x/v1", "A", &a), 0, "");
    EXPECT_INT(find(&fixture, "x/v1", "B", &b), ERR_NOT_FOUND, "just read: not asked again");
    atomic_fetch_add(&fixture.clock.monotonic, 999);
    EXPECT_INT(find(&fixture, "x/v1", "B", &b), ERR_NOT_FOUND, "still");
    EXPECT_INT(fake_server_count(fixture.harness.server), 1, "one request");
    atomic_fetch_add(&fixture.clock.monotonic, 1);
    EXPECT_INT(find(&fixture, "x/v1", "B", &b), ERR_NOT_FOUND, "asked again");
    EXPECT_INT(find(&fixture, "x/v1", "B", &b), ERR_NOT_FOUND, "once a second");
    EXPECT_INT(fake_server_count(fixture.harness.server), 2, "two requests");
    atomic_fetch_add(&fixture.clock.monotonic, 1000);
    EXPECT_INT(find(&fixture, "x/v1", "B", &b), 0, "it has come");
    EXPECT_INT(find(&fixture, "x/v1", "A", &changed), 0, "");
    EXPECT_STR(changed->plural, "aas", "a CRD that was made anew");
    EXPECT(!changed->namespaced, "");
    EXPECT_STR(a->plural, "as", "a record that was given out stays what it was");
    fixture_stop(&fixture);
}

static void tells_absent_from_unknown(void)
{
    static const struct fake_step steps[] = {
        NO_PAGE,
        {.expect = "GET /apis ", .status = 200, .body = GROUPS(GROUP("apps/v1"))},
        NO_PAGE,
        {.expect = "GET /apis ", .status = 200, .body = GROUPS(GROUP("y/v1"))},
        NO_PAGE,
        NO_PAGE,
        NO_PAGE, /* of the core group there is no list */
        {.status = 403, .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403}"},
        {.status = 200, .body = "{\"hello\":1}"},
        NO_PAGE,
        {.expect = "GET /apis ", .status = 200, .body = GROUPS(GROUP("apps/v1"))},
    };
    static const struct {
        const char *group_version;
        int code;
        const char *reason;
    } rows[] = {
        {"x/v1", ERR_NOT_FOUND, "KindNotServed"},   {"x/v1", ERR_NOT_FOUND, "KindNotServed"},
        {"y/v1", ERR_UNAVAILABLE, "NotServed"},     {"z/v1", ERR_UNAVAILABLE, "NotServed"},
        {"v1", ERR_UNAVAILABLE, "NotServed"},       {"v/v1", ERR_FORBIDDEN, "Forbidden"},
        {"w/v1", ERR_INTERNAL, "UnexpectedAnswer"}, {"v2", ERR_NOT_FOUND, "KindNotServed"},
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct kube_kind *kind = NULL;

        EXPECT_INT(find(&fixture, rows[i].group_version, "X", &kind), rows[i].code,
                   rows[i].group_version);
        EXPECT_STR(fixture.error.reason, rows[i].reason, rows[i].group_version);
        EXPECT(kind == NULL, rows[i].group_version);
    }
    fixture_stop(&fixture);
}

#define VERSION(version) "{\"groupVersion\":\"" version "\"}"
#define NO_KINDS                             \
    {                                        \
        .status = 200, .body = RESOURCES("") \
    }

/* The error is left alone on success, though some versions do not have the kind. */
static void finds_a_kind_in_another_version(void)
{
    static const struct fake_step found[] = {
        NO_KINDS,
        {.expect = "GET /apis ",
         .status = 200,
         .body = GROUPS(GROUP("w/v1") ",{\"name\":\"y\",\"versions\":[" VERSION("y/v2") "," VERSION(
             "y/v1") "," VERSION("y/v1beta1") "]}")},
        {.expect = "GET /apis/y/v2 ", .status = 200, .body = RESOURCES("")},
        {.expect = "GET /apis/y/v1beta1 ",
         .status = 200,
         .body = RESOURCES(RESOURCE("as", "A", true))},
    };
    static const struct fake_step refused[] = {
        NO_KINDS,
        {.expect = "GET /apis ",
         .status = 200,
         .body = GROUPS("{\"name\":\"y\",\"versions\":[" VERSION("y/v2") "]}")},
        {.status = 403, .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403}"},
    };
    static const struct fake_step absent[] = {
        NO_KINDS, {.expect = "GET /apis ", .status = 200, .body = GROUPS(GROUP("w/v1"))}};
    static const struct {
        const char *note;
        const struct fake_step *steps;
        size_t n_steps;
        int code;
    } rows[] = {
        {"in the third version", found, ARRAY_SIZE(found), 0},
        {"another version cannot be read", refused, ARRAY_SIZE(refused), ERR_FORBIDDEN},
        {"in no version", absent, ARRAY_SIZE(absent), ERR_NOT_FOUND},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct kube_kind *kind = NULL;
        struct fixture fixture;
        int r;

        fixture_start(&fixture, rows[i].steps, rows[i].n_steps);
        r = kube_discovery_find_any(fixture.discovery, "y/v1", "A", &fixture.wait, &kind,
                                    &fixture.error);
        EXPECT_INT(r, rows[i].code, rows[i].note);
        EXPECT_INT(fixture.error.code, rows[i].code, rows[i].note);
        EXPECT_STR(kind ? kind->group_version : NULL, r < 0 ? NULL : "y/v1beta1", rows[i].note);
        fixture_stop(&fixture);
    }
}

static void forgets(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = RESOURCES(RESOURCE("as", "A", true))},
        {.status = 200, .body = RESOURCES(RESOURCE("bs", "B", true))},
    };
    const struct kube_kind *kind = NULL;
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(find(&fixture, "x/v1", "A", &kind), 0, "");
    kube_discovery_forget(fixture.discovery, "x/v1");
    EXPECT_INT(find(&fixture, "x/v1", "A", &kind), ERR_NOT_FOUND, "it has gone");
    EXPECT_INT(find(&fixture, "x/v1", "B", &kind), 0, "");
    fixture_stop(&fixture);
}

/* What tenants write is not remembered without an end; what the server has is. */
static void forgets_groups_that_are_not_there(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET /apis/x/v1 ", .status = 200, .body = RESOURCES(RESOURCE("as", "A", true))},
        {.expect = "GET /apis/g", .status = 200, .body = RESOURCES(""), .repeat = true},
    };
    const struct kube_kind *kind = NULL, *same = NULL;
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(find(&fixture, "x/v1", "A", &kind), 0, "the first, and so the oldest");
    for (int i = 0; i < KUBE_DISCOVERY_GROUPS; i++) {
        _cleanup_free_ char *group_version = str_printf("g%d/v1", i);

        atomic_fetch_add(&fixture.clock.monotonic, 1);
        find(&fixture, group_version, "A", &same);
        find(&fixture, group_version, "A", &same); /* remembered */
        EXPECT(!kube_discovery_known(fixture.discovery, "never/asked", "A"), "nor is it made");
    }
    EXPECT_INT(fake_server_count(fixture.harness.server), KUBE_DISCOVERY_GROUPS + 1, "each once");
    find(&fixture, "g1/v1", "A", &same);
    EXPECT_INT(fake_server_count(fixture.harness.server), KUBE_DISCOVERY_GROUPS + 1, "known yet");
    find(&fixture, "g0/v1", "A", &same);
    EXPECT_INT(fake_server_count(fixture.harness.server), KUBE_DISCOVERY_GROUPS + 2, "forgotten");
    EXPECT_INT(find(&fixture, "x/v1", "A", &same), 0, "never forgotten");
    EXPECT(kind == same, "its record stays");
    fixture_stop(&fixture);
}

/* What asks has only so much time. */
static void waits_no_longer_than_it_may(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[2];
        size_t n_steps, asked;
        int64_t left;
    } rows[] = {
        {"the kinds of a group are slow", {{.status = 200, .delay = 1500}}, 1, 1, 300},
        {"the list of groups is slow",
         {{.status = 404, .body = "404 page not found", .type = "text/plain"},
          {.expect = "GET /apis ", .status = 200, .delay = 1500}},
         2,
         2,
         300},
        {"no time at all", {{.status = 200}}, 0, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct kube_kind *kind = NULL;
        struct fixture fixture;

        fixture_start(&fixture, rows[i].steps, rows[i].n_steps);
        fixture.wait = (struct kube_wait){
            .clock = &fixture.clock.source,
            .deadline = fixture.clock.source.monotonic(&fixture.clock.source) + rows[i].left};
        EXPECT_INT(find(&fixture, "x/v1", "A", &kind), ERR_TIMEOUT, rows[i].note);
        EXPECT_INT(fake_server_count(fixture.harness.server), rows[i].asked, rows[i].note);
        fixture_stop(&fixture);
    }
}

static void *find_many(void *arg)
{
    struct fixture *fixture = arg;
    const struct kube_kind *kind = NULL;
    intptr_t found = 0;

    for (int i = 0; i < 50; i++)
        found +=
            kube_discovery_find(fixture->discovery, "x/v1", "A", &fixture->wait, &kind, NULL) == 0;
    return (void *)found;
}

static void asks_once_for_many_threads(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = RESOURCES(RESOURCE("as", "A", true))}};
    struct fixture fixture;
    pthread_t threads[8];
    intptr_t found = 0;

    fixture_start(&fixture, steps, 1);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, find_many, &fixture);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *result;

        pthread_join(threads[i], &result);
        found += (intptr_t)result;
    }
    EXPECT_INT(found, 400, "found");
    EXPECT_INT(fake_server_count(fixture.harness.server), 1, "requests");
    fixture_stop(&fixture);
}

/* The versions that do not have it leave no error behind; another group's is not looked at. */
static void finds_it_in_a_later_version(void)
{
    static const struct fake_step steps[] = {
        NO_PAGE,
        {.status = 200,
         .body = GROUPS("{\"name\":\"x\",\"versions\":[{\"groupVersion\":\"x/v2\"},"
                        "{\"groupVersion\":\"y/v3\"},{\"groupVersion\":\"x/v3\"}]}")},
        {.expect = "GET /apis/x/v2 ", .status = 200, .body = RESOURCES(RESOURCE("bs", "B", true))},
        {.expect = "GET /apis/x/v3 ", .status = 200, .body = RESOURCES(RESOURCE("as", "A", true))},
    };
    const struct kube_kind *kind = NULL;
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(kube_discovery_find_any(fixture.discovery, "x/v1", "A", &fixture.wait, &kind,
                                       &fixture.error),
               0, fixture.error.message);
    EXPECT_STR(kind->group_version, "x/v3", "");
    EXPECT_INT(fixture.error.code, 0, fixture.error.message);
    fixture_stop(&fixture);
}

/* {"name": "k0", "kind": "K0"}, … */
static char *many_resources(unsigned n)
{
    _cleanup_buf_ struct buf list = BUF_INIT;

    for (unsigned i = 0; i < n; i++)
        buf_printf(&list, "%s{\"name\":\"k%u\",\"kind\":\"K%u\"}", i ? "," : "", i, i);
    return str_printf(RESOURCES("%s"), list.data);
}

/* A namespace may name 64 servers, each of which says what it likes. */
static void little_is_kept_of_a_tenants_server(void)
{
    _cleanup_free_ char *many = many_resources(8000), *more = many_resources(12000);
    const struct fake_step steps[] = {
        {.expect = "GET /apis/x/v1 ", .status = 200, .body = many},
        {.expect = "GET /apis/y/v1 ", .status = 200, .body = more},
    };
    struct address_filter *filter = address_filter_new();
    const struct kube_client_config tenant = {.address_filter = filter};
    const struct kube_kind *kind = NULL;
    struct fixture fixture = {0};

    EXPECT_INT(address_filter_allow(filter, "127.0.0.0/8", NULL), 0, "loopback");
    harness_start(&fixture.harness, steps, ARRAY_SIZE(steps), &tenant);
    fake_clock_init(&fixture.clock);
    fixture.discovery = kube_discovery_new(fixture.harness.client, &fixture.clock.source);
    EXPECT_INT(find(&fixture, "x/v1", "K0", &kind), 0, fixture.error.message);
    EXPECT_INT(find(&fixture, "x/v1", "K7999", &kind), ERR_NOT_FOUND, "there is no room for it");
    EXPECT_INT(find(&fixture, "y/v1", "K0", &kind), ERR_TOO_LARGE, "it is not read");
    fixture_stop(&fixture);
    address_filter_free(filter);
}

SUITE(kube_discovery, TEST(little_is_kept_of_a_tenants_server), TEST(finds_it_in_a_later_version),
      TEST(finds_kinds), TEST(looks_again_for_a_new_kind), TEST(tells_absent_from_unknown),
      TEST(finds_a_kind_in_another_version), TEST(forgets), TEST(forgets_groups_that_are_not_there),
      TEST(waits_no_longer_than_it_may), TEST(asks_once_for_many_threads))
