#include "controller/reconcile/inputs/source_text.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/state/gzip.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/objects/object_ref.h"

#define KUBERNETES  "Kubernetes"
#define LIST_LEVELS 4 /* lists in lists */

static int PRINTF_LIKE(2, 3) invalid(struct error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_set_v(error, ERR_INVALID, "InvalidSource", format, args);
    va_end(args);
    return ERR_INVALID;
}

/* ---- How much it is ---- */

/* Bytes of memory for each byte of text that may begin one more value. A value has 24 bytes, a
 * member 40, and while a list grows it is there twice. Half of all values are as small as that. */
#define VALUE_BYTES 64

struct measure {
    struct source_size *size;
    size_t text; /* of this source */
    unsigned char last;
};

static bool measure_piece(void *arg, const void *piece, size_t length)
{
    struct measure *measure = arg;
    const unsigned char *bytes = piece;
    unsigned char last = measure->last;
    size_t values = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = bytes[i];

        /* "- - 1" has a list in a list */
        values +=
            c == ',' || c == '[' || c == '{' || c == ':' || c == '\n' || (c == ' ' && last == '-');
        last = c;
    }
    measure->last = last;
    measure->text += length;
    measure->size->text += length;
    measure->size->memory += length + values * VALUE_BYTES;
    return measure->text <= SOURCE_TEXT_BYTES && measure->size->text <= SOURCES_TEXT_BYTES;
}

int source_text_measure(const void *bytes, size_t length, struct source_size *ret,
                        struct error *error)
{
    struct measure measure = {.size = ret};
    int r = 0;

    if (length > SOURCE_BYTES)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "it has %zu bytes, of at most %u", length,
                       SOURCE_BYTES);
    if (gzip_is(bytes, length))
        r = gzip_expand_each(bytes, length, measure_piece, &measure);
    else if (!measure_piece(&measure, bytes, length))
        r = ERR_TOO_LARGE;
    if (r == ERR_TOO_LARGE && measure.text > SOURCE_TEXT_BYTES)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "unzipped, it has more than %u MiB",
                       SOURCE_TEXT_BYTES >> 20);
    if (r == ERR_TOO_LARGE)
        return err_set(error, ERR_TOO_LARGE, "TooLarge",
                       "with it, the sources of this Spec have more than %u MiB, unzipped",
                       SOURCES_TEXT_BYTES >> 20);
    return r < 0 ? invalid(error, "it begins as gzip, and is cut or damaged, or something follows "
                                  "its end")
                 : 0;
}

/* ---- The resources ---- */

void source_resources_init(struct source_resources *resources)
{
    *resources = (struct source_resources){.list = value_builder_new()};
    strmap_init(&resources->ids);
    arena_init(&resources->arena);
    value_begin_array(resources->list);
}

void source_resources_done(struct source_resources *resources)
{
    value_builder_free(resources->list);
    strmap_done(&resources->ids);
    arena_done(&resources->arena);
}

int source_resources_finish(struct source_resources *resources, const struct value **ret,
                            struct error *error)
{
    value_end_array(resources->list);
    return value_builder_finish(resources->list, ret, error);
}

/* Where the walk through a document is. */
struct walk {
    struct source_resources *to;
    const char *label;
    bool is_secret;
    size_t line; /* on which the document begins */
    struct error *error;
};

static int PRINTF_LIKE(2, 3) refuse(struct walk *walk, const char *format, ...)
{
    _cleanup_free_ char *message = NULL;
    va_list args;

    va_start(args, format);
    message = str_vprintf(format, args);
    va_end(args);
    return invalid(walk->error, "%s, line %zu: %s", walk->label, walk->line, message);
}

/* The place of an id, for the message about another one. */
static int note_id(struct walk *walk, const char *id)
{
    struct source_resources *to = walk->to;
    char *place = arena_printf(&to->arena, "%s, line %zu", walk->label, walk->line);
    const char *before = strmap_put(&to->ids, arena_str(&to->arena, id), place);
    _cleanup_free_ char *shown = utf8_show(id);

    to->count++;
    return before ? refuse(walk, "the resource \"%s\" is there twice; the first one: %s", shown,
                           before)
                  : 0;
}

static void add_member(struct value_builder *b, const char *key, const struct value *value,
                       bool is_secret)
{
    value_key(b, key);
    if (is_secret)
        value_add_sensitive(b, value);
    else
        value_add(b, value);
}

