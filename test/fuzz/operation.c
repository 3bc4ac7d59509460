/*
 * Operations from end to end, over the worlds in memory of test/unit/engine/operation: Specs whose
 * resources refer to any field of each other, with secrets among them. Each line is a Spec that is
 * applied after the one before; at the end all is destroyed.
 *
 * Three characters are a resource, named a, b, c… in order: its kind (s Secret, t thing of the
 * cloud, else ConfigMap), which of those before it it refers to (a, b, c…; else none), and the
 * field (a digit).
 *
 * A secret, and what was taken from one, is nowhere to be seen; what was applied is not to be
 * applied again; and no fake was lied to (fake_world.h).
 */
#include "engine/base/str.h"
#include "test/fuzz/fuzz.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define SECRET     "hunter2"
#define MOST_SPECS 4
#define MOST_NAMES 8

/* What the stage checks, it checks by these (suite.h). */
CU_BOOL CU_assertImplementation(CU_BOOL value, unsigned line, const char *condition,
                                const char *file, const char *function, CU_BOOL is_fatal);

CU_BOOL CU_assertImplementation(CU_BOOL value, unsigned line, const char *condition,
                                const char *file, const char *function, CU_BOOL is_fatal)
{
    (void)function;
    (void)is_fatal;
    expect_true(value, condition, "", file, (int)line);
    return value;
}

void expect_true(int condition, const char *what, const char *note, const char *file, int line)
{
    if (!condition)
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, note);
    must(condition);
}

void expect_int(long long actual, long long expected, const char *note, const char *file, int line)
{
    expect_true(actual == expected, "as expected", note, file, line);
}

void expect_str(const char *actual, const char *expected, const char *note, const char *file,
                int line)
{
    expect_true(str_equal(actual, expected), "as expected", note, file, line);
}

/* ---- Specs ---- */

static bool is_thing(const char *line, size_t index)
{
    return line[index * 3] == 't';
}

static void add_kind(struct buf *to, const char *line, size_t index)
{
    if (line[index * 3] == 's')
        buf_printf(to, "Secret/%c=" SECRET "%zu", (char)('a' + index), index);
    else if (is_thing(line, index))
        buf_printf(to, "Cloud/%c=1", (char)('a' + index));
    else
        buf_printf(to, "%c=1", (char)('a' + index));
}

/* Of an object, and of a thing. Not all are there. */
static void add_field(struct buf *to, bool is_of_thing, char which)
{
    static const char *const of_objects[] = {".data.x",     ".status.address", ".metadata.name",
                                             ".data",       ".data.ref",       ".kind",
                                             ".data.ref.x", ".data.none"};
    static const char *const of_things[] = {".x", ".address", ".ref",   ".secret",
                                            ".x", ".id",      ".ref.x", ".none"};

    buf_add_str(to, (is_of_thing ? of_things : of_objects)[(unsigned char)which % 8]);
}

static char *spec_of(const char *line)
{
    size_t count = strlen(line) / 3;
    struct buf text = BUF_INIT;

    buf_init(&text, 0);
    for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
        size_t other = (size_t)(unsigned char)line[i * 3 + 1] - 'a';

        buf_add_str(&text, i ? " " : "");
        add_kind(&text, line, i);
        if (other >= i)
            continue;
        buf_printf(&text, "@%c", (char)('a' + other));
        add_field(&text, is_thing(line, other), line[i * 3 + 2]);
    }
    return buf_take(&text);
}

/* ---- What must hold ---- */

static void check_hidden(struct stage *stage)
{
    _cleanup_free_ char *open = fake_store_open_text(&stage->store);
    const char *const seen[] = {open,
                                stage->results.data,
                                stage->actions.data,
                                stage->planned.data,
                                stage->diffs.data,
                                stage->reasons.data,
                                stage->causes.data,
                                stage->error.message,
                                stage_log(stage)};

    for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
        if (seen[i] && strstr(seen[i], SECRET))
            fprintf(stderr, "it is seen: %s\n", seen[i]);
        must(!seen[i] || !strstr(seen[i], SECRET));
    }
}

static void apply(struct stage *stage, const char *spec)
{
    int r;

    stage_plan(stage, spec);
    check_hidden(stage);
    r = stage_apply(stage, spec);
    check_hidden(stage);
    if (r < 0)
        return;
    must(stage_plan(stage, spec) == 0);
    check_hidden(stage);
    if (strstr(stage->planned.data, "update") || strstr(stage->planned.data, "create"))
        fprintf(stderr, "applied: %s, but planned again: %s\n", spec, stage->planned.data);
    must(!strstr(stage->planned.data, "update") && !strstr(stage->planned.data, "create"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.thorough = size % 2;
    for (size_t i = 0; size && i < MOST_SPECS; i++) {
        _cleanup_free_ char *line = take_line(&data, &size), *spec = spec_of(line);

        apply(&stage, spec);
    }
    must(stage_destroy(&stage) == 0);
    check_hidden(&stage);
    return 0;
}
