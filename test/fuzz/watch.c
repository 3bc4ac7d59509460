/*
 * A watch's answer, in pieces of seven bytes, and a list's page: of each event either an object
 * with what a watch needs of it, or an error; the objects that are known are those that
 * came and did not go.
 */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/known.h"
#include "runtimes/kubernetes/client/list_page.h"
#include "runtimes/kubernetes/client/watch_event.h"
#include "test/fuzz/fuzz.h"

#define PIECE 7

static void on_gone(void *arg, const struct value *object)
{
    size_t *gone = arg;

    must(value_get_string(value_get(object, "metadata"), "name"));
    ++*gone;
}

static int take_object(void *arg, const struct value *object, struct error *error)
{
    struct known *known = arg;
    size_t before = known->objects.count, gone = 0;

    if (!value_get_string(value_get(object, "metadata"), "name"))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "an object without a name");
    known_put(known, object, on_gone, &gone);
    must(gone <= 1 && known->objects.count - before <= 1 - gone);
    return 0;
}

static int take_event(void *arg, const struct value *value, struct error *error)
{
    struct known *known = arg;
    struct watch_event event = {0};
    struct error problem = {0};
    int r = watch_event_read(value, &event, &problem);

    must_agree(r, &problem);
    if (r < 0)
        return err_copy(error, &problem);
    must(event.version && event.object == value_get(value, "object"));
    if (event.type == WATCH_EVENT_UPSERT)
        must(take_object(known, event.object, NULL) == 0);
    else if (event.type == WATCH_EVENT_DELETED)
        known_remove(known, event.object);
    return 0;
}

static void follow(struct known *known, const char *text, size_t size)
{
    _cleanup_(json_stream_free_p) struct json_stream *events = json_stream_new(take_event, known);
    struct error error = {0};
    int r = 0;

    for (size_t at = 0; r == 0 && at < size; at += PIECE)
        r = json_stream_add(events, text + at, size - at < PIECE ? size - at : PIECE, &error);
    must_agree(r, &error);
}

static void list(struct known *known, const char *text, size_t size)
{
    struct list_page page;
    struct error error = {0};
    size_t gone = 0;
    int r = 0;

    known_begin_list(known);
    list_page_init(&page, take_object, known, 0);
    for (size_t at = 0; r == 0 && at < size; at += PIECE)
        r = list_page_add(&page, text + at, size - at < PIECE ? size - at : PIECE, &error);
    if (r == 0)
        r = list_page_end(&page, &error);
    must_agree(r, &error);
    if (r == 0) {
        must(page.resource_version);
        known_end_list(known, on_gone, &gone);
    }
    list_page_done(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct known known;

    known_init(&known);
    follow(&known, (const char *)data, size);
    list(&known, (const char *)data, size);
    known_done(&known);
    return 0;
}
