/* What a watch remembers, and how much of a server that may be anybody's. */
#include "runtimes/kubernetes/client/known.h"

#include <stdio.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

static void note_gone(void *arg, const struct value *object)
{
    const char *name = value_string(value_path(object, "metadata", "name", NULL));

    buf_printf(arg, "%s ", name);
}

static void put(struct known *known, const char *name, const char *uid, struct buf *gone)
{
    _cleanup_value_ const struct value *object =
        value_pack("{s:{s:s, s:s, s:s}}", "metadata", "namespace", "a", "name", name, "uid", uid);

    known_put(known, object, note_gone, gone);
}

static void what_a_list_lacks_is_gone(void)
{
    struct known known;
    struct buf gone = BUF_INIT;

    known_init(&known);
    known_begin_list(&known);
    put(&known, "x", "1", &gone);
    put(&known, "y", "2", &gone);
    put(&known, "x", "3", &gone);
    EXPECT_STR(gone.data, "x ", "another of the name");
    known_begin_list(&known);
    put(&known, "x", "3", &gone);
    known_end_list(&known, note_gone, &gone);
    EXPECT_STR(gone.data, "x y ", "not in the list");
    known_done(&known);
    buf_done(&gone);
}

/* More than there is room for. */
static void put_all(struct known *known, struct buf *gone)
{
    char name[16];

    for (unsigned i = 0; i < KNOWN_BYTES / 50; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        put(known, name, "1", gone);
    }
}

/* A server of somebody else's may give names of any length. */
static void so_much_is_remembered_for_tenants(void)
{
    _cleanup_free_ char *longest = str_printf("%0*d", KNOWN_BYTES, 0);
    struct known known;
    struct buf gone = BUF_INIT;
    size_t count;

    known_init(&known);
    known.is_bounded = true;
    put(&known, longest, "1", &gone);
    put(&known, "x", longest, &gone);
    EXPECT_INT(known.objects.count, 0, "too long");
    put_all(&known, &gone);
    count = known.objects.count;
    EXPECT(count > 1000 && count < KNOWN_BYTES / 50, "as many as there is room for");
    known_begin_list(&known);
    put_all(&known, &gone);
    known_end_list(&known, note_gone, &gone);
    EXPECT_INT(gone.length, 0, "all are still there");
    known_begin_list(&known);
    known_end_list(&known, note_gone, &gone);
    EXPECT_INT(known.objects.count, 0, "none is there any more");
    EXPECT_INT(known.bytes, 0, "and nothing is counted");
    put(&known, "y", "1", &gone);
    put(&known, "y", "2", &gone);
    EXPECT_INT(known.objects.count, 1, "there is room again");
    known_done(&known);
    buf_done(&gone);
}

SUITE(known, TEST(what_a_list_lacks_is_gone), TEST(so_much_is_remembered_for_tenants))
