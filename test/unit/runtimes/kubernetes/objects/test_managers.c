/* Field managers that are taken over, and those that are not. */
#include "runtimes/kubernetes/objects/managers.h"

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"
#include "test/unit/suite.h"

#define OURS     "kusion-operator-a5cb1ff62f8ed32c"
#define ANOTHERS "kusion-operator-0123456789abcdef"
#define ENTRY(manager, operation, more, field)                                                     \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"apps/v1\"" more \
    ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:" field "\":{}}}"
#define MINE ENTRY(OURS, "Apply", "", "mine")

static const struct managers_taking people = {.from = MANAGERS_PEOPLE};

static void takes_what_flux_takes(void)
{
    static const struct {
        const char *manager, *operation, *more;
        bool is_taken;
    } rows[] = {
        {"kubectl", "Apply", "", true}, /* kubectl apply --server-side */
        {"kubectl", "Update", "", true},
        {"kubectl.exe", "Update", "", true},
        {"kubectl-client-side-apply", "Update", "", true},
        {"kubectl-last-applied", "Apply", "", true},
        {"kubectl-create", "Update", "", true},
        {"kubectl-replace", "Update", "", true},
        {"kubectl-edit", "Update", "", true},
        {"kubectl-patch", "Update", "", true},
        {"kubectl-label", "Update", "", true},
        {"kubectl-annotate", "Update", "", true},
        {"kubectl-set", "Update", "", true},
        {"kubectl-rollout", "Update", "", false}, /* not as Flux */
        {"kubectl", "Update", ",\"subresource\":\"scale\"", false},
        {"kubectl-edit", "Update", ",\"subresource\":\"status\"", false},
        {"before-first-apply", "Update", "", true},
        {"before-first-apply", "Apply", "", false},
        {OURS, "Update", "", true},
        {OURS, "Update", ",\"subresource\":\"status\"", false},
        {ANOTHERS, "Apply", "", true}, /* a Spec that handed it over */
        {ANOTHERS, "Update", "", false},
        {"kusion-operator", "Apply", "", false}, /* the controller's: of a Spec in a Spec */
        {"kusion-operator-0123456789abcdeg", "Apply", "", false},
        {"kusion-operator-0123456789abcdef0", "Apply", "", false},
        {"helm", "Update", "", false},
        {"helm", "Apply", "", false},
        {"kustomize-controller", "Apply", "", false},
        {"argocd-controller", "Apply", "", false},
        {"kube-controller-manager", "Update", "", false},
        {"kube-controller-manager", "Update", ",\"subresource\":\"status\"", false},
        {"flux-client-side-apply", "Update", "", false},
        {"my-kubectl", "Update", "", false},
        {"Kubectl", "Update", "", false},
        {"", "Update", "", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = str_printf(
            "[" MINE ",{\"manager\":\"%s\",\"operation\":\"%s\",\"apiVersion\":\"apps/v1\""
            "%s,\"fieldsV1\":{\"f:x\":{}}}]",
            rows[i].manager, rows[i].operation, rows[i].more);
        _cleanup_free_ char *note =
            str_printf("%s %s %s", rows[i].manager, rows[i].operation, rows[i].more);
        _cleanup_value_ const struct value *entries = stage_value(text);
        _cleanup_value_ const struct value *expected = stage_value("{\"f:mine\":{},\"f:x\":{}}");
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people);

        EXPECT_INT(taken != NULL, rows[i].is_taken, note);
        if (!taken)
            continue;
        EXPECT_INT((int)value_count(taken), 1, note);
        EXPECT_STR(value_get_string(value_at(taken, 0), "manager"), OURS, note);
        EXPECT_STR(value_get_string(value_at(taken, 0), "operation"), "Apply", note);
        EXPECT(value_equal(value_get(value_at(taken, 0), "fieldsV1"), expected), note);
    }
}

