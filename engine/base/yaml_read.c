#include "engine/base/yaml.h"

#include <string.h>
#include <yaml.h>

#include "engine/base/arena.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/strmap.h"
#include "engine/base/yaml_private.h"
#include "engine/base/yaml_text.h"

#define SHOWN_BYTES 200 /* of a key, in a message */

/* value: NULL while the node that carries the anchor is still open. */
struct anchor {
    const struct value *value;
    struct anchor *next;
};

/*
 * An open container. A container with an anchor, or one that << merges, is built as a document of
 * its own and then shared; all others go into the builder of the container around them.
 */
struct frame {
    enum value_type type;
    struct value_builder *builder;
    bool apart; /* the builder is this frame's own */
    struct anchor *anchor;

    /* Of objects. */
    bool has_key;       /* a key was read, and its value is next */
    bool merging;       /* that key was << */
    bool has_merge;     /* there was a << */
    struct strmap keys; /* to their lines */
    const struct value *merge;
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* that is being handled */
    struct error *error;

    /* Of the document that is open. */
    struct value_builder *builder;
    struct arena scratch; /* keys, texts */
    struct strmap anchors;
    struct anchor *all_anchors;
    size_t n_anchors;
    struct frame *frames; /* LIMIT_DEPTH of them */
    size_t depth;
    size_t alias_values;

    size_t n_documents; /* empty ones too */
    size_t line;        /* of the document that is open */
    const struct value **values;
    size_t *lines; /* of each value */
    size_t count, capacity, lines_capacity;
};

/* Puts the position before the message of an error that was set. */
static int locate(struct reader *r, int code)
{
    err_wrap(r->error, "line %zu, column %zu", r->event.start_mark.line + 1,
             r->event.start_mark.column + 1);
    return code;
}

static int PRINTF_LIKE(4, 5)
    fail(struct reader *r, int code, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_set_v(r->error, code, reason, format, args);
    va_end(args);
    return locate(r, code);
}

static struct frame *top(struct reader *r)
{
    return r->depth ? &r->frames[r->depth - 1] : NULL;
}

static struct value_builder *builder_of(struct reader *r)
{
    return r->depth ? top(r)->builder : r->builder;
}

static bool wants_key(const struct frame *frame)
{
    return frame && frame->type == VALUE_OBJECT && !frame->has_key;
}

/* ---- Anchors ---- */

/* *ret: NULL without a name. */
static int declare_anchor(struct reader *r, const yaml_char_t *name, struct anchor **ret)
{
    struct anchor *anchor;

    *ret = NULL;
    if (!name)
        return 0;
    if (r->n_anchors++ == LIMIT_YAML_ANCHORS)
        return fail(r, ERR_TOO_LARGE, "TooLarge", "more than %d anchors", LIMIT_YAML_ANCHORS);
    anchor = ARENA_NEW(&r->scratch, struct anchor);
    anchor->next = r->all_anchors;
    r->all_anchors = anchor;
    strmap_put(&r->anchors, arena_str(&r->scratch, (const char *)name), anchor);
    *ret = anchor;
    return 0;
}

static void add_scalar(struct value_builder *to, const struct yaml_scalar *scalar)
{
    switch (scalar->type) {
    case VALUE_BOOL:
        value_add_bool(to, scalar->boolean);
        break;
    case VALUE_NUMBER:
        value_add_number(to, scalar->text, scalar->length);
        break;
    case VALUE_STRING:
        value_add_string_n(to, scalar->text, scalar->length);
        break;
    default:
        value_add_null(to);
        break;
    }
}

static int set_anchor(struct reader *r, struct anchor *anchor, const struct yaml_scalar *scalar)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = NULL;
    int code;

    if (!anchor)
        return 0;
    builder = value_builder_new();
    add_scalar(builder, scalar);
    code = value_builder_finish(builder, &anchor->value, r->error);
    return code < 0 ? locate(r, code) : 0;
}

/* ---- Keys ---- */

