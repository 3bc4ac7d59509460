/* Which objects carry the Spec's label, asked kind by kind. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define PAGE(next, items)                                                                       \
    "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"" next "\"},\"i" \
    "tems\":[" items "]}"
#define EXPIRED   STATUS(410, "Expired", "too old", "{}")
#define OWNED     "?labelSelector=api.kusion.io%2Fowner%3D" STAGE_OWNER "&limit=500"
#define MAPS_HERE "GET " MAPS OWNED " "
#define MAPS_NEXT "GET " MAPS OWNED "&continue=t1 "
#define IDS(...)    \
    {               \
        __VA_ARGS__ \
    }

/* "id listed, id not listed", in the order of the answer. */
static char *show(const struct value *found)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < value_count(found); i++) {
        const struct value *one = value_at(found, i);

        buf_printf(&text, "%s%s%s", i ? " " : "", value_get_string(one, "id"),
                   value_bool(value_get(one, "listed"), false) ? "" : "?");
    }
    return buf_take(&text);
}

static void lists_what_carries_the_label(void)
{
    static const struct {
        const char *note, *ids[3];
        struct fake_step steps[MAX_STEPS];
        const char *found; /* NULL: an error */
    } rows[] = {
        {"also what no id names; not what is gone",
         IDS("v1:ConfigMap:team:a", "v1:ConfigMap:team:gone"),
         {DISCOVERY,
          {.expect = MAPS_HERE, .status = 200, .body = PAGE("", ITEM("a") "," ITEM("b"))}},
         "v1:ConfigMap:team:a v1:ConfigMap:team:b"},
        /* A broken page is read again from its beginning; the items' documents are gone by then. */
        {"once each, though a page broke off",
         IDS("v1:ConfigMap:team:a"),
         {DISCOVERY,
          {.expect = MAPS_HERE,
           .status = 200,
           .body = PAGE("", ITEM("a") "," ITEM("b")),
           .end = FAKE_BREAK},
          {.expect = MAPS_HERE, .status = 200, .body = PAGE("", ITEM("a") "," ITEM("b"))}},
         "v1:ConfigMap:team:a v1:ConfigMap:team:b"},
        {"once each, though the list began anew",
         IDS("v1:ConfigMap:team:a"),
         {DISCOVERY,
          {.expect = MAPS_HERE, .status = 200, .body = PAGE("t1", ITEM("a") "," ITEM("b"))},
          {.expect = MAPS_NEXT, .status = 410, .body = EXPIRED},
          {.expect = MAPS_HERE,
           .status = 200,
           .body = PAGE("", ITEM("a") "," ITEM("b") "," ITEM("c"))}},
         "v1:ConfigMap:team:a v1:ConfigMap:team:b v1:ConfigMap:team:c"},
        {"the ids themselves where the account may not list",
         IDS("v1:ConfigMap:team:a", "v1:ConfigMap:team:b"),
         {DISCOVERY, {.expect = MAPS_HERE, .status = 403, .body = DENIED}},
         "v1:ConfigMap:team:a? v1:ConfigMap:team:b?"},
        {"an answer that may be another one soon",
         IDS("v1:ConfigMap:team:a"),
         {DISCOVERY,
          {.expect = MAPS_HERE, .status = 400, .body = STATUS(400, "BadRequest", "no", "{}")}},
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
        _cleanup_value_ const struct value *ids = NULL, *found = NULL;
        _cleanup_free_ char *text = NULL;
        struct call call;
        int r;

        value_begin_array(b);
        for (size_t n = 0; n < ARRAY_SIZE(rows[i].ids) && rows[i].ids[n]; n++)
            value_add_string(b, rows[i].ids[n]);
        value_end_array(b);
        EXPECT_INT(value_builder_finish(b, &ids, NULL), 0, rows[i].note);
        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        r = kube_list_own(call.session, ids, &stage_call, &found, &call.stage.error);
        text = show(found);
        EXPECT(rows[i].found ? r == 0 : r < 0, rows[i].note);
        EXPECT_STR(text, rows[i].found ? rows[i].found : "", rows[i].note);
        for (size_t n = 1; n < count_steps(rows[i].steps); n++)
            EXPECT(call_impersonates(&call, n), rows[i].note);
        call_end(&call);
    }
}

static void takes_its_time(void *arg)
{
    struct call *call = arg;

    call->stage.clock.monotonic += 150;
}

/* A second is not enough for 8 lists: each that was answered gives the others some more. */
static void many_lists_have_more_time(void)
{
    struct call call;
    const struct fake_step steps[] = {DISCOVERY,
                                      {.expect = "GET /api/v1/namespaces/space-",
                                       .status = 200,
                                       .body = PAGE("", ITEM("a")),
                                       .come = takes_its_time,
                                       .arg = &call,
                                       .repeat = true}};
    const struct runtime_call second = {.deadline = FAKE_CLOCK_START + 1000};
    _cleanup_value_ const struct value *ids = NULL, *found = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    int r;

    value_begin_array(b);
    for (int i = 0; i < 8; i++) {
        _cleanup_free_ char *id = str_printf("v1:ConfigMap:space-%d:a", i);

        value_add_string(b, id);
    }
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &ids, NULL), 0, "ids");
    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    r = kube_list_own(call.session, ids, &second, &found, &call.stage.error);
    EXPECT_INT(r, 0, call.stage.error.message);
    EXPECT_INT((long long)value_count(found), 8, "one of each list");
    call_end(&call);
}

SUITE(list_own, TEST(lists_what_carries_the_label), TEST(many_lists_have_more_time))