static void unites_all_in_one_entry(void)
{
    static const struct {
        const char *note, *entries, *taken; /* NULL: nothing */
    } rows[] = {
        {"no managers", "[]", NULL},
        {"ours alone", "[" MINE "]", NULL},
        {"others alone", "[" ENTRY("helm", "Apply", "", "h") "]", NULL},
        {"on adoption the first becomes ours",
         "[" ENTRY("kubectl-client-side-apply", "Update", ",\"time\":\"t\"", "a") "," ENTRY(
             "helm", "Apply", "", "h") "," ENTRY("kubectl-edit", "Update", "", "b") "]",
         "[{\"manager\":\"" OURS "\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1\",\"time\":"
         "\"t\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:a\":{},\"f:b\":{}}}," ENTRY(
             "helm", "Apply", "", "h") "]"},
        {"into ours, wherever that is",
         "[" ENTRY("kubectl", "Apply", "",
                   "a") "," ENTRY("hpa", "Update", ",\"subresource\":\"scale\"",
                                  "r") "," MINE "," ENTRY(OURS, "Update", "", "b") "]",
         "[" ENTRY("hpa", "Update", ",\"subresource\":\"scale\"",
                   "r") ",{\"manager\":\"" OURS "\",\"operation\":\"Apply\",\"apiVersion\":\"apps/"
                        "v1\",\"fieldsType\":\"FieldsV1\","
                        "\"fieldsV1\":{\"f:mine\":{},\"f:a\":{},\"f:b\":{}}}]"},
        {"another version stays",
         "[" MINE
         ",{\"manager\":\"kubectl\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1beta1\","
         "\"fieldsV1\":{\"f:old\":{}}}]",
         NULL},
        {"ours of another version, on a subresource, is not ours",
         "[" ENTRY(OURS, "Apply", ",\"subresource\":\"status\"", "s") "," ENTRY("kubectl", "Apply",
                                                                                "", "a") "]",
         "[" ENTRY(OURS, "Apply", ",\"subresource\":\"status\"", "s") "," ENTRY(OURS, "Apply", "",
                                                                                "a") "]"},
        {"of no fields",
         "[" MINE ",{\"manager\":\"kubectl\",\"operation\":\"Update\","
         "\"apiVersion\":\"apps/v1\"}]",
         "[" MINE "]"},
        {"no managers at all", "{\"manager\":\"kubectl\"}", NULL},
        {"entries of any form", "[1,null,{},{\"manager\":3},[]]", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);
        _cleanup_value_ const struct value *expected =
            rows[i].taken ? stage_value(rows[i].taken) : NULL;
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people);

        EXPECT(expected ? value_equal(taken, expected) : !taken, rows[i].note);
    }
    EXPECT(!managers_take(NULL, OURS, &people), "none");
}

static void finds_our_fields(void)
{
    static const struct {
        const char *note, *entries, *own; /* NULL: none */
    } rows[] = {
        {"ours", "[" ENTRY("helm", "Apply", "", "h") "," MINE "]", "{\"f:mine\":{}}"},
        {"of our name, but no apply", "[" ENTRY(OURS, "Update", "", "x") "]", NULL},
        {"ours of a subresource", "[" ENTRY(OURS, "Apply", ",\"subresource\":\"status\"", "x") "]",
         NULL},
        {"no managers", "[{}]", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);
        _cleanup_value_ const struct value *own = rows[i].own ? stage_value(rows[i].own) : NULL;
        const struct value *found = managers_own(entries, OURS);

        EXPECT(own ? value_equal(found, own) : !found, rows[i].note);
    }
}

static void foresees_what_goes(void)
{
    static const struct {
        const char *note, *before, *after; /* the object, and what a dry-run makes of it */
        const char *left;                  /* of its fields; NULL: nothing goes */
    } rows[] = {
        {"what kubectl alone has goes", ENTRY("kubectl", "Apply", "", "a"),
         ENTRY("kubectl", "Apply", "", "a") "," MINE, "{\"mine\":1,\"h\":1}"},
        {"what we apply stays", ENTRY("kubectl", "Update", "", "mine"),
         ENTRY("kubectl", "Update", "", "mine") "," MINE, NULL},
        {"what another has stays", ENTRY("kubectl", "Apply", "", "h"),
         ENTRY("kubectl", "Apply", "", "h") "," MINE "," ENTRY("helm", "Update", "", "h"), NULL},
        {"on a subresource, too", ENTRY("kubectl", "Apply", "", "h"),
         ENTRY("kubectl", "Apply", "", "h") "," MINE "," ENTRY("hpa", "Update",
                                                               ",\"subresource\":\"scale\"", "h"),
         NULL},
        {"what is ours and not wanted any more", MINE "," ENTRY("kubectl", "Apply", "", "a"),
         ENTRY("kubectl", "Apply", "", "a") "," ENTRY(OURS, "Apply", "", "h"), "{\"h\":1}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = str_printf("[%s]", rows[i].before);
        _cleanup_free_ char *after = str_printf(
            "{\"metadata\":{\"managedFields\":[%s]},\"a\":1,\"mine\":1,\"h\":1}", rows[i].after);
        _cleanup_value_ const struct value *entries = stage_value(text);
        _cleanup_value_ const struct value *applied = stage_value(after);
        _cleanup_value_ const struct value *expected =
            rows[i].left ? stage_value(rows[i].left) : NULL;
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people),
                                           *fields = NULL;
        _cleanup_value_ const struct value *left = managers_prune(applied, taken, OURS, &people);

        EXPECT_INT(left != NULL, expected != NULL, rows[i].note);
        fields = value_without(left, "metadata");
        EXPECT(!expected || value_equal(fields, expected), rows[i].note);
    }
}

