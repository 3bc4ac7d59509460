/* What is said of an object that is another's, and how it is handed over. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define OLD   "kusion-ec0ee335a895bf6d6d94b5d56fc5915e18bbb1e4" /* team/old */
#define OTHER "kusion-666c9f841ee4d64aade36c72bb26f31fe5116909" /* other/web */

#define OWNED(label, annotation)                   \
    "\"labels\":{\"api.kusion.io/owner\":\"" label \
    "\"},\"annotations\":{\"api.kusion.io/spec\":\"" annotation "\"}"
#define LOOKUP  "GET /apis/api.kusion.io/v1/namespaces/team/specs/old "
#define THERE   "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"old\",\"uid\":\"u\"}}"
#define TO_TAKE "kubectl label configmaps a --namespace=team"
#define SHARED  ": remove it from one of the two. To hand it over: "
#define TOOLS   SHARED "take it out of there without deleting it\nthen, to hand it over: "
#define SPECS   SHARED "set prune: false in that Spec, remove it there\nthen, to hand it over: "

static void says_whose_it_is_and_what_hands_it_over(void)
{
    static const struct {
        const char *note, *metadata;
        int lookup; /* status of the look at the other Spec; 0: it is not looked up */
        const char *message;
    } rows[] = {
        {"Helm's",
         "\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\"},\"annotations\":{"
         "\"meta.helm.sh/release-name\":\"foo\",\"meta.helm.sh/release-namespace\":\"team\"}",
         0,
         "it exists, and is managed by Helm (label app.kubernetes.io/managed-by=Helm, annotation "
         "meta.helm.sh/release-name=foo, annotation meta.helm.sh/release-namespace=team)" TOOLS
             TO_TAKE " app.kubernetes.io/managed-by- && kubectl annotate configmaps a "
         "--namespace=team meta.helm.sh/release-name- meta.helm.sh/release-namespace-"},
        {"Flux's", "\"labels\":{\"kustomize.toolkit.fluxcd.io/name\":\"apps\"}", 0,
         "it exists, and is managed by Flux (label kustomize.toolkit.fluxcd.io/name=apps)" TOOLS
             TO_TAKE " kustomize.toolkit.fluxcd.io/name-"},
        {"of two tools",
         "\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\","
         "\"helm.toolkit.fluxcd.io/name\":\"x\"}",
         0,
         "it exists, and is managed by Helm and Flux (label app.kubernetes.io/managed-by=Helm, "
         "label helm.toolkit.fluxcd.io/name=x)" TOOLS TO_TAKE
         " app.kubernetes.io/managed-by- helm.toolkit.fluxcd.io/name-"},
        {"a value that is no name",
         "\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"a b; reboot\"}", 0,
         "it exists, and is managed by Argo CD (annotation argocd.argoproj.io/tracking-id)" TOOLS
         "kubectl annotate configmaps a --namespace=team argocd.argoproj.io/tracking-id-"},
        {"an applyset's", "\"labels\":{\"applyset.kubernetes.io/part-of\":\"applyset-x\"}", 0,
         "it exists, and is managed by an applyset (label applyset.kubernetes.io/"
         "part-of=applyset-x)" TOOLS TO_TAKE " applyset.kubernetes.io/part-of-"},
        {"a Spec's of this namespace", OWNED(OLD, "team/old"), 200,
         "it belongs to the Spec \"old\" (label api.kusion.io/owner)" SPECS TO_TAKE
         " api.kusion.io/owner-"},
        {"a Spec's that is gone", OWNED(OLD, "team/old"), 404,
         "it belonged to the Spec \"old\", which does not exist any more\nto take it over: " TO_TAKE
         " api.kusion.io/owner-"},
        {"a Spec's, and it is not known whether it is gone", OWNED(OLD, "team/old"), 403,
         "it belongs to the Spec \"old\" (label api.kusion.io/owner)" SPECS TO_TAKE
         " api.kusion.io/owner-"},
        {"a Spec's of another namespace", OWNED(OTHER, "other/web"), 0,
         "it belongs to a Spec of another namespace (its annotation api.kusion.io/spec has the "
         "name)" SPECS TO_TAKE " api.kusion.io/owner-"},
        {"the name does not agree with the label", OWNED(OTHER, "team/old"), 0,
         "it belongs to another Spec (label api.kusion.io/owner)" SPECS TO_TAKE
         " api.kusion.io/owner-"},
        {"no name", "\"labels\":{\"api.kusion.io/owner\":\"kusion-x\"}", 0,
         "it belongs to another Spec (label api.kusion.io/owner)" SPECS TO_TAKE
         " api.kusion.io/owner-"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *object = str_printf(
            "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\","
            "\"uid\":\"u-a\",\"resourceVersion\":\"5\",%s}}",
            rows[i].metadata);
        const struct fake_step steps[] = {
            DISCOVERY,
            {.expect = "GET " MAPS "/a ", .status = 200, .body = object},
            {.expect = LOOKUP,
             .status = rows[i].lookup,
             .body = rows[i].lookup == 200   ? THERE
                     : rows[i].lookup == 404 ? MISSING("old")
                                             : DENIED},
        };
        struct runtime_step *step = NULL;
        struct error error = {0};
        struct call call;

        call_begin(&call, steps, rows[i].lookup ? 3 : 2, MAP("a"));
        EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error),
                   ERR_CONFLICT, rows[i].note);
        EXPECT_STR(error.reason, "ConflictDetected", rows[i].note);
        EXPECT_STR(error.message, rows[i].message, rows[i].note);
        if (rows[i].lookup)
            EXPECT(!call_impersonates(&call, 2), "asked as the controller");
        call_end(&call);
    }
}

