/* The Secret with the state file of Terraform: when it is written, and when it is left alone. */
#include "controller/reconcile/spec_export.h"

#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/state/ledger.h"
#include "runtimes/io/clock.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

#define SECRETS    "/api/v1/namespaces/team/secrets"
#define LEASES     "/apis/coordination.k8s.io/v1/namespaces/team/leases"
#define NONE(name) STATUS(404, "NotFound", name)
#define METADATA(name)                                                            \
    "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"team\",\"uid\":\"s\",\"" \
    "resourceVersion\":\"7\"}"
#define SECRET(name) "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," METADATA(name) "}"
#define LEASE(holder)                                                          \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\"," METADATA( \
        "lock-db") ",\"spec\":{\"holderIdentity\":\"" holder "\"}}"

/* ---- A runtime whose file has its mark, and a number ---- */

static int content;

static int write_file(struct runtime *runtime, const struct record *const *records, size_t n,
                      const struct runtime_mark *mark, struct buf *ret, struct error *error)
{
    (void)runtime, (void)records, (void)error;
    buf_printf(ret, "%s %d %d %zu", mark->lineage, (int)mark->serial, content, n);
    return 0;
}

static const struct runtime_foreign foreign = {.write = write_file};
static const struct runtime_ops ops = {.type = "Terraform", .foreign = &foreign};
static struct runtime runtime = {&ops};
static struct runtime *const runtimes[] = {&runtime};

/* ---- A State with one record ---- */

struct state_of_one {
    struct memory_medium *medium;
    struct store *store;
    struct ledgers *ledgers;
    struct ledger *ledger;
};

static void state_init(struct state_of_one *state)
{
    const struct ledger_opening opening = {
        .key = {"team", "web"}, .spec_uid = "u", .epoch = 1, .deadline = CLOCK_FOREVER};
    _cleanup_(record_unref_p) const struct record *record =
        record_new(&(struct record){.id = "a:b:c:d", .type = "Terraform"});
    struct error error = {0};

    state->medium = memory_medium_new(NULL);
    state->store = memory_store_new(state->medium);
    state->ledgers =
        ledgers_new(&(struct ledgers_config){.store = state->store, .clock = &system_clock});
    EXPECT_INT(ledger_open(state->ledgers, &opening, &state->ledger, &error), 0, error.message);
    EXPECT_INT(
        ledger_land(state->ledger, &(struct ledger_change){.put = record}, 1, LEDGER_NOW, &error),
        0, error.message);
}

static void state_done(struct state_of_one *state)
{
    ledger_unref(state->ledger);
    ledgers_free(state->ledgers);
    state->store->ops->free(state->store);
    memory_medium_free(state->medium);
}

/* ---- One try ---- */

static char first_uid[] = "u", other_uid[] = "of another Spec of this name";
static char *spec_uid = first_uid;

/* name: of the Secret. ret_body: the body of the last request but the events'; free(); or NULL. */
static void export_to(const char *name, const struct fake_step *steps, size_t n_steps,
                      char ret_reason[ERROR_REASON_SIZE], char **ret_body)
{
    _cleanup_free_ char *object =
        str_printf("{\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\","
                   "\"uid\":\"u\",\"generation\":3},\"spec\":{\"terraformState\":{\"to\":"
                   "{\"secretRef\":{\"name\":\"%s\"}}}}}",
                   name);
    struct state_of_one state;
    struct scene scene;
    struct run run;

    scene_start(&scene, steps, n_steps);
    scene.context.runtimes = runtimes;
    scene.context.n_runtimes = ARRAY_SIZE(runtimes);
    run = (struct run){.context = &scene.context,
                       .subject = {.key = {"team", "web"}, .generation = 3},
                       .uid = spec_uid,
                       .object = scene_value(object)};
    run_read_policy(&run);
    state_init(&state);
    spec_export(&run, state.ledger);
    str_copy(ret_reason, ERROR_REASON_SIZE, run.written.reason);
    if (ret_body) {
        _cleanup_value_ const struct value *body = scene_body(&scene, n_steps - 1);

        *ret_body = json_to_str(body);
    }
    state_done(&state);
    free(run.written.message);
    value_unref(run.object);
    scene_stop(&scene);
}

