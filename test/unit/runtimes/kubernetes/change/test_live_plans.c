/* What plans know, and kinds that come and go, on a real API server (live.h). */
#include "engine/base/str.h"
#include "engine/value/value_mark.h"
#include "test/unit/runtimes/kubernetes/change/live_thing.h"
#include "test/unit/suite.h"

#define GROUP "@.kusion-live.example.com"

/* A server may list a new group a moment before it serves it: the engine tries again then, too. */
static bool is_answered(void *arg)
{
    return thing_make(arg) != ERR_UNAVAILABLE;
}

static int make_when_served(struct thing *thing)
{
    live_eventually(is_answered, thing);
    return thing->world->error.code;
}

/* ---- Plans ---- */

#define N_MANY 20

/* One list tells that nothing is to be done. */
static void hints_spare_requests(void)
{
    struct runtime_target targets[N_MANY];
    struct observation hints[N_MANY] = {0};
    struct thing things[N_MANY];
    struct kube_client_stats before, after;
    struct world world;

    if (!world_begin(&world))
        return;
    for (size_t i = 0; i < N_MANY; i++) {
        _cleanup_free_ char *text = str_printf(MAP("m%zu", "\"k\":\"1\""), i);

        thing_init(&things[i], &world, text);
        EXPECT_INT(thing_make(&things[i]), 0, world.error.message);
        targets[i] = things[i].target;
    }
    kube_client_stats(world.live.harness.client, &before);
    EXPECT_INT(kube_prefetch(world.session, targets, N_MANY, &stage_call, hints, &world.error), 0,
               world.error.message);
    for (size_t i = 0; i < N_MANY; i++) {
        struct runtime_step *step = NULL;

        EXPECT_INT(
            kube_plan(world.session, &targets[i], &hints[i], &stage_call, &step, &world.error), 0,
            world.error.message);
        EXPECT_INT(step ? step->action : PLAN_NONE, PLAN_UNCHANGED, "unchanged");
        kube_step_free(step);
        observation_done(&hints[i]);
    }
    kube_client_stats(world.live.harness.client, &after);
    EXPECT_INT(after.reads - before.reads, 1, "one list");
    EXPECT_INT(after.dry_runs - before.dry_runs, 0, "no dry-run");
    for (size_t i = 0; i < N_MANY; i++)
        thing_done(&things[i]);
    world_end(&world);
}

/* What a dry-run makes up is not known; what cannot be tried yet is planned all the same. */
static void a_thorough_plan_shows_what_can_be_known(void)
{
    struct thing service, secret, inside, later;
    const struct value *spec;
    struct world world;

    if (!world_begin(&world))
        return;
    world.session->thorough = true;
    thing_init(&service, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":"
               "{\"ports\":[{\"port\":80}]}}");
    thing_init(&secret, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},"
               "\"stringData\":{\"k\":\"v\"}}");
    thing_init(&inside, &world,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
               "\"namespace\":\"@-later\"}}");
    EXPECT_INT(thing_plan(&service), 0, world.error.message);
    EXPECT(value_is(value_path(service.step->result, "spec", "clusterIP", NULL), VALUE_UNKNOWN),
           "an address");
    spec = value_get(service.step->shown_after, "spec");
    EXPECT_INT((long long)value_count(spec), 1, "no defaults");
    EXPECT_STR(value_get_string(value_at(value_get(spec, "ports"), 0), "protocol"), "TCP",
               "but the key of an item");
    EXPECT_INT(thing_plan(&secret), 0, world.error.message);
    EXPECT_STR(value_string(value_path(secret.step->shown_after, "data", "k", NULL)),
               "dg==", "as data");
    EXPECT(value_is_sensitive(value_get(secret.step->shown_after, "data")), "marked");
    EXPECT_INT(thing_plan(&inside), ERR_INVALID, "its namespace is not there, nor in the Spec");
    EXPECT_STR(world.error.reason, "NamespaceNotFound", world.error.message);
    thing_init(
        &later, &world,
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"@-later\"}}");
    session_note_wanted(world.session, later.attributes);
    EXPECT_INT(thing_plan(&inside), 0, "its namespace is not there yet");
    EXPECT_INT(thing_action(&inside), PLAN_CREATE, "to be made");
    EXPECT(inside.step->reason && str_has_prefix(inside.step->reason, "not tried: namespace "),
           "and says so");
    EXPECT_INT(thing_apply(&inside), ERR_INVALID, "and is missed when it is due");
    EXPECT_STR(world.error.reason, "NamespaceNotFound", world.error.message);
    thing_done(&service);
    thing_done(&secret);
    thing_done(&inside);
    thing_done(&later);
    world_end(&world);
}