static void the_digest_tells_what_they_have(void)
{
    static const struct {
        const char *note, *entries;
        enum { AS_OURS, DIFFERENT, NONE } is;
    } rows[] = {
        {"ours", "[" MINE "]", AS_OURS},
        {"ours, and others", "[" MINE "," ENTRY("helm", "Apply", "", "h") "]", AS_OURS},
        {"none of ours", "[" ENTRY("helm", "Apply", "", "h") "]", NONE},
        {"with one to take", "[" MINE "," ENTRY("kubectl-edit", "Update", "", "h") "]", DIFFERENT},
        {"one to take alone", "[" ENTRY("kubectl-edit", "Update", "", "mine") "]", DIFFERENT},
        {"after that", "[" ENTRY(OURS, "Apply", "", "h") "]", DIFFERENT},
    };
    _cleanup_value_ const struct value *mine = stage_value("[" MINE "]");
    _cleanup_free_ char *ours = managers_digest(mine, OURS);
    char *seen[ARRAY_SIZE(rows)];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);

        seen[i] = managers_digest(entries, OURS);
        EXPECT_INT(seen[i] != NULL, rows[i].is != NONE, rows[i].note);
        EXPECT_INT(str_equal(seen[i], ours), rows[i].is == AS_OURS, rows[i].note);
        for (size_t k = 0; k < i; k++)
            EXPECT(rows[i].is != DIFFERENT || !str_equal(seen[i], seen[k]), rows[i].note);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        free(seen[i]);
}

/* kubectl changed a field that we have: once it is taken back, we have the same fields as before.
 */
static void what_was_taken_over_is_not_what_we_had(void)
{
    _cleanup_value_ const struct value *live = stage_value(
        "[" ENTRY("kubectl-edit", "Update", "", "mine") "," ENTRY(OURS, "Apply", "", "x") "]");
    _cleanup_value_ const struct value *taken = managers_take(live, OURS, &people);
    _cleanup_value_ const struct value *marked = managers_mark(taken, OURS);
    _cleanup_free_ char *digest = managers_digest(taken, OURS);
    _cleanup_free_ char *of_marked = managers_digest(marked, OURS);
    const struct value *fields = value_get(value_at(marked, 0), "fieldsV1");

    EXPECT(!str_equal(digest, of_marked), "the mark");
    EXPECT(value_get(fields, "f:mine") && value_get(fields, "f:x"), "all fields");
    EXPECT_INT(value_count(marked), 1, "entries");
}

