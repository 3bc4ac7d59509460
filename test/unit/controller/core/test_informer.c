#include "controller/core/informer.h"

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

#include "controller/core/finalizer.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define OBJECT_AT(version, name, uid, generation, more)                                    \
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{" \
    "\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid                            \
    "\",\"resourceVersion\":\"" version "\",\"generation\":" #generation more "}}"
#define OBJECT(name, uid, generation, more) OBJECT_AT("70", name, uid, generation, more)
#define LIST(...)                                                                             \
    "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":" \
    "{\"resourceVersion\":\"77\"},\"items\":[" __VA_ARGS__ "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define NOTED(key, value)   ",\"annotations\":{\"" key "\":\"" value "\"}"
#define KEPT                ",\"finalizers\":[\"" KUSION_FINALIZER "\"]"
#define DELETING            ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

struct changes {
    struct harness harness;
    pthread_mutex_t lock;
    struct buf text;
};

static void describe(struct buf *to, const struct informer_object *object)
{
    if (!object) {
        buf_add_char(to, '-');
        return;
    }
    buf_printf(to, "%s.%" PRId64, object->uid, object->generation);
    if (object->deleting)
        buf_add_char(to, '!');
    if (object->trigger)
        buf_printf(to, "@%s", object->trigger);
    if (object->was_there)
        buf_add_char(to, '*');
    if (object->is_bypassed)
        buf_add_char(to, '^');
}

static void on_change(void *arg, const char *key, const struct informer_object *old,
                      const struct informer_object *now)
{
    struct changes *changes = arg;

    pthread_mutex_lock(&changes->lock);
    buf_printf(&changes->text, "%s ", key);
    describe(&changes->text, old);
    buf_add_char(&changes->text, '>');
    describe(&changes->text, now);
    buf_add_char(&changes->text, ' ');
    pthread_mutex_unlock(&changes->lock);
}

static const struct row {
    const char *note;
    const char *selector;
    const char *list, *events;
    const char *expected; /* then comes the end */
} rows[] = {
    {"the first list", NULL, OBJECT("a", "u", 1, "") "," OBJECT("b", "v", 2, DELETING), "",
     "ns/a ->u.1* ns/b ->v.2!* "},
    {"nothing that counts", NULL, OBJECT("a", "u", 1, ""),
     EVENT("MODIFIED", OBJECT("a", "u", 1, ",\"labels\":{\"x\":\"y\"}")), "ns/a ->u.1* "},
    {"a generation", NULL, OBJECT("a", "u", 1, ""), EVENT("MODIFIED", OBJECT("a", "u", 2, "")),
     "ns/a ->u.1* ns/a u.1*>u.2 "},
    {"deletion", NULL, OBJECT("a", "u", 1, ""),
     EVENT("MODIFIED", OBJECT("a", "u", 1, DELETING))
         EVENT("DELETED", OBJECT("a", "u", 1, DELETING)),
     "ns/a ->u.1* ns/a u.1*>u.1! ns/a u.1!>- "},
    {"a trigger, and another, and none", NULL, OBJECT("a", "u", 1, ""),
     EVENT("MODIFIED", OBJECT("a", "u", 1, NOTED(INFORMER_TRIGGER, "t")))
         EVENT("MODIFIED", OBJECT("a", "u", 1, NOTED(INFORMER_TRIGGER_FLUX, "f")))
             EVENT("MODIFIED", OBJECT("a", "u", 1, "")),
     "ns/a ->u.1* ns/a u.1*>u.1@t ns/a u.1@t>u.1@f ns/a u.1@f>u.1 "},
    {"another under the same name", NULL, OBJECT("a", "u", 1, ""),
     EVENT("DELETED", OBJECT("a", "u", 1, "")) EVENT("ADDED", OBJECT("a", "w", 1, "")),
     "ns/a ->u.1* ns/a u.1*>- ns/a ->w.1 "},
    {"a backup was restored", NULL, OBJECT("a", "u", 1, ""),
     EVENT("MODIFIED", OBJECT_AT("100", "a", "u", 1, ""))
         EVENT("MODIFIED", OBJECT_AT("99", "a", "u", 1, "")),
     "ns/a ->u.1* ns/a u.1>u.1 "},
    {"deleted past its finalizer", NULL, OBJECT("a", "u", 1, ""),
     EVENT("MODIFIED", OBJECT("a", "u", 1, KEPT)) EVENT("DELETED", OBJECT("a", "u", 1, KEPT)),
     "ns/a ->u.1* ns/a u.1^>- "},
    {"its finalizer was taken off", NULL, OBJECT("a", "u", 1, KEPT),
     EVENT("MODIFIED", OBJECT("a", "u", 1, "")) EVENT("DELETED", OBJECT("a", "u", 1, "")),
     "ns/a ->u.1* ns/a u.1>- "},
    {"its finalizer was taken off while it was deleted", NULL, OBJECT("a", "u", 1, KEPT DELETING),
     EVENT("DELETED", OBJECT("a", "u", 1, KEPT DELETING)), "ns/a ->u.1!* ns/a u.1!*>- "},
    {"it may have left the selector", "a=b", OBJECT("a", "u", 1, KEPT),
     EVENT("DELETED", OBJECT("a", "u", 1, KEPT)), "ns/a ->u.1* ns/a u.1*>- "},
};

static bool has_ended(struct changes *changes)
{
    bool result;

    pthread_mutex_lock(&changes->lock);
    result = strstr(changes->text.data, "ns/end") != NULL;
    pthread_mutex_unlock(&changes->lock);
    return result;
}

static void follow(const struct row *row)
{
    _cleanup_free_ char *list = str_printf(LIST("%s"), row->list);
    _cleanup_free_ char *events =
        str_printf("%s%s", row->events, EVENT("ADDED", OBJECT("end", "e", 1, "")));
    const struct fake_step steps[] = {
        {.expect =
             row->selector ? "GET /api/v1/c?labelSelector=a%3Db&" : "GET /api/v1/c?limit=500 ",
         .status = 200,
         .body = list},
        {.expect = row->selector ? "GET /api/v1/c?labelSelector=a%3Db&" : "GET /api/v1/c?watch=1&",
         .status = 200,
         .body = events,
         .end = FAKE_HOLD}};
    struct changes changes = {.text = BUF_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct informer_config config = {.ref = {.kind = &harness_things},
                                     .selector = {.labels = row->selector},
                                     .on_change = on_change,
                                     .arg = &changes};
    _cleanup_free_ char *expected = str_printf("%sns/end ->e.1 ", row->expected), *head = NULL;
    struct informer *informer;

    harness_start(&changes.harness, steps, ARRAY_SIZE(steps), NULL);
    config.client = changes.harness.client;
    informer = informer_new(&config, NULL);
    for (unsigned i = 0; i < 60000 && !has_ended(&changes); i++)
        usleep(1000);
    EXPECT(informer_synced(informer), row->note);
    informer_free(informer);
    EXPECT_STR(changes.text.data, expected, row->note);
    head = fake_server_request(changes.harness.server, 0);
    EXPECT(head && strstr(head, "as=PartialObjectMetadataList"), "metadata only");
    harness_stop(&changes.harness, true);
    buf_done(&changes.text);
}

static void tells_what_counts(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        follow(&rows[i]);
}

static void is_not_synced_without_a_list(void)
{
    static const struct fake_step step = {.status = 200, .body = "{", .end = FAKE_HOLD};
    struct changes changes = {.text = BUF_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct informer_config config = {
        .ref = {.kind = &harness_things}, .on_change = on_change, .arg = &changes};
    struct informer *informer;

    harness_start(&changes.harness, &step, 1, NULL);
    config.client = changes.harness.client;
    informer = informer_new(&config, NULL);
    EXPECT(fake_server_wait(changes.harness.server, 1), "asked");
    EXPECT(!informer_synced(informer), "the list has not ended");
    informer_free(informer);
    harness_stop(&changes.harness, true);
    EXPECT_STR(changes.text.data, "", "nothing");
}

static void tells_why_it_is_not_synced(void)
{
    static const struct {
        const char *note, *absent, *body, *expected;
        int status;
    } outages[] = {
        {"not served", "is it installed?", "404 page not found",
         "NotServed (the log has the message)", 404},
        {"not served, and no more to say", NULL, "404 page not found",
         "NotServed (the log has the message)", 404},
        {"no right", "is it installed?",
         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Forbidden\",\"message\":"
         "\"no\",\"code\":403}",
         "Forbidden (the log has the message)", 403},
    };

    for (size_t i = 0; i < ARRAY_SIZE(outages); i++) {
        struct fake_step step = {
            .status = outages[i].status, .body = outages[i].body, .repeat = true};
        struct changes changes = {.text = BUF_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};
        struct informer_config config = {.ref = {.kind = &harness_things},
                                         .on_change = on_change,
                                         .arg = &changes,
                                         .absent = outages[i].absent};
        _cleanup_buf_ struct buf why = BUF_INIT;
        struct informer *informer;

        harness_start(&changes.harness, &step, 1, NULL);
        config.client = changes.harness.client;
        informer = informer_new(&config, NULL);
        EXPECT(fake_server_wait(changes.harness.server, 2), outages[i].note);
        informer_describe_outage(informer, &why);
        EXPECT(str_has_suffix(why.data, outages[i].expected), why.data);
        informer_free(informer);
        harness_stop(&changes.harness, true);
    }
}

SUITE(informer, TEST(tells_why_it_is_not_synced), TEST(tells_what_counts),
      TEST(is_not_synced_without_a_list))
