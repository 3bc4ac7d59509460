/* Annotations that say how an object is to be treated, and labels that all objects get. */
#include "runtimes/kubernetes/objects/treatment.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/common_metadata.h"
#include "test/unit/engine/spec/parse.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"
#include "test/unit/suite.h"

static const struct value *annotated(const char *annotations)
{
    _cleanup_free_ char *text = str_printf("{\"metadata\":{\"annotations\":{%s}}}", annotations);

    return stage_value(text);
}

static void reads_how_an_object_is_applied(void)
{
#define OWN(key, value)  "\"api.kusion.io/" key "\":\"" value "\""
#define FLUX(key, value) "\"kustomize.toolkit.fluxcd.io/" key "\":\"" value "\""
    static const struct {
        const char *wanted, *live;
        enum treatment treatment;
    } rows[] = {
        {"", "", TREAT_OVERRIDE},
        {OWN("ssa", "Merge"), "", TREAT_MERGE},
        {OWN("ssa", "IfNotPresent"), "", TREAT_IF_ABSENT},
        {OWN("ssa", "Ignore"), "", TREAT_NOT},
        {OWN("ssa", "Override"), "", TREAT_OVERRIDE},
        {OWN("ssa", "Override"), OWN("ssa", "Ignore"), TREAT_OVERRIDE},
        {"", OWN("ssa", "Ignore"), TREAT_NOT},
        {OWN("reconcile", "disabled"), "", TREAT_NOT},
        {"", OWN("reconcile", "disabled"), TREAT_NOT},
        {OWN("reconcile", "enabled"), OWN("reconcile", "disabled"), TREAT_OVERRIDE},
        {FLUX("ssa", "merge"), "", TREAT_MERGE},
        {"", FLUX("reconcile", "disabled"), TREAT_NOT},
        {FLUX("prune", "disabled"), "", TREAT_OVERRIDE},
        {OWN("ssa", "Merge"), OWN("reconcile", "disabled"), TREAT_NOT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *wanted = annotated(rows[i].wanted);
        _cleanup_value_ const struct value *live = annotated(rows[i].live);
        const char *why;

        EXPECT_INT((int)treatment_of(wanted, *rows[i].live ? live : NULL, &why),
                   (int)rows[i].treatment, rows[i].wanted);
        EXPECT_INT(why != NULL, rows[i].treatment != TREAT_OVERRIDE, rows[i].wanted);
    }
}

static void reads_what_is_kept(void)
{
#define ARGO(options) "\"argocd.argoproj.io/sync-options\":\"" options "\""
    static const struct {
        const char *annotations;
        bool is_kept;
    } rows[] = {
        {"", false},
        {OWN("prune", "disabled"), true},
        {OWN("prune", "enabled"), false},
        {OWN("reconcile", "disabled"), true},
        {OWN("ssa", "Ignore"), false},
        {FLUX("prune", "disabled"), true},
        {FLUX("prune", "Disabled"), true},
        {FLUX("reconcile", "disabled"), true},
        {FLUX("prune", "enabled"), false},
        {"\"helm.sh/resource-policy\":\"keep\"", true},
        {"\"helm.sh/resource-policy\":\" Keep \"", true},
        {"\"helm.sh/resource-policy\":\"delete\"", false},
        {"\"client.lifecycle.config.k8s.io/deletion\":\"detach\"", true},
        {"\"cli-utils.sigs.k8s.io/on-remove\":\"keep\"", true},
        {"\"kapp.k14s.io/delete-strategy\":\"orphan\"", true},
        {ARGO("Prune=false"), true},
        {ARGO("ServerSideApply=true, Prune=false"), true},
        {ARGO("Delete=false,Validate=false"), true},
        {ARGO("Prune=confirm"), true},
        {ARGO("Prune=true"), false},
        {ARGO("Validate=false"), false},
        {ARGO(",,"), false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = annotated(rows[i].annotations);

        EXPECT_INT(treatment_keeps(object) != NULL, rows[i].is_kept, rows[i].annotations);
    }
}

static void refuses_wrong_values(void)
{
#define WITH(metadata)                                                                          \
    RESOURCES("{\"id\":\"v1:Pod:a\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":"    \
              "\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"annotations\":{" metadata \
              "}}}}")
#define AT(key)        "InvalidSpec|v1:Pod:a|resources[0].attributes.metadata.annotations[" key "]|"
#define COMMON(fields) SPEC("\"resources\":[],\"commonMetadata\":" fields)
    static const struct parse_row rows[] = {
        {WITH(OWN("ssa", "Merge")), ""},
        {WITH(OWN("ssa", "Ignored")), AT("api.kusion.io/ssa") "\"Ignored\" is none of Override, "
                                                              "Merge, IfNotPresent and Ignore\n"},
        {WITH(OWN("prune", "false")),
         AT("api.kusion.io/prune") "\"false\" is none of enabled and disabled\n"},
        {WITH(OWN("reconcile", "no")),
         AT("api.kusion.io/reconcile") "\"no\" is none of enabled and disabled\n"},
        {WITH(FLUX("prune", "no")), ""}, /* Flux's own */
        {COMMON("{\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}}"), ""},
        {COMMON("[]"), "InvalidSpec|-|commonMetadata|must be an object, and is of type array\n"},
        {COMMON("{\"labels\":[]}"),
         "InvalidSpec|-|commonMetadata.labels|must be an object, and is of type array\n"},
        {COMMON("{\"labels\":{\"a\":1}}"),
         "InvalidSpec|-|commonMetadata.labels.a|must be a string, and is of type number\n"},
        {COMMON("{\"labels\":{\"api.kusion.io/owner\":\"x\"}}"),
         "InvalidSpec|-|commonMetadata.labels[api.kusion.io/owner]|is the operator's own mark\n"},
        {COMMON("{\"annotations\":{\"api.kusion.io/spec\":\"x\"}}"),
         "InvalidSpec|-|commonMetadata.annotations[api.kusion.io/spec]|is the operator's own "
         "mark\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void adds_common_metadata(void)
{
    static const struct {
        const char *note, *object, *common, *result;
    } rows[] = {
        {"none", "{\"metadata\":{\"name\":\"a\"}}", "{}", "{\"metadata\":{\"name\":\"a\"}}"},
        {"first labels", "{\"metadata\":{\"name\":\"a\"}}", "{\"labels\":{\"x\":\"1\"}}",
         "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}}"},
        {"before its own", "{\"metadata\":{\"labels\":{\"x\":\"0\",\"y\":\"2\"}}}",
         "{\"labels\":{\"x\":\"1\"},\"annotations\":{\"z\":\"3\"}}",
         "{\"metadata\":{\"labels\":{\"x\":\"1\",\"y\":\"2\"},\"annotations\":{\"z\":\"3\"}}}"},
        {"selectors and templates stay",
         "{\"metadata\":{},\"spec\":{\"selector\":{\"a\":\"b\"},\"template\":{\"metadata\":{}}}}",
         "{\"labels\":{\"x\":\"1\"}}",
         "{\"metadata\":{\"labels\":{\"x\":\"1\"}},\"spec\":{\"selector\":{\"a\":\"b\"},"
         "\"template\":{\"metadata\":{}}}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *common = stage_value(rows[i].common);
        _cleanup_value_ const struct value *wanted = stage_value(rows[i].result);
        _cleanup_value_ const struct value *made =
            common_metadata_add(stage_value(rows[i].object), common);

        EXPECT(value_equal(made, wanted), rows[i].note);
    }
}

SUITE(treatment, TEST(reads_how_an_object_is_applied), TEST(reads_what_is_kept),
      TEST(refuses_wrong_values), TEST(adds_common_metadata))
