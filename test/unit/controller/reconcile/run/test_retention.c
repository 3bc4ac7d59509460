/* Which Releases are kept. */
#include "controller/reconcile/run/retention.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

static void chooses_which_go(void)
{
    static const struct {
        int64_t revisions[6]; /* newest first, until 0 */
        int64_t limit, last_applied;
        const char *go;
    } rows[] = {
        {{0}, 3, 0, ""},
        {{1}, 0, 0, ""},
        {{3, 2, 1}, 3, 3, ""},
        {{3, 2, 1}, 2, 3, "1 "},
        {{3, 2, 1}, 1, 3, "1 2 "},
        {{3, 2, 1}, 0, 3, "1 2 "},
        {{9, 7, 4, 2, 1}, 3, 9, "1 2 "},
        /* The last one that succeeded stays, and counts. */
        {{5, 4, 3, 2, 1}, 3, 1, "2 3 "},
        {{5, 4, 3, 2, 1}, 2, 1, "2 3 4 "},
        {{5, 4, 3, 2, 1}, 1, 1, "2 3 4 "},
        {{5, 4, 3, 2, 1}, 0, 2, "1 3 4 "},
        {{5, 4, 3, 2, 1}, 5, 1, ""},
        /* Somebody deleted it. */
        {{5, 4, 3}, 2, 1, "3 "},
        {{5, 4, 3}, 2, 0, "3 "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_revisions_done) struct release_revisions revisions = {0};
        _cleanup_buf_ struct buf text = BUF_INIT;
        int64_t gone[6];
        size_t n;

        for (size_t r = 0; r < ARRAY_SIZE(rows[i].revisions) && rows[i].revisions[r]; r++)
            release_revisions_add(&revisions, rows[i].revisions[r], NULL);
        n = retention_choose(&revisions, rows[i].limit, rows[i].last_applied, gone);
        buf_add_str(&text, "");
        for (size_t r = 0; r < n; r++)
            buf_printf(&text, "%lld ", (long long)gone[r]);
        EXPECT_STR(text.length ? text.data : "", rows[i].go, "they go, oldest first");
    }
}

SUITE(retention, TEST(chooses_which_go))
