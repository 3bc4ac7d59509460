#include "engine/value/redaction.h"

#include <stdlib.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/redaction_private.h"
#include "test/unit/suite.h"

#define HIDDEN REDACTED

/* A value of JSON, sensitive as a whole. */
static const struct value *sensitive(const char *json)
{
    _cleanup_value_ const struct value *value = NULL;

    EXPECT_INT(json_read_str(json, &value, NULL), 0, json);
    return value_sensitive(value);
}

typedef void hide_fn(struct redaction *redaction, const struct value *value);

/* free(). NULL: nothing was found. */
static char *hidden_by(hide_fn *hide, const struct value *value, const char *text)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();

    EXPECT(redaction_add(redaction, text), text);
    hide(redaction, value);
    return redaction_text(redaction, 0);
}

static char *redacted(const struct value *value, const char *text)
{
    return hidden_by(redaction_hide, value, text);
}

struct row {
    const char *secret, *text, *expected; /* the secret as JSON; NULL: nothing is hidden */
};

static void expect_rows_by(hide_fn *hide, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_value_ const struct value *value = sensitive(rows[i].secret);
        _cleanup_free_ char *text = hidden_by(hide, value, rows[i].text);

        EXPECT_STR(text, rows[i].expected, rows[i].text);
    }
}

static void expect_rows(const struct row *rows, size_t n)
{
    expect_rows_by(redaction_hide, rows, n);
}

static const struct row quotings[] = {
    {"\"hunter2hunter2\"", "it is hunter2hunter2, which is wrong",
     "it is " HIDDEN ", which is wrong"},
    {"\"hunter2hunter2\"", "xhunter2hunter2x x", HIDDEN " x"},
    {"\"hunter2hunter2\"", "a hunter2hunter2hunter2hunter2 b", "a " HIDDEN " b"},
    {"\"hunter2hunter2\"", "nothing of it", NULL},
    {"\"hunter2hunter2\"", "", NULL},
    /* JSON, and JSON in JSON */
    {"\"a\\\"bc\\\\d<e>\\n\\t\\u00e4fgh\"",
     "v: \"a\\\"bc\\\\d<e>\\n\\t\xc3\xa4"
     "fgh\"!",
     "v: \"" HIDDEN "\"!"},
    {"\"a\\\"bc\\\\d<e>\\n\\t\\u00e4fgh\"", "v: \"a\\\"bc\\\\d\\u003ce\\u003e\\n\\t\\u00e4fgh\"!",
     "v: \"" HIDDEN "\"!"},
    {"\"a\\\"bc\\\\d<e>\\n\\t\\u00e4fgh\"",
     "\\\"a\\\\\\\"bc\\\\\\\\d\\\\u003ce\\\\u003e\\\\n\\\\t\\\\u00e4fgh\\\"", "\\\"" HIDDEN "\\\""},
    {"\"smile\\ud83d\\ude00smile\"", "smile\\ud83d\\ude00smile", HIDDEN},
    {"\"smile\\ud83d\\ude00smile\"", "smile\\\\ud83d\\\\ude00smile", HIDDEN},
    {"\"smile\\ud83d\\ude00smile\"", "smile\\U0001f600smile", HIDDEN},
    /* Go's %q of what is not printable; C and Protobuf */
    {"\"ab\\u0000c\\u0007def\\u007fg\"", "got \"ab\\x00c\\adef\\x7fg\"", "got \"" HIDDEN "\""},
    {"\"gr\\u00fc\\u00dfe gr\\u00fc\\u00dfe\"",
     "\"gr\\303\\274\\303\\237e gr\\303\\274\\303\\237e\"", "\"" HIDDEN "\""},
    /* what cleaning a message does: controls become blanks, what is not UTF-8 "?" */
    {"\"line one\\nline two\"", "line one line two", HIDDEN},
    {"\"what?is it\"", "what is it", HIDDEN},
    /* YAML and shells */
    {"\"it's here!\"", "v: 'it''s here!'", "v: '" HIDDEN "'"},
    {"\"one two\\nthree\"", "v: |-\n    one two\n    three\n", "v: |-\n    " HIDDEN "\n"},
    {"\"it's here!\"", "echo 'it'\\''s here!'", "echo '" HIDDEN "'"},
    /* URLs, once and twice */
    {"\"p@ss/w:rd&x y\"", "?q=p%40ss%2Fw%3Ard%26x%20y&z", "?q=" HIDDEN "&z"},
    {"\"p@ss/w:rd&x y\"", "?q=p%2540ss%252Fw%253Ard%2526x%2520y&z", "?q=" HIDDEN "&z"},
    {"\"50%25 of 100%\"", "50%25 of 100%", HIDDEN},
    /* split into items */
    {"\"open sesame now\"", "[\"open\",\"sesame\",\"now\"]", "[\"" HIDDEN "\"]"},
};

