/*
 * The way of the text: json_scan() checks it. The rest goes to yajl, whose callbacks feed a
 * builder. A string that continues in the next piece is held back until it is complete, because
 * yajl would read it from its start again with every piece.
 */
#include <string.h>
#include <yajl/yajl_parse.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/value/json_private.h"

enum kind {
    KIND_DOCUMENTS, /* any number of documents */
    KIND_SINGLE,
    KIND_ITEMS,
};

struct json_stream {
    enum kind kind;
    json_on_value *on_value; /* of a document, or of an item */
    json_on_value *on_rest;
    void *arg;

    yajl_handle yajl;
    struct json_scan scan;
    struct buf held;
    struct value_builder *builder;
    struct error error; /* the first error; the stream stops there */
    size_t limit;       /* bytes of a document or item */

    const char *chunk; /* the bytes that yajl was given so far */
    size_t chunk_length;
    size_t line, column; /* position of the chunk's first byte, from 0 */
    size_t offset;       /* offset of the chunk's first byte in the stream */
    size_t value_start;  /* approximate start of the current value */
    size_t blank_from;   /* in the chunk: no value is open from here on */
    bool idle;           /* no value has begun since the last ended */

    /* KIND_ITEMS */
    struct value_builder *rest;
    const char *items;
    bool at_items; /* the key has been read, its value not yet */
    bool in_items;
    bool had_items;
};

/* ---- Errors ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '+';
}

static bool is_escaped(const char *text, size_t at)
{
    size_t backslashes = 0;

    while (at > backslashes && text[at - backslashes - 1] == '\\')
        backslashes++;
    return backslashes % 2;
}

/* Finds the start of the token that ends at `end`. */
static size_t token_start(const char *text, size_t end)
{
    size_t at = end ? end - 1 : 0;

    if (end == 0)
        return 0;
    if (text[at] == '"')
        while (at > 0 && (text[--at] != '"' || is_escaped(text, at)))
            ;
    else if (is_word(text[at]))
        while (at > 0 && is_word(text[at - 1]))
            at--;
    return at;
}

static void advance(struct json_stream *s, size_t length)
{
    const char *at = s->chunk, *end = s->chunk + length, *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        s->line++;
        s->column = 0;
        at = newline + 1;
    }
    s->column += (size_t)(end - at);
    s->offset += length;
    s->chunk = end;
    s->chunk_length -= length;
}

/* Puts the position before the message of the error that was set. */
static void locate(struct json_stream *s, size_t at)
{
    advance(s, at < s->chunk_length ? at : s->chunk_length);
    err_wrap(&s->error, "line %zu, column %zu", s->line + 1, s->column + 1);
}

static size_t consumed(const struct json_stream *s)
{
    size_t at = yajl_get_bytes_consumed(s->yajl);

    return at < s->chunk_length ? at : s->chunk_length;
}

static void locate_token(struct json_stream *s)
{
    locate(s, token_start(s->chunk, consumed(s)));
}

/* Sets the error; returns 0, which makes yajl stop. */
static int refuse(struct json_stream *s, const char *what)
{
    err_set(&s->error, ERR_INVALID, "InvalidJSON", "%s", what);
    locate_token(s);
    return 0;
}

static void take_yajl_error(struct json_stream *s)
{
    unsigned char *message = yajl_get_error(s->yajl, 0, NULL, 0);
    const char *text = (const char *)message, *colon = strstr(text, ": ");

    if (colon)
        text = colon + 2;
    err_set(&s->error, ERR_INVALID, "InvalidJSON", "%.*s", (int)strcspn(text, "\n"), text);
    yajl_free_error(s->yajl, message);
    locate_token(s);
}

/* ---- yajl's callbacks ---- */

