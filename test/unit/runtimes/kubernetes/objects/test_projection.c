/* What of an object a plan is about. JSON is written with ' for ". */
#include "runtimes/kubernetes/objects/projection.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"
#include "test/unit/suite.h"

/* NULL: nothing. */
static const struct value *value_of(const char *text)
{
    _cleanup_free_ char *json = str_new(text);

    if (!text)
        return NULL;
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return stage_value(json);
}

static void expect_value(const struct value *actual, const char *expected, const char *note)
{
    _cleanup_value_ const struct value *wanted = value_of(expected);
    _cleanup_buf_ struct buf is = BUF_INIT, was = BUF_INIT;

    if (actual)
        json_write(&is, actual, JSON_CANONICAL);
    if (wanted)
        json_write(&was, wanted, JSON_CANONICAL);
    EXPECT_STR(is.data, was.data, note);
}

struct row {
    const char *note;
    const char *live, *after, *own, *was, *sent; /* NULL: nothing; `after`: as live */
    const char *shown_before, *shown_after;      /* NULL: nothing; `shown_after`: as before it */
};

static void project(const struct row *row, struct projection *ret)
{
    _cleanup_value_ const struct value *live = value_of(row->live), *own = value_of(row->own);
    _cleanup_value_ const struct value *after = value_of(row->after ? row->after : row->live);
    _cleanup_value_ const struct value *was = value_of(row->was), *sent = value_of(row->sent);
    const struct projection_input input = {live, after, own, was, sent};

    projection_of(&input, ret);
}

#define X    "'k:{\\'n\\':\\'x\\'}'"
#define Y    "'k:{\\'n\\':\\'y\\'}'"
#define Z    "'k:{\\'n\\':\\'z\\'}'"
#define ITEM "{'.':{},'f:n':{},'f:v':{}}"
#define PORT "'k:{\\'p\\':80,\\'q\\':\\'TCP\\'}'"

