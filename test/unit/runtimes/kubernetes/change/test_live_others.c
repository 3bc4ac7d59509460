/* What is another's, and rights that are missing, on a real API server (live.h). */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/live_thing.h"
#include "test/unit/suite.h"

/* ---- Of others ---- */

static void refuses_what_belongs_to_another_spec(void)
{
    struct runtime_session *other;
    struct thing mine, theirs;
    struct world world;

    if (!world_begin(&world))
        return;
    other = stage_open(&world.stage, world.live.space, "other", NULL);
    thing_init(&mine, &world, MAP("a", "\"k\":\"mine\""));
    thing_init(&theirs, &world, MAP("a", "\"l\":\"theirs\""));
    theirs.session = other;
    EXPECT_INT(thing_plan(&theirs), 0, world.error.message);
    EXPECT_INT(thing_make(&mine), 0, world.error.message);
    EXPECT_INT(thing_apply(&theirs), ERR_CONFLICT, "no field is the same, and it is there");
    EXPECT_INT(thing_plan(&theirs), ERR_CONFLICT, "and another's");
    EXPECT_STR(world.error.reason, "ConflictDetected", world.error.message);
    EXPECT_INT(thing_look(&theirs), 0, world.error.message);
    EXPECT_INT(kube_detail_of(&theirs.outcome.now)->owner, OWNER_SPEC, "whose it is can be seen");
    EXPECT(!str_equal(theirs.outcome.now.fields_digest, mine.outcome.now.fields_digest),
           "nothing is the other's");
    EXPECT_STR(thing_data(&theirs, "l"), NULL, "nothing was written");
    theirs.record = record_ref(mine.record);
    theirs.target.prior = theirs.record;
    EXPECT_INT(thing_plan_removal(&theirs), 0, world.error.message);
    EXPECT_INT(thing_action(&theirs), PLAN_FORGET, "nor is it deleted for the other");
    thing_done(&mine);
    thing_done(&theirs);
    session_unref(other);
    world_end(&world);
}

/* Two that saw it as nobody's: the second is told that it is not any more. */
static void takes_only_what_is_as_it_was_seen(void)
{
    struct runtime_session *other;
    struct thing mine, theirs;
    struct world world;

    if (!world_begin(&world))
        return;
    other = stage_open(&world.stage, world.live.space, "other", NULL);
    thing_init(&mine, &world, MAP("a", "\"k\":\"mine\""));
    thing_init(&theirs, &world, MAP("a", "\"k\":\"theirs\""));
    theirs.session = other;
    world_do(&world, "POST", MAPS, MAP("a", ""));
    EXPECT_INT(thing_plan(&mine), 0, world.error.message);
    EXPECT_INT(thing_plan(&theirs), 0, world.error.message);
    EXPECT_INT(thing_action(&mine), PLAN_ADOPT, "nobody's");
    EXPECT_INT(thing_action(&theirs), PLAN_ADOPT, "nobody's");
    EXPECT_INT(thing_apply(&mine), 0, world.error.message);
    EXPECT_INT(thing_apply(&theirs), ERR_CONFLICT, "it has changed");
    EXPECT_INT(thing_look(&mine), 0, world.error.message);
    EXPECT_INT(kube_detail_of(&mine.outcome.now)->owner, OWNER_SELF, "of the first");
    EXPECT_STR(thing_data(&mine, "k"), "mine", "as the first wanted it");
    thing_done(&mine);
    thing_done(&theirs);
    session_unref(other);
    world_end(&world);
}

#define BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/@/rolebindings"

