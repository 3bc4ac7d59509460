#include "runtimes/kubernetes/objects/ignore.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/selector.h"

struct rule {
    const char *group, *version, *kind, *name, *namespace_name; /* of the target; NULL: any */
    const char *labels, *annotations;                           /* selectors */
    struct ignore_path *paths;
    size_t n_paths;
};

struct ignore {
    struct arena arena;
    const struct value *list; /* a reference: the rules borrow from it */
    struct rule *rules;
    size_t n_rules;
};

/* ---- A path ---- */

/* Reads "name=web,port=80" up to the bracket that closes it. NULL: it is malformed; else what
 * follows it. */
static const char *read_keys(struct arena *arena, const char *text, struct ignore_step *ret)
{
    size_t most = 1;

    for (const char *c = text; *c; c++)
        most += *c == ',';
    ret->keys = ARENA_ARRAY(arena, struct ignore_key, most);
    for (;;) {
        size_t name = strcspn(text, "=,]\"");
        struct ignore_key *key = &ret->keys[ret->n_keys++];
        const char *value = text + name + 1;
        size_t length;
        bool is_quoted;

        if (!name || text[name] != '=')
            return NULL;
        is_quoted = *value == '"';
        value += is_quoted;
        length = strcspn(value, is_quoted ? "\"" : ",]");
        key->name = arena_str_n(arena, text, name);
        key->value = arena_str_n(arena, value, length);
        text = value + length;
        if (is_quoted && *text++ != '"')
            return NULL;
        if (*text == ']')
            return text + 1;
        if (*text++ != ',')
            return NULL;
    }
}

/* A token of the pointer, without its escapes. NULL: it has another escape than ~0 and ~1. */
static char *unescape(struct arena *arena, const char *token, size_t length)
{
    char *text = arena_str_n(arena, token, length), *to = text;

    for (const char *from = text; *from; from++) {
        if (*from != '~') {
            *to++ = *from;
            continue;
        }
        from++;
        if (*from != '0' && *from != '1')
            return NULL;
        *to++ = *from == '0' ? '~' : '/';
    }
    *to = '\0';
    return text;
}

/* Adds the steps of one token: a member, items, or both ("containers[name=web]"). False: it is
 * malformed. */
static bool add_token(struct arena *arena, char *token, struct ignore_path *ret)
{
    char *items = strchr(token, '[');

    if (items && !strchr(items, '='))
        items = NULL;
    if (!items || items > token)
        ret->steps[ret->n_steps++] = (struct ignore_step){
            .name = token, .length = items ? (size_t)(items - token) : strlen(token)};
    if (items) {
        const char *rest = read_keys(arena, items + 1, &ret->steps[ret->n_steps++]);

        return rest && !*rest;
    }
    return true;
}

static const char *read_path(struct arena *arena, const char *text, struct ignore_path *ret)
{
    size_t most = 0;

    for (const char *c = text; *c; c++)
        most += 2 * (*c == '/');
    *ret = (struct ignore_path){.text = text,
                                .steps = ARENA_ARRAY(arena, struct ignore_step, most + 1)};
    if (*text != '/')
        return "is no JSON pointer, such as /spec/replicas";
    while (*text == '/') {
        size_t length = strcspn(++text, "/");
        char *token = unescape(arena, text, length);

        if (!token)
            return "has a ~ that is neither ~0 (for ~) nor ~1 (for /)";
        if (!add_token(arena, token, ret))
            return "has brackets that are no keys of a list, such as [name=web]";
        text += length;
    }
    return NULL;
}

static bool is_step(const struct ignore_path *path, size_t at, const char *name)
{
    const struct ignore_step *step = &path->steps[at];

    return at < path->n_steps && step->name && strlen(name) == step->length &&
           memcmp(step->name, name, step->length) == 0;
}

/* Why others cannot manage that field; NULL: they can. */
static const char *refuse_path(const struct ignore_path *path)
{
    static const char *const own[] = {"name", "namespace", "generateName"};
    bool is_labels, is_annotations;

    if (is_step(path, 0, "apiVersion") || is_step(path, 0, "kind"))
        return "names the object: it cannot be ignored";
    if (!is_step(path, 0, "metadata"))
        return path->n_steps == 1 && path->steps[0].length == 0 ? "is the whole object" : NULL;
    if (path->n_steps == 1)
        return "has what names the object: name the fields in it that others manage";
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (is_step(path, 1, own[i]))
            return "names the object: it cannot be ignored";
    is_labels = is_step(path, 1, "labels");
    is_annotations = is_step(path, 1, "annotations");
    if ((is_labels || is_annotations) && path->n_steps == 2)
        return "has the operator's own marks: name the labels and annotations that others manage";
    if ((is_labels && is_step(path, 2, KUBE_OWNER_LABEL)) ||
        (is_annotations && is_step(path, 2, KUBE_SPEC_ANNOTATION)))
        return "is a mark by which the operator knows its objects";
    return NULL;
}

