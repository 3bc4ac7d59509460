#include "cli/input/input.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static void add(struct input *input, const char *text)
{
    struct error error = {0};

    EXPECT_INT(input_add_text(input, "a.yaml", text, strlen(text), &error), 0, error.message);
}

static struct yaml_mark find(const struct input *input, size_t document, const char *path)
{
    struct place_wanted wanted = {.path = path};

    input_find(&input->documents[document], &wanted, 1);
    return wanted.mark;
}

#define EXPECT_MARK(input, document, path, at_line, at_column)                     \
    do {                                                                           \
        EXPECT_INT(find((input), (document), (path)).line, (at_line), (path));     \
        EXPECT_INT(find((input), (document), (path)).column, (at_column), (path)); \
    } while (0)

static void documents_of_yaml_know_their_places(void)
{
    _cleanup_(input_done) struct input input = INPUT_INIT;

    add(&input, "# one\nkind: A\nspec:\n  list: [1, 2]\n---\n---\nkind: B\nspec: {a: 1}\n");
    CU_ASSERT_EQUAL_FATAL(input.count, 2);
    EXPECT_MARK(&input, 0, "", 2, 1);
    EXPECT_MARK(&input, 0, "spec.list[1]", 4, 13);
    EXPECT_MARK(&input, 1, "", 7, 1);
    EXPECT_MARK(&input, 1, "spec.a", 8, 8);
    EXPECT_MARK(&input, 1, "spec.b.c", 8, 1);
}

/* YAML has more ends of lines than LF. */
static void documents_after_other_ends_of_lines_know_their_places(void)
{
    static const char *const ends[] = {"\r", "\r\n", "\xc2\x85", "\xe2\x80\xa8"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        _cleanup_(input_done) struct input input = INPUT_INIT;
        _cleanup_free_ char *text =
            str_printf("a: 1%s---%sb:%s  c: 2%s", ends[i], ends[i], ends[i], ends[i]);

        add(&input, text);
        CU_ASSERT_EQUAL_FATAL(input.count, 2);
        EXPECT_MARK(&input, 1, "", 3, 1);
        EXPECT_MARK(&input, 1, "b.c", 4, 3);
    }
}

static void documents_of_json_know_their_places(void)
{
    _cleanup_(input_done) struct input input = INPUT_INIT;

    add(&input, "\n{\"a\": [1, {\"é\\ud83d\\ude42\": {\"b\": \"}\"}}]}  {\"c\":\n {\"d\": 1}}");
    CU_ASSERT_EQUAL_FATAL(input.count, 2);
    EXPECT_MARK(&input, 0, "", 2, 1);
    EXPECT_MARK(&input, 0, "a", 2, 2);
    EXPECT_MARK(&input, 0, "a[1]", 2, 11);
    EXPECT_MARK(&input, 0, "a[1].é🙂.b", 2, 30);
    EXPECT_MARK(&input, 0, "a[2]", 2, 2);
    EXPECT_MARK(&input, 1, "", 2, 44);
    EXPECT_MARK(&input, 1, "c", 2, 45);
    EXPECT_MARK(&input, 1, "c.d", 3, 3);
}

static void yaml_in_braces_is_yaml(void)
{
    _cleanup_(input_done) struct input input = INPUT_INIT;

    add(&input, "{a: [1], b: c}");
    CU_ASSERT_EQUAL_FATAL(input.count, 1);
    EXPECT_MARK(&input, 0, "b", 1, 10);
    add(&input, "\xef\xbb\xbf"
                "a: 1\n");
    CU_ASSERT_EQUAL_FATAL(input.count, 2);
}

static void what_cannot_be_read_names_its_place(void)
{
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } table[] = {
        {"a: b\n\tc: d\n", 0, "a.yaml:2:1: "},
        {"a: 1\nb: 2\na: 3\n", 0, "a.yaml:3:1: the key \"a\" occurs twice, first on line 1"},
        {"{\"a\": 1, \"a\": 2}", 0, "a.yaml:1:10: the key \"a\" occurs twice"},
        {"a: 1\nb\0c", 8, "a.yaml:2:2: a NUL"},
        {"a: !!binary aGk=", 0, "a.yaml:1:4: "},
        {"a: &a [*a]", 0, "a.yaml:1:8: "},
        {"a: \xff", 0, "a.yaml:1:4: "},
        {"{\"a\": [", 0, "a.yaml:2:1: while parsing"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        _cleanup_(input_done) struct input input = INPUT_INIT;
        struct error error = {0};
        size_t length = table[i].length ? table[i].length : strlen(table[i].text);

        EXPECT(input_add_text(&input, "a.yaml", table[i].text, length, &error) < 0, table[i].text);
        EXPECT(str_has_prefix(error.message, table[i].message), error.message);
    }
}

static void problems_are_kept_if_wanted(void)
{
    _cleanup_(input_done) struct input input = {.keeps_problems = true};

    add(&input, "a: [\n");
    add(&input, "a: 1\n");
    CU_ASSERT_EQUAL_FATAL(input.n_problems, 1);
    CU_ASSERT_EQUAL_FATAL(input.count, 1);
    EXPECT_INT(input.problems[0].mark.line, 2, input.problems[0].message);
    EXPECT_STR(input.problems[0].file, "a.yaml", "the file");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void folders_are_read_by_name(void)
{
    char folder[] = "/tmp/kusion-input-XXXXXX";
    _cleanup_free_ char *below = NULL, *clean = NULL, *loop = NULL;
    struct error error = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    below = str_printf("%s/below", folder);
    loop = str_printf("%s/below/loop", folder);
    EXPECT_INT(mkdir(below, 0700), 0, "mkdir");
    EXPECT_INT(symlink(folder, loop), 0, "symlink");
    write_file(folder, "b.yaml", "b: 1");
    write_file(folder, "a.json", "{\"a\":1}{\"z\":1}");
    write_file(folder, "notes.txt", "{");
    write_file(below, "c.yml", "c: 1");
    for (int recursive = 0; recursive < 2; recursive++) {
        _cleanup_(input_done) struct input input = INPUT_INIT;
        _cleanup_buf_ struct buf keys = BUF_INIT;

        EXPECT_INT(input_add(&input, folder, recursive ? INPUT_RECURSIVE : INPUT_FLAT, &error), 0,
                   error.message);
        for (size_t i = 0; i < input.count; i++)
            buf_add_str(&keys, value_member_key(input.documents[i].value, 0, NULL));
        EXPECT_STR(keys.data, recursive ? "azbc" : "azb", "order");
    }
    {
        _cleanup_(input_done) struct input input = INPUT_INIT;

        EXPECT_INT(input_add(&input, "/nowhere.yaml", INPUT_FLAT, &error), ERR_NOT_FOUND, "");
        EXPECT_STR(error.message, "/nowhere.yaml: No such file or directory", "");
    }
    clean = str_printf("%s/a.json", folder), unlink(clean);
    free(clean), clean = str_printf("%s/b.yaml", folder), unlink(clean);
    free(clean), clean = str_printf("%s/notes.txt", folder), unlink(clean);
    free(clean), clean = str_printf("%s/c.yml", below), unlink(clean);
    unlink(loop), rmdir(below), rmdir(folder);
}

SUITE(input, TEST(documents_of_yaml_know_their_places),
      TEST(documents_after_other_ends_of_lines_know_their_places),
      TEST(documents_of_json_know_their_places), TEST(yaml_in_braces_is_yaml),
      TEST(what_cannot_be_read_names_its_place), TEST(problems_are_kept_if_wanted),
      TEST(folders_are_read_by_name))