/* What the hint would make. */
static const char binding[] =
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{"
    "\"name\":\"kusion:@:poor:edit\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
    "\"kind\":"
    "\"ClusterRole\",\"name\":\"edit\"},\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":"
    "\"poor\",\"namespace\":\"@\"}]}";

/* Rights and quotas take a moment until they are known. */
static bool is_permitted(void *arg)
{
    ((struct thing *)arg)->target.prior = NULL; /* so that there is something to do */
    return thing_make(arg) == 0;
}

static bool is_spent(void *arg)
{
    struct thing *thing = arg;

    if (is_permitted(arg))
        live_do(&thing->world->live, "DELETE", MAPS "/a", NULL, NULL, NULL);
    return strstr(thing->world->error.message, "exceeded quota") != NULL;
}

#define POOR_ROLE "kusion:@:poor:get-list-watch-create-patch-delete-configmaps"

static void acts_with_the_rights_of_the_account_alone(void)
{
    _cleanup_free_ char *hint = NULL;
    struct runtime_session *poor;
    struct thing thing;
    struct world world;

    if (!world_begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    hint =
        live_text(&world.live, "\nto allow it: kubectl create role " POOR_ROLE
                               " --verb=get,list,watch,create,patch,delete --resource=configmaps "
                               "--namespace=@ && kubectl create rolebinding " POOR_ROLE
                               " --role=" POOR_ROLE " --serviceaccount=@:poor --namespace=@");

    EXPECT_INT(thing_plan(&thing), 0, world.error.message);
    kube_step_free(TAKE(thing.step));
    thing.step = &kube_step_new(poor, PLAN_CREATE, &thing.target)->base;
    EXPECT_INT(thing_apply(&thing), ERR_FORBIDDEN, "may not");
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    EXPECT_STR(world.error.reason, "AccessDenied", world.error.message);
    EXPECT(str_has_suffix(world.error.message, hint), world.error.message);
    thing.session = poor;
    EXPECT_INT(thing_plan(&thing), ERR_FORBIDDEN, "nor look");
    EXPECT_INT(thing_look(&thing), ERR_FORBIDDEN, "nor look");
    EXPECT_INT(thing.outcome.now.presence, PRESENCE_UNKNOWN, "which is not absent");
    thing.session = world.session;
    EXPECT_INT(thing_presence(&thing), PRESENCE_ABSENT, "nothing was made with other rights");

    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    EXPECT_INT(thing_plan_removal(&thing), 0, world.error.message);
    ((struct kube_step *)thing.step)->session = poor;
    EXPECT_INT(thing_apply(&thing), ERR_FORBIDDEN, "nor take away");
    ((struct kube_step *)thing.step)->session = world.session;
    EXPECT_INT(thing_presence(&thing), PRESENCE_PRESENT, "it stays");

    /* What the hint says helps. */
    world_do(&world, "POST", BINDINGS, binding);
    thing.session = poor;
    EXPECT(live_eventually(is_permitted, &thing), world.error.message);
    thing_done(&thing);
    session_unref(poor);
    world_end(&world);
}

/* Looked up by the first plan, and named in what it says. */
static void needs_an_account_that_is_there(void)
{
    struct runtime_session *absent;
    struct thing thing;
    struct world world;

    if (!world_begin(&world))
        return;
    absent = stage_open(&world.stage, world.live.space, "web", "absent");
    absent->is_account_known = false;
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing.session = absent;
    EXPECT_INT(thing_plan(&thing), ERR_INVALID, "not there");
    EXPECT_STR(world.error.reason, "ServiceAccountNotFound", world.error.message);
    thing_done(&thing);
    session_unref(absent);
    world_end(&world);
}

/* A quota is no lack of rights. */
static void gives_no_hint_where_a_quota_is_spent(void)
{
    static const char quota[] = "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
                                "\"name\":\"q\"},\"spec\":{\"hard\":{\"count/configmaps\":\"0\"}}}";
    struct runtime_session *poor;
    struct thing thing, rule;
    struct world world;

    if (!world_begin(&world))
        return;
    poor = stage_open(&world.stage, world.live.space, "web", "poor");
    thing_init(&rule, &world, quota);
    thing_init(&thing, &world, MAP("a", "\"k\":\"1\""));
    thing.session = poor;
    world_do(&world, "POST", BINDINGS, binding);
    EXPECT_INT(thing_make(&rule), 0, world.error.message);
    EXPECT(live_eventually(is_spent, &thing), world.error.message);
    EXPECT_INT(world.error.code, ERR_FORBIDDEN, world.error.message);
    EXPECT(strstr(world.error.message, "kubectl") == NULL, world.error.message);
    EXPECT_INT(thing.outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    thing_done(&thing);
    thing_done(&rule);
    session_unref(poor);
    world_end(&world);
}

SUITE(live_others, TEST(refuses_what_belongs_to_another_spec),
      TEST(takes_only_what_is_as_it_was_seen), TEST(acts_with_the_rights_of_the_account_alone),
      TEST(needs_an_account_that_is_there), TEST(gives_no_hint_where_a_quota_is_spent))
