#include "controller/core/events.h"

#include <stdatomic.h>
#include <unistd.h>

#include "controller/core/event_memory.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

static const struct event_subject subject = {.api_version = "api.kusion.io/v1",
                                             .kind = "Spec",
                                             .namespace_name = "ns",
                                             .name = "web",
                                             .uid = "u"};

static const struct fake_step created[] = {
    {.expect = "POST /api/v1/namespaces/ns/events ", .status = 201, .body = "{}", .repeat = true}};

struct fixture {
    struct harness harness;
    struct fake_clock clock;
    struct event_recorder *recorder;
};

static void wait_really(const struct clock_source *clock, pthread_cond_t *condition,
                        pthread_mutex_t *lock, int64_t until)
{
    (void)clock;
    (void)until;
    system_clock.wait(&system_clock, condition, lock, system_clock.monotonic(&system_clock) + 5);
}

static void fixture_start(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    harness_start(&fixture->harness, steps, n_steps, NULL);
    fake_clock_init(&fixture->clock);
    fixture->clock.source.wait = wait_really;
    fixture->recorder = event_recorder_new(fixture->harness.client, &fixture->clock.source,
                                           "kusion-operator", "pod-0");
}

/* Freeing sends what waits still. */
static size_t sent(struct fixture *fixture)
{
    event_recorder_free(TAKE(fixture->recorder));
    return fake_server_count(fixture->harness.server);
}

static void sends_what_the_api_server_takes(void)
{
    static const char *const parts[] = {
        "\"kind\":\"Event\"",
        "\"name\":\"web.",
        ("\"involvedObject\":{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"namespace\":"
         "\"ns\",\"name\":\"web\",\"uid\":\"u\"}"),
        "\"type\":\"Warning\",\"reason\":\"PruneFailed\",\"action\":\"Apply\"",
        "\"message\":\"3 left\"",
        "\"firstTimestamp\":\"2026-01-02T03:04:05Z\"",
        "\"reportingComponent\":\"kusion-operator\",\"reportingInstance\":\"pod-0\""};
    struct fixture fixture;
    _cleanup_free_ char *request = NULL;

    fixture_start(&fixture, created, 1);
    event_emit(fixture.recorder, &subject, EVENT_WARNING, "PruneFailed", "Apply", "%d left", 3);
    EXPECT_INT((long long)sent(&fixture), 1, "sent");
    request = fake_server_request(fixture.harness.server, 0);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        EXPECT(request && strstr(request, parts[i]), parts[i]);
    harness_stop(&fixture.harness, false);
}

static void sends_the_same_once_in_a_while(void)
{
    struct fixture fixture;
    struct event_subject other = subject;

    other.uid = "w";
    fixture_start(&fixture, created, 1);
    for (unsigned i = 0; i < 3; i++)
        event_emit(fixture.recorder, &subject, EVENT_NORMAL, "Same", "Apply", "x");
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "Same", "Apply", "y");
    event_emit(fixture.recorder, &other, EVENT_NORMAL, "Same", "Apply", "x");
    atomic_fetch_add(&fixture.clock.monotonic, EVENT_INTERVAL - 1);
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "Same", "Apply", "x");
    atomic_fetch_add(&fixture.clock.monotonic, 1);
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "Same", "Apply", "x");
    EXPECT_INT((long long)sent(&fixture), 4, "x, y, the other's, and x after a while");
    harness_stop(&fixture.harness, false);
}

static void cuts_messages_at_a_character(void)
{
    struct fixture fixture;
    _cleanup_free_ char *request = NULL;
    char text[2001] = "", *start, *end;

    for (size_t i = 0; i < sizeof(text) - 1; i += 2)
        memcpy(text + i, "é", 2);
    fixture_start(&fixture, created, 1);
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "Long", "Apply", "%s", text);
    sent(&fixture);
    request = fake_server_request(fixture.harness.server, 0);
    start = request ? strstr(request, "\"message\":\"") : NULL;
    end = start ? strchr(start += strlen("\"message\":\""), '"') : NULL;
    EXPECT(end, "a message");
    if (end) {
        size_t length = (size_t)(end - start);

        EXPECT(length <= EVENT_MESSAGE_BYTES && length > EVENT_MESSAGE_BYTES - 4, "length");
        EXPECT_INT((long long)utf8_valid(start, length), (long long)length, "whole characters");
        EXPECT(strncmp(end - strlen("…"), "…", strlen("…")) == 0, "it shows");
    }
    harness_stop(&fixture.harness, false);
}

