#include "runtimes/kubernetes/client/watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/runtimes/kubernetes/client/watch_log.h"
#include "test/unit/suite.h"

#define OBJECT(name, uid, version)                                                              \
    "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name \
    "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, next, ...)                                                             \
    "{\"kind\":\"XList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\",\"continue\":\"" next "\"},\"items\":[" __VA_ARGS__ "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) \
    EVENT("BOOKMARK", "{\"kind\":\"X\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define FAILED(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\",\"code\":" #code "}"

#define GET_LIST  "GET /api/v1/c?limit=500 "
#define GET_NEXT  "GET /api/v1/c?limit=500&continue="
#define GET_WATCH "GET /api/v1/c?watch=1&allowWatchBookmarks=true&resourceVersion="

#define AB LIST("77", "", OBJECT("a", "1", "70") "," OBJECT("b", "2", "71"))
#define QUIET(version)                                                                   \
    {                                                                                    \
        .expect = GET_WATCH version "&timeoutSeconds=", .status = 200, .end = FAKE_HOLD, \
        .body = "\n"                                                                     \
    }

struct script {
    const char *note;
    const char *expected; /* the whole log, once the script is through */
    size_t n_steps;
    struct fake_step steps[6];
};

static const struct script scripts[] = {
    {"list, then watch",
     "U a U b S U c U a D b ",
     2,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&timeoutSeconds=",
       .status = 200,
       .end = FAKE_HOLD,
       .body = EVENT("ADDED", OBJECT("c", "3", "78")) EVENT("MODIFIED", OBJECT("a", "1", "79"))
           EVENT("DELETED", OBJECT("b", "2", "80"))}}},
    {"an empty list",
     "S ",
     2,
     {{.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")}, QUIET("5")}},
    {"pages",
     "U a U b S ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = LIST("77", "t", OBJECT("a", "1", "1"))},
      {.expect = GET_NEXT "t ", .status = 200, .body = LIST("77", "", OBJECT("b", "2", "1"))},
      QUIET("77")}},
    {"resumes from the last event",
     "U a U b S U c U d ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 200, .body = EVENT("ADDED", OBJECT("c", "3", "80"))},
      {.expect = GET_WATCH "80&", .status = 200, .body = EVENT("ADDED", OBJECT("d", "4", "81"))},
      QUIET("81")}},
    {"resumes from a bookmark",
     "U a U b S ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 200, .body = BOOKMARK("90")},
      QUIET("90")}},
    {"resumes after a broken connection, from what was whole",
     "U a U b S U c ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&",
       .status = 200,
       .end = FAKE_BREAK,
       .body = EVENT("ADDED", OBJECT("c", "3", "80")) EVENT(
           "ADDED", OBJECT("a-name-that-is-too-long-to-have-come-before-it-broke", "4", "81"))},
      QUIET("80")}},
    {"410 in a watch: lists again, and tells what is gone",
     "U a U b S U c U a U c D b ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&",
       .status = 200,
       .body = EVENT("ADDED", OBJECT("c", "3", "78")) EVENT("ERROR", FAILED(410, "Expired"))},
      {.expect = GET_LIST,
       .status = 200,
       .body = LIST("99", "", OBJECT("a", "1", "70") "," OBJECT("c", "3", "78"))},
      QUIET("99")}},
    {"410 as the answer to a watch",
     "U a U b S U a U b ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 410, .body = FAILED(410, "Gone")},
      {.expect = GET_LIST, .status = 200, .body = AB},
      QUIET("77")}},
    {"410 in the middle of a paged list",
     "U a U a U b S ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = LIST("77", "t", OBJECT("a", "1", "1"))},
      {.expect = GET_NEXT "t ", .status = 410, .body = FAILED(410, "Expired")},
      {.expect = GET_LIST, .status = 200, .body = AB},
      QUIET("77")}},
    {"a page that fails is asked for again",
     "U a E ServiceUnavailable U b W S ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = LIST("77", "t", OBJECT("a", "1", "1"))},
      {.expect = GET_NEXT "t ", .status = 503, .body = FAILED(503, "ServiceUnavailable")},
      {.expect = GET_NEXT "t ", .status = 200, .body = LIST("77", "", OBJECT("b", "2", "1"))},
      QUIET("77")}},
    {"an object that was made anew while nobody looked",
     "U a U b S D a U a U b ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 200, .body = EVENT("ERROR", FAILED(410, "Expired"))},
      {.expect = GET_LIST,
       .status = 200,
       .body = LIST("99", "", OBJECT("a", "one", "90") "," OBJECT("b", "2", "71"))},
      QUIET("99")}},
    {"no right to list",
     "E Forbidden E Forbidden W S ",
     4,
     {{.expect = GET_LIST, .status = 403, .body = FAILED(403, "Forbidden")},
      {.expect = GET_LIST, .status = 403, .body = FAILED(403, "Forbidden")},
      {.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      QUIET("5")}},
    {"a kind that is not served yet",
     "E NotServed W S ",
     3,
     {{.expect = GET_LIST, .status = 404, .body = "404 page not found", .type = "text/plain"},
      {.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      QUIET("5")}},
    {"no right to watch",
     "S E Forbidden W U c ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      {.expect = GET_WATCH "5&", .status = 403, .body = FAILED(403, "Forbidden")},
      {.expect = GET_WATCH "5&",
       .status = 200,
       .end = FAKE_HOLD,
       .body = EVENT("ADDED", OBJECT("c", "3", "78"))}}},
    {"an error inside a watch that is not 410",
     "S E InternalError W ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      {.expect = GET_WATCH "5&",
       .status = 200,
       .body = EVENT("ERROR", FAILED(500, "InternalError"))},
      QUIET("5")}},
    {"what is no event",
     "S E UnexpectedAnswer W ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      {.expect = GET_WATCH "5&", .status = 200, .body = "{\"hello\":\"world\"}"},
      QUIET("5")}},
    {"a watch that ends at once is not asked for again at once",
     "S ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = LIST("5", "", "")},
      {.expect = GET_WATCH "5&", .status = 200},
      QUIET("5")}},
};

