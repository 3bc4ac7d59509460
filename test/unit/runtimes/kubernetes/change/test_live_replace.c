/* What can only be replaced, kind by kind, on a real API server (live.h). */
#include <string.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/kubernetes/change/live_thing.h"
#include "test/unit/suite.h"

/* ---- Objects, with ' for each " ---- */

static char *quoted(const char *text)
{
    char *copy = str_new(text);

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

struct row {
    const char *name, *api_version, *kind;
    const char *before, *after; /* what follows the metadata */
    const char *field;          /* that the message names */
    bool is_cluster_scoped, needs_annotation;
};

static void init(struct thing *thing, struct world *world, const struct row *row,
                 const char *annotations, const char *content)
{
    _cleanup_free_ char *text = str_printf(
        "{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s'%s},%s}", row->api_version,
        row->kind, row->is_cluster_scoped ? "@-x" : "x", annotations, content);
    _cleanup_free_ char *json = quoted(text);

    thing_init(thing, world, json);
}

#define FORCE(value) ",'annotations':{'api.kusion.io/force':'" value "'}"

#define POD "'spec':{'containers':[{'name':'c','image':'i'}]}"
#define WORKLOAD(label, rest)                                                                 \
    "'spec':{'selector':{'matchLabels':{'" label "':'1'}},'template':{'metadata':{'labels':{" \
    "'a':'1','b':'1'}}," POD "}" rest "}"
#define CLAIM(class)                                                                               \
    "'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'" class "','resources':{"         \
                                                                         "'requests':{'storage':'" \
                                                                         "1Gi'}}}"
#define VOLUME(path)                                                                           \
    "'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':" \
    "'" path "'}}"
#define BINDING(role)                                                                     \
    "'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'" role "'}," \
    "'subjects':[{'kind':'ServiceAccount','name':'a','namespace':'@'}]"

static const struct row rows[] = {
    {"the selector of a Deployment", "apps/v1", "Deployment", WORKLOAD("a", ""), WORKLOAD("b", ""),
     "spec.selector", false, false},
    {"the selector of a DaemonSet", "apps/v1", "DaemonSet", WORKLOAD("a", ""), WORKLOAD("b", ""),
     "spec.selector", false, false},
    {"the service of a StatefulSet", "apps/v1", "StatefulSet", WORKLOAD("a", ",'serviceName':'a'"),
     WORKLOAD("a", ",'serviceName':'b'"), "spec", false, true},
    {"the address of a Service", "v1", "Service",
     "'spec':{'clusterIP':'None','selector':{'a':'1'},'ports':[{'port':1}]}",
     "'spec':{'clusterIP':'10.96.7.7','selector':{'a':'1'},'ports':[{'port':1}]}",
     "spec.clusterIPs[0]", false, false},
    {"that of one with a node port of its own", "v1", "Service",
     "'spec':{'type':'NodePort','clusterIP':'10.96.7.8','ports':[{'port':1,'nodePort':30977}]}",
     "'spec':{'type':'NodePort','clusterIP':'10.96.7.9','ports':[{'port':1,'nodePort':30977}]}",
     "spec.clusterIPs[0]", false, false},
    {"the role of a RoleBinding", "rbac.authorization.k8s.io/v1", "RoleBinding", BINDING("a"),
     BINDING("b"), "roleRef", false, false},
    {"the data of an immutable ConfigMap", "v1", "ConfigMap", "'immutable':true,'data':{'a':'1'}",
     "'immutable':true,'data':{'a':'2'}", "data", false, false},
    {"that a ConfigMap is immutable", "v1", "ConfigMap", "'immutable':true,'data':{'a':'1'}",
     "'immutable':false,'data':{'a':'1'}", "immutable", false, false},
    {"the data of an immutable Secret", "v1", "Secret", "'immutable':true,'data':{'a':'MQ=='}",
     "'immutable':true,'data':{'a':'Mg=='}", "data", false, false},
    {"the type of a Secret", "v1", "Secret", "'type':'Opaque'", "'type':'example.com/other'",
     "type", false, false},
    {"a Pod", "v1", "Pod", POD,
     "'spec':{'hostNetwork':true,'containers':[{'name':'c','image':'i'}]}", "spec", false, false},
    {"the provisioner of a StorageClass", "storage.k8s.io/v1", "StorageClass",
     "'provisioner':'a/b'", "'provisioner':'a/c'", "provisioner", true, false},
    {"the value of the default PriorityClass", "scheduling.k8s.io/v1", "PriorityClass",
     "'value':1,'globalDefault':true", "'value':2,'globalDefault':true", "value", true, false},
    {"the class of a claim", "v1", "PersistentVolumeClaim", CLAIM("a"), CLAIM("b"), "spec", false,
     true},
    {"the source of a volume", "v1", "PersistentVolume", VOLUME("/a"), VOLUME("/b"),
     "spec.persistentvolumesource", true, true},
};

/* Plans the object anew, as it is wanted with these annotations. */
static int plan_as(struct thing *made, struct thing *wanted)
{
    wanted->target.prior = made->record;
    return thing_plan(wanted);
}

static void expect_refusal(struct world *world, const struct row *row, const char *says)
{
    _cleanup_free_ char *field = str_printf("%s: ", row->field);

    EXPECT_STR(world->error.reason, "ImmutableField", row->name);
    EXPECT(str_has_prefix(world->error.message, field), world->error.message);
    EXPECT(strstr(world->error.message, says), world->error.message);
}

/* The diff has it, or what it is in. */
static bool is_shown(const struct runtime_step *step, const char *field)
{
    size_t length = strcspn(field, ".");
    const struct value *before = value_get_n(step->shown_before, field, length);
    const struct value *after = value_get_n(step->shown_after, field, length);

    return before != after && !(before && after && value_equal(before, after));
}

static void expect_replacement(const struct thing *wanted, const struct row *row)
{
    _cleanup_free_ char *why = str_printf("%s cannot be changed in place", row->field);
    const struct value *name =
        value_path(wanted->step ? wanted->step->after : NULL, "metadata", "name", NULL);

    EXPECT_INT(thing_action(wanted), PLAN_REPLACE, row->name);
    if (!wanted->step)
        return;
    EXPECT_STR(wanted->step->reason, why, row->name);
    EXPECT(value_equal(name, value_path(wanted->attributes, "metadata", "name", NULL)), row->name);
    EXPECT(is_shown(wanted->step, row->field), row->name);
}

/* Both halves as the engine plans them. */
static void carry_out(struct thing *wanted, const struct row *row)
{
    struct world *world = wanted->world;

    wanted->target.part = TARGET_OLD;
    EXPECT_INT(thing_plan_removal(wanted), 0, world->error.message);
    EXPECT_INT(thing_action(wanted), PLAN_DELETE, row->name);
    EXPECT_INT(thing_apply(wanted), 0, world->error.message);
    EXPECT(live_eventually(thing_is_absent, wanted), row->name);
    wanted->target.part = TARGET_NEW;
    wanted->target.prior = NULL;
    EXPECT_INT(thing_make(wanted), 0, world->error.message);
    EXPECT_INT(wanted->outcome.certainty, OUTCOME_KNOWN, row->name);
    wanted->target.part = TARGET_WHOLE;
    EXPECT_INT(thing_plan(wanted), 0, world->error.message);
    EXPECT_INT(thing_action(wanted), PLAN_UNCHANGED, row->name);
}

static void try_row(struct world *world, const struct row *row)
{
    struct thing made, wanted, allowed, forbidden;
    const char *way =
        row->needs_annotation ? "delete it with all that it holds" : "or the Spec force";

    init(&made, world, row, "", row->before);
    init(&wanted, world, row, "", row->after);
    init(&allowed, world, row, FORCE("enabled"), row->after);
    init(&forbidden, world, row, FORCE("disabled"), row->after);
    EXPECT_INT(thing_make(&made), 0, world->error.message);
    EXPECT_INT(plan_as(&made, &wanted), ERR_INVALID, row->name);
    expect_refusal(world, row, way);
    world->session->force = true;
    if (row->needs_annotation) {
        EXPECT_INT(plan_as(&made, &wanted), ERR_INVALID, row->name);
        expect_refusal(world, row, way);
    } else {
        EXPECT_INT(plan_as(&made, &wanted), 0, world->error.message);
        expect_replacement(&wanted, row);
    }
    EXPECT_INT(plan_as(&made, &forbidden), ERR_INVALID, row->name);
    expect_refusal(world, row, "forbids to replace it");
    world->session->force = false;
    EXPECT_INT(plan_as(&made, &allowed), 0, world->error.message);
    expect_replacement(&allowed, row);
    carry_out(&allowed, row);
    EXPECT_INT(thing_take_away(&allowed), 0, world->error.message);
    EXPECT(live_eventually(thing_is_absent, &allowed), row->name);
    thing_done(&made);
    thing_done(&wanted);
    thing_done(&allowed);
    thing_done(&forbidden);
}

static void kind_by_kind(void)
{
    struct world world;

    if (!world_begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        try_row(&world, &rows[i]);
    world_end(&world);
}

/* ---- What is not to be replaced ---- */

/* What is made, what is wanted then, and what is said of it; the Spec has force: true. */
static const struct {
    struct row row;
    const char *reason, *says;
} refusals[] = {
    {{"plainly invalid", "apps/v1", "Deployment", WORKLOAD("a", ""),
      WORKLOAD("a", ",'replicas':-1"), NULL, false, false},
     "Invalid",
     "spec.replicas: Invalid value"},
    {{"invalid and immutable", "apps/v1", "Deployment", WORKLOAD("a", ""),
      WORKLOAD("b", ",'replicas':-1"), NULL, false, false},
     "Invalid",
     "spec.selector: Invalid value: (redacted): field is immutable"},
    {{"an address, and a node port of another", "v1", "Service",
      "'spec':{'type':'NodePort','clusterIP':'10.96.7.10','ports':[{'port':1,'nodePort':30978}]}",
      "'spec':{'type':'NodePort','clusterIP':'10.96.7.11','ports':[{'port':1,'nodePort':30979}]}",
      NULL, false, false},
     "Invalid",
     "spec.ports[0].nodePort: Invalid value: (redacted): provided port is already allocated"},
    {{"of another schema", "v1", "ConfigMap", "'data':{'a':'1'}", "'data':{'a':1}", NULL, false,
      false},
     "InvalidSchema",
     "expected string"},
};

static void what_is_invalid_is_not_replaced(void)
{
    struct world world;

    if (!world_begin(&world))
        return;
    world.session->force = true;
    world_do(&world, "POST", "/api/v1/namespaces/@/services",
             "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"type\":\"NodePort\",\"ports\":["
             "{\"port\":1,\"nodePort\":30979}]}}");
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        const struct row *row = &refusals[i].row;
        struct thing made, wanted;

        init(&made, &world, row, "", row->before);
        init(&wanted, &world, row, "", row->after);
        EXPECT_INT(thing_make(&made), 0, world.error.message);
        EXPECT_INT(plan_as(&made, &wanted), ERR_INVALID, row->name);
        EXPECT_STR(world.error.reason, refusals[i].reason, row->name);
        EXPECT(strstr(world.error.message, refusals[i].says), world.error.message);
        EXPECT(!strstr(world.error.message, "in place"), world.error.message);
        EXPECT_INT(thing_take_away(&made), 0, world.error.message);
        EXPECT(live_eventually(thing_is_absent, &made), row->name);
        thing_done(&made);
        thing_done(&wanted);
    }
    world_end(&world);
}

/* `force` is about what the Spec made. */
static void an_object_of_nobody_is_not_replaced(void)
{
    const struct row row = {.api_version = "v1", .kind = "Secret"};
    struct thing wanted;
    struct world world;

    if (!world_begin(&world))
        return;
    world.session->force = true;
    world_do(&world, "POST", "/api/v1/namespaces/@/secrets",
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}");
    init(&wanted, &world, &row, FORCE("enabled"), "'type':'example.com/other'");
    EXPECT_INT(thing_plan(&wanted), ERR_INVALID, "not ours");
    EXPECT_STR(world.error.reason, "ImmutableField", world.error.message);
    EXPECT(strstr(world.error.message, "this Spec did not create it"), world.error.message);
    thing_done(&wanted);
    world_end(&world);
}

/* ---- Jobs ---- */

#define JOB(value)                                                                                 \
    "'spec':{'suspend':true,'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c'" \
    ",'image':'i',"                                                                                \
    "'env':[{'name':'P','value':'" value "'}]}]}}}"
#define ENDED(sooner, type)                                                \
    "{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\",\"conditions\":[" \
    "{\"type\":\"" sooner "\",\"status\":\"True\"},{\"type\":\"" type "\",\"status\":\"True\"}]"

static void expect_job(struct thing *made, struct thing *wanted, enum plan_action action,
                       const char *note)
{
    EXPECT_INT(plan_as(made, wanted), 0, wanted->world->error.message);
    EXPECT_INT(thing_action(wanted), action, note);
}

static void try_job(struct world *world, const char *status)
{
    const struct row row = {.api_version = "batch/v1", .kind = "Job"};
    struct thing made, wanted, allowed, forbidden;

    init(&made, world, &row, "", JOB("s3cret-of-before"));
    init(&wanted, world, &row, "", JOB("s3cret-of-after"));
    init(&allowed, world, &row, FORCE("enabled"), JOB("s3cret-of-after"));
    init(&forbidden, world, &row, FORCE("disabled"), JOB("s3cret-of-after"));
    EXPECT_INT(thing_make(&made), 0, world->error.message);
    expect_job(&made, &wanted, PLAN_DEFERRED, "it runs");
    EXPECT_STR(wanted.step->reason,
               "the Job has not ended: when it has, it is replaced, because spec.template.spec "
               "cannot be changed in place; to replace it now, give it the annotation "
               "api.kusion.io/force: enabled",
               "what it waits for");
    expect_job(&made, &allowed, PLAN_REPLACE, "its own annotation");
    world->session->force = true;
    expect_job(&made, &wanted, PLAN_REPLACE, "force");
    world->session->force = false;
    world_do(world, "PATCH", "/apis/batch/v1/namespaces/@/jobs/x/status", status);
    expect_job(&made, &wanted, PLAN_REPLACE, "it has ended");
    EXPECT_INT(plan_as(&made, &forbidden), ERR_INVALID, "its own annotation");
    EXPECT(strstr(world->error.message, "spec.template: Invalid value: (redacted): field is "),
           world->error.message);
    EXPECT(!strstr(world->error.message, "s3cret"), world->error.message);
    EXPECT_INT(thing_take_away(&made), 0, world->error.message);
    EXPECT(live_eventually(thing_is_absent, &made), "gone");
    thing_done(&made);
    thing_done(&wanted);
    thing_done(&allowed);
    thing_done(&forbidden);
}

static void a_job_that_has_ended(void)
{
    struct world world;

    if (!world_begin(&world))
        return;
    try_job(&world, ENDED("SuccessCriteriaMet",
                          "Complete") ",\"succeeded\":1,"
                                      "\"completionTime\":\"2026-01-01T00:00:01Z\"}}");
    try_job(&world, ENDED("FailureTarget", "Failed") "}}");
    world_end(&world);
}

static void expect_new_job(const struct thing *wanted, enum plan_action action)
{
    const struct runtime_step *step = wanted->step;
    const struct value *template = value_path(step->result, "spec", "template", NULL);
    _cleanup_buf_ struct buf text = BUF_INIT;

    EXPECT_INT(thing_action(wanted), action, "planned");
    EXPECT(value_equal(step->after, wanted->attributes), "one digest");
    EXPECT(
        value_is(value_path(template, "metadata", "labels", "controller-uid", NULL), VALUE_UNKNOWN),
        "a uid");
    json_write(&text, step->result, JSON_CANONICAL);
    EXPECT(!strstr(text.data, "kusion-trial"), text.data);
}

/* What the API server assigns is unknown, and the name of the trial is nowhere. Both halves and the
 * create that comes later tell the same. */
static void a_thorough_plan_shows_the_new_object(void)
{
    const struct row row = {.api_version = "batch/v1", .kind = "Job"};
    _cleanup_value_ const struct value *result = NULL, *shown = NULL;
    struct thing made, wanted;
    struct world world;

    if (!world_begin(&world))
        return;
    world.session->thorough = world.session->force = true;
    init(&made, &world, &row, "", JOB("1"));
    init(&wanted, &world, &row, "", JOB("2"));
    EXPECT_INT(thing_make(&made), 0, world.error.message);
    expect_job(&made, &wanted, PLAN_REPLACE, "replaced");
    expect_new_job(&wanted, PLAN_REPLACE);
    result = value_ref(wanted.step->result);
    shown = value_ref(wanted.step->shown_after);
    wanted.target.part = TARGET_NEW;
    wanted.target.prior = NULL;
    EXPECT_INT(thing_plan(&wanted), 0, world.error.message);
    expect_new_job(&wanted, PLAN_CREATE);
    EXPECT(value_equal(result, wanted.step->result), "the same");
    EXPECT_INT(thing_take_away(&made), 0, world.error.message);
    EXPECT(live_eventually(thing_is_absent, &made), "gone");
    wanted.target.part = TARGET_WHOLE;
    EXPECT_INT(thing_plan(&wanted), 0, world.error.message);
    expect_new_job(&wanted, PLAN_CREATE);
    EXPECT(value_equal(result, wanted.step->result), "the same under its own name");
    EXPECT(value_equal(shown, wanted.step->shown_after), "nothing else is shown");
    thing_done(&made);
    thing_done(&wanted);
    world_end(&world);
}

/* ---- Definitions, and what they define ---- */

#define CRDS  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define GROUP "@.kusion-replace.example.com"

/* The field `fixed` may not change, in words of the author's own. */
#define DEFINITION(scope, more)                                                                   \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","          \
    "\"metadata\":{\"name\":\"things." GROUP "\"" more "},\"spec\":{\"group\":\"" GROUP "\","     \
    "\"scope\":\"" scope "\",\"names\":{\"plural\":\"things\",\"singular\":\"thing\",\"kind\":"   \
    "\"Thing\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"     \
    "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","     \
    "\"properties\":{\"fixed\":{\"type\":\"string\",\"maxLength\":9,\"x-kubernetes-validations\"" \
    ":[{\"rule\":\"self == oldSelf\",\"message\":\"that is for ever\"}]}}}}}}}]}}"
#define ALLOWED ",\"annotations\":{\"api.kusion.io/force\":\"enabled\"}"

static bool is_established(void *arg)
{
    struct thing *crd = arg;
    const struct value *conditions;

    if (thing_look(crd) < 0)
        return false;
    conditions = value_path(crd->outcome.now.result, "status", "conditions", NULL);
    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "type"), "Established"))
            return str_equal(value_get_string(value_at(conditions, i), "status"), "True");
    return false;
}