static bool is_name(const char *key)
{
    return str_equal(key, "apiVersion") || str_equal(key, "kind") || str_equal(key, "metadata");
}

static void add_attributes(struct walk *walk, const struct value *attributes, bool is_object)
{
    struct value_builder *b = walk->to->list;
    size_t length;

    value_key(b, "attributes");
    if (!walk->is_secret || !value_is(attributes, VALUE_OBJECT)) {
        value_add(b, attributes);
        return;
    }
    value_begin_object(b);
    for (size_t i = 0; i < value_count(attributes); i++) {
        const char *key = value_member_key(attributes, i, &length);

        add_member(b, key, value_member(attributes, i), !is_object || !is_name(key));
    }
    value_end_object(b);
}

/* One in Kusion's format. */
static int add_resource(struct walk *walk, const struct value *entry)
{
    static const char *const plain[] = {"id", "type", "dependsOn"};
    struct value_builder *b = walk->to->list;
    const char *id = value_get_string(entry, "id"), *type = value_get_string(entry, "type");
    size_t length;
    int r;

    if (!id || !*id || !type)
        return refuse(walk, "a resource has to have a string `id`, and a string `type`");
    for (size_t i = 0; i < value_count(entry); i++) {
        const char *key = value_member_key(entry, i, &length);
        _cleanup_free_ char *shown = utf8_show(key);

        if (!str_equal(key, "attributes") && !str_equal(key, "extensions") &&
            !str_equal(key, plain[0]) && !str_equal(key, plain[1]) && !str_equal(key, plain[2]))
            return refuse(walk, "the resource \"%s\" has an unknown field \"%s\"", id, shown);
    }
    r = note_id(walk, id);
    if (r < 0)
        return r;
    value_begin_object(b);
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (value_get(entry, plain[i]))
            add_member(b, plain[i], value_get(entry, plain[i]), false);
    add_attributes(walk, value_get(entry, "attributes"), str_equal(type, KUBERNETES));
    if (value_get(entry, "extensions"))
        add_member(b, "extensions", value_get(entry, "extensions"), walk->is_secret);
    value_end_object(b);
    return 0;
}

static int add_manifest(struct walk *walk, const struct value *object)
{
    struct value_builder *b = walk->to->list;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const struct object_ref ref = object_ref_of(object);
    const char *id;
    int r;

    if (!ref.name || !*ref.name)
        return refuse(walk, "%s without metadata.name", ref.kind);
    id = object_ref_id(&arena, &ref);
    r = note_id(walk, id);
    if (r >= 0) {
        value_begin_object(b);
        value_key(b, "id");
        value_add_string(b, id);
        value_key(b, "type");
        value_add_string(b, KUBERNETES);
        add_attributes(walk, object, true);
        value_end_object(b);
    }
    return r;
}

static int add_any(struct walk *walk, const struct value *value, unsigned depth);

static int add_all(struct walk *walk, const struct value *list, unsigned depth)
{
    int r = 0;

    if (depth == LIST_LEVELS)
        return refuse(walk, "lists are nested %u levels deep at most", LIST_LEVELS);
    for (size_t i = 0; i < value_count(list) && r >= 0; i++)
        r = add_any(walk, value_at(list, i), depth + 1);
    return r;
}

/* {resources: […]} */
static int add_kusion(struct walk *walk, const struct value *value, unsigned depth)
{
    size_t length;

    for (size_t i = 0; i < value_count(value); i++) {
        const char *key = value_member_key(value, i, &length);
        _cleanup_free_ char *shown = utf8_show(key);

        if (!str_equal(key, "resources") && value_count(value_member(value, i)))
            return refuse(walk, "\"%s\" beside `resources`: that belongs into the Spec itself",
                          shown);
    }
    return add_all(walk, value_get(value, "resources"), depth);
}

