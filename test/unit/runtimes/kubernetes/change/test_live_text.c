/*
 * Whether a real API server (live.h) makes of text what was asked for: it reads the body of an
 * apply as YAML, which is not quite JSON (engine/value/json.h).
 */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/step.h"
#include "test/unit/runtimes/kubernetes/client/live.h"
#include "test/unit/runtimes/kubernetes/session/stage.h"
#include "test/unit/suite.h"

#define GROUP           "@.kusion-live.example.com"
#define LAST_CODE_POINT 0x10ffffu
#define AT_ONCE         0xf000u /* code points in an object: 1 MB */

/* Objects of this kind take any field, which makes their keys as free as their values. */
static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"texts." GROUP "\"},\"spec\":{\"group\":\"" GROUP "\","
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"texts\",\"singular\":\"text\",\"kind\":"
    "\"Text\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

struct world {
    struct live live;
    struct stage stage;
    struct runtime_session *session;
};

static int apply_once(struct world *world, const struct value *attributes, struct observation *ret,
                      struct error *error)
{
    const struct runtime_target target = {.id = "id", .attributes = attributes};
    struct runtime_outcome outcome = {0};
    struct runtime_step *step = NULL;
    int r = kube_plan(world->session, &target, NULL, &stage_call, &step, error);

    if (r >= 0)
        r = kube_apply(step, &stage_call, &outcome, error);
    *ret = outcome.now;
    outcome.now = (struct observation){0};
    outcome_done(&outcome);
    kube_step_free(step);
    return r;
}

/* A server may list a new group a moment before it serves it: the engine tries again then, too. */
struct attempt {
    struct world *world;
    const struct value *attributes;
    struct observation *seen;
    struct error *error;
    int r;
};

static bool is_answered(void *arg)
{
    struct attempt *attempt = arg;

    err_clear(attempt->error);
    attempt->r = apply_once(attempt->world, attempt->attributes, attempt->seen, attempt->error);
    return attempt->r != ERR_UNAVAILABLE;
}

static int apply(struct world *world, const struct value *attributes, struct observation *ret,
                 struct error *error)
{
    struct attempt attempt = {world, attributes, ret, error, 0};

    live_eventually(is_answered, &attempt);
    return attempt.r;
}

static bool begin(struct world *world)
{
    _cleanup_value_ const struct value *crd = NULL;
    _cleanup_free_ char *text = NULL;
    struct observation seen = {0};
    struct error error = {0};

    *world = (struct world){0};
    if (!live_start(&world->live))
        return false;
    stage_start(&world->stage, world->live.harness.client, NULL, 0);
    world->session = stage_open(&world->stage, world->live.space, STAGE_OWNER, NULL);
    text = live_text(&world->live, definition);
    crd = stage_value(text);
    EXPECT_INT(apply(world, crd, &seen, &error), 0, error.message);
    observation_done(&seen);
    return true;
}

static void end(struct world *world)
{
    live_do(&world->live, "DELETE",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/texts." GROUP, NULL, NULL,
            NULL);
    session_unref(world->session);
    stage_stop(&world->stage);
    live_stop(&world->live);
}

/* ---- What is sent ---- */

static void add_code_point(struct buf *to, unsigned code)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    unsigned n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    buf_add_char(to, (char)(first[n] | code >> (6 * (n - 1))));
    for (unsigned rest = n - 1; rest > 0; rest--)
        buf_add_char(to, (char)(0x80 | (code >> (6 * (rest - 1)) & 0x3f)));
}

/* The code point at the beginning, in the middle and at the end of a text; in the middle between
 * blanks, which is where a reader of YAML folds lines. */
static void write_text(struct buf *to, unsigned code)
{
    buf_reset(to);
    add_code_point(to, code);
    buf_add_str(to, "a ");
    add_code_point(to, code);
    buf_add_str(to, " b");
    add_code_point(to, code);
}