static bool is_made(void *arg)
{
    return thing_make(arg) >= 0;
}

static void try_thing(struct world *world)
{
    static const char head[] = "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Thing\",\"metadata\":"
                               "{\"name\":\"x\"},\"spec\":{\"fixed\":\"%s\"}}";
    _cleanup_free_ char *one = str_printf(head, "1"), *two = str_printf(head, "2");
    _cleanup_free_ char *invalid = str_printf(head, "longer than that");
    struct thing made, wanted, wrong;

    thing_init(&made, world, one);
    thing_init(&wanted, world, two);
    thing_init(&wrong, world, invalid);
    EXPECT(live_eventually(is_made, &made), world->error.message);
    EXPECT_INT(plan_as(&made, &wanted), ERR_INVALID, "not allowed");
    EXPECT(str_has_prefix(world->error.message, "spec.fixed: "), world->error.message);
    EXPECT(strstr(world->error.message, "that is for ever; it cannot be changed in place"),
           world->error.message);
    world->session->force = true;
    expect_job(&made, &wanted, PLAN_REPLACE, "a rule of its author");
    EXPECT_INT(plan_as(&made, &wrong), ERR_INVALID, "invalid");
    EXPECT_STR(world->error.reason, "Invalid", world->error.message);
    world->session->force = false;
    thing_done(&made);
    thing_done(&wanted);
    thing_done(&wrong);
}