static void finds_what_is_quoted(void)
{
    expect_rows(quotings, ARRAY_SIZE(quotings));
}

static const struct row encodings[] = {
    {"\"hunter2hunter2\"", "aHVudGVyMmh1bnRlcjI=", HIDDEN "="},
    {"\"hunter2hunter2\"", "dj1odW50ZXIyaHVudGVyMg==", HIDDEN "=="}, /* v=… */
    {"\"hunter2hunter2\"", "dnY9aHVudGVyMmh1bnRlcjI=", HIDDEN "="},  /* vv=… */
    {"\"hunter2hunter2\"", "djpodW50ZXIyaHVudGVyMjp4", HIDDEN},      /* v:…:x */
    {"\"aHVudGVyMmh1bnRlcjI=\"", "it is hunter2hunter2", "it is " HIDDEN},
    {"\"aHVudGVyMmh1bnRlcjI=\"", "a \\\"hunter2hunter2\\\"", "a \\\"" HIDDEN "\\\""},
    {"\"aHVudGVyMmh1bnRlcjI=\"", "aHVudGVyMmh1bnRlcjI", HIDDEN},
    {"\"aHVudGVyMmh1bnRlcjI=\"", "YUhWdWRHVnlNbWgxYm5SbGNqST0=", HIDDEN "="}, /* once more */
    {"\"~~~???~~~???\"", "fn5-Pz8_fn5-Pz8_", HIDDEN},                         /* for URLs */
    {"\"~~~???~~~???\"", "fn5+Pz8/fn5+Pz8/", HIDDEN},
    {"\"hunter2hunter2\"", "68756e7465723268756e74657232", HIDDEN},
    {"\"hunter2hunter2\"", "map[p:[104 117 110 116 101 114 50 104 117 110 116 101 114 50]]",
     "map[p:[" HIDDEN "]]"},
    {"\"correct-horse-battery\"", "is Y29ycmVjdC…", "is " HIDDEN "…"}, /* cut off */
    {"\"correct-horse-battery\"", "is Y29ycmVjdC is", NULL},
    {"\"4711\"", "is cGluPTQ3MTE7 x", "is " HIDDEN " x"},                         /* pin=4711; */
    {"\"a\\\"b\\\\c<d>ef\"", "eyJwIjoiYVwiYlxcY1x1MDAzY2RcdTAwM2VlZiJ9", HIDDEN}, /* JSON */
    {"\"NDcxMQ==\"", "the PIN 4711 is weak", "the PIN " HIDDEN " is weak"},
    {"\"4711\"", "the PIN NDcxMQ== is weak", "the PIN " HIDDEN "== is weak"},
    /* Base64 of what is no text */
    {"\"AAECAwQFBgcICQoL\"", "AAECAwQFBgcICQoL", HIDDEN},
    /* a word that could be Base64, of what is no text */
    {"\"abcdefghijkl\"", "not iy!9%, but abcdefghijkl", "not iy!9%, but " HIDDEN},
    {"\"test\"", "\xc2\xb5 - k", NULL},
};

static void finds_what_is_encoded(void)
{
    expect_rows(encodings, ARRAY_SIZE(encodings));
}

