#include <stdlib.h>
#include <string.h>

#include "cli/online/gitops.h"
#include "cli/online/names.h"
#include "cli/online/plan_view.h"
#include "cli/online/rights.h"
#include "cli/online/rows.h"
#include "cli/online/spec_view.h"
#include "cli/online/standing.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/cli/frame/captured.h"
#include "test/unit/suite.h"

static const struct value *yaml(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (yaml_read(text, strlen(text), &value, &error) < 0)
        fprintf(stderr, "%s: %s\n", text, error.message);
    return value;
}

static void ids_are_shortened(void)
{
    static const struct {
        const char *id, *name;
    } rows[] = {
        {"apps/v1:Deployment:shop:web", "Deployment/web"},
        {"apps/v1:Deployment:other:web", "Deployment/web in other"},
        {"v1:Namespace:shop", "Namespace/shop"},
        {"rbac.authorization.k8s.io/v1:ClusterRole:system:admin", "ClusterRole/admin in system"},
        {"hashicorp:random:random_password:db", "random_password/db"},
        {"strange", "strange"},
        {"a:b", "a:b"},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *name = name_of_id(rows[i].id, "shop");

        EXPECT_STR(name, rows[i].name, rows[i].id);
    }
}

static void ages_are_kubectls(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0s"},       {119000, "119s"},  {120000, "2m"},
                {7200000, "2h"}, {172800000, "2d"}, {-5000, "0s"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *age = age_since(1000000000, 1000000000 + rows[i].ms);

        EXPECT_STR(age, rows[i].text, "");
    }
    EXPECT_INT(time_of("2026-01-01T00:00:00.123456Z"), timestamp_parse("2026-01-01T00:00:00Z"), "");
}