/* The scope can be changed until the definition is established: what was planned before that is
 * planned again. */
static void a_definition_is_planned_again(void)
{
    struct thing crd, wanted, allowed;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&crd, &world, DEFINITION("Namespaced", ""));
    thing_init(&wanted, &world, DEFINITION("Cluster", ""));
    thing_init(&allowed, &world, DEFINITION("Cluster", ALLOWED));
    EXPECT_INT(thing_make(&crd), 0, world.error.message);
    wanted.target.prior = crd.record;
    if (thing_plan(&wanted) >= 0) {
        EXPECT_INT(thing_action(&wanted), PLAN_UPDATE, "in its first second");
        EXPECT(live_eventually(is_established, &crd), world.error.message);
        EXPECT_INT(thing_apply(&wanted), ERR_CONFLICT, "it is planned again");
        EXPECT_STR(world.error.reason, "Conflict", world.error.message);
    }
    EXPECT(live_eventually(is_established, &crd), world.error.message);
    EXPECT_INT(plan_as(&crd, &wanted), ERR_INVALID, "not allowed");
    EXPECT_STR(world.error.reason, "ImmutableField", world.error.message);
    world.session->force = true;
    EXPECT_INT(plan_as(&crd, &wanted), ERR_INVALID, "not by the Spec");
    world.session->force = false;
    EXPECT_INT(plan_as(&crd, &allowed), 0, world.error.message);
    EXPECT_INT(thing_action(&allowed), PLAN_REPLACE, "its own annotation");
    try_thing(&world);
    world_do(&world, "DELETE", CRDS "/things." GROUP, NULL);
    thing_done(&crd);
    thing_done(&wanted);
    thing_done(&allowed);
    world_end(&world);
}