/* What a person sets to say how a live object is to be treated stays. */
static void what_people_say_to_the_operator_stays_theirs(void)
{
#define META(manager, operation, fields)                      \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation \
    "\",\"apiVersion\":\"apps/v1\",\"fieldsV1\":{\"f:metadata\":{" fields "}}}"
#define GUARD     "\"f:api.kusion.io/deletion-guard\":{}"
#define FINALIZER "\"f:finalizers\":{\".\":{},\"v:\\\"a/b\\\"\":{}}"
    static const struct {
        const char *note, *entries, *taken; /* NULL: nothing */
    } rows[] = {
        {"a control annotation",
         "[" MINE "," META("kubectl-annotate", "Update", "\"f:annotations\":{" GUARD "}") "]",
         NULL},
        {"the first annotation of an object",
         "[" MINE
         "," META("kubectl-annotate", "Update", "\"f:annotations\":{\".\":{}," GUARD "}") "]",
         NULL},
        {"a finalizer", "[" MINE "," META("kubectl-patch", "Update", FINALIZER) "]", NULL},
        {"by a server-side apply", "[" MINE "," META("kubectl", "Apply", FINALIZER) "]", NULL},
        {"an object without managers", "[" META("before-first-apply", "Update", FINALIZER) "]",
         NULL},
        {"another annotation beside it",
         "[" MINE "," META("kubectl-annotate", "Update",
                           "\"f:annotations\":{\"f:a\":{}," GUARD "}," FINALIZER) "]",
         "[{\"manager\":\"" OURS "\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1\","
         "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:mine\":{},"
         "\"f:metadata\":{\"f:annotations\":{\"f:a\":{}}}}}," META(
             "kubectl-annotate", "Update", "\"f:annotations\":{" GUARD "}," FINALIZER) "]"},
        {"on adoption", "[" META("kubectl-create", "Update", "\"f:labels\":{}," FINALIZER) "]",
         "[" META(OURS, "Apply", "\"f:labels\":{}") "," META("kubectl-create", "Update",
                                                             FINALIZER) "]"},
        {"of another Spec it is the Spec's", "[" MINE "," META(ANOTHERS, "Apply", FINALIZER) "]",
         "[{\"manager\":\"" OURS "\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1\","
         "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:mine\":{},\"f:metadata\":{" FINALIZER
         "}}}]"},
    };
    _cleanup_value_ const struct value *mine = stage_value("[" MINE "]");
    _cleanup_free_ char *before = managers_digest(mine, OURS);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);
        _cleanup_value_ const struct value *expected =
            rows[i].taken ? stage_value(rows[i].taken) : NULL;
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people);
        _cleanup_free_ char *digest = managers_digest(entries, OURS);

        EXPECT(expected ? value_equal(taken, expected) : !taken, rows[i].note);
        EXPECT(expected || !digest || str_equal(digest, before), rows[i].note);
    }
}

static void what_stays_theirs_is_not_pruned(void)
{
    _cleanup_value_ const struct value *entries = stage_value("[" MINE "," META(
        "kubectl-patch", "Update", "\"f:annotations\":{\"f:a\":{}," GUARD "}," FINALIZER) "]");
    _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people);
    _cleanup_value_ const struct value *object = stage_value(
        "{\"mine\":1,\"metadata\":{\"finalizers\":[\"a/b\"],"
        "\"annotations\":{\"a\":\"1\",\"api.kusion.io/deletion-guard\":\"disabled\"}}}");
    _cleanup_value_ const struct value *expected =
        stage_value("{\"finalizers\":[\"a/b\"],"
                    "\"annotations\":{\"api.kusion.io/deletion-guard\":\"disabled\"}}");
    _cleanup_value_ const struct value *metadata =
        value_with(value_get(object, "metadata"), "managedFields", entries);
    _cleanup_value_ const struct value *applied = value_with(object, "metadata", metadata);
    _cleanup_value_ const struct value *left = managers_prune(applied, taken, OURS, &people);
    _cleanup_value_ const struct value *kept =
        value_without(value_get(left, "metadata"), "managedFields");

    EXPECT(value_equal(kept, expected), "metadata");
    EXPECT(value_get(left, "mine"), "ours");
}

static void finds_who_took_a_field(void)
{
#define OWN "\"f:spec\":{\"f:replicas\":{},\"f:paused\":{}}"
#define HAS(manager, more, fields)                                                          \
    "{\"manager\":\"" manager "\",\"operation\":\"Update\",\"apiVersion\":\"apps/v1\"" more \
    ",\"fieldsV1\":{\"f:spec\":{" fields "}}}"
#define LEFT                                                                        \
    "{\"manager\":\"" OURS "\",\"operation\":\"Apply\",\"apiVersion\":\"apps/v1\"," \
    "\"fieldsV1\":{\"f:spec\":{\"f:paused\":{}}}}"
    static const struct {
        const char *note, *entries, *rival; /* NULL: nobody */
    } rows[] = {
        {"one of ours",
         "[" LEFT "," HAS("hpa", ",\"subresource\":\"scale\"", "\"f:replicas\":{}") "]", "hpa"},
        {"not of ours", "[" LEFT "," HAS("other", "", "\"f:strategy\":{}") "]", NULL},
        {"shared with us", "[" LEFT "," HAS("other", "", "\"f:paused\":{}") "]", NULL},
        {"all of ours", "[" HAS("kubectl-edit", "", "\"f:replicas\":{}") "]", "kubectl-edit"},
        {"nobody", "[" LEFT "]", NULL},
        {"entries of any form", "[1,null,{},{\"manager\":3},[]]", NULL},
    };
    _cleanup_value_ const struct value *own = stage_value("{" OWN "}");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);
        const struct value *rival = managers_rival(entries, OURS, own);

        EXPECT_INT(rival != NULL, rows[i].rival != NULL, rows[i].note);
        EXPECT(!rival || str_equal(value_get_string(rival, "manager"), rows[i].rival),
               rows[i].note);
    }
}

