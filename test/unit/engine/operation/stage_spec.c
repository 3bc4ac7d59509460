/* From the short form to a Spec. */
#include <stdio.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

struct token {
    const char *text;
    size_t length;
};

/* What goes on until one of the ends. */
static struct token take(const char **at, const char *ends)
{
    struct token token = {*at, strcspn(*at, ends)};

    *at += token.length;
    return token;
}

#define PART_END "=@^*~!?<:, "

/* What a word's marks say of it. */
struct shape {
    const char *version, *kind;
    const char *in;   /* its namespace; NULL: none */
    const char *more; /* of its attributes */
    bool is_thing;    /* of the cloud */
};

static const struct {
    const char *prefix;
    struct shape shape;
} shapes[] = {
    {"Secret/", {"v1", "Secret", "team", "", false}},
    {"Namespace/", {"v1", "Namespace", NULL, "", false}},
    {"ServiceAccount/", {"v1", "ServiceAccount", "team", "", false}},
    {"Role/", {"rbac.authorization.k8s.io/v1", "Role", "team", "", false}},
    {"RoleBinding/",
     {"rbac.authorization.k8s.io/v1", "RoleBinding", "team",
      ",\"roleRef\":{\"kind\":\"Role\",\"name\":\"rule\"},\"subjects\":[{\"kind\":"
      "\"ServiceAccount\",\"name\":\"robot\",\"namespace\":\"team\"}]",
      false}},
    {"Cloud/", {NULL, NULL, NULL, "", true}},
};

/* Skips the marks. */
static struct shape take_shape(const char **word)
{
    struct shape shape = {"v1", "ConfigMap", "team", "", false};
    bool in_space = **word == '+', in_v2;

    *word += in_space;
    in_v2 = **word == '%';
    *word += in_v2;
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        if (str_has_prefix(*word, shapes[i].prefix)) {
            *word += strlen(shapes[i].prefix);
            shape = shapes[i].shape;
            break;
        }
    if (in_v2)
        shape.version = "v2";
    if (in_space)
        shape.in = "space";
    return shape;
}

static bool is_known(const char *spec, struct token name, struct shape *ret)
{
    while (*spec) {
        const char *start = spec;
        struct token word = take(&spec, " "), found;

        spec += *spec == ' ';
        *ret = take_shape(&start);
        found = (struct token){start, strcspn(start, PART_END)};
        if (word.length && found.length == name.length &&
            strncmp(found.text, name.text, name.length) == 0)
            return true;
    }
    return false;
}

static char *id_of(const char *spec, struct token name, bool *ret_is_thing)
{
    struct shape shape = {0};

    EXPECT(is_known(spec, name, &shape), "a name that the Spec has");
    *ret_is_thing = shape.is_thing;
    if (shape.is_thing)
        return str_printf("cloud:%.*s", (int)name.length, name.text);
    return str_printf("%s:%s:%s%s%.*s", shape.version, shape.kind, shape.in ? shape.in : "",
                      shape.in ? ":" : "", (int)name.length, name.text);
}

/* A reference to what is named next. way: to a thing's field, where no path is written. */
static void add_reference(struct buf *json, const char *key, const char *spec, const char **at,
                          const char *way)
{
    bool is_thing = false;
    _cleanup_free_ char *id = id_of(spec, take(at, PART_END "."), &is_thing);
    struct token path = take(at, PART_END);
    const char *otherwise = is_thing ? way : ".status.address";

    if (!path.length)
        path = (struct token){otherwise, strlen(otherwise)};
    buf_printf(json, "\"%s\":\"$kusion_path.%s%.*s\"", key, id, (int)path.length, path.text);
}

/* "=1", "*red", "*@a": a member, if the mark is next. */
static void add_field(struct buf *json, const char *key, const char *spec, const char **at,
                      char mark)
{
    struct token text;

    if (**at != mark)
        return;
    (*at)++;
    if (json->data[json->length - 1] != '{')
        buf_add_char(json, ',');
    if (mark == '@') {
        add_reference(json, key, spec, at, ".address");
    } else if (**at == '@') {
        (*at)++;
        add_reference(json, key, spec, at, ".id");
    } else if (**at == '&') {
        (*at)++;
        text = take(at, PART_END);
        buf_printf(json, "\"%s\":\"ref://%.*s/x\"", key, (int)text.length, text.text);
    } else {
        text = take(at, PART_END);
        buf_printf(json, "\"%s\":\"%.*s\"", key, (int)text.length, text.text);
    }
}

static void add_fields(struct buf *json, const char *spec, const char **at)
{
    add_field(json, "x", spec, at, '=');
    add_field(json, "fixed", spec, at, '*');
    add_field(json, "swapped", spec, at, '~');
    add_field(json, "ref", spec, at, '@');
}

