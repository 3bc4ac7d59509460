/* Several Specs, several processes, and what people ask of Releases. */
#include "controller/reconcile/status/conditions.h"
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#include <unistd.h>

#define WEB SPECS "/web"

static unsigned threads_of(pid_t pid)
{
    _cleanup_free_ char *path = str_printf("/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    char line[256];
    unsigned threads = 0;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "Threads: %u", &threads) == 1)
            break;
    if (file)
        fclose(file);
    return threads;
}

/* 200 Specs wait for something that never comes: no thread waits with them, and one more is done at
 * once. */
static void waiting_costs_no_threads(void)
{
    enum { SPECS_THAT_WAIT = 200, MOST = 150 };
    struct scene scene = {0};
    unsigned before;

    scene_begin(&scene);
    scene_spec(&scene, "first", "", CONFIGMAP("first", "1"));
    scene_expect_ready(&scene, "first", "True", NULL);
    scene_expect_quiet(&scene);
    before = threads_of(scene.pid);
    for (unsigned i = 0; i < SPECS_THAT_WAIT; i++) {
        _cleanup_free_ char *name = str_printf("wait-%u", i);
        _cleanup_free_ char *resource = str_printf(
            "{\"id\":\"apps/v1:Deployment:team:%s\",\"type\":\"Kubernetes\",\"attributes\":{"
            "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\","
            "\"namespace\":\"team\"},\"spec\":{\"replicas\":1}}}",
            name, name);

        scene_spec(&scene, name, "", resource);
    }
    for (int ms = 0; ms < 120000 && api_server_size(scene.server, DEPLOYMENTS) < SPECS_THAT_WAIT;
         ms += 50)
        usleep(50000);
    EXPECT_INT(api_server_size(scene.server, DEPLOYMENTS), SPECS_THAT_WAIT, "all were begun");
    scene_spec(&scene, "last", "", CONFIGMAP("last", "1"));
    scene_expect_ready(&scene, "last", "True", NULL);
    /* Those that made them, at most LIMIT_PARALLELISM, stay for a while. */
    EXPECT(threads_of(scene.pid) < before + MOST, "no thread for each");
    scene_end(&scene);
}

/* ---- Memory ---- */

/* Makes a Spec of so many ConfigMaps, "NAME-0" and on. */
static void make_large(struct scene *scene, const char *name, unsigned count)
{
    _cleanup_buf_ struct buf resources = BUF_INIT;

    for (unsigned i = 0; i < count; i++)
        buf_printf(&resources,
                   "%s{\"id\":\"v1:ConfigMap:team:%s-%u\",\"type\":\"Kubernetes\",\"attributes\":{"
                   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-%u\","
                   "\"namespace\":\"team\"}}}",
                   i ? "," : "", name, i, name, i);
    scene_spec(scene, name, "", resources.data);
}

/* How often the Spec of the object that is applied, say, is another than that of the one before. */
static unsigned count_turns(struct scene *scene, const char *verb)
{
    _cleanup_free_ char *log = api_server_log(scene->server);
    char last[64] = "", now[64], *rest = NULL;
    size_t length = strlen(verb);
    unsigned turns = 0;

    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, verb, length) != 0 ||
            sscanf(line + length, " " CONFIGMAPS "/%63[a-z]-", now) != 1)
            continue;
        turns += !str_equal(last, now);
        str_copy(last, sizeof(last), now);
    }
    return turns;
}

/* Each of them needs more than there is: they run one by one, the oldest first, and all of them do.
 */
static void operations_wait_for_memory(void)
{
    enum { SPECS_AT_ONCE = 20, OBJECTS = 30 };
    struct scene scene = {.flags = "--operation-memory=1Ki"};

    scene_begin(&scene);
    for (unsigned i = 0; i < SPECS_AT_ONCE; i++) {
        const char name[] = {'s', (char)('a' + i), '\0'};

        make_large(&scene, name, OBJECTS);
    }
    for (unsigned i = 0; i < SPECS_AT_ONCE; i++) {
        const char name[] = {'s', (char)('a' + i), '\0'};

        scene_expect_ready(&scene, name, "True", "ReconciliationSucceeded");
    }
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), SPECS_AT_ONCE * OBJECTS, "all of them");
    EXPECT_INT(count_turns(&scene, "apply"), SPECS_AT_ONCE, "one by one");
    scene_end(&scene);
}

