#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/io/xml.h"
#include "test/unit/suite.h"

static int begin(void *arg, const char *name, struct error *error)
{
    (void)error;
    buf_printf(arg, "<%s", name);
    return 0;
}

static int end(void *arg, const char *name, const char *text, struct error *error)
{
    if (str_equal(name, "stop"))
        return err_set(error, ERR_GONE, NULL, "enough");
    buf_printf(arg, "[%s]%s>", text, name);
    return 0;
}

static const struct xml_handler handler = {begin, end};

static void reads(void)
{
    static const struct {
        const char *text;
        int code;
        const char *seen, *message;
    } rows[] = {
        {"<a><b>x</b><b/></a>", 0, "<a<b[x]b><b[]b>[]a>", NULL},
        {"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:a xmlns:D=\"DAV:\"><D:b>x</D:b></D:a>", 0,
         "<a<b[x]b>[]a>", NULL},
        {"<a xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">&lt;&amp;&gt;&quot;&apos;&#252;</a>",
         0, "<a[<&>\"'ü]a>", NULL},
        {"<a><![CDATA[<b>]]></a>", 0, "<a[<b>]a>", NULL},
        {"<a><stop/><b/></a>", ERR_GONE, "<a<stop", "enough"},
        {"", ERR_INVALID, "", "no element found"},
        {"<a>", ERR_INVALID, "<a", "no element found"},
        {"<a></b>", ERR_INVALID, "<a", "mismatched tag"},
        {"<a>\n&x;</a>", ERR_INVALID, "<a", "line 2: undefined entity"},
        {"<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", ERR_INVALID, "", "document type"},
        {"<a>\xff</a>", ERR_INVALID, "<a", "not well-formed"},
        {"<D:a/>", ERR_INVALID, "", "unbound prefix"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf seen = BUF_INIT;
        struct error error = {0};

        EXPECT_INT(xml_read(rows[i].text, strlen(rows[i].text), &handler, &seen, &error),
                   rows[i].code, rows[i].text);
        EXPECT_STR(seen.data, rows[i].seen, rows[i].text);
        EXPECT(!rows[i].message || strstr(error.message, rows[i].message), error.message);
    }
}

static void refuses_what_is_too_deep(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT, seen = BUF_INIT;
    struct error error = {0};

    for (unsigned i = 0; i < 300; i++)
        buf_add_str(&text, "<a>");
    EXPECT_INT(xml_read(text.data, text.length, &handler, &seen, &error), ERR_INVALID, "deep");
    EXPECT(strstr(error.message, "nested too deeply"), error.message);
}

SUITE(xml, TEST(reads), TEST(refuses_what_is_too_deep))