static int add_any(struct walk *walk, const struct value *value, unsigned depth)
{
    const char *kind = value_get_string(value, "kind");
    const char *version = value_get_string(value, "apiVersion");

    if (value_is(value, VALUE_ARRAY))
        return add_all(walk, value, depth);
    if (!value_is(value, VALUE_OBJECT))
        return refuse(walk, "neither an object of Kubernetes, nor a resource, but of type %s",
                      value_type_name(value));
    if (kind && version && api_group_is(version, "api.kusion.io"))
        return refuse(walk, "an object of api.kusion.io is no resource; of a Spec, put in the list "
                            "`resources`");
    if (kind && version && str_has_suffix(kind, "List") &&
        value_is(value_get(value, "items"), VALUE_ARRAY))
        return add_all(walk, value_get(value, "items"), depth);
    if (kind && version)
        return add_manifest(walk, value);
    if (value_get(value, "id"))
        return add_resource(walk, value);
    if (value_is(value_get(value, "resources"), VALUE_ARRAY))
        return add_kusion(walk, value, depth);
    return refuse(walk, "neither an object of Kubernetes (`apiVersion` and `kind`), nor a resource "
                        "(`id` and `type`), nor a list of them (`resources`)");
}

void source_resources_add_own(struct source_resources *resources, const struct value *list)
{
    for (size_t i = 0; value_is(list, VALUE_ARRAY) && i < value_count(list); i++) {
        const char *id = value_get_string(value_at(list, i), "id");

        if (id)
            strmap_put(&resources->ids, id, arena_str(&resources->arena, "spec.resources"));
        value_add(resources->list, value_at(list, i));
        resources->count++;
    }
}

/* ---- Text ---- */

/* The place, without the words that stand there. */
static void hide_text(struct error *error)
{
    size_t line, column;
    int n = sscanf(error->message, "line %zu, column %zu", &line, &column);

    if (n == 2)
        err_set(error, error->code, NULL,
                "line %zu, column %zu: cannot be read (no more is shown of a Secret)", line,
                column);
    else
        err_set(error, error->code, NULL, "it cannot be read (no more is shown of a Secret)");
}

/* values: as of yaml_read_lines(). JSON that is no JSON may be YAML. */
static int read_documents(const char *text, size_t length, const struct value ***values,
                          size_t **lines, size_t *count, struct error *error)
{
    const struct value *value;
    char first = text[strspn(text, " \t\r\n")];
    bool is_json = first == '{' || first == '[';
    struct error not_json = {0};
    int r;

    if (is_json && json_read(text, length, &value, &not_json) >= 0) {
        *values = NEW_ARRAY(const struct value *, 1);
        *lines = NEW_ARRAY(size_t, 1);
        (*values)[0] = value;
        (*lines)[0] = 1;
        *count = 1;
        return 0;
    }
    r = yaml_read_lines(text, length, values, lines, count, error);
    return r < 0 && is_json ? err_copy(error, &not_json) : r;
}

static int add_text(struct walk *walk, const char *text, size_t length)
{
    const struct value **values = NULL;
    _cleanup_free_ size_t *lines = NULL;
    struct error problem = {0};
    size_t count = 0;
    int r = read_documents(text, length, &values, &lines, &count, &problem);

    if (r < 0) {
        if (walk->is_secret)
            hide_text(&problem);
        return err_set(walk->error, r, r == ERR_TOO_LARGE ? "TooLarge" : "InvalidSource", "%s, %s",
                       walk->label, problem.message);
    }
    if (!count)
        r = invalid(walk->error,
                    "%s has no document; `resources: []` says that there are no resources",
                    walk->label);
    for (size_t i = 0; i < count && r >= 0; i++) {
        walk->line = lines[i];
        walk->to->memory += value_memory(values[i]);
        r = add_any(walk, values[i], 0);
    }
    yaml_free_all(values, count);
    return r;
}

int source_resources_add(struct source_resources *resources, const char *label, bool is_secret,
                         const void *bytes, size_t length, struct error *error)
{
    struct walk walk = {.to = resources, .label = label, .is_secret = is_secret, .error = error};
    struct buf text;
    int r;

    buf_init(&text, SOURCE_TEXT_BYTES);
    if (gzip_is(bytes, length))
        r = gzip_expand(bytes, length, &text);
    else
        r = (buf_add(&text, bytes, length), buf_overflowed(&text) ? ERR_TOO_LARGE : 0);
    if (r == ERR_TOO_LARGE)
        r = err_set(error, r, "TooLarge", "%s: it has more than %u MiB", label,
                    SOURCE_TEXT_BYTES >> 20);
    else if (r < 0)
        r = invalid(error, "%s: gzip that is cut or damaged", label);
    else
        r = add_text(&walk, text.data ? text.data : "", text.length);
    if (is_secret && text.data)
        explicit_bzero(text.data, text.length);
    buf_done(&text);
    return r;
}