/* The same of deletions, which have no Spec to be estimated by: State tells what they hold. There
 * is room for one that waits for its objects to go. */
static void deletions_wait_for_memory(void)
{
    enum { SPECS_AT_ONCE = 8, OBJECTS = 30 };
    struct scene scene = {.flags = "--operation-memory=160Ki"};

    scene_begin(&scene);
    for (unsigned i = 0; i < SPECS_AT_ONCE; i++) {
        const char name[] = {'s', (char)('a' + i), '\0'};

        make_large(&scene, name, OBJECTS);
        scene_expect_ready(&scene, name, "True", "ReconciliationSucceeded");
    }
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    for (unsigned i = 0; i < SPECS_AT_ONCE; i++) {
        _cleanup_free_ char *path = str_printf(SPECS "/s%c", 'a' + i);

        api_server_delete(scene.server, path);
    }
    for (unsigned i = 0; i < SPECS_AT_ONCE; i++) {
        _cleanup_free_ char *path = str_printf(SPECS "/s%c", 'a' + i);

        scene_expect_gone(&scene, path);
    }
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "none of them");
    EXPECT_INT(count_turns(&scene, "delete"), SPECS_AT_ONCE, "one by one");
    scene_end(&scene);
}

/* An operation that has all memory does not end: what waits says so, a deletion, too. */
static void what_waits_for_memory_says_so(void)
{
    struct scene scene = {.flags = "--operation-memory=90Ki"};
    _cleanup_value_ const struct value *spec = NULL;
    const struct value *ready;
    unsigned rule;

    scene_begin(&scene);
    scene_spec(&scene, "gone", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "gone", "True", "ReconciliationSucceeded");
    scene_spec(&scene, "calm", "", CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "calm", "True", "ReconciliationSucceeded");
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "apply", .path = CONFIGMAPS "/c", .fault = API_HOLD});
    scene_spec(&scene, "slow", "", CONFIGMAP("c", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is at work");
    api_server_delete(scene.server, SPECS "/gone");
    scene_ask(&scene, "calm");
    scene_spec(&scene, "new", "", CONFIGMAP("d", "1"));
    scene_expect_ready(&scene, "gone", "Unknown", "Progressing");
    spec = api_server_get(scene.server, SPECS "/gone");
    ready = conditions_find(value_path(spec, "status", "conditions", NULL), "Ready");
    EXPECT(strstr(value_get_string(ready, "message"), "waiting for memory"), "in these words");
    scene_expect_ready(&scene, "new", "Unknown", "Progressing");
    scene_expect_ready(&scene, "calm", "True", "ReconciliationSucceeded");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "new", "True", "ReconciliationSucceeded");
    scene_expect_gone(&scene, SPECS "/gone");
    scene_end(&scene);
}

/* One that waits for the world gives way: it is evicted, and holds nobody up. */
static void what_is_parked_keeps_no_room(void)
{
    struct scene scene = {.flags = "--operation-memory=1Ki"};

    scene_begin(&scene);
    scene_spec(&scene, "slow", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_end(&scene);
}

/* ---- Processes and people ---- */

/* Waits until a Release is in that phase. */
static const struct value *expect_phase(struct scene *scene, const char *path, const char *phase)
{
    const struct value *object = api_server_get(scene->server, path);

    for (int ms = 0;
         ms < 60000 && !str_equal(value_string(value_path(object, "status", "phase", NULL)), phase);
         ms += 50) {
        usleep(50000);
        value_unref(object);
        object = api_server_get(scene->server, path);
    }
    EXPECT_STR(value_string(value_path(object, "status", "phase", NULL)), phase, path);
    return object;
}

/* A preview shows what would be done, and does nothing; what else people ask for is refused. */
static void previews(void)
{
    static const struct {
        const char *spec, *operation, *phase;
        int creates; /* of its plan; -1: it has none */
    } rows[] = {
        {"web", "Preview", "succeeded", 1}, {"none", "Preview", "failed", -1},
        {"wrong", "Preview", "failed", -1}, {"web", "Apply", "failed", -1},
        {"web", "Destroy", "failed", -1},
    };
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"suspend\":true,", CONFIGMAP("a", "1"));
    scene_spec(&scene, "wrong", "\"suspend\":true,", "{\"id\":\"x\",\"type\":\"None\"}");
    scene_expect_ready(&scene, "web", "Unknown", "Suspended");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = str_printf("%s/look-%zu", RELEASES, i);
        _cleanup_free_ char *text = str_printf(
            "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"namespace\":"
            "\"team\",\"name\":\"look-%zu\"},\"spec\":{\"specRef\":{\"name\":\"%s\"},\"operation\":"
            "\"%s\"}}",
            i, rows[i].spec, rows[i].operation);
        _cleanup_value_ const struct value *object = NULL;

        api_server_create(scene.server, text);
        object = expect_phase(&scene, path, rows[i].phase);
        EXPECT_INT(value_int(value_path(object, "status", "plan", "create", NULL), -1),
                   rows[i].creates, path);
    }
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "nothing is made");
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "nor recorded");
    scene_end(&scene);
}

