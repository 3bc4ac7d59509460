#include "engine/value/json.h"
#include "runtimes/kubernetes/client/watch_event.h"
#include "test/unit/suite.h"

#define OBJECT "\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}"

static void reads_events(void)
{
    static const struct {
        const char *text;
        int code;
        enum watch_event_type type;
    } rows[] = {
        {"{\"type\":\"ADDED\"," OBJECT "}", 0, WATCH_EVENT_UPSERT},
        {"{\"type\":\"MODIFIED\"," OBJECT "}", 0, WATCH_EVENT_UPSERT},
        {"{\"type\":\"DELETED\"," OBJECT "}", 0, WATCH_EVENT_DELETED},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}", 0,
         WATCH_EVENT_BOOKMARK},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}", ERR_INTERNAL,
         0},
        {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
         ERR_INTERNAL, 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", ERR_INTERNAL, 0},
        {"{\"type\":\"added\"," OBJECT "}", ERR_INTERNAL, 0},
        {"{" OBJECT "}", ERR_INTERNAL, 0},
        {"{\"type\":\"ADDED\"}", ERR_INTERNAL, 0},
        {"7", ERR_INTERNAL, 0},
        {"{\"type\":\"ERROR\"," OBJECT "}", ERR_INTERNAL, 0},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
         "\"reason\":\"Expired\",\"code\":410}}",
         ERR_GONE, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        struct watch_event event = {0};
        struct error error = {0};

        json_read_str(rows[i].text, &value, NULL);
        EXPECT_INT(watch_event_read(value, &event, &error), rows[i].code, rows[i].text);
        EXPECT_INT(error.code, rows[i].code, rows[i].text);
        EXPECT_STR(event.version, rows[i].code ? NULL : "7", rows[i].text);
        EXPECT_INT(event.type, rows[i].type, rows[i].text);
    }
}

SUITE(watch_event, TEST(reads_events))