static const struct row rows_of_fields[] = {
    {"ours, as it is", "{'a':1,'b':2}", NULL, "{'f:a':{}}", "{'f:a':{}}", "{'a':1}", "{'a':1}",
     NULL},
    {"ours changes", "{'a':1,'b':2}", "{'a':3,'b':2}", "{'f:a':{}}", "{'f:a':{}}", "{'a':3}",
     "{'a':1}", "{'a':3}"},
    {"another's changes", "{'a':1,'b':2}", "{'a':1,'b':9}", "{'f:a':{}}", "{'f:a':{}}", "{'a':1}",
     "{'a':1}", NULL},
    {"a field that we take", "{'a':1,'b':2}", "{'a':1,'b':3}", "{'f:a':{},'f:b':{}}", "{'f:a':{}}",
     "{'a':1,'b':3}", "{'a':1,'b':2}", "{'a':1,'b':3}"},
    {"a new field", "{'a':1}", "{'a':1,'b':3}", "{'f:a':{},'f:b':{}}", "{'f:a':{}}",
     "{'a':1,'b':3}", "{'a':1}", "{'a':1,'b':3}"},
    {"given up, and gone", "{'a':1,'b':2}", "{'a':1}", "{'f:a':{}}", "{'f:a':{},'f:b':{}}",
     "{'a':1}", "{'a':1,'b':2}", "{'a':1}"},
    {"given up, and set to its default", "{'a':1,'b':2}", "{'a':1,'b':0}", "{'f:a':{}}",
     "{'f:a':{},'f:b':{}}", "{'a':1}", "{'a':1,'b':2}", "{'a':1,'b':0}"},
    {"given up, and kept by another", "{'a':1,'b':2}", NULL, "{'f:a':{}}", "{'f:a':{},'f:b':{}}",
     "{'a':1}", "{'a':1}", NULL},
    {"given up with what others have in it", "{'a':1,'b':{'c':1,'d':2}}", "{'a':1}", "{'f:a':{}}",
     "{'f:a':{},'f:b':{'f:c':{}}}", "{'a':1}", "{'a':1,'b':{'c':1,'d':2}}", "{'a':1}"},
    {"in an object of others", "{'m':{'a':1,'b':2}}", "{'m':{'a':3,'b':2}}", "{'f:m':{'f:a':{}}}",
     "{'f:m':{'f:a':{}}}", "{'m':{'a':3}}", "{'m':{'a':1}}", "{'m':{'a':3}}"},
    {"nothing of an object is left", "{'a':1,'m':{'b':2}}", NULL, "{'f:a':{}}",
     "{'f:a':{},'f:m':{'f:b':{}}}", "{'a':1}", "{'a':1}", NULL},
    {"an atomic object, with its defaults", "{'s':{'a':1,'d':0}}", "{'s':{'a':2,'d':0}}",
     "{'f:s':{}}", "{'f:s':{}}", "{'s':{'a':2}}", "{'s':{'a':1,'d':0}}", "{'s':{'a':2,'d':0}}"},
    {"a value that the server writes otherwise", "{'c':'500m'}", NULL, "{'f:c':{}}", "{'f:c':{}}",
     "{'c':0.5}", "{'c':'500m'}", NULL},
    {"sent empty, with content of others", "{'m':{'b':1}}", NULL, "{'f:m':{}}", "{'f:m':{}}",
     "{'m':{}}", NULL, NULL},
    {"sent as null, with content of others", "{'m':{'b':1}}", NULL, "{'f:m':{}}", "{'f:m':{}}",
     "{'m':null}", NULL, NULL},
    {"sent empty, and it empties what is there", "{'m':{'b':1}}", "{'m':{}}", "{'f:m':{}}",
     "{'f:m':{}}", "{'m':{}}", "{'m':{'b':1}}", "{'m':{}}"},
    {"sent with a value that counts as none", "{'a':1}", NULL, "{'f:a':{},'f:e':{}}", "{'f:a':{}}",
     "{'a':1,'e':''}", "{'a':1}", NULL},
    {"another type than the fields say", "{'m':[1]}", "{'m':{'a':1}}", "{'f:m':{'f:a':{}}}",
     "{'f:m':{'f:a':{}}}", "{'m':{'a':1}}", "{'m':[1]}", "{'m':{'a':1}}"},
    {"it was an object, and is null", "{'m':{'a':1}}", "{'m':null}", "{'f:m':{}}",
     "{'f:m':{'.':{},'f:a':{}}}", "{'m':null}", "{'m':{'a':1}}", "{'m':null}"},
    {"a name of any bytes", "{'f:a':1,'.':2}", NULL, "{'f:f:a':{}}", NULL, "{'f:a':1}", "{'f:a':1}",
     NULL},
};