/* On adoption, what the tool had that applied the object before. */
static void an_adoption_takes_what_tools_had(void)
{
    static const struct {
        const char *manager, *operation, *version;
        bool is_taken;
    } rows[] = {
        {"helm", "Update", "apps/v1", true},
        {"helm", "Apply", "apps/v1", true},
        {"kusion", "Update", "apps/v1", true},
        {"argocd-controller", "Apply", "apps/v1", true},
        {"argocd-controller", "Update", "argoproj.io/v1alpha1", false},
        {"kustomize-controller", "Apply", "apps/v1", true},
        {"kustomize-controller", "Update", "source.toolkit.fluxcd.io/v1", false},
        {"helm-controller", "Update", "apps/v1", true},
        {"kapp-server", "Apply", "apps/v1", true},
        {"Terraform", "Apply", "apps/v1", true},
        {"pulumi-kubernetes-1a2b", "Apply", "apps/v1", true},
        {"kubectl", "Update", "apps/v1", true},
        {"kube-controller-manager", "Update", "apps/v1", false},
        {"helm-like", "Update", "apps/v1", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct managers_taking tools = {.from = MANAGERS_TOOLS};
        const struct managers_taking ours = {.from = MANAGERS_OURS};
        _cleanup_free_ char *text =
            str_printf("[{\"manager\":\"%s\",\"operation\":\"%s\",\"apiVersion\":\"%s\","
                       "\"fieldsV1\":{\"f:x\":{}}}]",
                       rows[i].manager, rows[i].operation, rows[i].version);
        _cleanup_value_ const struct value *entries = stage_value(text);
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &tools);
        _cleanup_value_ const struct value *left = managers_take(entries, OURS, &ours);

        EXPECT_INT(taken != NULL, rows[i].is_taken, text);
        EXPECT(!left, text);
    }
}

/* What others have of it stays theirs, and we have nothing of it any more. */
static void what_is_ignored_is_given_up_and_not_taken(void)
{
    static const struct {
        const char *note, *entries, *taken; /* NULL: nothing */
    } rows[] = {
        {"ours has it", "[" ENTRY(OURS, "Apply", "", "mine\":{},\"f:skip") "]", "[" MINE "]"},
        {"ours does not", "[" MINE "]", NULL},
        {"a person has it alone", "[" MINE "," ENTRY("kubectl-edit", "Update", "", "skip") "]",
         NULL},
        {"a person has more",
         "[" MINE "," ENTRY("kubectl-edit", "Update", "", "a\":{},\"f:skip") "]",
         "[" ENTRY(OURS, "Apply", "", "mine\":{},\"f:a") "," ENTRY("kubectl-edit", "Update", "",
                                                                   "skip") "]"},
    };
    _cleanup_value_ const struct value *list = stage_value("[{\"paths\":[\"/skip\"]}]");
    _cleanup_value_ const struct value *object =
        stage_value("{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}");
    struct check unreported = {0};
    _cleanup_(ignore_free_p) struct ignore *ignore = ignore_read(list, &unreported);
    struct managers_taking taking = {.from = MANAGERS_PEOPLE};

    ignore_find(ignore, object, NULL, NULL, &taking.ignored);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *entries = stage_value(rows[i].entries);
        _cleanup_value_ const struct value *expected =
            rows[i].taken ? stage_value(rows[i].taken) : NULL;
        _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &taking);

        EXPECT(expected ? taken && value_equal(taken, expected) : !taken, rows[i].note);
    }
    ignored_done(&taking.ignored);
}

SUITE(kube_managers, TEST(takes_what_flux_takes), TEST(unites_all_in_one_entry),
      TEST(finds_our_fields), TEST(foresees_what_goes), TEST(the_digest_tells_what_they_have),
      TEST(what_was_taken_over_is_not_what_we_had),
      TEST(what_people_say_to_the_operator_stays_theirs), TEST(what_stays_theirs_is_not_pruned),
      TEST(finds_who_took_a_field), TEST(an_adoption_takes_what_tools_had),
      TEST(what_is_ignored_is_given_up_and_not_taken))
