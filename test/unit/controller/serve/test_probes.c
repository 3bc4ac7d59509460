#include "controller/serve/probes.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

static bool yes(void *arg, struct buf *why_not)
{
    (void)arg, (void)why_not;
    return true;
}

static bool no(void *arg, struct buf *why_not)
{
    (void)arg;
    buf_add_str(why_not, "nobody answers");
    return false;
}

static bool no_idea(void *arg, struct buf *why_not)
{
    (void)arg, (void)why_not;
    return false;
}

static bool at_work(void *arg, struct buf *text)
{
    (void)arg;
    buf_add_str(text, "it works");
    return true;
}

static const struct row {
    const char *path;
    struct probes probes;
    unsigned status;
    const char *body;
} rows[] = {
    {"/healthz", {NULL, no, NULL}, 200, "ok"},
    {"/healthz", {yes, no, NULL}, 200, "ok"},
    {"/healthz", {no, yes, NULL}, 503, "not ok: nobody answers\n"},
    {"/readyz", {no, NULL, NULL}, 200, "ok"},
    {"/readyz", {no, yes, NULL}, 200, "ok"},
    {"/readyz", {yes, no, NULL}, 503, "not ok: nobody answers\n"},
    {"/readyz", {no, at_work, NULL}, 200, "ok: it works\n"},
    {"/readyz", {yes, no_idea, NULL}, 503, "not ok\n"},
    {"/metrics", {yes, yes, NULL}, 404, "not found\n"},
    {"/healthz/", {yes, yes, NULL}, 404, "not found\n"},
};

static void answers_probes(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct probes probes = rows[i].probes;
        _cleanup_buf_ struct buf body = BUF_INIT;

        EXPECT_INT(probes_answer(&probes, rows[i].path, &body), rows[i].status, rows[i].path);
        EXPECT_STR(body.data, rows[i].body, rows[i].path);
    }
}

SUITE(probes, TEST(answers_probes))