static const struct row rows_of_items[] = {
    {"an item of ours among others", "{'l':[{'n':'w','v':0},{'n':'x','v':1,'o':1}]}",
     "{'l':[{'n':'w','v':0},{'n':'x','v':2,'o':1}]}", "{'f:l':{" X ":" ITEM "}}",
     "{'f:l':{" X ":" ITEM "}}", "{'l':[{'n':'x','v':2}]}", "{'l':[{'n':'x','v':1}]}",
     "{'l':[{'n':'x','v':2}]}"},
    {"another adds an item", "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'w'},{'n':'x','v':1}]}",
     "{'f:l':{" X ":" ITEM "}}", "{'f:l':{" X ":" ITEM "}}", "{'l':[{'n':'x','v':1}]}",
     "{'l':[{'n':'x','v':1}]}", NULL},
    {"an item is added", "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'x','v':1},{'n':'y','v':2}]}",
     "{'f:l':{" X ":" ITEM "," Y ":" ITEM "}}", "{'f:l':{" X ":" ITEM "}}",
     "{'l':[{'n':'x','v':1},{'n':'y','v':2}]}", "{'l':[{'n':'x','v':1}]}",
     "{'l':[{'n':'x','v':1},{'n':'y','v':2}]}"},
    {"the first item of ours", "{}", "{'l':[{'n':'x','v':1}]}", "{'f:l':{" X ":" ITEM "}}", NULL,
     "{'l':[{'n':'x','v':1}]}", NULL, "{'l':[{'n':'x','v':1}]}"},
    {"an item goes, with what others have in it", "{'l':[{'n':'x','v':1},{'n':'y','v':2,'o':3}]}",
     "{'l':[{'n':'x','v':1}]}", "{'f:l':{" X ":" ITEM "}}",
     "{'f:l':{" X ":" ITEM "," Y ":" ITEM "}}", "{'l':[{'n':'x','v':1}]}",
     "{'l':[{'n':'x','v':1},{'n':'y','v':2,'o':3}]}", "{'l':[{'n':'x','v':1}]}"},
    {"an item is given up, and another keeps it", "{'l':[{'n':'x','v':1},{'n':'y','v':2}]}", NULL,
     "{'f:l':{" X ":" ITEM "}}", "{'f:l':{" X ":" ITEM "," Y ":" ITEM "}}",
     "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'x','v':1}]}", NULL},
    {"a field of an item is given up, and gone", "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'x'}]}",
     "{'f:l':{" X ":{'.':{},'f:n':{}}}}", "{'f:l':{" X ":" ITEM "}}", "{'l':[{'n':'x'}]}",
     "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'x'}]}"},
    {"nothing but the item is ours", "{'l':[{'n':'x','v':1}]}", NULL, "{'f:l':{" X ":{'.':{}}}}",
     "{'f:l':{" X ":{'.':{}}}}", "{'l':[{'n':'x'}]}", "{'l':[{'n':'x'}]}", NULL},
    {"an atomic item", "{'l':[{'n':'x','d':0}]}", NULL, "{'f:l':{" X ":{}}}", "{'f:l':{" X ":{}}}",
     "{'l':[{'n':'x'}]}", "{'l':[{'n':'x','d':0}]}", NULL},
    {"our order counts", "{'l':[{'n':'x'},{'n':'w'},{'n':'y'}]}",
     "{'l':[{'n':'y'},{'n':'w'},{'n':'x'}]}", "{'f:l':{" X ":{'.':{}}," Y ":{'.':{}}}}",
     "{'f:l':{" X ":{'.':{}}," Y ":{'.':{}}}}", "{'l':[{'n':'y'},{'n':'x'}]}",
     "{'l':[{'n':'x'},{'n':'y'}]}", "{'l':[{'n':'y'},{'n':'x'}]}"},
    {"where others' items are does not", "{'l':[{'n':'w'},{'n':'x'},{'n':'y'}]}",
     "{'l':[{'n':'x'},{'n':'w'},{'n':'y'}]}", "{'f:l':{" X ":{'.':{}}," Y ":{'.':{}}}}",
     "{'f:l':{" X ":{'.':{}}," Y ":{'.':{}}}}", "{'l':[{'n':'x'},{'n':'y'}]}",
     "{'l':[{'n':'x'},{'n':'y'}]}", NULL},
    {"a key field that the server sets", "{'l':[{'p':80,'q':'TCP','node':3},{'p':80,'q':'UDP'}]}",
     NULL, "{'f:l':{" PORT ":{'.':{},'f:p':{}}}}", "{'f:l':{" PORT ":{'.':{},'f:p':{}}}}",
     "{'l':[{'p':80}]}", "{'l':[{'p':80,'q':'TCP'}]}", NULL},
    {"sent empty in an item without all keys", "{'l':[{'p':80,'q':'TCP','m':{'o':1}}]}", NULL,
     "{'f:l':{" PORT ":{'.':{},'f:p':{},'f:m':{}}}}",
     "{'f:l':{" PORT ":{'.':{},'f:p':{},'f:m':{}}}}",
     "{'l':[{'p':81,'m':{'a':1}},{'p':80,'m':{}}]}", "{'l':[{'p':80,'q':'TCP'}]}", NULL},
    {"of two with one key the first counts", "{'l':[{'n':'x','v':1},{'n':'x','v':2}]}",
     "{'l':[{'n':'x','v':1}]}", "{'f:l':{" X ":" ITEM "}}", "{'f:l':{" X ":" ITEM "}}",
     "{'l':[{'n':'x','v':1}]}", "{'l':[{'n':'x','v':1}]}", NULL},
    {"values of a set", "{'s':['a','b']}", "{'s':['a','b','c']}",
     "{'f:s':{'v:\\'a\\'':{},'v:\\'c\\'':{}}}", "{'f:s':{'v:\\'a\\'':{}}}", "{'s':['a','c']}",
     "{'s':['a']}", "{'s':['a','c']}"},
    {"a value of a set is given up", "{'s':['a','b']}", "{'s':['b']}", "{'f:s':{'v:\\'b\\'':{}}}",
     "{'f:s':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}", "{'s':['b']}", "{'s':['a','b']}", "{'s':['b']}"},
    {"the whole list is given up", "{'l':[{'n':'x'},{'n':'z'}],'a':1}", "{'a':1}", "{'f:a':{}}",
     "{'f:a':{},'f:l':{" X ":{'.':{}}}}", "{'a':1}", "{'a':1,'l':[{'n':'x'},{'n':'z'}]}",
     "{'a':1}"},
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *before = rows[i].shown_before, *after = rows[i].shown_after;
        struct projection shown;

        project(&rows[i], &shown);
        expect_value(shown.before, before, rows[i].note);
        expect_value(shown.after, after ? after : before, rows[i].note);
        projection_done(&shown);
    }
}

