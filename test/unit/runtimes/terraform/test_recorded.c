/* What State recorded. */
#include "runtimes/terraform/recorded.h"

#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/terraform/finder_stage.h"
#include "test/unit/suite.h"

static struct record record_of(const struct stage *stage, const char *version, const char *h1)
{
    _cleanup_free_ char *address = str_printf("%s/good/random", stage->host);

    return (struct record){.id = "a",
                           .type = "Terraform",
                           .memory = value_pack("{s:s, s:s, s:s}", "provider", address, "version",
                                                version, "hash", h1)};
}

/* State has version 1.0.0 with that hash, and perhaps one more version with another hash. */
static void record(struct stage *stage, const char *h1, const char *other)
{
    struct record records[] = {record_of(stage, "1.0.0", h1), record_of(stage, other, NO_COPY)};

    known_unref(stage->known);
    stage->known =
        known_new((const struct record *const[]){&records[0], &records[1]}, other ? 2 : 1, NULL);
    value_unref(records[0].memory);
    value_unref(records[1].memory);
}

/* While it is down, the registry answers nothing. */
static void set_down(const struct stage *stage, bool is_down)
{
    _cleanup_free_ char *path = str_printf("%s/down", stage->script.folder);
    FILE *file = is_down ? fopen(path, "we") : NULL;

    if (file)
        fclose(file);
    else
        unlink(path);
}

/* The next operator has a copy of the provider, and no registry. *program: free(). */
static void begin_without_registry(struct stage *stage, char **program)
{
    struct found found = {0};

    stage_init(stage);
    CU_ASSERT_FATAL(stage_find(stage, "good", "1.0.0", &found, NULL) == 0);
    *program = str_new(found.program);
    found_done(&found);
    set_down(stage, true);
}

static void the_recorded_version_runs_while_nobody_answers(void)
{
    static const struct {
        const char *note;
        const char *h1, *other; /* recorded; h1: NULL: that of the copy */
        const char *constraint, *allowed, *locked;
        bool will_do;
    } table[] = {
        {.note = "as it was used", .will_do = true},
        {.note = "the constraint is met", .constraint = "~> 1.0.0", .will_do = true},
        {.note = "it is not", .constraint = "1.1.0"},
        {.note = "the flag's is not", .allowed = "> 1.0.0"},
        {.note = "no copy has this hash", .h1 = NO_COPY},
        {.note = "this is no hash", .h1 = "h"},
        {.note = "an older one was used, too", .other = "0.9.0", .will_do = true},
        {.note = "a newer one was used, which has no copy", .other = "1.1.0"},
        {.note = "a newer one will not do",
         .other = "1.1.0",
         .constraint = "< 1.1",
         .will_do = true},
        {.note = "it is locked", .locked = "", .will_do = true},
        {.note = "another hash is locked", .locked = NO_COPY},
    };
    struct stage stage;
    _cleanup_free_ char *program = NULL;

    begin_without_registry(&stage, &program);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(lock_file_free_p) struct lock_file *file = NULL;
        _cleanup_(found_done) struct found found = {0};
        struct error error = {0};
        const char *hash = str_equal(table[i].locked, "") ? stage.h1 : table[i].locked;
        _cleanup_free_ char *text = str_printf(
            "provider \"%s/good/random\" {version=\"1.0.0\" hashes=[\"%s\"]}", stage.host, hash);

        CU_ASSERT_FATAL(!hash || lock_file_read(text, &file, NULL) == 0);
        stage.config.locked = file;
        stage.allowed = table[i].allowed;
        record(&stage, table[i].h1 ? table[i].h1 : stage.h1, table[i].other);
        stage_restart(&stage);
        EXPECT_INT(stage_find(&stage, "good", table[i].constraint, &found, &error),
                   table[i].will_do ? 0 : ERR_UNAVAILABLE, table[i].note);
        EXPECT_STR(error.reason, table[i].will_do ? "" : REMOTE_FAILED, table[i].note);
        EXPECT_STR(found.version, table[i].will_do ? "1.0.0" : NULL, table[i].note);
        EXPECT_INT(found.is_locked, table[i].will_do && hash, table[i].note);
        if (found.package)
            stage_expect(&stage, &found, table[i].note);
        found_done(&found);
        finder_free(TAKE(stage.finder));
    }
    stage_done(&stage);
}

static void a_recorded_version_of_a_copy_that_was_changed_does_not_run(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *program = NULL;

    begin_without_registry(&stage, &program);
    record(&stage, stage.h1, NULL);
    spoil(program);
    stage_restart(&stage);
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == ERR_UNAVAILABLE);
    stage_done(&stage);
}

static void the_source_counts_again_when_it_answers(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *program = NULL;
    int64_t begun = system_clock.monotonic(&system_clock);

    begin_without_registry(&stage, &program);
    record(&stage, stage.h1, NULL);
    stage_restart(&stage);
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_STR(found.version, "1.0.0", "recorded");
    set_down(&stage, false);
    while (!str_equal(found.version, "1.1.0") &&
           system_clock.monotonic(&system_clock) < begun + STAGE_LONG) {
        found_done(&found);
        CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
        usleep(10000);
    }
    EXPECT_STR(found.version, "1.1.0", "the registry's newest");
    found_done(&found);
    stage_done(&stage);
}

SUITE(terraform_recorded, TEST(the_recorded_version_runs_while_nobody_answers),
      TEST(a_recorded_version_of_a_copy_that_was_changed_does_not_run),
      TEST(the_source_counts_again_when_it_answers))
