#include "runtimes/kubernetes/objects/health_script.h"

#include "engine/base/str.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/objects/health.h"
#include "test/unit/suite.h"

static const struct value *read_yaml(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    EXPECT_INT(yaml_read(text, strlen(text), &value, &error), 0, error.message);
    return value;
}

static void reads_the_keys_of_argo_cd(void)
{
    _cleanup_value_ const struct value *map =
        read_yaml("data:\n"
                  "  resource.customizations.health.cert-manager.io_Certificate: return 1\n"
                  "  resource.customizations.health.Service: return 2\n"
                  "  resource.customizations.actions.Service: return 3\n"
                  "  resource.customizations.useOpenLibs.Service: 'true'\n"
                  "  resource.customizations: |\n"
                  "    '*.example.com/*': {health.lua: return 4}\n"
                  "    apps/Deployment: {ignoreDifferences: a}\n"
                  "  kustomize.buildOptions: a\n");
    _cleanup_free_ char *problem = NULL;
    size_t n;
    struct health_script *scripts = health_scripts_read(map, &n, &problem);

    EXPECT_INT((long long)n, 3, "");
    EXPECT_STR(problem, NULL, "");
    EXPECT_STR(scripts[0].of, "cert-manager.io/Certificate", "");
    EXPECT_STR(value_string(scripts[0].text), "return 1", "");
    EXPECT_STR(scripts[1].of, "Service", "");
    EXPECT_STR(scripts[2].of, "*.example.com/*", "");
    EXPECT_STR(value_string(scripts[2].text), "return 4", "");
    health_scripts_free(scripts, n);
}

/* One that is wrong is kept: what it is for is not to be healthy by another rule. */
static void tells_what_is_wrong(void)
{
    static const struct {
        const char *map;
        int n;
        const char *problem;
    } rows[] = {
        {"data: {resource.customizations.health.A: if}", 1,
         "A: health.lua:1: unexpected symbol near <eof>"},
        {"data: {resource.customizations.health.A: if, resource.customizations.health.b_B: '}'}", 2,
         "A: health.lua:1: unexpected symbol near <eof>; b/B: health.lua:1: unexpected symbol near "
         "'}'"},
        {"data: {resource.customizations: 'a: ['}", 0, "resource.customizations: line 2"},
        {"data: {resource.customizations: 'A: {health.lua: [1]}'}", 1, "A: is no text"},
        {"data: {resource.customizations: 'a'}", 0, NULL},
        {"data: {resource.customizations: ''}", 0, "resource.customizations: 0 YAML documents"},
        {"data: 1", 0, NULL},
        {"{}", 0, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *map = read_yaml(rows[i].map);
        _cleanup_free_ char *problem = NULL;
        size_t n;
        struct health_script *scripts = health_scripts_read(map, &n, &problem);

        EXPECT_INT((long long)n, rows[i].n, rows[i].map);
        EXPECT(rows[i].problem ? problem && str_has_prefix(problem, rows[i].problem) : !problem,
               problem ? problem : rows[i].map);
        health_scripts_free(scripts, n);
    }
}

static size_t rank_of(const char *of, const struct object_ref *ref)
{
    _cleanup_free_ char *copy = str_new(of);
    const struct health_script script = {.of = copy};

    return health_script_rank(&script, ref);
}

static void the_closest_suits_best(void)
{
    static const struct object_ref widget = {"a.example.com/v1", "Widget", NULL, "a"};
    static const struct object_ref pod = {"v1", "Pod", NULL, "a"};
    static const char *const patterns[] = {
        "a.example.com/Widget", "*.example.com/*", "*/Widget", "*",
        "a.example.com/Widge",  "Widget",          "*dget",    "Pod",
        "*.other.com/*",        "a.example.com/*x"};
    static const bool suits[] = {true, true, true, true, false, false, true, false, false, false};
    size_t best = 0, rank_of_best = 0;

    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        size_t rank = rank_of(patterns[i], &widget);

        EXPECT_INT(rank > 0, suits[i], patterns[i]);
        if (rank > rank_of_best) {
            best = i;
            rank_of_best = rank;
        }
    }
    EXPECT_INT((long long)best, 0, "the kind itself");
    EXPECT_INT(rank_of("Pod", &pod) > 0, true, "core group");
    EXPECT_INT(rank_of("*", &pod) > 0, true, "any");
}

#define OBJECT       "{apiVersion: a/v1, kind: B, metadata: {generation: 2}, status: {"
#define SAYS(status) "return {status = '" status "', message = 'so'}"

static void means_what_argo_cd_means(void)
{
    static const struct {
        const char *script, *object;
        enum health_status status;
        const char *message;
    } rows[] = {
        {SAYS("Healthy"), OBJECT "}}", HEALTH_CURRENT, "is healthy: so"},
        {SAYS("Suspended"), OBJECT "}}", HEALTH_CURRENT, "is suspended: so"},
        {SAYS("Progressing"), OBJECT "}}", HEALTH_PROGRESSING, "Progressing: so"},
        {SAYS("Missing"), OBJECT "}}", HEALTH_PROGRESSING, "Missing: so"},
        {SAYS("Unknown"), OBJECT "}}", HEALTH_UNKNOWN, "Unknown: so"},
        {SAYS("Degraded"), OBJECT "}}", HEALTH_FAILED, "Degraded: so"},
        {SAYS("Degraded"), OBJECT "observedGeneration: 2}}", HEALTH_FAILED, "Degraded: so"},
        {SAYS("Degraded"), OBJECT "observedGeneration: 1}}", HEALTH_PROGRESSING,
         "its change is not observed yet; before it: so"},
        {"return {status = 'Healthy'}", OBJECT "}}", HEALTH_CURRENT, "is healthy"},
        /* in place of the rules */
        {SAYS("Healthy"), OBJECT "observedGeneration: 1}}", HEALTH_CURRENT, "is healthy: so"},
        {"return nil", OBJECT "observedGeneration: 1}}", HEALTH_PROGRESSING, "generation 2"},
        {"return {}", OBJECT "conditions: [{type: Stalled, status: 'True', message: m}]}}",
         HEALTH_FAILED, "Stalled: m"},
        {SAYS("Healthy"), "{apiVersion: a/v1, kind: B, metadata: {deletionTimestamp: x}}",
         HEALTH_TERMINATING, "is being deleted"},
        {"return obj.status.a.b", OBJECT "}}", HEALTH_UNKNOWN,
         "its health check failed: health.lua:1: attempt to index a nil value (field 'a')"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = read_yaml(rows[i].object);
        _cleanup_value_ const struct value *text = value_pack("s", rows[i].script);
        struct health health;

        kube_health(object, &health);
        health_script_judge(text, object, NULL, &health);
        EXPECT_INT(health.status, rows[i].status, rows[i].script);
        EXPECT(str_has_prefix(health.message, rows[i].message), health.message);
    }
}

SUITE(health_script, TEST(reads_the_keys_of_argo_cd), TEST(tells_what_is_wrong),
      TEST(the_closest_suits_best), TEST(means_what_argo_cd_means))