/* Called when a value is complete: hands out a document or an item. */
static int completed(struct json_stream *s, struct value_builder *b)
{
    _cleanup_value_ const struct value *value = NULL;
    json_on_value *call = b == s->rest ? s->on_rest : s->on_value;

    if (value_builder_error(b)) {
        value_builder_finish(b, &value, &s->error);
        locate_token(s);
        return 0;
    }
    if (value_builder_depth(b))
        return 1;
    value_builder_finish(b, &value, &s->error);
    s->blank_from = consumed(s);
    s->value_start = s->offset + s->blank_from;
    if (call && call(s->arg, value, &s->error) != 0) {
        if (!s->error.code)
            err_set(&s->error, ERR_CANCELLED, NULL, "stopped by the reader");
        return 0;
    }
    return 1;
}

/* The builder for the next value; NULL: the value is refused. */
static struct value_builder *target(struct json_stream *s, bool is_object)
{
    if (s->kind != KIND_ITEMS || s->in_items)
        return s->builder;
    if (s->at_items)
        refuse(s, "the items are not a list");
    else if (value_builder_depth(s->rest) == 0 && !is_object)
        refuse(s, "not an object");
    else
        return s->rest;
    return NULL;
}

static int on_null(void *arg)
{
    struct json_stream *s = arg;
    struct value_builder *b;

    if (s->at_items) { /* Go writes an empty list as null */
        s->at_items = false;
        return 1;
    }
    b = target(s, false);
    if (!b)
        return 0;
    value_add_null(b);
    return completed(s, b);
}

static int on_boolean(void *arg, int value)
{
    struct value_builder *b = target(arg, false);

    if (!b)
        return 0;
    value_add_bool(b, value != 0);
    return completed(arg, b);
}

static int on_number(void *arg, const char *text, size_t length)
{
    struct value_builder *b = target(arg, false);

    if (!b)
        return 0;
    value_add_number(b, text, length);
    return completed(arg, b);
}

static int on_string(void *arg, const unsigned char *text, size_t length)
{
    struct value_builder *b = target(arg, false);

    if (!b)
        return 0;
    value_add_string_n(b, (const char *)text, length);
    return completed(arg, b);
}

static int on_key(void *arg, const unsigned char *text, size_t length)
{
    struct json_stream *s = arg;
    struct value_builder *b = target(s, false);

    if (!b)
        return 0;
    if (b == s->rest && value_builder_depth(b) == 1 && length == strlen(s->items) &&
        memcmp(text, s->items, length) == 0) {
        if (s->had_items)
            return refuse(s, "the items occur twice");
        s->had_items = true;
        s->at_items = true;
        return 1;
    }
    value_key_n(b, (const char *)text, length);
    return completed(s, b);
}

static int on_start_map(void *arg)
{
    struct value_builder *b = target(arg, true);

    if (!b)
        return 0;
    value_begin_object(b);
    return completed(arg, b);
}

static int on_end_map(void *arg)
{
    struct value_builder *b = target(arg, false);

    if (!b)
        return 0;
    value_end_object(b);
    return completed(arg, b);
}

static int on_start_array(void *arg)
{
    struct json_stream *s = arg;
    struct value_builder *b;

    if (s->at_items) {
        s->at_items = false;
        s->in_items = true;
        return 1;
    }
    b = target(s, false);
    if (!b)
        return 0;
    value_begin_array(b);
    return completed(s, b);
}

