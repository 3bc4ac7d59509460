#include "controller/core/event_queue.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define CAPACITY 4

/* "a1" is the event 1 of the namespace a. */
static struct event *event_of(const char *text)
{
    struct event *event = NEW(struct event);

    event->namespace_name = str_new_n(text, 1);
    event->body = value_pack("s", text);
    return event;
}

static void note(struct buf *to, struct event *event)
{
    buf_printf(to, "%s ", value_string(event->body));
    event_free(event);
}

static void namespaces_take_turns_and_drop_their_own(void)
{
    static const struct {
        const char *note, *pushed, *dropped, *sent;
    } rows[] = {
        {"none", "", "", ""},
        {"the oldest first", "a1 a2 a3", "", "a1 a2 a3 "},
        {"by turns", "a1 a2 a3 b1", "", "a1 b1 a2 a3 "},
        {"one that floods drops its own", "b1 a1 a2 a3 a4 a5", "a1 a2 ", "b1 a3 a4 a5 "},
        {"for others, too", "a1 a2 a3 a4 b1 b2", "a1 a2 ", "a3 b1 a4 b2 "},
        {"as many each: the one whose turn is next", "a1 b1 c1 d1 e1", "a1 ", "b1 c1 d1 e1 "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf dropped = BUF_INIT, sent = BUF_INIT;
        struct event_queue queue;
        struct event *event;
        char name[3] = "";

        event_queue_init(&queue, CAPACITY);
        for (const char *at = rows[i].pushed; *at; at += at[2] ? 3 : 2) {
            memcpy(name, at, 2);
            if ((event = event_queue_push(&queue, event_of(name))))
                note(&dropped, event);
        }
        while ((event = event_queue_pop(&queue)))
            note(&sent, event);
        EXPECT_STR(dropped.data, rows[i].dropped, rows[i].note);
        EXPECT_STR(sent.data, rows[i].sent, rows[i].note);
        EXPECT_INT((long long)queue.count, 0, rows[i].note);
        event_queue_done(&queue);
    }
}

static void what_is_left_is_freed(void)
{
    struct event_queue queue;

    event_queue_init(&queue, CAPACITY);
    event_free(event_queue_push(&queue, event_of("a1")));
    event_free(event_queue_push(&queue, event_of("b1")));
    event_queue_done(&queue);
}

SUITE(event_queue, TEST(namespaces_take_turns_and_drop_their_own), TEST(what_is_left_is_freed))