/* Only a name of Terraform's form has its labels; any other may be as short as it likes. */
static void a_new_secret_has_labels_by_its_name(void)
{
    static const struct {
        const char *name, *workspace, *none, *answer;
    } rows[] = {
        {"tfstate-default-db", "default", NONE("tfstate-default-db"), SECRET("tfstate-default-db")},
        {"tfstate-db", NULL, NONE("tfstate-db"), SECRET("tfstate-db")},
        {"a", NULL, NONE("a"), SECRET("a")},
        {"a-b-c", NULL, NONE("a-b-c"), SECRET("a-b-c")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            {.expect = "GET " SECRETS "/", .status = 404, .body = rows[i].none},
            {.expect = "POST " SECRETS, .status = 201, .body = rows[i].answer}};
        char reason[ERROR_REASON_SIZE];
        _cleanup_free_ char *text = NULL;
        _cleanup_value_ const struct value *body = NULL;

        export_to(rows[i].name, steps, ARRAY_SIZE(steps), reason, &text);
        EXPECT_STR(reason, "Written", rows[i].name);
        body = scene_value(text);
        EXPECT_STR(value_string(value_path(body, "metadata", "labels", "tfstateWorkspace", NULL)),
                   rows[i].workspace, rows[i].name);
    }
}

/* The Secret as the first try wrote it, with a version. free() */
static char *write_first(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET " SECRETS "/", .status = 404, .body = NONE("db")},
        {.expect = "POST " SECRETS, .status = 201, .body = SECRET("db")}};
    char reason[ERROR_REASON_SIZE];
    _cleanup_free_ char *text = NULL;
    _cleanup_value_ const struct value *body = NULL, *uid = value_pack("s", "s"),
                                       *version = value_pack("s", "7"), *known = NULL,
                                       *stored = NULL;

    export_to("db", steps, ARRAY_SIZE(steps), reason, &text);
    body = scene_value(text);
    known = value_with_path(body, (const char *const[]){"metadata", "uid"}, 2, uid);
    stored =
        value_with_path(known, (const char *const[]){"metadata", "resourceVersion"}, 2, version);
    return json_to_str(stored);
}

/* What Terraform may hold is not replaced; without a right to look, nobody can know. */
static void the_lock_is_looked_at(void)
{
    static const struct {
        const char *note;
        int status;
        const char *lease, *reason;
        bool is_written;
    } rows[] = {
        {"there is none", 404, NONE("lock-db"), "Written", true},
        {"no right to look", 403, STATUS(403, "Forbidden", "lock-db"), "Written", true},
        {"free", 200, LEASE(""), "Written", true},
        {"held", 200, LEASE("me"), "TerraformStateLocked", false},
        {"no answer", 500, STATUS(500, "InternalError", "lock-db"), "InternalError", false},
    };
    _cleanup_free_ char *stored = NULL;

    content = 1;
    stored = write_first();
    content = 2;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            {.expect = "GET " SECRETS "/db", .status = 200, .body = stored},
            {.expect = "GET " LEASES "/lock-db",
             .status = rows[i].status,
             .body = rows[i].lease,
             .repeat = !rows[i].is_written},
            {.expect = "PUT " SECRETS "/db", .status = 200, .body = SECRET("db")}};
        char reason[ERROR_REASON_SIZE];

        export_to("db", steps, rows[i].is_written ? 3 : 2, reason, NULL);
        EXPECT_STR(reason, rows[i].reason, rows[i].note);
    }
}

/* The first one may have left its objects to Terraform, which has the only list of them there. */
static void the_secret_of_an_earlier_spec_is_left_alone(void)
{
    char reason[ERROR_REASON_SIZE];
    _cleanup_free_ char *stored = NULL;

    content = 1;
    stored = write_first();
    content = 2;
    spec_uid = other_uid;
    {
        const struct fake_step steps[] = {
            {.expect = "GET " SECRETS "/db", .status = 200, .body = stored}};

        export_to("db", steps, ARRAY_SIZE(steps), reason, NULL);
    }
    spec_uid = first_uid;
    EXPECT_STR(reason, "TerraformStateNotOurs", "another uid");
}

SUITE(spec_export, TEST(the_secret_of_an_earlier_spec_is_left_alone),
      TEST(a_new_secret_has_labels_by_its_name), TEST(the_lock_is_looked_at))