/* etcd was set back meanwhile: the watch's version is not there yet. */
static const struct script set_back[] = {
    {"a watch that says nothing, and does not end: lists again",
     "U a U b S U a U c D b ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      QUIET("77"),
      {.expect = GET_LIST,
       .status = 200,
       .body = LIST("60", "", OBJECT("a", "1", "50") "," OBJECT("c", "3", "55"))},
      {.expect = GET_WATCH "60&", .status = 200, .end = FAKE_HOLD, .body = BOOKMARK("61")}}},
    {"a watch that says nothing, and ends in order, twice: lists again",
     "U a U b S U a D b ",
     5,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 200, .delay = 1600},
      {.expect = GET_WATCH "77&", .status = 200, .delay = 1600},
      {.expect = GET_LIST, .status = 200, .body = LIST("60", "", OBJECT("a", "1", "50"))},
      {.expect = GET_WATCH "60&", .status = 200, .end = FAKE_HOLD, .body = BOOKMARK("61")}}},
    {"the API server was away: lists again",
     "U a U b S E Unavailable U a D b W ",
     4,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .end = FAKE_DROP},
      {.expect = GET_LIST, .status = 200, .body = LIST("60", "", OBJECT("a", "1", "50"))},
      {.expect = GET_WATCH "60&", .status = 200, .end = FAKE_HOLD, .body = BOOKMARK("61")}}},
    {"a watch that is cut before it says anything is not mute yet",
     "U a U b S ",
     3,
     {{.expect = GET_LIST, .status = 200, .body = AB},
      {.expect = GET_WATCH "77&", .status = 200, .end = FAKE_BREAK, .delay = 1100, .body = "\n\n"},
      QUIET("77")}},
};

static void play(const struct script *script, int64_t silence)
{
    struct kube_watch_config config = {
        .ref = {.kind = &harness_things}, .silence = silence, .on_event = watch_log_event};
    struct kube_watch *watch = NULL;
    _cleanup_free_ char *text = NULL;
    struct error error = {0};
    struct harness harness;
    struct watch_log log;

    watch_log_init(&log);
    config.arg = &log;
    harness_start(&harness, script->steps, script->n_steps, NULL);
    EXPECT_INT(kube_watch_new(harness.client, &config, &watch, &error), 0, error.message);
    EXPECT(fake_server_wait(harness.server, script->n_steps), script->note);
    EXPECT(watch_log_wait(&log, script->expected), script->note);
    kube_watch_free(watch);
    text = watch_log_text(&log);
    EXPECT_STR(text, script->expected, script->note);
    EXPECT(!log.has_overlapped, script->note);
    harness_stop(&harness, true);
    watch_log_done(&log);
}

static void follows_collections(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
        play(&scripts[i], 0);
}

static void lists_when_a_watch_is_mute(void)
{
    static const int64_t silences[ARRAY_SIZE(set_back)] = {1500, 3000, 3000, 3000};

    for (size_t i = 0; i < ARRAY_SIZE(set_back); i++)
        play(&set_back[i], silences[i]);
}

