#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "test/unit/suite.h"

static const struct value *sample(void)
{
    const struct value *value = NULL;

    json_read_str("{\"spec\":{\"containers\":[{\"env\":[1,2]},{\"env\":[3]}]},"
                  "\"metadata\":{\"annotations\":{\"example.com/x\":\"y\",\"a]b\":\"z\",\"\":\"e\","
                  "\"q\\\"\\\\\":\"q\",\"0\":\"zero\"}},\"a/b\":{\"m~n\":5}}",
                  &value, NULL);
    return value;
}

static void writes_paths_for_people(void)
{
    _cleanup_value_ const struct value *root = sample();
    struct path path;

    path_init(&path);
    EXPECT_STR(path_text(&path), "", "empty");
    path_push_key(&path, "spec");
    path_push_key(&path, "containers");
    path_push_index(&path, 0);
    path_push_key(&path, "env");
    EXPECT_STR(path_text(&path), "spec.containers[0].env", "keys and indexes");
    for (int i = 0; i < 4; i++)
        path_pop(&path);
    EXPECT_STR(path_text(&path), "", "empty again");
    path_push_key(&path, "metadata");
    path_push_key(&path, "annotations");
    path_push_key(&path, "example.com/x");
    EXPECT_STR(path_text(&path), "metadata.annotations[example.com/x]", "dots");
    path_pop(&path);
    path_push_key(&path, "a]b");
    EXPECT_STR(path_text(&path), "metadata.annotations[\"a]b\"]", "brackets");
    EXPECT_STR(value_string(path_find(root, path_text(&path), NULL)), "z", "found again");
    path_pop(&path);
    path_push_key(&path, "q\"\\");
    EXPECT_STR(value_string(path_find(root, path_text(&path), NULL)), "q", "quotes");
    path_pop(&path);
    path_push_key(&path, "");
    EXPECT_STR(value_string(path_find(root, path_text(&path), NULL)), "e", "an empty key");
    path_done(&path);
}

static void finds_paths(void)
{
    static const struct {
        const char *path, *json; /* NULL: not there */
        size_t reached;
    } rows[] = {
        {"spec.containers[1].env[0]", "3", 25},
        {"spec.containers.1.env.0", "3", 23},
        {"[spec][containers][1]", "{\"env\":[3]}", 21},
        {"metadata.annotations[example.com/x]", "\"y\"", 35},
        {"metadata.annotations[\"example.com/x\"]", "\"y\"", 37},
        {"metadata.annotations[0]", "\"zero\"", 23},
        {"metadata.annotations.0", "\"zero\"", 22},
        {"spec.containers[2].env", NULL, 15},
        {"spec.containers[-1]", NULL, 15},
        {"spec.containers[01]", NULL, 15},
        {"spec.containers[\"0\"]", NULL, 15},
        {"spec.containers[99999999999999999999]", NULL, 15},
        {"spec.nothing.more", NULL, 4},
        {"metadata.annotations.example.com/x", NULL, 20},
        {"nothing", NULL, 0},
        {"", NULL, 0},
        {"spec..containers", NULL, 4},
        {"spec.", NULL, 4},
    };
    _cleanup_value_ const struct value *root = sample();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t reached = 999;
        const struct value *value = path_find(root, rows[i].path, &reached);
        _cleanup_free_ char *text = value ? json_to_str(value) : NULL;

        EXPECT_STR(text, rows[i].json, rows[i].path);
        EXPECT_INT(reached, rows[i].reached, rows[i].path);
    }
    EXPECT(!path_find(NULL, "a", NULL), "no root");
}

static void checks_paths(void)
{
    static const struct {
        const char *path, *message; /* NULL: well formed */
    } rows[] = {
        {"a", NULL},
        {"a.b[0].c", NULL},
        {"[a.b]", NULL},
        {"[\"a]\\\"\"].c", NULL},
        {"a.0", NULL},
        {"", "byte 1: a key that is empty"},
        {".a", "byte 1: a key that is empty"},
        {"a.", "byte 2: a key that is empty"},
        {"a..b", "byte 2: a key that is empty"},
        {"a[", "byte 2: nothing in brackets"},
        {"a[]", "byte 2: nothing in brackets"},
        {"a[b", "byte 2: a bracket that is not closed"},
        {"a[b[c]]", "byte 2: a bracket that is not closed"},
        {"a]", "byte 1: a ] without its ["},
        {"a[0]b", "byte 5: neither . nor [ before a key"},
        {"a[\"b]", "byte 2: a quoted key"},
        {"a[\"b\"", "byte 2: a quoted key"},
        {"a[\"b\\\"]", "byte 2: a quoted key"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(path_check(rows[i].path, &error), rows[i].message == NULL, rows[i].path);
        EXPECT(strstr(error.message, rows[i].message ? rows[i].message : ""), error.message);
    }
}

static void follows_pointers(void)
{
    static const struct {
        const char *pointer, *json, *without; /* NULL: not there, unchanged */
    } rows[] = {
        {"/a/b", NULL, NULL},
        {"/a~1b", "{\"m~n\":5}", "{\"l\":[1,[2],3]}"},
        {"/a~1b/m~0n", "5", "{\"a/b\":{},\"l\":[1,[2],3]}"},
        {"/l/0", "1", "{\"a/b\":{\"m~n\":5},\"l\":[[2],3]}"},
        {"/l/1/0", "2", "{\"a/b\":{\"m~n\":5},\"l\":[1,[],3]}"},
        {"/l/3", NULL, NULL},
        {"/l/-", NULL, NULL},
        {"/l/01", NULL, NULL},
        {"/l/", NULL, NULL},
        {"l", NULL, NULL},
        {"/a~2b", NULL, NULL},
        {"/a~", NULL, NULL},
        {"/", NULL, NULL},
    };
    _cleanup_value_ const struct value *root = NULL;

    json_read_str("{\"a/b\":{\"m~n\":5},\"l\":[1,[2],3]}", &root, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *value = pointer_find(root, rows[i].pointer);
        _cleanup_free_ char *text = value ? json_to_str(value) : NULL, *left = NULL;
        _cleanup_value_ const struct value *without = pointer_replace(root, rows[i].pointer, NULL);
        _cleanup_value_ const struct value *with = pointer_replace(root, rows[i].pointer, root);

        EXPECT_STR(text, rows[i].json, rows[i].pointer);
        left = json_to_str(without);
        if (rows[i].without)
            EXPECT_STR(left, rows[i].without, rows[i].pointer);
        else
            EXPECT(without == root && with == root, rows[i].pointer);
        if (rows[i].json)
            EXPECT(value_equal(pointer_find(with, rows[i].pointer), root), rows[i].pointer);
    }
}

static void replaces_the_root(void)
{
    _cleanup_value_ const struct value *root = sample(), *other = value_pack("[]");
    _cleanup_value_ const struct value *replaced = pointer_replace(root, "", other);

    EXPECT(pointer_find(root, "") == root, "the root");
    EXPECT(replaced == other, "replaced");
    EXPECT(!pointer_replace(root, "", NULL), "removed");
    EXPECT(!pointer_replace(NULL, "/a", other), "nothing to replace in");
}

static void writes_pointers(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    pointer_add(&text, "a/b~c", 5);
    pointer_add(&text, "", 0);
    pointer_add(&text, "d", 1);
    EXPECT_STR(text.data, "/a~1b~0c//d", "escaped");
}

SUITE(path, TEST(writes_paths_for_people), TEST(finds_paths), TEST(checks_paths),
      TEST(follows_pointers), TEST(replaces_the_root), TEST(writes_pointers))