/* The lines after the first are hints. A table of events has one line for each. */
static void sends_one_line(void)
{
    struct fixture fixture;
    _cleanup_free_ char *request = NULL;

    fixture_start(&fixture, created, 1);
    event_emit(fixture.recorder, &subject, EVENT_WARNING, "Denied", "Apply", "%s",
               "no right\nto allow it: a\nor: b");
    sent(&fixture);
    request = fake_server_request(fixture.harness.server, 0);
    EXPECT(request && strstr(request, "\"message\":\"no right; to allow it: a; or: b\""),
           "one line");
    harness_stop(&fixture.harness, false);
}

static void goes_on_after_a_refusal(void)
{
    static const struct fake_step steps[] = {
        {.status = 403,
         .body =
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Forbidden\",\"code\":403}"},
        {.status = 201, .body = "{}"}};
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "A", "Apply", "x");
    event_emit(fixture.recorder, &subject, EVENT_NORMAL, "B", "Apply", "x");
    EXPECT_INT((long long)sent(&fixture), 2, "both");
    harness_stop(&fixture.harness, true);
}

/* The name is as long as names get, and is cut where a dot would end it. */
static void names_events_within_bounds(void)
{
    struct fixture fixture;
    struct event_subject longest = subject;
    _cleanup_free_ char *request = NULL;
    char name[254] = "", *start, *end;

    memset(name, 'a', 253);
    name[235] = '.';
    longest.name = name;
    longest.namespace_name = NULL;
    fixture_start(
        &fixture,
        (struct fake_step[]){
            {.expect = "POST /api/v1/namespaces/default/events ", .status = 201, .body = "{}"}},
        1);
    event_emit(fixture.recorder, &longest, EVENT_NORMAL, "A", "Apply", "x");
    sent(&fixture);
    request = fake_server_request(fixture.harness.server, 0);
    start = request ? strstr(request, "\"metadata\":{\"name\":\"") : NULL;
    end = start ? strchr(start += strlen("\"metadata\":{\"name\":\""), '"') : NULL;
    EXPECT(end, "a name");
    if (end) {
        *end = '\0';
        EXPECT(str_is_dns_subdomain(start), start);
    }
    fake_server_free(TAKE(fixture.harness.server));
    harness_stop(&fixture.harness, true);
}

static void forgets_the_oldest(void)
{
    struct event_memory memory;
    char digest[HASH_HEX_SIZE] = "0";

    event_memory_init(&memory, 2);
    for (digest[0] = 'a'; digest[0] <= 'c'; digest[0]++)
        EXPECT(event_memory_is_new(&memory, digest, 0, 100), digest);
    EXPECT_INT((long long)memory.traces.count, 2, "bounded");
    digest[0] = 'c';
    EXPECT(!event_memory_is_new(&memory, digest, 99, 100), "remembered");
    EXPECT(event_memory_is_new(&memory, digest, 100, 100), "after the interval");
    digest[0] = 'a';
    EXPECT(event_memory_is_new(&memory, digest, 100, 100), "forgotten");
    digest[0] = 'c';
    EXPECT(!event_memory_is_new(&memory, digest, 101, 100), "the newest stays");
    event_memory_done(&memory);
}

SUITE(events, TEST(sends_what_the_api_server_takes), TEST(sends_the_same_once_in_a_while),
      TEST(cuts_messages_at_a_character), TEST(sends_one_line), TEST(goes_on_after_a_refusal),
      TEST(names_events_within_bounds), TEST(forgets_the_oldest))