static void tells_who_is_gone(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = AB},
        {.status = 410, .body = FAILED(410, "Expired")},
        {.status = 200, .body = LIST("99", "", OBJECT("a", "1", "70"))},
        QUIET("99"),
    };
    struct kube_watch_config config = {.ref = {.kind = &harness_things},
                                       .metadata_only = true,
                                       .impersonate = "u",
                                       .on_event = watch_log_event};
    struct kube_watch *watch = NULL;
    const struct value *metadata;
    struct harness harness;
    struct watch_log log;
    char *list, *follow;
    long seconds;

    watch_log_init(&log);
    config.arg = &log;
    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(kube_watch_new(harness.client, &config, &watch, NULL), 0, "");
    EXPECT(watch_log_wait(&log, "D b "), "gone");
    EXPECT(fake_server_wait(harness.server, ARRAY_SIZE(steps)), "through");
    kube_watch_free(watch);
    metadata = value_get(log.last_deleted, "metadata");
    EXPECT_STR(value_get_string(metadata, "namespace"), "ns", "");
    EXPECT_STR(value_get_string(metadata, "name"), "b", "");
    EXPECT_STR(value_get_string(metadata, "uid"), "2", "");
    list = fake_server_request(harness.server, 0);
    follow = fake_server_request(harness.server, 3);
    EXPECT(strstr(list, "Accept: " KUBE_METADATA_LIST "\r\n") != NULL, list);
    EXPECT(strstr(follow, "Accept: " KUBE_METADATA "\r\n") != NULL, follow);
    EXPECT(strstr(list, "Impersonate-User: u\r\n") != NULL, list);
    EXPECT(strstr(follow, "Impersonate-User: u\r\n") != NULL, follow);
    seconds = strtol(strstr(follow, "timeoutSeconds=") + strlen("timeoutSeconds="), NULL, 10);
    EXPECT(seconds >= 200 && seconds <= 300, "an end of its own");
    free(list);
    free(follow);
    harness_stop(&harness, true);
    watch_log_done(&log);
}

static void takes_a_new_token_after_a_401(void)
{
    static const struct fake_step steps[] = {
        {.status = 401, .body = FAILED(401, "Unauthorized")},
        {.status = 200, .body = LIST("5", "", "")},
        QUIET("5"),
    };
    char *folder = harness_folder();
    _cleanup_free_ char *file = str_printf("%s/token", folder), *request = NULL;
    struct kube_config rotating = {.token_file = file};
    struct kube_client_config to = {.config = &rotating};
    struct kube_watch_config config = {.ref = {.kind = &harness_things},
                                       .on_event = watch_log_event};
    struct kube_watch *watch = NULL;
    struct harness harness;
    struct watch_log log;

    watch_log_init(&log);
    config.arg = &log;
    harness_start(&harness, steps, ARRAY_SIZE(steps), &to);
    EXPECT_INT(kube_watch_new(harness.client, &config, &watch, NULL), ERR_UNAUTHENTICATED,
               "no token to begin with");
    harness_write(folder, "token", "one");
    EXPECT_INT(kube_watch_new(harness.client, &config, &watch, NULL), 0, "");
    EXPECT(watch_log_wait(&log, "E Unauthorized "), "told");
    harness_write(folder, "token", "two");
    EXPECT(watch_log_wait(&log, "E Unauthorized W S "), "goes on");
    kube_watch_free(watch);
    request = fake_server_request(harness.server, 1);
    EXPECT(strstr(request, "Bearer two\r\n") != NULL, request);
    harness_stop(&harness, false);
    harness_remove(folder);
    watch_log_done(&log);
}

/* Freed at every moment of its life: under the sanitizers this is the test. */
static void stops_at_any_moment(void)
{
    static const struct fake_step failing[] = {{.status = 503, .repeat = true}};
    static const struct fake_step working[] = {
        {.status = 200, .body = AB},
        {.status = 200, .body = EVENT("ADDED", OBJECT("c", "3", "78")), .repeat = true}};

    for (unsigned i = 0; i < 20; i++) {
        struct kube_watch_config config = {.ref = {.kind = &harness_things},
                                           .on_event = watch_log_event};
        struct kube_watch *watch = NULL;
        struct harness harness;
        struct watch_log log;
        size_t length;

        watch_log_init(&log);
        config.arg = &log;
        if (i % 2)
            harness_start(&harness, failing, ARRAY_SIZE(failing), NULL);
        else
            harness_start(&harness, working, ARRAY_SIZE(working), NULL);
        EXPECT_INT(kube_watch_new(harness.client, &config, &watch, NULL), 0, "");
        usleep(i * 3000);
        kube_watch_free(watch);
        length = log.text.length;
        usleep(5000);
        EXPECT_INT(log.text.length, length, "nothing comes after it was freed");
        harness_stop(&harness, false);
        watch_log_done(&log);
    }
}

SUITE(kube_watch, TEST(follows_collections), TEST(lists_when_a_watch_is_mute),
      TEST(tells_who_is_gone), TEST(takes_a_new_token_after_a_401), TEST(stops_at_any_moment))