static const struct row parts[] = {
    {"\"correct-horse-battery\"", "correct-horse… x", HIDDEN "… x"},
    {"\"correct-horse-battery\"", "…se-battery", "…" HIDDEN},
    {"\"correct-horse-battery\"", "t-horse-b", HIDDEN},
    {"\"correct-horse-battery\"", "\"corr\"", NULL},
    {"\"correct-horse-battery\"", "is \"corr…", "is \"" HIDDEN "…"},
    {"\"correct-horse-battery\"", "is correct... and", "is " HIDDEN "... and"},
    {"\"correct-horse-battery\"", "cor…", NULL},
    {"\"correct-horse-battery\"", "-horse…", NULL}, /* a piece of 7 bytes, and not its beginning */
    {"\"first line\\nsecond line\\n\"", "got: second line", "got: " HIDDEN},
    {"\"pin\\n4711\\nend\"", "the 4711 of it", "the " HIDDEN " of it"},
    {"\"\\u4f60\\u597d\\u4e16\\u754c\"", "is \xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c!",
     "is " HIDDEN "!"},
    {"\"hunter2hunter2-x\"", "hunter2hunter3-x", HIDDEN "-x"}, /* a similar one */
    /* characters are hidden whole, also those that two pieces share */
    {"\"\\u4f60\\u597d\\u4e16xyz\"", "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x97", HIDDEN},
};

static void finds_parts(void)
{
    expect_rows(parts, ARRAY_SIZE(parts));
}

static const struct row words[] = {
    {"\"4711\"", "4711 and v=4711; \"4711\", a/4711/b",
     HIDDEN " and v=" HIDDEN "; \"" HIDDEN "\", a/" HIDDEN "/b"},
    {"\"4711\"", "14711, 47110, x4711, 4711x, 471 1x", NULL},
    {"\"4711\"", "a\\n4711\\nb", "a\\n" HIDDEN "\\nb"},
    {"\"use\"", "cannot use resource", "cannot " HIDDEN " resource"},
    {"\"user\"", "cannot use resource", NULL},
    {"\"a\"", "spec.a: a label", "spec." HIDDEN ": " HIDDEN " label"},
    {"\"1\"", "v1: 1 of 10, 0.1", "v1: " HIDDEN " of 10, 0." HIDDEN},
    {"1", "v1: 1 of 10", "v1: " HIDDEN " of 10"},
    {"1.50", "is 1.50", "is " HIDDEN},
    {"true", "must be true or false", "must be " HIDDEN " or false"},
    {"false", "must be true or false", "must be true or " HIDDEN},
    {"null", "null", NULL},
    {"\"\"", "anything", NULL},
    {"\" \"", "any thing", NULL},
    {"\"-\"", "a - b", NULL},
    {"\"--\"", "a -- b", NULL},
    {"\"$%&!\"", "a $%&! b", "a " HIDDEN " b"},
    {"\"$ab!\"", "x$ab!y $aby", "x" HIDDEN "y $aby"},
    {"\"\\u597d\"", "\xe4\xbd\xa0\xe5\xa5\xbd", "\xe4\xbd\xa0" HIDDEN},
    {"\"\\u00e4\"", "an \xc3\xa4!", "an " HIDDEN "!"},
};

static void finds_short_ones_as_words(void)
{
    expect_rows(words, ARRAY_SIZE(words));
}

#define CONFIGURATION                                                                        \
    "\"kind: Config\\nnamespace: team-a\\npassword: correcthorse\\ntoken: hunter2hunter2\\n" \
    "onealoneline\\nresources:\\n- name: kubernetes\\n\""

static const struct row documents[] = {
    {CONFIGURATION, "in the namespace \"team-a\", of resources", NULL},
    {CONFIGURATION, "token hunter2hunter2", "token " HIDDEN},
    {CONFIGURATION, "hunter2hunter2", HIDDEN},
    {CONFIGURATION, "onealoneline", HIDDEN},
    {CONFIGURATION, "password: correcthorse", HIDDEN},
    {"\"correcthorse\"", "it is correcthorse", "it is " HIDDEN},
};

static void leaves_words_of_documents(void)
{
    expect_rows(documents, ARRAY_SIZE(documents));
}