static int on_end_array(void *arg)
{
    struct json_stream *s = arg;
    struct value_builder *b = target(s, false);

    if (!b)
        return 0;
    if (s->in_items && value_builder_depth(b) == 0) {
        s->in_items = false;
        return 1;
    }
    value_end_array(b);
    return completed(s, b);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

/* ---- Making ---- */

static void *yajl_new(void *arg, size_t size)
{
    (void)arg;
    return mem_resize(NULL, size, 1);
}

static void *yajl_resize(void *arg, void *pointer, size_t size)
{
    (void)arg;
    return mem_resize(pointer, size, 1);
}

static void yajl_delete(void *arg, void *pointer)
{
    (void)arg;
    free(pointer);
}

static struct json_stream *new_stream(enum kind kind, json_on_value *on_value, void *arg)
{
    static yajl_alloc_funcs allocation = {yajl_new, yajl_resize, yajl_delete, NULL};
    struct json_stream *s = NEW(struct json_stream);

    s->kind = kind;
    s->on_value = on_value;
    s->arg = arg;
    s->limit = LIMIT_DOCUMENT_BYTES;
    s->idle = true;
    s->chunk = "";
    s->builder = value_builder_new();
    buf_init(&s->held, SIZE_MAX / 4);
    s->yajl = yajl_alloc(&callbacks, &allocation, s);
    yajl_config(s->yajl, yajl_dont_validate_strings, 1);
    if (kind == KIND_DOCUMENTS)
        yajl_config(s->yajl, yajl_allow_multiple_values, 1);
    return s;
}

struct json_stream *json_stream_new(json_on_value *on_value, void *arg)
{
    return new_stream(KIND_DOCUMENTS, on_value, arg);
}

void json_stream_limit(struct json_stream *s, size_t bytes)
{
    s->limit = bytes ? bytes : LIMIT_DOCUMENT_BYTES;
}

struct json_stream *json_single_stream_new(json_on_value *on_value, void *arg)
{
    return new_stream(KIND_SINGLE, on_value, arg);
}

struct json_stream *json_item_stream_new(const char *items, json_on_value *on_item,
                                         json_on_value *on_rest, void *arg)
{
    struct json_stream *s = new_stream(KIND_ITEMS, on_item, arg);

    s->items = items;
    s->on_rest = on_rest;
    s->rest = value_builder_new();
    return s;
}

void json_stream_free(struct json_stream *s)
{
    if (!s)
        return;
    yajl_free(s->yajl);
    buf_done(&s->held);
    value_builder_free(s->builder);
    value_builder_free(s->rest);
    free(s);
}

/* ---- Reading ---- */

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

static void parse(struct json_stream *s, const char *text, size_t length)
{
    yajl_status status;

    s->chunk = text;
    s->chunk_length = length;
    s->blank_from = s->idle ? 0 : length;
    status = yajl_parse(s->yajl, (const unsigned char *)text, length);
    if (status == yajl_status_error)
        take_yajl_error(s);
    if (s->error.code)
        return;
    s->idle = s->blank_from < length ? is_blank(text + s->blank_from, length - s->blank_from)
                                     : s->idle || s->value_start == s->offset + length;
    advance(s, length);
    if (s->idle)
        s->value_start = s->offset;
}

/* Parses the held bytes and the first bytes of the text, and holds the rest. */
static void parse_some(struct json_stream *s, const char *text, size_t length, size_t now)
{
    if (s->held.length && (now || !length)) {
        buf_add(&s->held, text, now);
        parse(s, s->held.data, s->held.length);
        buf_reset(&s->held);
    } else if (now) {
        parse(s, text, now);
    }
    if (now < length)
        buf_add(&s->held, text + now, length - now);
}

int json_stream_add(struct json_stream *s, const char *text, size_t length, struct error *error)
{
    const char *problem = NULL;
    size_t good;

    if (s->error.code || !length)
        return err_copy(error, &s->error);
    good = json_scan(&s->scan, text, length, &problem);
    parse_some(s, text, good, s->scan.in_string && !problem ? s->scan.string_start : good);
    if (!s->error.code && problem) {
        err_set(&s->error, ERR_INVALID, "InvalidJSON", "%s", problem);
        locate(s, 0);
    }
    if (!s->error.code && s->offset + s->held.length - s->value_start > s->limit) {
        err_set(&s->error, ERR_TOO_LARGE, "DocumentTooLarge", "a document of more than %zu bytes",
                s->limit);
        locate(s, 0);
    }
    return err_copy(error, &s->error);
}

int json_stream_end(struct json_stream *s, struct error *error)
{
    if (!s->error.code && s->held.length) {
        parse(s, s->held.data, s->held.length);
        buf_reset(&s->held);
    }
    if (!s->error.code && !(s->idle && s->kind == KIND_DOCUMENTS)) {
        s->chunk_length = 0;
        if (yajl_complete_parse(s->yajl) == yajl_status_error)
            take_yajl_error(s);
        else if (!s->error.code && s->scan.in_string) /* an unterminated string as the root: yajl
                                                         reports no error */
            refuse(s, "premature EOF");
    }
    return err_copy(error, &s->error);
}