/* ---- Rights ---- */

#define RBAC "/apis/rbac.authorization.k8s.io/v1/namespaces/@/"

/* As the hints of hint.c grant them: the right to patch the object's own name alone. */
static void the_right_to_patch_one_name_is_enough(void)
{
    struct thing made, wanted;
    const struct row row = {.api_version = "v1", .kind = "Secret"};
    struct world world;

    if (!world_begin(&world))
        return;
    world_do(&world, "POST", RBAC "roles",
             "{\"metadata\":{\"name\":\"robot\"},\"rules\":["
             "{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"verbs\":[\"create\"]},"
             "{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"resourceNames\":[\"x\"],"
             "\"verbs\":[\"get\",\"patch\",\"delete\"]}]}");
    world_do(&world, "POST", RBAC "rolebindings",
             "{\"metadata\":{\"name\":\"robot\"},\"roleRef\":{\"apiGroup\":"
             "\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"robot\"},\"subjects\":[{"
             "\"kind\":\"ServiceAccount\",\"name\":\"robot\",\"namespace\":\"@\"}]}");
    session_unref(world.session);
    world.session = stage_open(&world.stage, world.live.space, "web", "robot");
    world.session->force = true;
    init(&made, &world, &row, "", "'type':'Opaque'");
    init(&wanted, &world, &row, "", "'type':'example.com/other'");
    EXPECT_INT(thing_make(&made), 0, world.error.message);
    expect_job(&made, &wanted, PLAN_REPLACE, "replaced");
    thing_done(&made);
    thing_done(&wanted);
    world_end(&world);
}