static void add_extensions(struct buf *json, const char *spec, const char **at)
{
    const char *comma = "";
    struct token word;

    if (**at == '!') {
        (*at)++;
        word = take(at, PART_END);
        buf_printf(json, ",\"extensions\":{\"kusionstack.io/not-created\":%.*s}", (int)word.length,
                   word.text);
        return;
    }
    if (**at == '?') {
        (*at)++;
        word = take(at, PART_END);
        buf_printf(json, ",\"extensions\":{\"kusionstack.io/import-id\":\"%.*s\"}",
                   (int)word.length, word.text);
        return;
    }
    if (**at != '^' && **at != '<')
        return;
    buf_add_str(json, ",\"extensions\":{");
    if (**at == '^') {
        (*at)++;
        add_reference(json, "region", spec, at, ".address");
        comma = ",";
    }
    if (**at == '<') {
        struct token old;

        (*at)++;
        old = take(at, PART_END);
        buf_printf(json, "%s\"kusionstack.io/moved-from\":\"cloud:%.*s\"", comma, (int)old.length,
                   old.text);
    }
    buf_add_char(json, '}');
}

static void add_dependencies(struct buf *json, const char *spec, const char **at)
{
    const char *comma = "";
    bool is_thing;

    buf_add_str(json, ",\"dependsOn\":[");
    while (**at == ':' || **at == ',') {
        _cleanup_free_ char *id = NULL;

        (*at)++;
        id = id_of(spec, take(at, PART_END), &is_thing);
        buf_printf(json, "%s\"%s\"", comma, id);
        comma = ",";
    }
    buf_add_char(json, ']');
}

static void add_thing(struct buf *json, const char *spec, const char **word)
{
    buf_printf(json, "\"type\":\"%s\",\"attributes\":{", FAKE_CLOUD_TYPE);
    add_fields(json, spec, word);
    buf_add_char(json, '}');
}

static void add_object(struct buf *json, const char *spec, const struct shape *shape,
                       struct token name, const char **word)
{
    buf_printf(json,
               "\"type\":\"%s\",\"attributes\":{\"apiVersion\":\"%s\",\"kind\":\"%s\"%s,"
               "\"metadata\":{\"name\":\"%.*s\"",
               FAKE_OBJECTS_TYPE, shape->version, shape->kind, shape->more, (int)name.length,
               name.text);
    if (shape->in)
        buf_printf(json, ",\"namespace\":\"%s\"", shape->in);
    buf_add_str(json, "},\"data\":{");
    add_fields(json, spec, word);
    buf_add_str(json, "}}");
}

static void add_resource(struct buf *json, const char *spec, const char *word)
{
    struct shape shape = take_shape(&word);
    struct token name = take(&word, PART_END);
    bool is_thing;
    _cleanup_free_ char *id = id_of(spec, name, &is_thing);

    buf_printf(json, "{\"id\":\"%s\",", id);
    if (is_thing)
        add_thing(json, spec, &word);
    else
        add_object(json, spec, &shape, name, &word);
    add_extensions(json, spec, &word);
    add_dependencies(json, spec, &word);
    buf_add_char(json, '}');
}

/* "-health:a,b" */
static void add_health_checks(struct buf *json, const char *text)
{
    const char *at = strstr(text, "-health");

    if (!at)
        return;
    at += strlen("-health");
    buf_add_str(json, ",\"healthChecks\":[");
    for (const char *comma = ""; *at == ':' || *at == ','; comma = ",") {
        struct token name;

        at++;
        name = take(&at, PART_END);
        buf_printf(json,
                   "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"team\","
                   "\"name\":\"%.*s\"}",
                   comma, (int)name.length, name.text);
    }
    buf_add_char(json, ']');
}

static char *json_of(const char *text)
{
    const char *comma = "";
    struct buf json;

    buf_init(&json, 0);
    buf_printf(&json,
               "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\",\"generation\":4},"
               "\"spec\":{%s\"prune\":%s,\"wait\":%s,\"resources\":[",
               strchr(text, '&') ? "\"secretStore\":{\"provider\":{\"fake\":{}}}," : "",
               strstr(text, "-prune") ? "false" : "true", strstr(text, "-wait") ? "false" : "true");
    for (const char *word = text; *word; word += strcspn(word, " "), word += *word == ' ') {
        if (*word == '-')
            continue;
        buf_add_str(&json, comma);
        add_resource(&json, text, word);
        comma = ",";
    }
    buf_add_char(&json, ']');
    add_health_checks(&json, text);
    buf_add_str(&json, "}}");
    return buf_take(&json);
}

struct spec *stage_spec(const char *text)
{
    static const struct spec_type types[] = {{.name = FAKE_OBJECTS_TYPE},
                                             {.name = FAKE_CLOUD_TYPE}};
    const struct spec_options options = {.types = types, .n_types = ARRAY_SIZE(types)};
    _cleanup_free_ char *json = json_of(text);
    _cleanup_value_ const struct value *object = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};
    struct spec *spec = NULL;

    EXPECT_INT(json_read_str(json, &object, &error), 0, json);
    EXPECT_INT(spec_parse(object, &options, &spec, &problems, &error), 0, error.message);
    problems_done(&problems);
    return spec;
}