/* ---- Definitions that come and go ---- */

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"widgets." GROUP "\"},\"spec\":{\"group\":\"" GROUP "\","
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":"
    "\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static const char widget_text[] =
    "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Widget\",\"metadata\":"
    "{\"name\":\"a\"},\"spec\":{\"size\":1}}";

/* A session that has not just seen the definition: that one would be patient. */
static void open_anew(struct world *world, struct thing *thing)
{
    session_unref(world->session);
    world->session = stage_open(&world->stage, world->live.space, "web", NULL);
    thing->session = world->session;
}

/* Until the API server is done with the definition, it refuses in other words. */
static bool has_no_kind(void *arg)
{
    struct thing *thing = arg;

    thing->target.prior = NULL;
    return thing_make(thing) == ERR_INVALID &&
           str_equal(thing->world->error.reason, "KindNotFound");
}

static void a_kind_comes_and_goes(void)
{
    struct thing crd, widget;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&crd, &world, definition);
    thing_init(&widget, &world, widget_text);
    EXPECT_INT(thing_make(&widget), ERR_INVALID, "not yet");
    EXPECT_STR(world.error.reason, "KindNotFound", world.error.message);
    EXPECT_INT(thing_action(&widget), PLAN_CREATE, "though it could be planned");
    EXPECT_INT(thing_presence(&widget), PRESENCE_ABSENT, "nothing defines it");

    EXPECT_INT(thing_make(&crd), 0, world.error.message);
    EXPECT_INT(make_when_served(&widget), 0, world.error.message);
    EXPECT_INT(kube_detail_of(&widget.outcome.now)->owner, OWNER_SELF, "made");

    /* The definition goes by another's hand, and what is known of it here is old. */
    open_anew(&world, &widget);
    world_do(&world, "DELETE", CRDS "/widgets." GROUP, NULL);
    EXPECT(live_eventually(thing_is_absent, &widget), world.error.message);
    EXPECT_INT(thing_plan_removal(&widget), 0, world.error.message);
    EXPECT_INT(thing_action(&widget), PLAN_FORGET, "it went with its definition");
    EXPECT(live_eventually(has_no_kind, &widget), world.error.message);
    thing_done(&widget);
    thing_done(&crd);
    world_end(&world);
}

static bool is_not_served(void *arg)
{
    struct thing *thing = arg;

    return thing_look(thing) == ERR_UNAVAILABLE &&
           str_equal(thing->world->error.reason, "NotServed") &&
           strstr(thing->world->error.message, "its kind is defined");
}

static bool is_there(void *arg)
{
    return thing_presence(arg) == PRESENCE_PRESENT;
}

/* A kind that is not served has its objects still. */
static void what_is_not_served_is_not_gone(void)
{
    static const char patch[] =
        "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":%s,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]"
        "}}";
    _cleanup_free_ char *off = str_printf(patch, "false"), *on = str_printf(patch, "true");
    struct thing crd, widget;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&crd, &world, definition);
    thing_init(&widget, &world, widget_text);
    EXPECT_INT(thing_make(&crd), 0, world.error.message);
    EXPECT_INT(make_when_served(&widget), 0, world.error.message);
    open_anew(&world, &widget);
    world_do(&world, "PATCH", CRDS "/widgets." GROUP, off);
    EXPECT(live_eventually(is_not_served, &widget), world.error.message);
    EXPECT_INT(widget.outcome.now.presence, PRESENCE_UNKNOWN, "not absent");
    EXPECT_INT(thing_plan_removal(&widget), ERR_UNAVAILABLE, "neither deleted nor forgotten");
    EXPECT_INT(thing_plan(&widget), ERR_UNAVAILABLE, "nor made again");
    world_do(&world, "PATCH", CRDS "/widgets." GROUP, on);
    EXPECT(live_eventually(is_there, &widget), world.error.message);
    EXPECT_INT(thing_take_away(&widget), 0, world.error.message);
    EXPECT(live_eventually(thing_is_absent, &widget), "gone");
    world_do(&world, "DELETE", CRDS "/widgets." GROUP, NULL);
    thing_done(&widget);
    thing_done(&crd);
    world_end(&world);
}

SUITE(live_plans, TEST(hints_spare_requests), TEST(a_thorough_plan_shows_what_can_be_known),
      TEST(a_kind_comes_and_goes), TEST(what_is_not_served_is_not_gone))