static const struct row wholes[] = {
    {"\"hunter2hunter2\"", "it is hunter2hunter2!", "it is " HIDDEN "!"},
    {"\"hunter2hunter2\"", "aHVudGVyMmh1bnRlcjI=", HIDDEN "="},
    {"\"pw1\"", "it is pw1", "it is " HIDDEN},
    {"\"sesame\\nhunter2hunter2\"", "sesame\nhunter2hunter2", HIDDEN},
    {"\"https://me:hunter2@db.example.com/x\"", "db.example.com", NULL},
    {"\"hunter2hunter2\"", "hunter2hunter", NULL},
    {"\"hunter2hunter2\"", "it is hunter2...", NULL},
    {"\"sesame\\nhunter2hunter2\"", "sesame", NULL},
};

static void pieces_of_a_whole_are_left(void)
{
    expect_rows_by(redaction_hide_whole, wholes, ARRAY_SIZE(wholes));
}

static void hides_what_is_sensitive_alone(void)
{
    _cleanup_value_ const struct value *secret = sensitive("{\"a\":[\"opensesame\",12345678]}");
    _cleanup_value_ const struct value *value =
        value_pack("{s:s, s:[v]}", "plain", "not a secret", "list", secret);
    _cleanup_free_ char *text =
        redacted(value, "not a secret: opensesame, 12345678, and the key a, list");
    _cleanup_free_ char *nothing = redacted(NULL, "text");

    EXPECT_STR(text, "not a secret: " HIDDEN ", and the key a, list", "one of several");
    EXPECT(!nothing, "of nothing");
}

static void texts_do_not_run_together(void)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();
    _cleanup_value_ const struct value *secret = sensitive("\"hunter2hunter2\"");
    const char *const texts[] = {"it is hunter2", "hunter2 x", "hunter2hunter2"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        EXPECT(redaction_add(redaction, texts[i]), texts[i]);
    redaction_hide(redaction, secret);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *text = redaction_text(redaction, i);

        EXPECT_STR(text, i == 2 ? HIDDEN : NULL, texts[i]);
    }
}

static void texts_are_bounded(void)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();
    _cleanup_free_ char *text = mem_new(REDACTION_BYTES + 2);

    memset(text, 'x', REDACTION_BYTES + 1);
    EXPECT(!redaction_add(redaction, text), "one byte too long");
    text[REDACTION_BYTES] = '\0';
    EXPECT(redaction_add(redaction, text), "just so long");
    EXPECT(redaction_add(redaction, ""), "nothing more");
    EXPECT(!redaction_add(redaction, "x"), "too many");
}

/* A piece of a long secret is found wherever it is, in each form. */
static void finds_pieces_of_long_secrets(void)
{
    enum { LENGTH = 100000, PIECE_LENGTH = 24 };
    static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyz.:;-#<>()[]{}";
    _cleanup_free_ char *bytes = mem_new(LENGTH + 1);
    _cleanup_value_ const struct value *plain = NULL, *secret = NULL;
    unsigned seed = 1;

    for (size_t i = 0; i < LENGTH; i++) {
        seed = seed * 1103515245 + 12345;
        bytes[i] = characters[(seed >> 16) % (sizeof(characters) - 1)];
    }
    plain = value_pack("s", bytes);
    secret = value_sensitive(plain);
    for (size_t at = 0; at + PIECE_LENGTH <= LENGTH; at += 4099) {
        _cleanup_free_ char *piece = str_new_n(bytes + at, PIECE_LENGTH), *found = NULL;
        _cleanup_free_ char *found_encoded = NULL;
        _cleanup_buf_ struct buf encoded = BUF_INIT;

        base64_encode(&encoded, piece, PIECE_LENGTH);
        found = redacted(secret, piece);
        found_encoded = redacted(secret, encoded.data);
        EXPECT_STR(found, HIDDEN, piece);
        EXPECT_STR(found_encoded, HIDDEN, encoded.data);
    }
}

