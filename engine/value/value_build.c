#include <stdio.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/decimal.h"
#include "engine/value/value.h"
#include "engine/value/value_held.h"
#include "engine/value/value_private.h"

#define KEY_SHOWN_BYTES 200 /* of a key, in a message */

/* An open container: its items are the pending values from `first` on. */
struct frame {
    size_t first;
    size_t size_before;
    enum value_type type;
    uint16_t height; /* of the highest item so far */
};

struct value_builder {
    struct document *document; /* document under construction; NULL: nothing was added yet */
    struct member *pending;
    size_t n_pending, pending_capacity;
    struct frame *frames;
    size_t depth, frames_capacity;
    size_t size; /* values so far, those of shared trees included */
    const char *key;
    size_t key_length;
    bool mark_next;   /* the next value is sensitive */
    struct held held; /* the documents that the new one points to */
    struct error error;
};

/* Aborts on a wrong sequence of calls: a bug, never caused by data. */
static _Noreturn void misused(const char *how)
{
    fprintf(stderr, "value builder: %s\n", how);
    abort();
}

struct value_builder *value_builder_new(void)
{
    return NEW(struct value_builder);
}

static void reset(struct value_builder *b)
{
    held_release(&b->held);
    if (b->document)
        document_unref(b->document);
    b->document = NULL;
    b->n_pending = 0;
    b->depth = 0;
    b->size = 0;
    b->key = NULL;
    b->mark_next = false;
    if (b->error.code)
        err_clear(&b->error);
}

void value_builder_free(struct value_builder *b)
{
    if (!b)
        return;
    reset(b);
    held_done(&b->held);
    free(b->frames);
    free(b->pending);
    free(b);
}

int value_builder_error(const struct value_builder *b)
{
    return b->error.code;
}

size_t value_builder_depth(const struct value_builder *b)
{
    return b->depth;
}

/* ---- Adding ---- */

/* The innermost open container; NULL: none. */
static struct value *parent(const struct value_builder *b)
{
    return b->depth ? &b->pending[b->frames[b->depth - 1].first - 1].value : NULL;
}

static void mark_parent(struct value_builder *b, uint8_t marks)
{
    if (b->depth)
        parent(b)->marks |= marks & MARKS_OF_PARENTS;
}

/* Returns the slot of the next value; NULL after an error. Only document, type and the sensitive
 * bit are set. */
static struct value *next(struct value_builder *b, enum value_type type, size_t size)
{
    struct member *member;

    if (b->error.code)
        return NULL;
    if (b->depth == 0 && b->n_pending)
        misused("a second root");
    if (b->depth && (b->frames[b->depth - 1].type == VALUE_OBJECT) != (b->key != NULL))
        misused("a member without a key, or an item with one");
    if (size > LIMIT_DOCUMENT_VALUES - b->size) {
        err_set(&b->error, ERR_TOO_LARGE, "TooManyValues", "more than %u values",
                LIMIT_DOCUMENT_VALUES);
        return NULL;
    }
    if (!b->document)
        b->document = document_new();
    b->size += size;
    b->pending = mem_grow(b->pending, b->n_pending, &b->pending_capacity, sizeof(*b->pending));
    member = &b->pending[b->n_pending++];
    member->key = b->key;
    member->key_length = b->key_length;
    b->key = NULL;
    member->value = (struct value){.document = b->document, .type = (uint8_t)type};
    if (b->mark_next || value_is_sensitive(parent(b)))
        member->value.marks = MARK_SENSITIVE | MARK_HAS_SENSITIVE;
    b->mark_next = false;
    mark_parent(b, member->value.marks);
    return &member->value;
}

static void begin(struct value_builder *b, enum value_type type)
{
    size_t size_before = b->size;

    if (!b->error.code && b->depth >= LIMIT_DEPTH)
        err_set(&b->error, ERR_TOO_LARGE, "TooDeep", "nested more than %d levels", LIMIT_DEPTH);
    if (!next(b, type, 1))
        return;
    b->frames = mem_grow(b->frames, b->depth, &b->frames_capacity, sizeof(*b->frames));
    b->frames[b->depth++] =
        (struct frame){.first = b->n_pending, .size_before = size_before, .type = type};
}

void value_begin_object(struct value_builder *b)
{
    begin(b, VALUE_OBJECT);
}

void value_begin_array(struct value_builder *b)
{
    begin(b, VALUE_ARRAY);
}

static void raise_height(struct value_builder *b, uint16_t height)
{
    struct frame *frame = b->depth ? &b->frames[b->depth - 1] : NULL;

    if (frame && frame->height < height)
        frame->height = height;
}

static void refuse_key(struct value_builder *b, const char *key, size_t length)
{
    err_set(&b->error, ERR_INVALID, "DuplicateKey", "the key \"%.*s\" occurs twice",
            (int)(length < KEY_SHOWN_BYTES ? length : KEY_SHOWN_BYTES), key);
}

