/* The store over a scripted server: answers that never come, and those that mean nothing. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/store_private.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/runtimes/kubernetes/states.h"
#include "test/unit/suite.h"

#define MAPS    "/api/v1/namespaces/state/configmaps"
#define SECRETS "/api/v1/namespaces/state/secrets"
#define NOTHING "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}"
#define STATUS(code, reason, details)                                                   \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code \
    ",\"reason\":\"" reason "\",\"message\":\"m\",\"details\":" details "}"

/* A save looks for leftovers first. */
#define LISTS                                                                      \
    {.expect = "GET " MAPS "?labelSelector=", .status = 200, .body = NOTHING},     \
    {                                                                              \
        .expect = "GET " SECRETS "?labelSelector=", .status = 200, .body = NOTHING \
    }

struct fixture {
    struct harness harness;
    struct state_store *store;
    struct state_key key;
    char head[STATE_NAME_SIZE];
    struct error error;
};

static void begin(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    *fixture = (struct fixture){.key = {"team", "web"}};
    harness_start(&fixture->harness, steps, n_steps, NULL);
    fixture->store = kube_store_new(&(struct kube_store_config){fixture->harness.client, "state"});
    state_key_name(&fixture->key, fixture->head);
}

static void end(struct fixture *fixture)
{
    kube_store_free(fixture->store);
    harness_stop(&fixture->harness, true);
}

/* The head of a small State, as the server gives it; free(). */
static char *head_of(const struct state *state, const char *version)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct payload open, secret;
    char *text;

    EXPECT_INT(state_encode(state, &open, &secret, NULL), 0, "encode");
    base64_encode(&bytes, open.bytes.data, open.bytes.length);
    text = str_printf("{\"metadata\":{\"resourceVersion\":\"%s\"},\"data\":{\"format\":\"1\","
                      "\"checksum\":\"%s\",\"chunks\":\"0\"},\"binaryData\":{\"state\":\"%s\"}}",
                      version, open.checksum, bytes.data);
    payload_done(&open);
    payload_done(&secret);
    return text;
}

/* The answer to a swap was lost: what is there then tells what happened. */
static void finds_out_whether_a_swap_happened(void)
{
    _cleanup_(state_free_p) struct state *mine = states_make("team", "web", 1, 5, false);
    _cleanup_(state_free_p) struct state *other = states_make("team", "web", 2, 5, false);
    _cleanup_free_ char *done = head_of(mine, "8"), *undone = head_of(mine, "7");
    _cleanup_free_ char *theirs = head_of(other, "8");
    const struct {
        const char *note, *before; /* the version; NULL: none */
        struct fake_step then;
        int code;
        const char *after;
    } rows[] = {
        {"it did", "7", {.expect = "GET " MAPS "/", .status = 200, .body = done}, 0, "8"},
        {"it did not",
         "7",
         {.expect = "GET " MAPS "/", .status = 200, .body = undone},
         ERR_UNAVAILABLE,
         "7"},
        {"another's did",
         "7",
         {.expect = "GET " MAPS "/", .status = 200, .body = theirs},
         ERR_UNAVAILABLE,
         "7"},
        {"the first did", NULL, {.expect = "GET " MAPS "/", .status = 200, .body = done}, 0, "8"},
        {"the first did not",
         NULL,
         {.expect = "GET " MAPS "/", .status = 404, .body = STATUS(404, "NotFound", "{}")},
         ERR_UNAVAILABLE,
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            LISTS,
            {.expect = rows[i].before ? "PUT " MAPS "/" : "POST " MAPS " ", .end = FAKE_DROP},
            rows[i].then,
        };
        _cleanup_free_ char *version = str_new(rows[i].before);
        struct fixture fixture;

        begin(&fixture, steps, ARRAY_SIZE(steps));
        EXPECT_INT(fixture.store->ops->save(fixture.store, &fixture.key, mine, NULL, &version,
                                            &fixture.error),
                   rows[i].code, rows[i].note);
        EXPECT_STR(version, rows[i].after, rows[i].note);
        end(&fixture);
    }
}