static void projects_fields(void)
{
    check_rows(rows_of_fields, ARRAY_SIZE(rows_of_fields));
}

static void projects_items(void)
{
    check_rows(rows_of_items, ARRAY_SIZE(rows_of_items));
}

static void of_a_create_there_is_nothing_before(void)
{
    _cleanup_value_ const struct value *made = value_of("{'a':1,'d':0,'u':'made-up'}");
    _cleanup_value_ const struct value *own = value_of("{'f:a':{}}");
    const struct projection_input input = {.after = made, .own = own};
    struct projection shown;

    projection_of(&input, &shown);
    EXPECT(!shown.before, "nothing");
    expect_value(shown.after, "{'a':1}", "ours");
    projection_done(&shown);
}

static void what_is_sensitive_stays_so(void)
{
    _cleanup_value_ const struct value *live = value_of("{'data':{'k':'1','o':'2'}}");
    _cleanup_value_ const struct value *own = value_of("{'f:data':{'f:k':{}}}");
    _cleanup_value_ const struct value *pointers = value_of("['/data']");
    _cleanup_value_ const struct value *marked = value_mark_paths(live, pointers);
    _cleanup_value_ const struct value *part = projection_part(marked, own);

    expect_value(part, "{'data':{'k':'1'}}", "ours");
    EXPECT(value_is_sensitive(value_get(part, "data")), "marked");
}

/* The items are told by their keys, whatever order the fields have. */
static void a_long_list(void)
{
    enum { N = 2000 };
    _cleanup_buf_ struct buf list = BUF_INIT, fields = BUF_INIT;
    _cleanup_value_ const struct value *live = NULL, *own = NULL, *part = NULL;

    for (int i = 0; i < N; i++) {
        buf_printf(&list, "%s{'n':'%d','v':1}", i ? "," : "{'l':[", i);
        buf_printf(&fields, "%s'k:{\\'n\\':\\'%d\\'}':{'.':{},'f:n':{}}", i ? "," : "{'f:l':{",
                   N - 1 - i);
    }
    buf_add_str(&list, "]}");
    buf_add_str(&fields, "}}");
    live = value_of(list.data);
    own = value_of(fields.data);
    part = projection_part(live, own);
    EXPECT_INT((long long)value_count(value_get(part, "l")), N, "all");
    EXPECT_STR(value_get_string(value_at(value_get(part, "l"), 7), "n"), "7", "in their order");
}

/* ---- Without a dry-run ---- */