/* What is not in the Spec's own namespace is not the author's to be handed over by a command, but
 * for an object of no namespace that another Spec of this one has. */
static void gives_commands_for_its_own_namespace(void)
{
    static const struct {
        const char *note, *attributes, *metadata, *spec_namespace;
        bool is_given;
    } rows[] = {
        {"its own", MAP("a"), OWNED(OLD, "team/old"), "team", true},
        {"another", MAP_IN("other", "a"), OWNED(OLD, "team/old"), "team", false},
        {"none, a Spec's of this one", NAMESPACE, OWNED(OLD, "team/old"), "team", true},
        {"none, a Spec's of another", NAMESPACE, OWNED(OTHER, "other/web"), "team", false},
        {"none, a tool's", NAMESPACE, "\"labels\":{\"argocd.argoproj.io/instance\":\"x\"}", "team",
         false},
        {"the control plane's", MAP("a"), "\"labels\":{\"argocd.argoproj.io/instance\":\"x\"}",
         "kube-system", false},
        {"a name that is no word for a shell",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"$(reboot)\"}}",
         "\"labels\":{\"argocd.argoproj.io/instance\":\"x\"}", "team", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        static const struct fake_step steps[] = {
            DISCOVERY, {.expect = LOOKUP, .status = 404, .body = MISSING("old")}};
        _cleanup_free_ char *text = str_printf("{\"metadata\":{%s}}", rows[i].metadata);
        _cleanup_value_ const struct value *object = stage_value(text);
        struct kube_marks *found;
        struct error error = {0};
        struct kube_ref ref;
        struct call call;
        bool is_looked_up = strstr(rows[i].metadata, "team/old") != NULL;

        call_begin(&call, steps, is_looked_up ? 2 : 1, rows[i].attributes);
        EXPECT_INT(kube_ref_of(call.session, call.attributes, &stage_call, &ref, NULL), 0,
                   rows[i].note);
        found = kube_marks_of(call.session, object);
        free(call.session->spec_namespace);
        call.session->spec_namespace = str_new(rows[i].spec_namespace);
        EXPECT_INT(kube_refuse_foreign(call.session, call.attributes, found, &stage_call, &error),
                   ERR_CONFLICT, rows[i].note);
        EXPECT_INT(strstr(error.message, "kubectl") != NULL, rows[i].is_given, rows[i].note);
        EXPECT(rows[i].is_given || strstr(error.message, "remove the "), error.message);
        kube_marks_free(found);
        call_end(&call);
    }
}

/* Many objects may be the same Spec's. */
static void looks_a_spec_up_once(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = LOOKUP, .status = 404, .body = MISSING("old")}};
    _cleanup_value_ const struct value *object =
        stage_value("{\"metadata\":{" OWNED(OLD, "team/old") "}}");
    struct kube_marks *found;
    struct kube_ref ref;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    kube_ref_of(call.session, call.attributes, &stage_call, &ref, NULL);
    found = kube_marks_of(call.session, object);
    for (int i = 0; i < 3; i++) {
        struct error error = {0};

        kube_refuse_foreign(call.session, call.attributes, found, &stage_call, &error);
        EXPECT(strstr(error.message, "does not exist any more"), error.message);
    }
    kube_marks_free(found);
    call_end(&call);
}

static void finds_no_marks_of_its_own(void)
{
    _cleanup_value_ const struct value *nobodys = stage_value("{\"metadata\":{}}");
    _cleanup_value_ const struct value *ours =
        stage_value("{\"metadata\":{\"labels\":{\"api.kusion.io/owner\":\"" STAGE_OWNER
                    "\",\"argocd.argoproj.io/instance\":\"x\"}}}");
    struct runtime_session session = stage_session();

    EXPECT(!kube_marks_of(&session, nobodys), "nobody's");
    EXPECT(!kube_marks_of(&session, ours), "ours");
    kube_marks_free(NULL);
}

SUITE(kube_owner, TEST(says_whose_it_is_and_what_hands_it_over),
      TEST(gives_commands_for_its_own_namespace), TEST(looks_a_spec_up_once),
      TEST(finds_no_marks_of_its_own))