static void a_save_whose_head_is_gone_conflicts(void)
{
    _cleanup_(state_free_p) struct state *state = states_make("team", "web", 1, 5, false);
    _cleanup_free_ char *version = str_new("7"), *missing = NULL;
    char head[STATE_NAME_SIZE];
    struct fixture fixture;

    state_key_name(&(struct state_key){"team", "web"}, head);
    missing = str_printf(STATUS(404, "NotFound", "{\"name\":\"%s\"}"), head);
    {
        const struct fake_step steps[] = {
            LISTS, {.expect = "PUT " MAPS "/kusion-", .status = 404, .body = missing}};

        begin(&fixture, steps, ARRAY_SIZE(steps));
        EXPECT_INT(fixture.store->ops->save(fixture.store, &fixture.key, state, NULL, &version,
                                            &fixture.error),
                   ERR_CONFLICT, "removed meanwhile");
        EXPECT_STR(version, "7", "as it was");
        end(&fixture);
    }
}

/* No answer, or one of who cannot know, is neither absence nor damage. */
static void loads_nothing_from_answers_that_say_nothing(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int code;
    } rows[] = {
        {"a proxy's page",
         {.status = 404, .body = "404 page not found\n", .type = "text/plain"},
         ERR_UNAVAILABLE},
        {"refused", {.status = 403, .body = STATUS(403, "Forbidden", "{}")}, ERR_FORBIDDEN},
        {"not of the API server", {.status = 200, .body = "<html>"}, ERR_INTERNAL},
        {"another's absence",
         {.status = 404, .body = STATUS(404, "NotFound", "{\"name\":\"x\"}")},
         ERR_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct state *state = NULL;
        char *version = NULL;
        struct fixture fixture;

        begin(&fixture, &rows[i].step, 1);
        EXPECT_INT(fixture.store->ops->load(fixture.store, &fixture.key, NULL, &state, &version,
                                            &fixture.error),
                   rows[i].code, rows[i].note);
        EXPECT(!state && !version, rows[i].note);
        end(&fixture);
    }
}

/* The head is read, a save by another goes by, and the chunks that it named are gone. */
static void reads_again_when_the_head_moved_on(void)
{
    static const char chunked[] =
        "{\"metadata\":{\"resourceVersion\":\"%s\"},\"data\":{\"format\":\"1\",\"checksum\":"
        "\"0123456789abcdef\",\"chunks\":\"2\"}}";
    _cleanup_(state_free_p) struct state *now = states_make("team", "web", 1, 5, false);
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_free_ char *missing = NULL, *before = str_printf(chunked, "7");
    _cleanup_free_ char *after = head_of(now, "8"), *version = NULL;
    char head[STATE_NAME_SIZE];
    struct fixture fixture;

    state_key_name(&(struct state_key){"team", "web"}, head);
    missing = str_printf(STATUS(404, "NotFound", "{\"name\":\"%s-0123456789ab-o0\"}"), head);
    {
        const struct fake_step moved[] = {
            {.expect = "GET " MAPS "/kusion-", .status = 200, .body = before},
            {.expect = "GET " MAPS "/kusion-", .status = 404, .body = missing},
            {.expect = "GET " MAPS "/kusion-", .status = 200, .body = after},
        };
        const struct fake_step damaged[] = {moved[0], moved[1], moved[0], moved[1]};

        begin(&fixture, moved, ARRAY_SIZE(moved));
        EXPECT_INT(fixture.store->ops->load(fixture.store, &fixture.key, NULL, &state, &version,
                                            &fixture.error),
                   0, fixture.error.message);
        EXPECT(state && states_equal(state, now), "the State that is in force");
        EXPECT_STR(version, "8", "its version");
        end(&fixture);

        state_free(TAKE(state));
        free(TAKE(version));
        begin(&fixture, damaged, ARRAY_SIZE(damaged));
        EXPECT_INT(fixture.store->ops->load(fixture.store, &fixture.key, NULL, &state, &version,
                                            &fixture.error),
                   ERR_CORRUPT, "the same head again: it is damaged");
        end(&fixture);
    }
}

SUITE(kube_store, TEST(finds_out_whether_a_swap_happened),
      TEST(a_save_whose_head_is_gone_conflicts), TEST(loads_nothing_from_answers_that_say_nothing),
      TEST(reads_again_when_the_head_moved_on))
