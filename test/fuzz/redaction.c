/*
 * A secret, and a text with it or with parts of it, quoted in any way: what is made of the text has
 * no secret in it any more, that redaction itself would find.
 *
 * Lines: the secret; another one, which is a number as well; text before; how both are quoted (a
 * letter for each of the quotings below, one over the other); the rest is the text after.
 */
#include "engine/value/redaction.h"

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "engine/value/value.h"
#include "test/fuzz/fuzz.h"

#define MOST_QUOTINGS 4
#define MOST_BYTES    4096

/* ---- Quotings ---- */

static void as_json(struct buf *to, const struct buf *from)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_add_string_n(b, from->data, from->length);
    must(value_builder_finish(b, &value, NULL) == 0);
    json_write(to, value, JSON_COMPACT);
}

static void as_go(struct buf *to, const struct buf *from)
{
    buf_add_char(to, '"');
    for (size_t i = 0, n; i < from->length; i += n) {
        unsigned char c = (unsigned char)from->data[i];

        n = utf8_char(from->data + i, from->length - i);
        if (!n || c < 0x20 || c == 0x7f)
            buf_printf(to, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else
            buf_add(to, from->data + i, n);
        n = n ? n : 1;
    }
    buf_add_char(to, '"');
}

static void as_url(struct buf *to, const struct buf *from)
{
    for (size_t i = 0; i < from->length; i++) {
        char c = from->data[i];

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            buf_add_char(to, c);
        else
            buf_printf(to, "%%%02X", (unsigned char)c);
    }
}

static void as_base64(struct buf *to, const struct buf *from)
{
    base64_encode(to, from->data, from->length);
}

static void as_base64_of_more(struct buf *to, const struct buf *from)
{
    _cleanup_buf_ struct buf more = BUF_INIT;

    buf_printf(&more, "p=");
    buf_add(&more, from->data, from->length);
    buf_add_char(&more, 'z');
    base64_encode(to, more.data, more.length);
}

static void as_decoded(struct buf *to, const struct buf *from)
{
    if (!base64_decode(to, from->data, from->length))
        buf_add(to, from->data, from->length);
}

static void as_bytes(struct buf *to, const struct buf *from)
{
    for (size_t i = 0; i < from->length; i++)
        buf_printf(to, "%s%u", i ? " " : "[", (unsigned char)from->data[i]);
    buf_add_char(to, ']');
}

static void as_part(struct buf *to, const struct buf *from)
{
    buf_add(to, from->data, from->length - from->length / 3);
    buf_add_str(to, "…");
}

static void as_lines(struct buf *to, const struct buf *from)
{
    for (size_t i = 0; i < from->length; i++) {
        buf_add_char(to, from->data[i]);
        if (from->data[i] == ' ')
            buf_add_str(to, "\n    ");
    }
}

static void (*const quotings[])(struct buf *to, const struct buf *from) = {
    as_json, as_go, as_url, as_base64, as_base64_of_more, as_decoded, as_bytes, as_part, as_lines,
};

static void quote(struct buf *text, const char *letters)
{
    for (size_t i = 0; letters[i] && i < MOST_QUOTINGS && text->length < MOST_BYTES; i++) {
        struct buf quoted = BUF_INIT;

        quotings[(unsigned char)letters[i] % ARRAY_SIZE(quotings)](&quoted, text);
        buf_done(text);
        *text = quoted;
    }
}

/* ---- What must hold ---- */

static char *redacted(const struct value *secret, const char *text)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();

    if (!redaction_add(redaction, text)) {
        must(strlen(text) > REDACTION_BYTES);
        return NULL;
    }
    redaction_hide(redaction, secret);
    return redaction_text(redaction, 0);
}

/* The words that stand for a secret may be one, or begin or end as one. */
static bool is_like_redacted(const struct value *secret, const char *const *texts)
{
    _cleanup_free_ char *found = redacted(secret, REDACTED), *spaced = NULL;

    spaced = redacted(secret, "sensitive value ( ) … ...");
    for (size_t i = 0; i < 2; i++)
        if (strpbrk(texts[i], "()"))
            return true;
    return found || spaced;
}

static const struct value *make_secret(const char *const *texts)
{
    _cleanup_value_ const struct value *plain = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < 2; i++)
        value_add_string_n(b, texts[i], utf8_valid(texts[i], strlen(texts[i])));
    value_add_int(b, texts[1][0]);
    value_end_array(b);
    must(value_builder_finish(b, &plain, NULL) == 0);
    return value_sensitive(plain);
}

static void check(const struct value *secret, const char *text)
{
    _cleanup_free_ char *once = redacted(secret, text), *twice = NULL;

    if (!once)
        return;
    must(strstr(once, REDACTED));
    must(utf8_valid(text, strlen(text)) < strlen(text) ||
         utf8_valid(once, strlen(once)) == strlen(once));
    twice = redacted(secret, once);
    must(!twice);
}

/* The secret itself is found, in whatever way it is quoted once. */
static void check_found(const struct value *secret, const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(quotings); i++) {
        const char letters[] = {(char)(ARRAY_SIZE(quotings) * 10 + i), '\0'};
        _cleanup_buf_ struct buf quoted = BUF_INIT;
        _cleanup_free_ char *found = NULL;

        buf_add(&quoted, text, utf8_valid(text, strlen(text)));
        quote(&quoted, letters);
        if (utf8_valid(quoted.data, strlen(quoted.data)) < quoted.length)
            continue; /* decoded: no message can have it */
        found = redacted(secret, quoted.data);
        must(found);
    }
}

/* So long that none of its forms is found only as a word, and that none is too long to search. */
static bool is_plain(const char *text)
{
    size_t length = strlen(text);

    return length >= 16 && length <= 60 &&
           strspn(text,
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$&<>{}.: ") ==
               length &&
           !strchr(text, ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *first = take_line(&data, &size), *second = take_line(&data, &size);
    _cleanup_free_ char *before = take_line(&data, &size), *letters = take_line(&data, &size);
    _cleanup_free_ char *after = take_line(&data, &size);
    const char *const texts[] = {first, second};
    _cleanup_value_ const struct value *secret = make_secret(texts);
    _cleanup_buf_ struct buf text = BUF_INIT, quoted = BUF_INIT;

    if (is_like_redacted(secret, texts) || strlen(first) > MOST_BYTES)
        return 0;
    if (is_plain(first))
        check_found(secret, first);
    buf_add(&quoted, first, utf8_valid(first, strlen(first)));
    quote(&quoted, letters);
    buf_add_str(&text, before);
    buf_add(&text, quoted.data, quoted.length);
    buf_add_str(&text, after);
    check(secret, text.data);
    return 0;
}