/* A record, a step and the live object each have a copy of one secret. */
static void equal_secrets_are_looked_for_once(void)
{
    static const char first[] = "\"correct-horse-battery-staple-correct-horse-1\"",
                      other[] = "\"correct-horse-battery-staple-correct-horse-2\"";
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();
    _cleanup_free_ char *text = NULL;
    size_t length = strlen(first) - 2;

    redaction_add(redaction, "it is correct-horse-battery-staple-correct-horse-2");
    for (int copies = 0; copies < 5; copies++) {
        _cleanup_value_ const struct value *secret = sensitive(first);

        redaction_hide(redaction, secret);
    }
    EXPECT_INT(redaction->n_searched, length, "once");
    for (int copies = 0; copies < 2; copies++) {
        _cleanup_value_ const struct value *secret = sensitive(other);

        redaction_hide(redaction, secret);
    }
    EXPECT_INT(redaction->n_searched, 2 * length, "another of the same length");
    text = redaction_text(redaction, 0);
    EXPECT_STR(text, "it is " HIDDEN, "found");
}

static void errors_lose_secrets(void)
{
    _cleanup_value_ const struct value *secret = sensitive("\"Hunter2\""), *none = value_pack("{}");
    const struct value *const values[] = {NULL, none, secret};
    struct error error = {0};

    redact_error(NULL, values, ARRAY_SIZE(values));
    redact_error(&error, values, ARRAY_SIZE(values));
    EXPECT_INT(error.code, 0, "not set");
    err_set(&error, ERR_INVALID, "BadName", "\"Hunter2\" is bad");
    redact_error(&error, values, 2);
    EXPECT_STR(error.message, "\"Hunter2\" is bad", "nothing is secret");
    redact_error(&error, values, ARRAY_SIZE(values));
    EXPECT_INT(error.code, ERR_INVALID, "the code");
    EXPECT_STR(error.reason, "BadName", "the reason");
    EXPECT_STR(error.message, "\"" HIDDEN "\" is bad", "the message");
    err_set(&error, ERR_INVALID, "Hunter2", "is bad");
    redact_error(&error, values, ARRAY_SIZE(values));
    EXPECT_STR(error.reason, "Invalid", "the reason is a secret");
    EXPECT_STR(error.message, "is bad", "the message");
    err_set(&error, ERR_INVALID, NULL, "Hunter2 is bad");
    err_hint(&error, "do this");
    err_hint(&error, "not Hunter2");
    redact_error(&error, values, ARRAY_SIZE(values));
    EXPECT_STR(error.message, HIDDEN " is bad\ndo this\nnot " HIDDEN, "hints remain lines");
}

/* A message may be cut within a secret. */
static void errors_are_cut_anywhere(void)
{
    _cleanup_value_ const struct value *secret = sensitive("\"correct-horse-battery\"");

    for (size_t before = ERROR_MESSAGE_SIZE - 40; before < ERROR_MESSAGE_SIZE; before++) {
        struct error error = {0};

        err_set(&error, ERR_INVALID, NULL, "%0*d%s", (int)before, 0, "correct-horse-battery");
        redact_error(&error, &secret, 1);
        EXPECT(!strstr(error.message, "corr"), error.message);
        EXPECT(!strstr(error.message, "orse"), error.message);
    }
}

/* A secret of several lines reaches over what looks like hints. */
static void errors_lose_secrets_of_several_lines(void)
{
    _cleanup_value_ const struct value *secret =
        sensitive("\"MIIEpAIBAAKCAQEA\\nq7TtQm3vZkXwYbNc\\nab\"");
    struct error error = {0};

    err_set(&error, ERR_INVALID, NULL, "bad key: MIIEpAIBAAKCAQEA\nq7TtQm3vZkXwYbNc\nab");
    redact_error(&error, &secret, 1);
    EXPECT(!strstr(error.message, "MIIE"), error.message);
    EXPECT(!strstr(error.message, "q7Tt"), error.message);
}

SUITE(redaction, TEST(finds_what_is_quoted), TEST(finds_what_is_encoded), TEST(finds_parts),
      TEST(finds_short_ones_as_words), TEST(leaves_words_of_documents),
      TEST(pieces_of_a_whole_are_left), TEST(hides_what_is_sensitive_alone),
      TEST(texts_do_not_run_together), TEST(texts_are_bounded), TEST(finds_pieces_of_long_secrets),
      TEST(equal_secrets_are_looked_for_once), TEST(errors_lose_secrets),
      TEST(errors_lose_secrets_of_several_lines), TEST(errors_are_cut_anywhere))
