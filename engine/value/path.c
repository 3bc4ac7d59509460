#include "engine/value/path.h"

#include <string.h>

#include "engine/base/mem.h"

/* ---- Making ---- */

void path_init(struct path *path)
{
    *path = (struct path){0};
    buf_init(&path->text, 0);
}

void path_done(struct path *path)
{
    buf_done(&path->text);
    free(path->marks);
    path_init(path);
}

static void push(struct path *path)
{
    path->marks = mem_grow(path->marks, path->depth, &path->capacity, sizeof(*path->marks));
    path->marks[path->depth++] = path->text.length;
}

void path_push_key(struct path *path, const char *key)
{
    push(path);
    if (!*key || strpbrk(key, "[]\"")) {
        buf_add_str(&path->text, "[\"");
        for (; *key; key++) {
            if (*key == '"' || *key == '\\')
                buf_add_char(&path->text, '\\');
            buf_add_char(&path->text, *key);
        }
        buf_add_str(&path->text, "\"]");
    } else if (strchr(key, '.')) {
        buf_printf(&path->text, "[%s]", key);
    } else {
        buf_printf(&path->text, "%s%s", path->text.length ? "." : "", key);
    }
}

void path_push_index(struct path *path, size_t index)
{
    push(path);
    buf_printf(&path->text, "[%zu]", index);
}

void path_pop(struct path *path)
{
    if (!path->depth)
        abort();
    path->text.length = path->marks[--path->depth];
    if (path->text.capacity)
        path->text.data[path->text.length] = '\0';
}

const char *path_text(const struct path *path)
{
    return path->text.data;
}

/* ---- Reading: one step after the other ---- */

struct step {
    struct buf key;  /* without brackets, quotes and escapes */
    const char *end; /* in the path, behind the step */
    bool quoted;
};

static const char *read_quoted(const char *at, struct step *step, const char **ret_problem)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
            at++;
        buf_add_char(&step->key, *at);
    }
    if (*at != '"' || at[1] != ']') {
        *ret_problem = "a quoted key that does not end in \"]";
        return NULL;
    }
    step->quoted = true;
    return at + 2;
}

static const char *read_bracket(const char *at, struct step *step, const char **ret_problem)
{
    size_t length;

    at++;
    if (*at == '"')
        return read_quoted(at, step, ret_problem);
    length = strcspn(at, "[]");
    buf_add(&step->key, at, length);
    if (at[length] == ']' && length)
        return at + length + 1;
    *ret_problem = length ? "a bracket that is not closed" : "nothing in brackets";
    return NULL;
}

/* Reads the step that begins at `at`. False: *ret_problem describes the error. */
static bool read_step(const char *path, const char *at, struct step *step, const char **ret_problem)
{
    size_t length;

    buf_reset(&step->key);
    step->quoted = false;
    if (*at == '[') {
        step->end = read_bracket(at, step, ret_problem);
        return step->end != NULL;
    }
    if (at > path && *at++ != '.') {
        *ret_problem = "neither . nor [ before a key";
        return false;
    }
    length = strcspn(at, ".[]");
    if (!length || at[length] == ']') {
        *ret_problem = length ? "a ] without its [" : "a key that is empty";
        return false;
    }
    buf_add(&step->key, at, length);
    step->end = at + length;
    return true;
}

static bool to_index(const char *text, size_t length, size_t *ret)
{
    size_t index = 0;

    if (length == 0 || length > 9 || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        index = index * 10 + (size_t)(text[i] - '0');
    }
    *ret = index;
    return true;
}

static const struct value *descend(const struct value *value, const char *key, size_t length)
{
    size_t index;

    if (value_is(value, VALUE_ARRAY))
        return to_index(key, length, &index) ? value_at(value, index) : NULL;
    return value_get_n(value, key, length);
}