static bool is_surrogate(unsigned code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

static void begin_object(struct value_builder *b, const struct world *world, const char *name)
{
    value_begin_object(b);
    value_key(b, "apiVersion");
    value_add_printf(b, "%s.kusion-live.example.com/v1", world->live.space);
    value_key(b, "kind");
    value_add_string(b, "Text");
    value_key(b, "metadata");
    value_begin_object(b);
    value_key(b, "name");
    value_add_string(b, name);
    value_end_object(b);
}

/* A list: its items are not tracked one by one, as members are. */
static const struct value *values_from(const struct world *world, unsigned from)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *object = NULL;

    begin_object(b, world, "values");
    value_key(b, "texts");
    value_begin_array(b);
    for (unsigned code = from; code < from + AT_ONCE && code <= LAST_CODE_POINT; code++)
        if (!is_surrogate(code)) {
            write_text(&text, code);
            value_add_string_n(b, text.data, text.length);
        }
    value_end_array(b);
    value_end_object(b);
    EXPECT_INT(value_builder_finish(b, &object, NULL), 0, "made");
    return object;
}

static const struct value *keys_between(const struct world *world, unsigned first, unsigned last)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *object = NULL;

    begin_object(b, world, "keys");
    value_key(b, "texts");
    value_begin_object(b);
    for (unsigned code = first; code <= last; code++)
        if (!is_surrogate(code)) {
            write_text(&text, code);
            value_key_n(b, text.data, text.length);
            value_add_int(b, code);
        }
    value_end_object(b);
    value_end_object(b);
    EXPECT_INT(value_builder_finish(b, &object, NULL), 0, "made");
    return object;
}

/* ---- What comes of it ---- */

static void expect_made(struct world *world, const struct value *asked, const char *field,
                        unsigned from)
{
    _cleanup_free_ char *note = str_printf("from U+%04X", from);
    struct observation seen = {0};
    struct error error = {0};

    EXPECT_INT(apply(world, asked, &seen, &error), 0, error.message);
    EXPECT(value_equal(value_get(seen.result, field), value_get(asked, field)), note);
    observation_done(&seen);
}

static void makes_all_values_as_they_are(void)
{
    struct world world;

    if (!begin(&world))
        return;
    for (unsigned from = 0; from <= LAST_CODE_POINT; from += AT_ONCE) {
        _cleanup_value_ const struct value *asked = values_from(&world, from);

        expect_made(&world, asked, "texts", from);
    }
    end(&world);
}

/* Each key is a field of its own to the API server, which is dear: those about the bounds of what
 * YAML knows. */
static void makes_keys_as_they_are(void)
{
    static const unsigned ranges[][2] = {
        {0, 0x2ff},        {0x1ff0, 0x206f},   {0xd7f0, 0xe00f},    {0xfdc0, 0xfdff},
        {0xfe80, 0x1007f}, {0x1fff0, 0x2000f}, {0xffff0, 0x10000f}, {0x10ffe0, 0x10ffff},
    };
    struct world world;

    if (!begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        _cleanup_value_ const struct value *asked =
            keys_between(&world, ranges[i][0], ranges[i][1]);

        expect_made(&world, asked, "texts", ranges[i][0]);
    }
    end(&world);
}

/* A kind that the API server knows, and stores in another form. */
static void makes_a_config_map_as_it_is(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *map = NULL, *data = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct world world;

    if (!begin(&world))
        return;
    value_begin_object(b);
    for (unsigned code = 0; code <= 0x100ff; code += code == 0x20ff ? 0xfdf0 - 0x20ff : 1) {
        char key[16];

        if (code >= 0x300 && code < 0x2000)
            continue;
        snprintf(key, sizeof(key), "u%04x", code);
        write_text(&text, code);
        value_key(b, key);
        value_add_string_n(b, text.data, text.length);
    }
    value_end_object(b);
    EXPECT_INT(value_builder_finish(b, &data, NULL), 0, "made");
    map = value_pack("{s:s, s:s, s:{s:s}, s:v}", "apiVersion", "v1", "kind", "ConfigMap",
                     "metadata", "name", "a", "data", data);
    expect_made(&world, map, "data", 0);
    end(&world);
}

SUITE(live_text, TEST(makes_all_values_as_they_are), TEST(makes_keys_as_they_are),
      TEST(makes_a_config_map_as_it_is))