static void times_are_short(void)
{
    static const struct {
        const char *duration, *text;
    } rows[] = {{NULL, ""},         {"soon", ""},         {"0ms", "0ms"},       {"999ms", "999ms"},
                {"1486ms", "1.4s"}, {"59999ms", "59.9s"}, {"62000ms", "1m02s"}, {"3660s", "1h01m"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = took_text(rows[i].duration);

        EXPECT_STR(text, rows[i].text, "");
    }
}

/* ---- Standing ---- */

#define NOW "2026-01-01T00:10:00Z"

static void specs_stand_as_their_conditions_say(void)
{
    static const struct {
        const char *conditions;
        enum standing_rank rank;
        const char *reason;
    } rows[] = {
        {"[{type: Ready, status: 'True', reason: ReconciliationSucceeded}]", STANDING_READY,
         "ReconciliationSucceeded"},
        {"[{type: Ready, status: 'False', reason: HealthCheckFailed}]", STANDING_FAILED,
         "HealthCheckFailed"},
        {"[{type: Ready, status: Unknown, reason: Progressing}]", STANDING_BUSY, "Progressing"},
        {"[{type: Ready, status: Unknown, reason: AwaitingApproval}]", STANDING_WAITS,
         "AwaitingApproval"},
        {"[{type: Ready, status: 'False', reason: RolledBack}]", STANDING_HELD, "RolledBack"},
        {"[]", STANDING_BUSY, "Progressing"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("{metadata: {generation: 2, creationTimestamp: '2026-01-01T00:00:00Z'}, "
                       "status: {observedGeneration: 2, conditions: %s}}",
                       rows[i].conditions);
        _cleanup_value_ const struct value *spec = yaml(text);
        struct standing standing = standing_of(spec, timestamp_parse(NOW));

        EXPECT_INT(standing.rank, rows[i].rank, rows[i].conditions);
        EXPECT_STR(standing.reason, rows[i].reason, rows[i].conditions);
    }
}

/* READY stays True where no operator looks (a stopped one): the generation tells. */
static void a_change_that_nobody_saw_is_told(void)
{
    _cleanup_value_ const struct value *spec = yaml(
        "{metadata: {generation: 3, creationTimestamp: '2026-01-01T00:00:00Z', managedFields: "
        "[{manager: kubectl, time: '2026-01-01T00:09:00Z'}, "
        "{manager: kusion, subresource: status, time: '2026-01-01T00:09:59Z'}]}, "
        "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', reason: X}]}}");

    EXPECT_STR(standing_of(spec, timestamp_parse(NOW)).reason, "NotSeen", "a minute ago");
    EXPECT_STR(standing_of(spec, timestamp_parse("2026-01-01T00:09:10Z")).reason, "X",
               "ten seconds ago");
}

/* ---- Rows ---- */

static const char spec_text[] =
    "{metadata: {name: web, namespace: shop}, spec: {resources: ["
    "{id: 'v1:ConfigMap:shop:a'}, {id: 'apps/v1:Deployment:shop:b', dependsOn: "
    "['v1:ConfigMap:shop:a']}, "
    "{id: 'v1:Service:shop:c', dependsOn: ['apps/v1:Deployment:shop:b']}]}}";

static void rows_say_what_each_waits_for(void)
{
    _cleanup_value_ const struct value *spec = yaml(spec_text);
    _cleanup_value_ const struct value *record = yaml(
        "{status: {results: [{id: 'v1:ConfigMap:shop:a', action: create, outcome: succeeded, "
        "duration: 5ms}, {id: 'apps/v1:Deployment:shop:b', action: create, outcome: pending, "
        "message: 'Available: 0/1', startedAt: '2026-01-01T00:00:00Z'}, {id: 'v1:Service:shop:c', "
        "action: create, outcome: pending, waitsFor: {id: 'apps/v1:Deployment:shop:b', by: "
        "dependsOn}}, {id: 'v1:Service:shop:d', action: create, outcome: pending}]}}");
    _cleanup_(rows_done) struct rows rows;

    rows_init(&rows, spec, record);
    EXPECT_INT(rows.count, 4, "");
    EXPECT_INT(rows.n_done, 1, "");
    EXPECT_STR(rows.items[0].text, "created", "");
    EXPECT_INT(rows.items[1].state, ROW_BUSY, "");
    EXPECT_STR(rows.items[1].text, "Available: 0/1", "");
    EXPECT_INT(rows.items[2].state, ROW_WAITS, "");
    EXPECT_STR(rows.items[2].text, "waits for Deployment/b", "");
    EXPECT_INT(rows.items[3].state, ROW_BUSY, "it is next");
}

static void rows_say_by_what_each_waits(void)
{
    static const struct {
        const char *by, *text;
    } cases[] = {
        {"dependsOn", "waits for Job/a"},
        {"reference", "waits for Job/a, to which it refers"},
        {"kind", "waits for Job/a, as its kind comes first"},
        {"deletion", "waits for Job/a"},
        {"what is new", "waits for Job/a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_value_ const struct value *wait =
            value_pack("{s:s, s:s}", "id", "batch/v1:Job:shop:a", "by", cases[i].by);
        _cleanup_free_ char *text = waits_text(wait, "shop");

        EXPECT_STR(text, cases[i].text, cases[i].by);
    }
    EXPECT(!waits_text(NULL, "shop"), "nothing");
}

static void rows_are_of_health_checks_too(void)
{
    static const struct {
        const char *ready, *message, *phase;
        enum row_state state;
        const char *text;
    } cases[] = {
        {"True", "", "succeeded", ROW_DONE, "healthy (healthChecks)"},
        {"Unknown", "applying: 1 of 1 done", "applying", ROW_WAITS,
         "looked at last (healthChecks)"},
        {"Unknown",
         "applying: 1 of 1 done, waiting for apps/v1:Deployment:infra:db: Available: 0/1",
         "applying", ROW_BUSY, "Available: 0/1 (healthChecks)"},
        {"False",
         "healthChecks: 2 of 2 failed: apps/v1:Deployment:infra:db: not there; v1:Pod:shop:a: x",
         "failed", ROW_FAILED, "not there (healthChecks)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = str_printf(
            "{metadata: {name: web, namespace: shop}, spec: {resources: [], healthChecks: "
            "[{apiVersion: apps/v1, kind: Deployment, name: db, namespace: infra}]}, status: "
            "{conditions: [{type: Ready, status: '%s', reason: X, message: '%s'}]}}",
            cases[i].ready, cases[i].message);
        _cleanup_free_ char *release = str_printf("{status: {phase: %s}}", cases[i].phase);
        _cleanup_value_ const struct value *spec = yaml(text), *record = yaml(release);
        _cleanup_(rows_done) struct rows rows;

        rows_init(&rows, spec, record);
        EXPECT_INT(rows.count, 1, text);
        EXPECT_STR(rows.items[0].name, "Deployment/db in infra", text);
        EXPECT_INT(rows.items[0].state, cases[i].state, text);
        EXPECT_STR(rows.items[0].text, cases[i].text, text);
    }
}

static void rows_of_failures_say_why(void)
{
    _cleanup_value_ const struct value *record =
        yaml("{metadata: {namespace: shop}, status: {results: [{id: 'v1:ConfigMap:shop:a', action: "
             "create, outcome: failed, reason: AccessDenied, message: \"no\\nto allow it: x\"}]}}");
    _cleanup_(rows_done) struct rows rows;

    rows_init(&rows, NULL, record);
    EXPECT(rows_have_failed(&rows), "");
    EXPECT_STR(rows.items[0].text, "AccessDenied: no", "hints are not of the row");
}

/* An attempt after the Release's own: the Spec has how it failed. */
static void rows_of_later_attempts_say_why_those_failed(void)
{
    static const struct {
        const char *ready, *phase, *outcome, *reason;
        enum row_state state;
        const char *text;
    } cases[] = {
        {"False", "failed", "failed", "AccessDenied", ROW_FAILED, "AccessDenied: now"},
        {"False", "succeeded", "succeeded", "AccessDenied", ROW_FAILED, "AccessDenied: now"},
        {"False", "failed", "failed", "DependencyNotReady", ROW_SKIPPED, "DependencyNotReady: now"},
        {"Unknown", "applying", "failed", "AccessDenied", ROW_FAILED, "SecretNotFound: then"},
        {"True", "succeeded", "succeeded", "AccessDenied", ROW_DONE, "then"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text =
            str_printf("{metadata: {name: web, namespace: shop}, spec: {resources: [{id: a:b:c}]}, "
                       "status: {conditions: [{type: Ready, status: '%s'}], resources: {failed: "
                       "[{id: a:b:c, reason: %s, message: now}]}}}",
                       cases[i].ready, cases[i].reason);
        _cleanup_free_ char *release =
            str_printf("{status: {phase: %s, results: [{id: a:b:c, action: create, outcome: %s, "
                       "reason: SecretNotFound, message: then}]}}",
                       cases[i].phase, cases[i].outcome);
        _cleanup_value_ const struct value *spec = yaml(text), *record = yaml(release);
        _cleanup_(rows_done) struct rows rows;

        rows_init(&rows, spec, record);
        EXPECT_INT(rows.items[0].state, cases[i].state, text);
        EXPECT_STR(rows.items[0].text, cases[i].text, text);
    }
}

/* ---- Plans ---- */

static char *plan_text(const char *status, struct plan_view view)
{
    _cleanup_free_ char *text =
        str_printf("{metadata: {name: web-1, namespace: shop}, status: %s}", status);
    _cleanup_value_ const struct value *release = yaml(text);
    struct captured captured;

    captured_init(&captured);
    plan_view_results(&captured.out, release, &view);
    plan_view_summary(&captured.out, release);
    plan_view_unseen(&captured.out, release);
    return captured_take(&captured);
}

static void rows_are_in_line_whatever_their_names_are(void)
{
    _cleanup_value_ const struct value *spec =
        yaml("{spec: {resources: [{id: \"a\\u202eb\", type: HTTP}, {id: 日本, type: HTTP},\n"
             "  {id: \"✅e\\u0301\", type: HTTP}, {id: plain, type: HTTP}]}}");
    _cleanup_free_ char *text = NULL;
    struct rows rows;
    struct captured captured;

    rows_init(&rows, spec, NULL);
    for (size_t i = 0; i < rows.count; i++) {
        free(rows.items[i].text);
        rows.items[i].text = str_new("text");
    }
    captured_init(&captured);
    spec_view_rows(&captured.out, &(struct spec_view){.spec = spec, .rows = &rows});
    text = captured_take(&captured);
    EXPECT_STR(text,
               "  · a\\u202eb          text\n"
               "  · 日本              text\n"
               "  · ✅e\u0301               text\n"
               "  · plain             text\n",
               "");
    rows_done(&rows);
}

static void plans_are_shown(void)
{
    static const struct {
        const char *status, *text;
        struct plan_view view;
    } rows[] = {
        {"{plan: {create: 1, update: 1, digest: 0123456789abcdef}, results: ["
         "{id: 'v1:ConfigMap:shop:a', action: create, fields: [{path: data.x, to: '\"1\"'}, "
         "{path: 'metadata.labels[api.kusion.io/owner]', to: '\"k\"'}, "
         "{path: 'metadata.annotations[api.kusion.io/spec]', to: '\"s\"'}]}, "
         "{id: 'apps/v1:Deployment:shop:b', action: update, fields: ["
         "{path: spec.replicas, from: '1', to: '2'}, {path: spec.paused, from: 'true'}]}, "
         "{id: 'v1:Service:shop:c', action: unchanged}]}",
         "    + create    ConfigMap/a\n"
         "      + data.x = \"1\"\n"
         "    ~ update    Deployment/b\n"
         "      ~ spec.replicas = 1 -> 2\n"
         "      - spec.paused   = true\n"
         "Plan: 1 to create, 1 to update, 1 unchanged.   digest 0123456789ab\n",
         {0}},
        {"{plan: {unchanged: 1}, results: [{id: 'v1:Service:shop:c', action: unchanged}]}",
         "      unchanged Service/c\n"
         "No changes: 1 unchanged.\n",
         {.has_unchanged = true}},
        {"{plan: {update: 1, unseen: 1}, omitted: 2, planRef: {name: ConfigMap x/y}, results: ["
         "{id: 'v1:Secret:shop:s', action: update, omittedFields: 3, fields: ["
         "{path: data.p, from: (sensitive), to: (sensitive)}]}]}",
         "    ~ update    Secret/s\n"
         "      ~ data.p = (sensitive value)\n"
         "      … and 3 more fields that are NOT shown\n"
         "  … and 2 more resources: all are in ConfigMap x/y\n"
         "Plan: 1 to update, 0 unchanged.\n"
         "3 fields are NOT shown above.\n"
         "2 resources are NOT shown above.\n"
         "All of the plan is in ConfigMap x/y, for who may read that.\n"
         "1 sensitive value is approved unseen.\n",
         {0}},
        {"{plan: {}, results: [{id: 'v1:Secret:shop:s', action: unknown, reason: AccessDenied, "
         "message: \"no\\nto allow it: kubectl create role x\", warnings: [old]}]}",
         "    ? unknown   Secret/s\n"
         "      │ AccessDenied: no\n"
         "      │ to allow it: kubectl create role x\n"
         "      │ warning: old\n"
         "Plan: 1 not planned, 0 unchanged. 1 warning.\n",
         {0}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = plan_text(rows[i].status, rows[i].view);

        EXPECT_STR(text, rows[i].text, "");
    }
}

/* Names, values and messages of tenants: none looks like a line of the plan, or reaches the
 * terminal. */
static void hostile_plans_are_harmless(void)
{
    _cleanup_free_ char *text = plan_text(
        "{plan: {create: 1}, results: [{id: \"v1:ConfigMap:shop:a\\e[2J\", action: create, "
        "message: \"x\\n  + create    Secret/forged\\u202e\", fields: [{path: \"data.\\n\\e[1m\", "
        "to: \"\\u2066\\e]0;t\\a\"}]}]}",
        (struct plan_view){0});

    EXPECT_STR(text,
               "    + create    ConfigMap/a\\u001b[2J\n"
               "      │ x\n"
               "      │   + create    Secret/forged\\u202e\n"
               "      + data. \\u001b[1m = \\u2066\\u001b]0;t\\u0007\n"
               "Plan: 1 to create, 0 unchanged.\n",
               "");
}

static void long_values_are_cut_between_characters(void)
{
    char value[400];
    _cleanup_free_ char *status = NULL, *cut = NULL, *full = NULL;

    memset(value, 'x', 239);
    memcpy(value + 239, "\xe2\x82\xac", 4); /* the cut falls inside it */
    status = str_printf("{plan: {create: 1}, results: [{id: 'v1:ConfigMap:shop:a', action: create, "
                        "fields: [{path: p, to: '%s%s'}]}]}",
                        value, "tail");
    cut = plan_text(status, (struct plan_view){0});
    full = plan_text(status, (struct plan_view){.is_full = true});
    EXPECT(strstr(cut, "x… and 7 bytes (--full)"), cut);
    EXPECT(strstr(full, "\xe2\x82\xactail\n"), full);
}

static void changes_of_a_plan_are_counted(void)
{
    _cleanup_value_ const struct value *before = yaml(
        "{status: {results: [{id: a, action: create}, {id: b, action: update, fields: [{path: x, "
        "to: '1'}]}]}}");
    _cleanup_value_ const struct value *after = yaml(
        "{status: {results: [{id: a, action: create}, {id: b, action: update, fields: [{path: x, "
        "to: '2'}]}, {id: c, action: delete}, {id: d, action: unchanged}]}}");

    EXPECT_INT(plan_count_other(before, after), 2, "");
    EXPECT_INT(plan_count_other(before, before), 0, "");
}

/* ---- Rights ---- */

static void grants_are_read_from_the_operators_offers(void)
{
    _cleanup_value_ const struct value *release =
        yaml("{status: {results: [{message: \"no\\nto allow it: kubectl create role "
             "kusion:a:b:get-secrets "
             "--verb=get,list --resource=deployments.apps --namespace=shop && kubectl create "
             "rolebinding "
             "kusion:a:b:get-secrets --role=kusion:a:b:get-secrets --serviceaccount=shop:deployer "
             "--namespace=shop\"}, {message: \"to allow it: kubectl create clusterrolebinding "
             "evil\"}]}}");
    _cleanup_(grants_done) struct grants grants = {0};
    _cleanup_free_ char *role = NULL, *binding = NULL;

    grants_find(release, &grants);
    EXPECT_INT(grants.count, 1, "the first line of a message may be anybody's");
    role = json_to_str(grants.items[0].role);
    binding = json_to_str(grants.items[0].binding);
    EXPECT_STR(
        role,
        "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\",\"metadata\":"
        "{\"name\":\"kusion:a:b:get-secrets\",\"namespace\":\"shop\"},\"rules\":[{\"apiGroups\":"
        "[\"apps\"],\"resources\":[\"deployments\"],\"verbs\":[\"get\",\"list\"]}]}",
        "");
    EXPECT(strstr(binding, "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"deployer\","
                           "\"namespace\":\"shop\"}]"),
           binding);
}

static void owners_from_git_are_known(void)
{
    _cleanup_value_ const struct value *flux =
        yaml("{metadata: {labels: {kustomize.toolkit.fluxcd.io/name: apps, "
             "kustomize.toolkit.fluxcd.io/namespace: fl}}}");
    _cleanup_value_ const struct value *nobody = yaml("{metadata: {labels: {a: b}}}");
    _cleanup_free_ char *owner = gitops_owner(flux), *none = gitops_owner(nobody);

    EXPECT_STR(owner, "Kustomization fl/apps", "");
    EXPECT(!none, "");
}

/* The operator's commands for approval and for a reconcile are those of this program. */
static void what_to_do_next_is_of_this_program(void)
{
    _cleanup_value_ const struct value *spec = yaml(
        "{metadata: {name: web, namespace: shop, generation: 1}, status: {observedGeneration: 1, "
        "conditions: [{type: Ready, status: 'False', reason: HealthCheckFailed, message: "
        "\"bad\\nnext "
        "try within 5m; now: kubectl annotate spec web --namespace=shop --overwrite "
        "api.kusion.io/reconcile-requested-at=$(date +%s)\\nto see it: kubectl get release "
        "x\"}]}}");
    _cleanup_free_ char *text = NULL;
    struct captured captured;

    captured_init(&captured);
    spec_view_foot(&captured.out, spec, false);
    text = captured_take(&captured);
    EXPECT_STR(text,
               "bad\n"
               "next:  next try within 5m; now: kubectl kusion reconcile web -n shop\n",
               "");
}

SUITE(cli_views, TEST(ids_are_shortened), TEST(ages_are_kubectls), TEST(times_are_short),
      TEST(specs_stand_as_their_conditions_say), TEST(a_change_that_nobody_saw_is_told),
      TEST(rows_say_what_each_waits_for), TEST(rows_say_by_what_each_waits),
      TEST(rows_are_of_health_checks_too), TEST(rows_of_failures_say_why),
      TEST(rows_of_later_attempts_say_why_those_failed),
      TEST(rows_are_in_line_whatever_their_names_are), TEST(plans_are_shown),
      TEST(hostile_plans_are_harmless), TEST(long_values_are_cut_between_characters),
      TEST(changes_of_a_plan_are_counted), TEST(grants_are_read_from_the_operators_offers),
      TEST(owners_from_git_are_known), TEST(what_to_do_next_is_of_this_program))