const struct value *path_find(const struct value *root, const char *path, size_t *ret_reached)
{
    struct step step = {.key = BUF_INIT};
    const struct value *value = root;
    const char *at = path, *problem;

    while (value && (*at || at == path)) {
        const struct value *below = NULL;

        if (read_step(path, at, &step, &problem) && !(step.quoted && value_is(value, VALUE_ARRAY)))
            below = descend(value, step.key.data, step.key.length);
        if (below)
            at = step.end;
        value = below;
    }
    buf_done(&step.key);
    if (ret_reached)
        *ret_reached = (size_t)(at - path);
    return value;
}

bool path_check(const char *path, struct error *error)
{
    struct step step = {.key = BUF_INIT};
    const char *at = path, *problem = NULL;

    while (!problem && (*at || at == path))
        if (read_step(path, at, &step, &problem))
            at = step.end;
    buf_done(&step.key);
    if (problem)
        err_set(error, ERR_INVALID, "InvalidPath", "the path \"%s\", byte %zu: %s", path,
                (size_t)(at - path) + 1, problem);
    return !problem;
}

const char *path_step(const char *path, const char *at, struct buf *ret_step)
{
    struct step step = {.key = BUF_INIT};
    const char *problem;
    bool is_step = *at && read_step(path, at, &step, &problem);

    buf_reset(ret_step);
    buf_add(ret_step, step.key.data, step.key.length);
    buf_done(&step.key);
    return is_step ? step.end : NULL;
}

/* ---- JSON pointers ---- */

/* Reads and unescapes the token at *pointer (a slash), and moves *pointer behind it. False: not a
 * pointer. */
static bool read_token(const char **pointer, struct buf *ret_key)
{
    const char *at = *pointer;

    buf_reset(ret_key);
    if (*at++ != '/')
        return false;
    for (; *at && *at != '/'; at++) {
        char c = *at;

        if (c == '~') {
            at++;
            if (*at != '0' && *at != '1')
                return false;
            c = *at == '0' ? '~' : '/';
        }
        buf_add_char(ret_key, c);
    }
    *pointer = at;
    return true;
}

const struct value *pointer_find(const struct value *root, const char *pointer)
{
    const struct value *value = root;
    _cleanup_buf_ struct buf key = BUF_INIT;

    while (value && *pointer) {
        if (read_token(&pointer, &key))
            value = descend(value, key.data, key.length);
        else
            value = NULL;
    }
    return value;
}

void pointer_add(struct buf *to, const char *key, size_t length)
{
    buf_add_char(to, '/');
    for (size_t i = 0; i < length; i++) {
        if (key[i] == '~')
            buf_add_str(to, "~0");
        else if (key[i] == '/')
            buf_add_str(to, "~1");
        else
            buf_add_char(to, key[i]);
    }
}

/* Adds `value` (with its key, if it is a member) in which the value at the pointer is replaced or
 * left out. The pointer is known to lead somewhere. */
static void add_replaced(struct value_builder *b, const char *key, size_t key_length,
                         const struct value *value, const char *pointer, const struct value *with)
{
    const struct value *on_way;
    _cleanup_buf_ struct buf token = BUF_INIT;

    if (!*pointer && !with)
        return;
    if (key)
        value_key_n(b, key, key_length);
    if (!*pointer) {
        value_add(b, with);
        return;
    }
    read_token(&pointer, &token);
    on_way = descend(value, token.data, token.length);
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        const struct value *below = value_child(value, i);
        size_t length = 0;
        const char *its_key = value_member_key(value, i, &length);

        if (below == on_way) {
            add_replaced(b, its_key, length, below, pointer, with);
            continue;
        }
        if (its_key)
            value_key_n(b, its_key, length);
        value_add(b, below);
    }
    value_end(b);
}

const struct value *pointer_replace(const struct value *root, const char *pointer,
                                    const struct value *with)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!pointer_find(root, pointer))
        return value_ref(root);
    if (!*pointer)
        return value_ref(with);
    b = value_builder_new();
    add_replaced(b, NULL, 0, root, pointer, with);
    return value_finish(b);
}