/* ---- A rule ---- */

static const char *read_member(const struct value *target, const char *key, struct check *check,
                               const struct place *in)
{
    const struct value *value = value_get(target, key);
    const struct place at = {.above = in, .key = key};

    return check_is_absent(value) ? NULL : check_text(check, value, &at);
}

static const char *read_pattern(const struct value *target, const char *key, struct check *check,
                                const struct place *in)
{
    const char *text = read_member(target, key, check, in);
    const struct place at = {.above = in, .key = key};

    if (text && (strpbrk(text, "^$()[]{}|+?\\") || strstr(text, ".*")))
        check_problem(check, INVALID_SPEC, &at,
                      "\"%s\" is no name: * stands for any characters, and there are no regular "
                      "expressions",
                      text);
    return text;
}

static const char *read_selector(const struct value *target, const char *key, struct check *check,
                                 const struct place *in)
{
    const char *text = read_member(target, key, check, in);
    const char *problem = text ? selector_check(text) : NULL;
    const struct place at = {.above = in, .key = key};

    if (problem)
        check_problem(check, INVALID_SPEC, &at, "\"%s\" is no selector: %s", text, problem);
    return text;
}

static void read_target(const struct value *target, struct check *check, const struct place *in,
                        struct rule *ret)
{
    if (!check_is_absent(target) && !value_is(target, VALUE_OBJECT))
        check_problem(check, INVALID_SPEC, in, "must be an object, and is of type %s",
                      value_type_name(target));
    ret->group = read_member(target, "group", check, in);
    ret->version = read_member(target, "version", check, in);
    ret->kind = read_member(target, "kind", check, in);
    ret->name = read_pattern(target, "name", check, in);
    ret->namespace_name = read_pattern(target, "namespace", check, in);
    ret->labels = read_selector(target, "labelSelector", check, in);
    ret->annotations = read_selector(target, "annotationSelector", check, in);
}

static void read_paths(struct arena *arena, const struct value *paths, struct check *check,
                       const struct place *in, struct rule *ret)
{
    if (!value_is(paths, VALUE_ARRAY) || !value_count(paths))
        check_problem(check, INVALID_SPEC, in, "must be a list of paths, with one at least");
    ret->paths = ARENA_ARRAY(arena, struct ignore_path, value_count(paths) + 1);
    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths); i++) {
        const struct place at = {.above = in, .index = i};
        const char *text = check_text(check, value_at(paths, i), &at), *problem;
        struct ignore_path *path = &ret->paths[ret->n_paths];

        if (!text)
            continue;
        problem = read_path(arena, text, path);
        if (!problem)
            problem = refuse_path(path);
        if (problem)
            check_problem(check, INVALID_SPEC, &at, "\"%s\" %s", text, problem);
        else
            ret->n_paths++;
    }
}

static size_t count_paths(const struct value *list)
{
    size_t n = 0;

    for (size_t i = 0; i < value_count(list); i++)
        n += value_count(value_get(value_at(list, i), "paths"));
    return n;
}

struct ignore *ignore_read(const struct value *list, struct check *check)
{
    const struct place in = {.key = "ignore"};
    struct ignore *ignore;

    if (!value_count(list))
        return NULL;
    if (count_paths(list) > IGNORE_PATHS) {
        check_problem(check, INVALID_SPEC, &in, "has %zu paths, %d at most", count_paths(list),
                      IGNORE_PATHS);
        return NULL;
    }
    ignore = NEW(struct ignore);
    arena_init(&ignore->arena);
    ignore->list = value_ref(list);
    ignore->n_rules = value_count(list);
    ignore->rules = ARENA_ARRAY(&ignore->arena, struct rule, ignore->n_rules);
    for (size_t i = 0; i < ignore->n_rules; i++) {
        const struct place at = {.above = &in, .index = i};
        const struct place paths = {.above = &at, .key = "paths"};
        const struct place target = {.above = &at, .key = "target"};
        const struct value *rule = value_at(list, i);

        read_paths(&ignore->arena, value_get(rule, "paths"), check, &paths, &ignore->rules[i]);
        read_target(value_get(rule, "target"), check, &target, &ignore->rules[i]);
    }
    return ignore;
}

void ignore_free(struct ignore *ignore)
{
    if (!ignore)
        return;
    value_unref(ignore->list);
    arena_done(&ignore->arena);
    free(ignore);
}

/* ---- Which are meant ---- */

static bool is_of_version(const char *api_version, const char *version)
{
    const char *slash = strrchr(api_version, '/');

    return strcmp(slash ? slash + 1 : api_version, version) == 0;
}