static int take_key(struct reader *r, const struct yaml_scalar *scalar)
{
    struct frame *frame = top(r);
    const char *key;
    size_t length;
    size_t *line = ARENA_NEW(&r->scratch, size_t), *before;
    int code = yaml_scalar_key(&r->scratch, scalar, &key, &length, r->error);

    if (code < 0)
        return locate(r, code);
    key = arena_str_n(&r->scratch, key, length);
    *line = r->event.start_mark.line + 1;
    before = strmap_put_n(&frame->keys, key, length, line);
    if (before)
        return fail(r, ERR_INVALID, "DuplicateKey",
                    "the key \"%.*s\" occurs twice, first on line %zu",
                    (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES), key, *before);
    value_key_n(frame->builder, key, length);
    frame->has_key = true;
    return 0;
}

static int take_merge_key(struct reader *r)
{
    struct frame *frame = top(r);

    if (frame->has_merge)
        return fail(r, ERR_INVALID, "DuplicateKey", "the key << occurs twice");
    frame->has_merge = frame->merging = frame->has_key = true;
    return 0;
}

/* Adds what the object does not have yet. */
static void merge_object(struct frame *frame, const struct value *from)
{
    for (size_t i = 0; i < value_count(from); i++) {
        size_t length;
        const char *key = value_member_key(from, i, &length);

        if (strmap_get_n(&frame->keys, key, length))
            continue;
        strmap_put_n(&frame->keys, key, length, frame);
        value_key_n(frame->builder, key, length);
        value_add(frame->builder, value_member(from, i));
    }
}

static void merge(struct frame *frame)
{
    if (value_is(frame->merge, VALUE_OBJECT))
        merge_object(frame, frame->merge);
    for (size_t i = 0; value_is(frame->merge, VALUE_ARRAY) && i < value_count(frame->merge); i++)
        merge_object(frame, value_at(frame->merge, i));
}

static bool can_merge(const struct value *value)
{
    if (!value_is(value, VALUE_ARRAY))
        return value_is(value, VALUE_OBJECT);
    for (size_t i = 0; i < value_count(value); i++)
        if (!value_is(value_at(value, i), VALUE_OBJECT))
            return false;
    return true;
}

/* ---- Nodes ---- */

/* Called after each value: reports an error of the builder, with the position. */
static int value_added(struct reader *r)
{
    struct frame *frame = top(r);
    struct value_builder *builder = builder_of(r);
    const struct value *none;

    if (value_builder_error(builder))
        return locate(r, value_builder_finish(builder, &none, r->error));
    if (frame)
        frame->has_key = frame->merging = false;
    return 0;
}

/* Adds a value that was built apart, or that an alias refers to. */
static int place(struct reader *r, const struct value *value)
{
    struct frame *frame = top(r);

    if (!frame || !frame->merging) {
        value_add(builder_of(r), value);
        return value_added(r);
    }
    if (!can_merge(value))
        return fail(r, ERR_INVALID, "Invalid", "<< takes a mapping, or a sequence of mappings");
    frame->merge = value_ref(value);
    return value_added(r);
}

static int on_scalar(struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t length = r->event.data.scalar.length;
    const char *tag = (const char *)r->event.data.scalar.tag;
    bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct frame *frame = top(r);
    struct yaml_scalar scalar;
    struct anchor *anchor;
    int code;

    if (length > LIMIT_STRING_BYTES)
        return fail(r, ERR_TOO_LARGE, "TooLarge", "a string of %zu bytes, of at most %u", length,
                    LIMIT_STRING_BYTES);
    code = yaml_scalar_read(&r->scratch, text, length, tag, plain, &scalar, r->error);
    if (code < 0)
        return locate(r, code);
    code = declare_anchor(r, r->event.data.scalar.anchor, &anchor);
    if (code >= 0)
        code = set_anchor(r, anchor, &scalar);
    if (code < 0)
        return code;
    if (wants_key(frame))
        return plain && !tag && strcmp(text, "<<") == 0 ? take_merge_key(r) : take_key(r, &scalar);
    if (frame && frame->merging)
        return fail(r, ERR_INVALID, "Invalid", "<< takes a mapping, or a sequence of mappings");
    add_scalar(builder_of(r), &scalar);
    return value_added(r);
}