/* ---- What a trial cannot tell ---- */

static bool is_counted(void *arg)
{
    struct world *world = arg;
    _cleanup_value_ const struct value *quota = NULL;

    return live_do(&world->live, "GET", "/api/v1/namespaces/@/resourcequotas/q", NULL, &quota,
                   NULL) >= 0 &&
           str_equal(value_string(value_path(quota, "status", "used", "count/secrets", NULL)), "1");
}

static void a_trial_that_is_refused_tells_nothing(void)
{
    struct thing made, wanted;
    const struct row row = {.api_version = "v1", .kind = "Secret"};
    struct world world;

    if (!world_begin(&world))
        return;
    world.session->force = true;
    init(&made, &world, &row, "", "'type':'Opaque'");
    init(&wanted, &world, &row, "", "'type':'example.com/other'");
    EXPECT_INT(thing_make(&made), 0, world.error.message);
    world_do(&world, "POST", "/api/v1/namespaces/@/resourcequotas",
             "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"count/secrets\":\"1\"}}}");
    EXPECT(live_eventually(is_counted, &world), "the quota");
    EXPECT_INT(plan_as(&made, &wanted), ERR_INVALID, "not replaced");
    EXPECT_STR(world.error.reason, "Invalid", world.error.message);
    EXPECT(strstr(world.error.message,
                  "field is immutable; whether it can be replaced is not known, "
                  "because a trial was refused: "),
           world.error.message);
    EXPECT(strstr(world.error.message, "exceeded quota: q"), world.error.message);
    thing_done(&made);
    thing_done(&wanted);
    world_end(&world);
}

SUITE(live_replace, TEST(kind_by_kind), TEST(what_is_invalid_is_not_replaced),
      TEST(an_object_of_nobody_is_not_replaced), TEST(a_job_that_has_ended),
      TEST(a_thorough_plan_shows_the_new_object), TEST(a_definition_is_planned_again),
      TEST(the_right_to_patch_one_name_is_enough), TEST(a_trial_that_is_refused_tells_nothing))