static int compare_members(const void *a, const void *b, void *members)
{
    const struct member *all = members;

    return value_key_compare(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

static const uint32_t *sort_members(struct value_builder *b, struct member *members, size_t count)
{
    uint32_t *sorted = ARENA_ARRAY(&b->document->arena, uint32_t, count);

    for (size_t i = 0; i < count; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, count, sizeof(*sorted), compare_members, members);
    for (size_t i = 1; i < count; i++)
        if (value_key_compare(&members[sorted[i - 1]], &members[sorted[i]]) == 0) {
            refuse_key(b, members[sorted[i]].key, members[sorted[i]].key_length);
            break;
        }
    return sorted;
}

static const struct array_block *make_array(struct value_builder *b, const struct member *items,
                                            size_t count, size_t size)
{
    struct array_block *block =
        arena_alloc(&b->document->arena, sizeof(*block) + count * sizeof(block->items[0]));

    block->owner = b->document;
    block->size = size;
    for (size_t i = 0; i < count; i++)
        block->items[i] = items[i].value;
    return block;
}

static const struct object_block *make_object(struct value_builder *b, struct member *members,
                                              size_t count, size_t size)
{
    struct object_block *block =
        arena_alloc(&b->document->arena, sizeof(*block) + count * sizeof(block->members[0]));

    block->owner = b->document;
    block->size = size;
    memcpy(block->members, members, count * sizeof(block->members[0]));
    if (count > VALUE_LINEAR_MEMBERS)
        block->sorted = sort_members(b, members, count);
    return block;
}

static void end(struct value_builder *b, enum value_type type)
{
    struct frame *frame;
    struct member *items;
    struct value *value;
    size_t count, size;

    if (b->error.code)
        return;
    if (!b->depth || b->frames[b->depth - 1].type != type || b->key)
        misused("an end that does not match");
    frame = &b->frames[--b->depth];
    count = b->n_pending - frame->first;
    size = b->size - frame->size_before;
    items = b->pending + frame->first;
    value = &b->pending[frame->first - 1].value;
    value->count = (uint32_t)count;
    value->height = (uint16_t)(frame->height + 1);
    if (count && type == VALUE_ARRAY)
        value->array = make_array(b, items, count, size);
    else if (count)
        value->object = make_object(b, items, count, size);
    b->n_pending = frame->first;
    raise_height(b, value->height);
    mark_parent(b, value->marks);
}

void value_end_object(struct value_builder *b)
{
    end(b, VALUE_OBJECT);
}

void value_end_array(struct value_builder *b)
{
    end(b, VALUE_ARRAY);
}

void value_begin_like(struct value_builder *b, const struct value *like)
{
    if (!value_is(like, VALUE_ARRAY) && !value_is(like, VALUE_OBJECT))
        misused("begun like what is no container");
    b->mark_next = b->mark_next || value_is_sensitive(like);
    begin(b, value_type(like));
}

void value_end(struct value_builder *b)
{
    if (!b->error.code)
        end(b, b->depth ? b->frames[b->depth - 1].type : VALUE_NULL);
}

void value_key(struct value_builder *b, const char *key)
{
    value_key_n(b, key, strlen(key));
}

/* Small objects are searched for a duplicate key at once; larger ones are sorted and checked when
 * they end. */
static bool is_known_key(const struct value_builder *b, const char *key, size_t length)
{
    const struct frame *frame = &b->frames[b->depth - 1];

    if (b->n_pending - frame->first > VALUE_LINEAR_MEMBERS)
        return false;
    for (size_t i = frame->first; i < b->n_pending; i++)
        if (b->pending[i].key_length == length && memcmp(b->pending[i].key, key, length) == 0)
            return true;
    return false;
}

static bool fits(struct value_builder *b, size_t length, size_t limit, const char *what)
{
    if (length <= limit)
        return true;
    err_set(&b->error, ERR_TOO_LARGE, "TooLong", "a %s of more than %zu bytes", what, limit);
    return false;
}

void value_key_n(struct value_builder *b, const char *key, size_t length)
{
    if (b->error.code || !fits(b, length, LIMIT_STRING_BYTES, "key"))
        return;
    if (!b->depth || b->frames[b->depth - 1].type != VALUE_OBJECT || b->key)
        misused("a key out of place");
    if (is_known_key(b, key, length)) {
        refuse_key(b, key, length);
        return;
    }
    b->key = arena_str_n(&b->document->arena, key, length);
    b->key_length = length;
}

void value_add_null(struct value_builder *b)
{
    next(b, VALUE_NULL, 1);
}

void value_add_bool(struct value_builder *b, bool v)
{
    struct value *value = next(b, VALUE_BOOL, 1);

    if (value)
        value->boolean = v;
}

static const char *copy_text(struct value_builder *b, const char *text, size_t length)
{
    struct text_block *block;

    if (length < VALUE_LONG_TEXT)
        return arena_str_n(&b->document->arena, text, length);
    block = arena_alloc(&b->document->arena, sizeof(*block) + length + 1);
    block->owner = b->document;
    memcpy(block->text, text, length);
    block->text[length] = '\0';
    return block->text;
}

static void add_text(struct value_builder *b, enum value_type type, const char *text, size_t length)
{
    struct value *value = next(b, type, 1);

    if (!value)
        return;
    value->text = copy_text(b, text, length);
    value->count = (uint32_t)length;
}

void value_add_int(struct value_builder *b, int64_t v)
{
    char text[24];

    add_text(b, VALUE_NUMBER, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)v));
}