static int on_begin(struct reader *r, enum value_type type, const yaml_char_t *name,
                    const yaml_char_t *tag)
{
    struct frame *parent = top(r), *frame;
    bool apart = name || (parent && parent->merging);
    struct anchor *anchor;
    int code;

    if (wants_key(parent))
        return fail(r, ERR_INVALID, "Invalid", "a key must be a scalar, not %s",
                    type == VALUE_OBJECT ? "a mapping" : "a sequence");
    if (r->depth == LIMIT_DEPTH)
        return fail(r, ERR_TOO_LARGE, "TooDeep", "nested more than %d levels", LIMIT_DEPTH);
    if (!yaml_tag_fits((const char *)tag, type))
        return fail(r, ERR_INVALID, "Invalid", "the tag %.64s does not fit %s", (const char *)tag,
                    type == VALUE_OBJECT ? "a mapping" : "a sequence");
    code = declare_anchor(r, name, &anchor);
    if (code < 0)
        return code;
    frame = &r->frames[r->depth];
    *frame = (struct frame){
        .type = type,
        .builder = apart ? value_builder_new() : builder_of(r),
        .apart = apart,
        .anchor = anchor,
    };
    r->depth++;
    if (type == VALUE_OBJECT)
        value_begin_object(frame->builder);
    else
        value_begin_array(frame->builder);
    return 0;
}

static void frame_done(struct frame *frame)
{
    if (frame->apart)
        value_builder_free(frame->builder);
    strmap_done(&frame->keys);
    value_unref(frame->merge);
}

static int on_end(struct reader *r)
{
    struct frame *frame = top(r);
    _cleanup_value_ const struct value *value = NULL;
    struct anchor *anchor = frame->anchor;
    bool apart = frame->apart;
    int code = 0;

    merge(frame);
    if (frame->type == VALUE_OBJECT)
        value_end_object(frame->builder);
    else
        value_end_array(frame->builder);
    if (apart)
        code = value_builder_finish(frame->builder, &value, r->error);
    frame_done(frame);
    r->depth--;
    if (code < 0)
        return locate(r, code);
    if (anchor)
        anchor->value = value_ref(value);
    return apart ? place(r, value) : value_added(r);
}

static struct yaml_scalar scalar_of(const struct value *value)
{
    struct yaml_scalar scalar = {.type = value_type(value), .boolean = value_bool(value, false)};

    if (scalar.type == VALUE_STRING)
        scalar.text = value_string_n(value, &scalar.length);
    else
        scalar.text = value_number(value);
    if (scalar.type == VALUE_NUMBER)
        scalar.length = strlen(scalar.text);
    return scalar;
}

static int on_alias(struct reader *r)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    const struct anchor *anchor = strmap_get(&r->anchors, name);
    struct yaml_scalar key;

    if (!anchor)
        return fail(r, ERR_INVALID, "Invalid", "the anchor &%.64s is not known here", name);
    if (!anchor->value)
        return fail(r, ERR_INVALID, "Invalid", "the alias *%.64s is inside its own anchor", name);
    if (wants_key(top(r))) {
        if (value_is(anchor->value, VALUE_ARRAY) || value_is(anchor->value, VALUE_OBJECT))
            return fail(r, ERR_INVALID, "Invalid", "a key must be a scalar, and *%.64s is not one",
                        name);
        key = scalar_of(anchor->value);
        return take_key(r, &key);
    }
    r->alias_values += value_size(anchor->value);
    if (r->alias_values > LIMIT_YAML_ALIAS_VALUES)
        return fail(r, ERR_TOO_LARGE, "TooLarge", "aliases expand to more than %u values",
                    LIMIT_YAML_ALIAS_VALUES);
    return place(r, anchor->value);
}

/* ---- Documents ---- */

static void document_done(struct reader *r)
{
    while (r->depth)
        frame_done(&r->frames[--r->depth]);
    for (struct anchor *a = r->all_anchors; a; a = a->next)
        value_unref(a->value);
    r->all_anchors = NULL;
    r->n_anchors = 0;
    r->alias_values = 0;
    strmap_done(&r->anchors);
    arena_done(&r->scratch);
}

