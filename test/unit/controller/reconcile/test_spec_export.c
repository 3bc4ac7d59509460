/* The Secret with the state file of Terraform: when it is written, and when it is left alone. */
#include "controller/reconcile/spec_export.h"

#include "controller/desk/desk.h"
#include "controller/reconcile/attempt.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/ledger.h"
#include "engine/threads/slots.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "test/unit/controller/reconcile/records/scene.h"
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
static struct slots *slots;             /* of the process; NULL: without a bound */
static unsigned slots_meanwhile, files; /* that were made */

static int write_file(struct runtime *runtime, const struct record *const *records, size_t n,
                      const struct runtime_mark *mark, struct buf *ret, struct error *error)
{
    struct slots_stats stats = {0};

    (void)runtime, (void)records, (void)error;
    if (slots)
        slots_stats(slots, &stats);
    slots_meanwhile = stats.taken;
    files++;
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

static size_t memory_bytes; /* what State has of the resource */

/* A reference. */
static const struct value *make_memory(void)
{
    _cleanup_free_ char *text = mem_new(memory_bytes + 1);

    memset(text, 'x', memory_bytes);
    return value_pack("{s:s}", "state", text);
}

static void state_init(struct state_of_one *state)
{
    const struct ledger_opening opening = {
        .key = {"team", "web"}, .spec_uid = "u", .epoch = 1, .deadline = CLOCK_FOREVER};
    _cleanup_value_ const struct value *memory = make_memory();
    _cleanup_(record_unref_p) const struct record *record =
        record_new(&(struct record){.id = "a:b:c:d", .type = "Terraform", .memory = memory});
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
static int result; /* of the last try */

struct stage {
    struct state_of_one state;
    struct scene scene;
    struct run run;
};

/* name: of the Secret. */
static void stage_begin(struct stage *stage, const char *name, const struct fake_step *steps,
                        size_t n_steps)
{
    _cleanup_free_ char *object =
        str_printf("{\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\","
                   "\"uid\":\"u\",\"generation\":3},\"spec\":{\"terraformState\":{\"to\":"
                   "{\"secretRef\":{\"name\":\"%s\"}}}}}",
                   name);
    const struct object_version listed = {.uid = "u"};

    scene_start(&stage->scene, steps, n_steps);
    desk_observe(stage->scene.context.desk, DESK_SPEC, "team/web", &listed, false);
    stage->scene.context.runtimes = runtimes;
    stage->scene.context.n_runtimes = ARRAY_SIZE(runtimes);
    stage->scene.context.slots = slots;
    stage->run = (struct run){.context = &stage->scene.context,
                              .subject = {.key = {"team", "web"}, .generation = 3},
                              .uid = spec_uid,
                              .object = scene_value(object)};
    run_read_policy(&stage->run);
    state_init(&stage->state);
}

static void stage_end(struct stage *stage)
{
    state_done(&stage->state);
    free(stage->run.written.message);
    value_unref(stage->run.object);
    attempts_abandon(stage->scene.context.desk);
    scene_stop(&stage->scene);
}

/* ret_body: the body of the last request but the events'; free(); or NULL. */
static void export_to(const char *name, const struct fake_step *steps, size_t n_steps,
                      char ret_reason[ERROR_REASON_SIZE], char **ret_body)
{
    struct stage stage;

    stage_begin(&stage, name, steps, n_steps);
    result = spec_export(&stage.run, stage.state.ledger, false, NULL);
    str_copy(ret_reason, ERROR_REASON_SIZE, stage.run.written.reason);
    if (ret_body) {
        _cleanup_value_ const struct value *body = scene_body(&stage.scene, n_steps - 1);

        *ret_body = json_to_str(body);
    }
    stage_end(&stage);
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

/* What a large State takes while its file is made counts among the large pieces of work. */
static void a_large_file_needs_a_slot(void)
{
    static const struct {
        const char *note;
        size_t bytes;
        bool is_taken; /* the only slot, by somebody else */
        const char *reason;
        unsigned slots_meanwhile;
    } rows[] = {
        {"small", 100, true, "Written", 1},
        {"large", 100000, false, "Written", 1},
        {"large, and no slot is free", 100000, true, "Timeout", 0},
    };
    static const struct fake_step steps[] = {
        {.expect = "GET " SECRETS "/", .status = 404, .body = NONE("db")},
        {.expect = "POST " SECRETS, .status = 201, .body = SECRET("db")}};

    slots = slots_new(&(struct slots_config){.clock = &system_clock, .count = 1});
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct slot other = {.slots = slots, .namespace_name = "other"};
        bool is_written = str_equal(rows[i].reason, "Written");
        char reason[ERROR_REASON_SIZE];
        struct slots_stats stats;

        if (rows[i].is_taken)
            CU_ASSERT_FATAL(slot_take(&other, CLOCK_FOREVER, NULL, NULL) == 0);
        memory_bytes = rows[i].bytes;
        slots_meanwhile = 0;
        export_to("db", steps, is_written ? 2 : 1, reason, NULL);
        EXPECT_STR(reason, rows[i].reason, rows[i].note);
        EXPECT_INT(result, is_written ? 0 : ERR_TIMEOUT, rows[i].note);
        EXPECT_INT(slots_meanwhile, rows[i].slots_meanwhile, rows[i].note);
        slot_give_back(&other);
        slots_stats(slots, &stats);
        EXPECT_INT(stats.taken, 0, "it is given back");
    }
    memory_bytes = 0;
    slots_free(TAKE(slots));
}

#define WHOLE_OR_METADATA "GET " SECRETS "/db"

/* The Secret's metadata is all that is asked for. */
static void what_has_not_changed_is_not_made_again(void)
{
    static const char other[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
                                "\"name\":\"db\",\"namespace\":\"team\",\"uid\":\"s\",\""
                                "resourceVersion\":\"8\"}}";
    static const struct {
        const char *note;
        bool is_check, is_saved;
        const char *secret;
        unsigned files; /* that are made for it */
        const char *reason;
    } rows[] = {
        {"as it was", true, false, SECRET("db"), 0, "Written"},
        {"somebody changed it", true, false, other, 0, "TerraformStateNotOurs"},
        {"an end is no check", false, false, NULL, 1, "Written"},
        {"State was saved", true, true, NULL, 1, "Written"},
    };
    _cleanup_free_ char *stored = NULL;

    content = 1;
    stored = write_first();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *now = rows[i].secret ? rows[i].secret : stored;
        const struct fake_step steps[] = {
            {.expect = WHOLE_OR_METADATA, .status = 200, .body = stored},
            {.expect = WHOLE_OR_METADATA, .status = 200, .body = now},
            {.expect = WHOLE_OR_METADATA, .status = 200, .body = now},
        };
        struct stage stage;
        unsigned before;

        stage_begin(&stage, "db", steps, now == other ? 3 : 2);
        EXPECT_INT(spec_export(&stage.run, stage.state.ledger, false, NULL), 0, "the first");
        EXPECT_STR(stage.run.written.reason, "Written", "the first");
        before = files;
        if (rows[i].is_saved)
            EXPECT_INT(ledger_begin(stage.state.ledger, NULL, 0, NULL), 0, "save");
        EXPECT_INT(spec_export(&stage.run, stage.state.ledger, rows[i].is_check, NULL), 0,
                   rows[i].note);
        EXPECT_STR(stage.run.written.reason, rows[i].reason, rows[i].note);
        EXPECT_INT(files - before, rows[i].files, rows[i].note);
        stage_end(&stage);
    }
}

/* What may exist and is not in the file is named; a file from which State may be restored stays. */
static void says_what_the_file_lacks(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET " SECRETS "/", .status = 404, .body = NONE("db")},
        {.expect = "POST " SECRETS, .status = 201, .body = SECRET("db")}};
    static const struct {
        const char *note;
        enum record_status status;
        int64_t lost;
        const char *reason, *message;
    } rows[] = {
        {"nothing", RECORD_APPLIED, 0, "Written", "Secret \"db\" has the state file"},
        {"a creation in doubt", RECORD_CREATING, 0, "Written",
         "Secret \"db\" has the state file, without \"a:b:c:e\": it is not known if that was "
         "created"},
        {"State lost", RECORD_CREATING, 3, "StateLost",
         "terraformState.to: Secret \"db\": it is left as it is until it is settled what became of "
         "\"a:b:c:e\", of which State has lost what it knew"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *memory = make_memory();
        _cleanup_(record_unref_p) const struct record *record =
            record_new(&(struct record){.id = "a:b:c:e",
                                        .type = "Terraform",
                                        .memory = memory,
                                        .status = rows[i].status,
                                        .lost_revision = rows[i].lost});
        struct stage stage;

        stage_begin(&stage, "db", steps, rows[i].lost ? 0 : 2);
        EXPECT_INT(ledger_land(stage.state.ledger, &(struct ledger_change){.put = record}, 1,
                               LEDGER_NOW, NULL),
                   0, rows[i].note);
        EXPECT_INT(spec_export(&stage.run, stage.state.ledger, false, NULL), 0, rows[i].note);
        EXPECT_STR(stage.run.written.reason, rows[i].reason, rows[i].note);
        EXPECT_STR(stage.run.written.message, rows[i].message, rows[i].note);
        stage_end(&stage);
    }
}

SUITE(spec_export, TEST(says_what_the_file_lacks), TEST(a_large_file_needs_a_slot),
      TEST(the_secret_of_an_earlier_spec_is_left_alone), TEST(a_new_secret_has_labels_by_its_name),
      TEST(what_has_not_changed_is_not_made_again), TEST(the_lock_is_looked_at))