void value_add_number(struct value_builder *b, const char *text, size_t length)
{
    struct decimal decimal;

    if (b->error.code || !fits(b, length, LIMIT_NUMBER_BYTES, "number"))
        return;
    if (!decimal_read(&decimal, text, length)) {
        err_set(&b->error, ERR_INVALID, "InvalidNumber",
                "not a JSON number, or one with an exponent of more than %d digits: %.*s",
                DECIMAL_EXPONENT_DIGITS, (int)length, text);
        return;
    }
    add_text(b, VALUE_NUMBER, text, length);
}

void value_add_string(struct value_builder *b, const char *s)
{
    if (s)
        value_add_string_n(b, s, strlen(s));
    else
        value_add_null(b);
}

void value_add_string_n(struct value_builder *b, const char *s, size_t length)
{
    if (!b->error.code && fits(b, length, LIMIT_STRING_BYTES, "string"))
        add_text(b, VALUE_STRING, s, length);
}

void value_add_printf(struct value_builder *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    value_add_string(b, text);
}

void value_add_unknown(struct value_builder *b)
{
    struct value *value = next(b, VALUE_UNKNOWN, 1);

    if (!value)
        return;
    value->marks |= MARK_HAS_UNKNOWN;
    mark_parent(b, value->marks);
}

/* Copies a container to mark it sensitive, because the original is not. */
static void add_marked_copy(struct value_builder *b, const struct value *v)
{
    value_begin_like(b, v);
    for (size_t i = 0; i < v->count && !b->error.code; i++)
        if (v->type == VALUE_OBJECT) {
            const struct member *member = &v->object->members[i];

            value_key_n(b, member->key, member->key_length);
            value_add(b, &member->value);
        } else {
            value_add(b, &v->array->items[i]);
        }
    value_end(b);
}

static void share(struct value_builder *b, const struct value *v)
{
    struct value *value = next(b, v->type, value_size(v));
    uint8_t marks;

    if (!value)
        return;
    marks = value->marks | v->marks;
    *value = *v;
    value->document = b->document;
    value->marks = marks;
    held_add(&b->held, value_owner(v));
    raise_height(b, v->height);
    mark_parent(b, marks);
}

void value_add_scalar(struct value_builder *b, const struct value *v)
{
    if (b->error.code)
        return;
    b->mark_next = b->mark_next || value_is_sensitive(v);
    if (v->type == VALUE_NUMBER || v->type == VALUE_STRING)
        add_text(b, v->type, v->text, v->count);
    else
        share(b, v);
}

static bool is_copied(const struct value *v)
{
    return v->type == VALUE_NUMBER || (v->type == VALUE_STRING && v->count < VALUE_LONG_TEXT);
}

void value_add(struct value_builder *b, const struct value *v)
{
    if (b->error.code)
        return;
    if (!v) {
        value_add_null(b);
        return;
    }
    b->mark_next = b->mark_next || value_is_sensitive(v);
    if (is_copied(v)) {
        add_text(b, v->type, v->text, v->count);
        return;
    }
    if (b->depth + v->height > LIMIT_DEPTH) {
        err_set(&b->error, ERR_TOO_LARGE, "TooDeep", "nested more than %d levels", LIMIT_DEPTH);
        return;
    }
    if ((b->mark_next || value_is_sensitive(parent(b))) && !value_is_sensitive(v) && value_count(v))
        add_marked_copy(b, v);
    else
        share(b, v);
}

void value_add_sensitive(struct value_builder *b, const struct value *v)
{
    b->mark_next = true;
    value_add(b, v);
}

int value_builder_finish(struct value_builder *b, const struct value **ret, struct error *error)
{
    struct document *document;

    if (b->error.code) {
        int code = err_copy(error, &b->error);

        reset(b);
        return code;
    }
    if (b->depth || b->n_pending != 1)
        misused("finished before the root was complete");
    document = TAKE(b->document);
    document->root = b->pending[0].value;
    held_hand_over(&b->held, document);
    reset(b);
    *ret = &document->root;
    return 0;
}

const struct value *value_finish(struct value_builder *b)
{
    const struct value *ret = NULL;

    return value_builder_finish(b, &ret, NULL) < 0 ? NULL : ret;
}

const struct value *value_sensitive(const struct value *value)
{
    struct value_builder *b;
    const struct value *marked = NULL;

    if (!value || value_is_sensitive(value))
        return value_ref(value);
    b = value_builder_new();
    value_add_sensitive(b, value);
    value_builder_finish(b, &marked, NULL);
    value_builder_free(b);
    return marked;
}