static void expects(void)
{
    static const struct row rows[] = {
        {"as it is", "{'a':1,'o':2}", NULL, NULL, "{'f:a':{}}", "{'a':1}", "{'a':1}", NULL},
        {"changed", "{'a':1}", NULL, NULL, "{'f:a':{}}", "{'a':2}", "{'a':1}", "{'a':2}"},
        {"taken", "{'a':1,'b':2,'o':3}", NULL, NULL, "{'f:a':{}}", "{'a':1,'b':3}", "{'a':1,'b':2}",
         "{'a':1,'b':3}"},
        {"given up", "{'a':1,'b':2}", NULL, NULL, "{'f:a':{},'f:b':{}}", "{'a':1}", "{'a':1,'b':2}",
         "{'a':1}"},
        {"an atomic list with defaults", "{'l':[{'n':1,'d':0}]}", NULL, NULL, "{'f:l':{}}",
         "{'l':[{'n':1}]}", "{'l':[{'n':1,'d':0}]}", NULL},
        {"one that changes", "{'l':[{'n':1,'d':0}]}", NULL, NULL, "{'f:l':{}}", "{'l':[{'n':2}]}",
         "{'l':[{'n':1,'d':0}]}", "{'l':[{'n':2}]}"},
        {"an item whose key has a default", "{'l':[{'n':'o'},{'p':80,'q':'TCP','d':0}]}", NULL,
         NULL, "{'f:l':{" PORT ":{'.':{},'f:p':{}}}}", "{'l':[{'p':80}]}",
         "{'l':[{'p':80,'q':'TCP'}]}", NULL},
        {"a new item", "{'l':[{'n':'x','d':0}]}", NULL, NULL, "{'f:l':{" X ":{'.':{},'f:n':{}}}}",
         "{'l':[{'n':'x'},{'n':'y'}]}", "{'l':[{'n':'x'}]}", "{'l':[{'n':'x'},{'n':'y'}]}"},
        {"an item is given up", "{'l':[{'n':'x'},{'n':'y'}]}", NULL, NULL,
         "{'f:l':{" X ":{'.':{}}," Y ":{'.':{}}}}", "{'l':[{'n':'x'}]}",
         "{'l':[{'n':'x'},{'n':'y'}]}", "{'l':[{'n':'x'}]}"},
        {"values of a set", "{'s':['a','b']}", NULL, NULL, "{'f:s':{'v:\\'a\\'':{}}}",
         "{'s':['a']}", "{'s':['a']}", NULL},
        {"in an object that nobody has yet", "{'m':{'b':1}}", NULL, NULL, "{}", "{'m':{'a':1}}",
         NULL, "{'m':{'a':1}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *live = value_of(rows[i].live);
        _cleanup_value_ const struct value *was = value_of(rows[i].was);
        _cleanup_value_ const struct value *sent = value_of(rows[i].sent);
        const char *after = rows[i].shown_after;
        struct projection shown;

        projection_expect(live, was, sent, &shown);
        expect_value(shown.before, rows[i].shown_before, rows[i].note);
        expect_value(shown.after, after ? after : rows[i].shown_before, rows[i].note);
        projection_done(&shown);
    }
}

static void what_is_not_known_yet_is_expected_so(void)
{
    _cleanup_value_ const struct value *live = value_of("{'m':{'a':1,'b':2}}");
    _cleanup_value_ const struct value *was = value_of("{'f:m':{'f:a':{},'f:b':{}}}");
    _cleanup_value_ const struct value *sent = value_pack("{s:{s:u,s:i}}", "m", "a", "b", 2);
    struct projection shown;

    projection_expect(live, was, sent, &shown);
    EXPECT(value_is(value_path(shown.after, "m", "a", NULL), VALUE_UNKNOWN), "a");
    EXPECT_INT(value_int(value_path(shown.after, "m", "b", NULL), 0), 2, "b");
    expect_value(shown.before, "{'m':{'a':1,'b':2}}", "both");
    projection_done(&shown);
}

SUITE(kube_projection, TEST(projects_fields), TEST(projects_items),
      TEST(of_a_create_there_is_nothing_before), TEST(what_is_sensitive_stays_so),
      TEST(a_long_list), TEST(expects), TEST(what_is_not_known_yet_is_expected_so))