/* The Release under which it works is deleted: the work goes on. */
static void goes_on_without_its_release(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, RELEASES "/web-1");
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_count(scene.server, "write", DEPLOYMENTS "/slow"), 1, "made once");
    scene_end(&scene);
}

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kusion-system/leases/kusion-operator"

/* Another process takes the Lease in the middle: nothing more is written, and the process ends. */
static void ends_without_the_lease(void)
{
    struct scene scene = {.flags = "--leader-elect=true"};
    unsigned rule, writes;

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    rule = api_server_rule(scene.server,
                           &(struct api_rule){.verb = "list", .path = RELEASES, .fault = API_HOLD});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "2"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is at work");
    api_server_edit(scene.server, LEASE,
                    "{\"spec\":{\"holderIdentity\":\"another\",\"leaseTransitions\":2000000000,"
                    "\"renewTime\":\"2099-01-01T00:00:00.000000Z\"}}");
    writes = api_server_writes(scene.server);
    scene_expect_ended(&scene);
    api_server_release(scene.server, rule);
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_writes(scene.server), writes, "without a word");
    EXPECT_DATA(&scene, "a", "1");

    api_server_delete(scene.server, LEASE);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* What Ready of the Spec "web" says begins with it. */
static void expect_message(struct scene *scene, const char *start)
{
    _cleanup_value_ const struct value *spec = api_server_get(scene->server, SPECS "/web");
    const struct value *ready =
        conditions_find(value_path(spec, "status", "conditions", NULL), "Ready");
    const char *message = value_get_string(ready, "message");

    EXPECT(message && str_has_prefix(message, start), message);
}

/* No memory for what waits: it is evicted, and begun again when it is asked for, under the same
 * Release. */
static void what_is_evicted_goes_on(void)
{
    struct scene scene = {.flags = "--operation-memory=1"};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("d", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/d");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 1, "applying");
    expect_message(&scene, "applying: 0 of 1 done, set aside for 30 s, because memory is short "
                           "(--operation-memory), waiting for " DEPLOYMENT_ID("d") ": ");
    scene_roll_out(&scene, "d");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 1, "applying"); /* nobody looks */
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_PHASE(&scene, "web", 2, NULL);
    scene_end(&scene);
}

/* The time that it may wait goes on meanwhile: it is begun again when that ends. */
static void what_is_evicted_runs_out_of_time(void)
{
    struct scene scene = {.flags = "--operation-memory=1"};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"timeout\":\"3s\",", DEPLOYMENT("d", "1"));
    scene_expect_ready(&scene, "web", "False", NULL);
    EXPECT_PHASE(&scene, "web", 1, "failed");
    scene_end(&scene);
}

SUITE(scenario_many, TEST(waiting_costs_no_threads), TEST(operations_wait_for_memory),
      TEST(deletions_wait_for_memory), TEST(what_is_parked_keeps_no_room),
      TEST(what_waits_for_memory_says_so), TEST(previews), TEST(goes_on_without_its_release),
      TEST(ends_without_the_lease), TEST(what_is_evicted_goes_on),
      TEST(what_is_evicted_runs_out_of_time))