static bool matches(const struct rule *rule, const struct value *attributes, const char *in,
                    const struct value *labels)
{
    const struct object_ref ref = object_ref_of(attributes);
    const char *namespace_name = ref.namespace_name ? ref.namespace_name : in;
    const struct value *metadata = value_get(attributes, "metadata");

    return ref.api_version && ref.kind && ref.name &&
           (!rule->kind || strcmp(rule->kind, ref.kind) == 0) &&
           (!rule->group || api_group_is(ref.api_version, rule->group)) &&
           (!rule->version || is_of_version(ref.api_version, rule->version)) &&
           (!rule->name || pattern_matches(rule->name, ref.name)) &&
           (!rule->namespace_name ||
            (namespace_name && pattern_matches(rule->namespace_name, namespace_name))) &&
           (!rule->labels || selector_matches(rule->labels, labels)) &&
           (!rule->annotations ||
            selector_matches(rule->annotations, value_get(metadata, "annotations")));
}

/* The object's labels, and more. A reference. */
static const struct value *all_labels(const struct value *attributes, const struct value *more)
{
    const struct value *all = value_ref(value_path(attributes, "metadata", "labels", NULL));

    if (!value_is(all, VALUE_OBJECT))
        value_assign(&all, more);
    for (size_t i = 0; i < value_count(more); i++)
        value_move(&all, value_with(all, value_member_key(more, i, NULL), value_member(more, i)));
    return all;
}

void ignore_find(const struct ignore *ignore, const struct value *attributes, const char *in,
                 const struct value *labels, struct ignored *ret)
{
    _cleanup_value_ const struct value *all = NULL;
    size_t capacity = 0;

    *ret = (struct ignored){0};
    if (!ignore)
        return;
    all = all_labels(attributes, labels);
    for (size_t i = 0; i < ignore->n_rules; i++) {
        const struct rule *rule = &ignore->rules[i];

        if (!matches(rule, attributes, in, all))
            continue;
        for (size_t k = 0; k < rule->n_paths; k++) {
            ret->paths = mem_grow(ret->paths, ret->n, &capacity, sizeof(*ret->paths));
            ret->paths[ret->n++] = &rule->paths[k];
        }
    }
}

void ignored_done(struct ignored *ignored)
{
    free(ignored->paths);
    *ignored = (struct ignored){0};
}

/* ---- Items by their index ---- */

static bool is_index(const struct ignore_step *step)
{
    return step->name && step->length && strspn(step->name, "0123456789-") >= step->length;
}

/* The list of which the path names an item by its index; NULL: there is none. It is looked for in
 * the first item that the keys of a step name. */
static const struct value *find_indexed(const struct value *value, const struct ignore_path *path)
{
    for (size_t i = 0; i < path->n_steps && value; i++) {
        const struct ignore_step *step = &path->steps[i];
        const struct value *list = value;

        if (value_is(value, VALUE_ARRAY) && is_index(step))
            return value;
        if (step->name) {
            value = value_get_n(value, step->name, step->length);
            continue;
        }
        value = NULL;
        for (size_t k = 0; k < value_count(list) && !value; k++)
            if (str_equal(value_get_string(value_at(list, k), step->keys[0].name),
                          step->keys[0].value))
                value = value_at(list, k);
    }
    return NULL;
}

static void check_index(const struct ignore_path *path, const struct resource *resource,
                        struct check *check, const struct place *at)
{
    const struct value *list = find_indexed(resource->attributes, path);
    bool has_names = list && value_get_string(value_at(list, 0), "name");

    if (!list)
        return;
    check->id = resource->id;
    check_problem(check, INVALID_SPEC, at,
                  "\"%s\" names an item by its index, which may be another item in the live "
                  "object%s",
                  path->text,
                  has_names ? ": write [name=…] in the place of the number"
                            : ": write [key=value] in the place of the number, or ignore the list "
                              "as a whole");
    check->id = NULL;
}

void ignore_check_resources(const struct ignore *ignore, struct check *check)
{
    const struct spec *spec = check->spec;
    const struct place in = {.key = "ignore"};

    for (size_t i = 0; ignore && i < ignore->n_rules; i++) {
        const struct rule *rule = &ignore->rules[i];
        const struct place at = {.above = &in, .index = i};
        const struct place paths = {.above = &at, .key = "paths"};

        for (size_t k = 0; k < rule->n_paths; k++) {
            const struct place path = {.above = &paths, .index = k};
            bool has_index = false;

            for (size_t s = 0; s < rule->paths[k].n_steps; s++)
                has_index = has_index || is_index(&rule->paths[k].steps[s]);
            for (size_t r = 0; has_index && r < spec->n_resources; r++)
                if (spec->resources[r].attributes &&
                    matches(rule, spec->resources[r].attributes, spec->namespace_name,
                            value_path(spec->resources[r].attributes, "metadata", "labels", NULL)))
                    check_index(&rule->paths[k], &spec->resources[r], check, &path);
        }
    }
}
