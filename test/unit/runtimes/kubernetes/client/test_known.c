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

static void so_much_is_remembered_of_anybodys_server(void)
{
    _cleanup_free_ char *longest = str_printf("%01024d", 0), *longer = str_printf("%01025d", 0);
    struct known known;
    struct buf gone = BUF_INIT;
    char name[16];

    known_init(&known);
    known.is_bounded = true;
    put(&known, longest, "1", &gone);
    put(&known, longer, "1", &gone);
    put(&known, "x", longer, &gone);
    EXPECT_INT(known.objects.count, 1, "of an API's length");
    for (int i = 0; i < KNOWN_MOST + 10; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put(&known, name, "1", &gone);
    }
    EXPECT_INT(known.objects.count, KNOWN_MOST, "and so many");
    known_done(&known);
    buf_done(&gone);
}

SUITE(known, TEST(what_a_list_lacks_is_gone), TEST(so_much_is_remembered_of_anybodys_server))