static int on_document_start(struct reader *r)
{
    if (r->n_documents++ == LIMIT_YAML_DOCUMENTS)
        return fail(r, ERR_TOO_LARGE, "TooLarge", "more than %d documents", LIMIT_YAML_DOCUMENTS);
    r->line = r->event.start_mark.line + 1;
    return 0;
}

static int on_document_end(struct reader *r)
{
    _cleanup_value_ const struct value *value = NULL;
    int code = value_builder_finish(r->builder, &value, r->error);

    document_done(r);
    if (code < 0)
        return locate(r, code);
    if (value_type(value) == VALUE_NULL)
        return 0;
    r->values = mem_grow(r->values, r->count, &r->capacity, sizeof(*r->values));
    r->lines = mem_grow(r->lines, r->count, &r->lines_capacity, sizeof(*r->lines));
    r->lines[r->count] = r->line;
    r->values[r->count++] = TAKE(value);
    return 0;
}

static int on_event(struct reader *r)
{
    const yaml_event_t *event = &r->event;

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document_start(r);
    case YAML_DOCUMENT_END_EVENT:
        return on_document_end(r);
    case YAML_SCALAR_EVENT:
        return on_scalar(r);
    case YAML_ALIAS_EVENT:
        return on_alias(r);
    case YAML_MAPPING_START_EVENT:
        return on_begin(r, VALUE_OBJECT, event->data.mapping_start.anchor,
                        event->data.mapping_start.tag);
    case YAML_SEQUENCE_START_EVENT:
        return on_begin(r, VALUE_ARRAY, event->data.sequence_start.anchor,
                        event->data.sequence_start.tag);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(r);
    default:
        return 0;
    }
}

static int parser_failure(struct reader *r)
{
    const yaml_parser_t *parser = &r->parser;
    const char *context = parser->context;

    return err_set(r->error, ERR_INVALID, "Invalid", "line %zu, column %zu: %s%s%s",
                   parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                   context ? context : "", context ? ": " : "",
                   parser->problem ? parser->problem : "not YAML");
}

static int read_events(struct reader *r)
{
    bool more = true;
    int code = 0;

    while (more && code == 0) {
        if (!yaml_parser_parse(&r->parser, &r->event))
            return parser_failure(r);
        more = r->event.type != YAML_STREAM_END_EVENT;
        code = on_event(r);
        yaml_event_delete(&r->event);
    }
    return code;
}

int yaml_read_lines(const char *text, size_t length, const struct value ***ret, size_t **ret_lines,
                    size_t *ret_count, struct error *error)
{
    struct reader r = {.error = error};
    int code = yaml_text_check(text, length, error);

    if (code < 0)
        return code;
    if (!yaml_parser_initialize(&r.parser))
        abort(); /* no memory */
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
    r.builder = value_builder_new();
    r.frames = NEW_ARRAY(struct frame, LIMIT_DEPTH);
    code = read_events(&r);
    document_done(&r);
    free(r.frames);
    value_builder_free(r.builder);
    yaml_parser_delete(&r.parser);
    if (code < 0) {
        yaml_free_all(r.values, r.count);
        free(r.lines);
        return code;
    }
    *ret = r.values;
    *ret_lines = r.lines;
    *ret_count = r.count;
    return 0;
}

int yaml_read_all(const char *text, size_t length, const struct value ***ret, size_t *ret_count,
                  struct error *error)
{
    _cleanup_free_ size_t *lines = NULL;

    return yaml_read_lines(text, length, ret, &lines, ret_count, error);
}

void yaml_free_all(const struct value **values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        value_unref(values[i]);
    free(values);
}

int yaml_read(const char *text, size_t length, const struct value **ret, struct error *error)
{
    const struct value **values;
    size_t count;
    int code = yaml_read_all(text, length, &values, &count, error);

    if (code < 0)
        return code;
    if (count == 1)
        *ret = value_ref(values[0]);
    else
        code = err_set(error, ERR_INVALID, "Invalid", "%zu YAML documents instead of one", count);
    yaml_free_all(values, count);
    return code;
}
