/* What a status tells of State that was lost. */
#include "controller/reconcile/run/recall.h"

#include "engine/base/str.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

static const struct runtime_ops cloud_ops = {.type = "Cloud", .flags = RUNTIME_IS_RECORDED};
static const struct runtime_ops kubernetes_ops = {.type = "Kubernetes"};
static struct runtime cloud = {&cloud_ops}, kubernetes = {&kubernetes_ops};
static struct runtime *const runtimes[] = {&cloud, &kubernetes};

#define FAILED(reason, omitted) \
    "\"resources\":{\"failed\":[{\"id\":\"a\",\"reason\":\"" reason "\"}],\"omitted\":" omitted "}"
#define INVENTORY(type, omitted) \
    "\"inventory\":{\"entries\":[{\"id\":\"a\",\"type\":\"" type "\"}],\"omitted\":" omitted "}"

/* A status has no room for all of them: what it leaves out may be one. */
static void what_is_left_out_may_be_one(void)
{
    static const struct {
        const char *status;
        bool holds_resources, names_recorded;
    } rows[] = {
        {"", false, false},
        {FAILED("Forbidden", "0"), false, false},
        {FAILED("StateLost", "0"), true, false},
        {FAILED("Forbidden", "7"), true, false},
        {INVENTORY("Kubernetes", "0"), false, false},
        {INVENTORY("Cloud", "0"), false, true},
        {INVENTORY("Kubernetes", "7"), false, true},
    };
    const struct reconcile_context context = {.runtimes = runtimes,
                                              .n_runtimes = ARRAY_SIZE(runtimes)};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = str_printf("{\"status\":{%s}}", rows[i].status);
        _cleanup_value_ const struct value *object = scene_value(text);
        const struct run run = {.context = &context, .object = object};

        EXPECT_INT(recall_holds_resources(&run), rows[i].holds_resources, rows[i].status);
        EXPECT_INT(recall_names_recorded(&run), rows[i].names_recorded, rows[i].status);
    }
}

SUITE(recall, TEST(what_is_left_out_may_be_one))
