/* What Releases tell of objects, over a history of documents in memory. */
#include "controller/reconcile/run/witness.h"
#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "engine/value/json.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

static const struct store_call plain;

static int list_own(struct runtime_session *session, const struct value *ids,
                    const struct runtime_call *call, const struct value **ret, struct error *error)
{
    (void)session, (void)ids, (void)call, (void)ret, (void)error;
    return 0;
}

static const struct runtime_ops kubernetes_ops = {.type = "Kubernetes", .list_own = list_own};
static const struct runtime_ops terraform_ops = {.type = "Terraform", .flags = RUNTIME_IS_RECORDED};
static struct runtime kubernetes = {.ops = &kubernetes_ops}, terraform = {.ops = &terraform_ops};
static struct runtime *const runtimes[] = {&kubernetes, &terraform};

/* What a test's Release is. status: without the phase; NULL: it was not begun. */
struct told {
    enum release_operation operation;
    const char *uid, *status;
};

static void tell(struct release_history *history, int64_t revision, const struct told *told)
{
    const struct release_head head = {.spec = {"team", "web"},
                                      .revision = revision,
                                      .generation = 1,
                                      .operation = told->operation,
                                      .spec_uid = told->uid};
    _cleanup_value_ const struct value *status = told->status ? scene_value(told->status) : NULL;
    const struct release_record record = {.head = head, .status = status};
    char *version = NULL;
    struct error error = {0};

    EXPECT_INT(history->ops->create(history, &head, &plain, &version, &error), 0, error.message);
    if (status)
        EXPECT_INT(history->ops->update(history, &record, &plain, &version, &error), 0,
                   error.message);
    free(version);
}

#define RESULT(id, action, outcome) \
    "{\"id\":\"" id "\",\"action\":\"" action "\",\"outcome\":\"" outcome "\"}"
#define PLANNED(id, action)       "{\"id\":\"" id "\",\"action\":\"" action "\"}"
#define STATUS_OF(phase, results) "{\"phase\":\"" phase "\",\"results\":[" results "]}"
#define CUT(results)              "{\"phase\":\"succeeded\",\"omitted\":1,\"results\":[" results "]}"
#define ENTRY(id, type)           "{\"id\":\"" id "\",\"type\":\"" type "\"}"
#define MAP                       "v1:ConfigMap:team:a"
#define PET                       "hashicorp:random:random_pet:a"
#define OTHER                     "hashicorp:random:random_pet:b"

static void tells_what_may_be_there(void)
{
    static const struct {
        const char *note;
        struct told told[3]; /* revisions from 1 */
        const char *entries;
        int64_t revision;
        bool is_whole;
    } rows[] = {
        {"no Release", {{0}}, "[]", 0, false},
        {"all of one",
         {{RELEASE_APPLY, "u",
           STATUS_OF("succeeded",
                     RESULT(MAP, "create", "succeeded") "," RESULT(PET, "create", "succeeded"))}},
         "[" ENTRY(MAP, "Kubernetes") "," ENTRY(PET, "Terraform") "]",
         1,
         true},
        {"an earlier Spec's",
         {{RELEASE_APPLY, "other", STATUS_OF("succeeded", RESULT(PET, "unchanged", "succeeded"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         true},
        {"deleted since",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(PET, "create", "succeeded"))},
          {RELEASE_APPLY, "u", CUT(RESULT(PET, "delete", "succeeded"))}},
         "[]",
         0,
         true},
        {"its deletion failed",
         {{RELEASE_APPLY, "u", STATUS_OF("failed", RESULT(PET, "delete", "failed"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         false},
        {"not begun, or deferred",
         {{RELEASE_APPLY, "u",
           STATUS_OF("failed",
                     RESULT(PET, "create", "skipped") "," RESULT(OTHER, "create", "deferred"))}},
         "[]",
         0,
         false},
        {"its creation failed: it may be there",
         {{RELEASE_APPLY, "u", STATUS_OF("failed", RESULT(PET, "create", "failed"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         false},
        {"it could not be planned, nor ever before",
         {{RELEASE_APPLY, "u", STATUS_OF("failed", RESULT(PET, "unknown", "failed"))},
          {RELEASE_APPLY, "u", STATUS_OF("cancelled", RESULT(PET, "unknown", "cancelled"))}},
         "[]",
         0,
         false},
        {"it could not be planned, and was there before",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(PET, "create", "succeeded"))},
          {RELEASE_APPLY, "u", STATUS_OF("cancelled", RESULT(PET, "unknown", "cancelled"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         true},
        {"an earlier Spec's could not be planned",
         {{RELEASE_APPLY, "other", STATUS_OF("cancelled", RESULT(PET, "unknown", "cancelled"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         false},
        {"of a cut one, the earlier, too",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(OTHER, "create", "succeeded"))},
          {RELEASE_APPLY, "u", CUT(RESULT(PET, "create", "succeeded"))}},
         "[" ENTRY(PET, "Terraform") "," ENTRY(OTHER, "Terraform") "]",
         2,
         true},
        {"destroyed",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(PET, "create", "succeeded"))},
          {RELEASE_DESTROY, "u", STATUS_OF("succeeded", "")}},
         "[]",
         0,
         true},
        {"a plan that waits",
         {{RELEASE_APPLY, "other", STATUS_OF("awaitingApproval", PLANNED(PET, "create"))}},
         "[]",
         0,
         false},
        {"under way: State would have what was begun",
         {{RELEASE_APPLY, "u",
           STATUS_OF("applying",
                     RESULT(PET, "create", "pending") "," RESULT(OTHER, "create", "failed"))}},
         "[]",
         0,
         false},
        {"an earlier Spec's, of which a creation is not told to have begun",
         {{RELEASE_APPLY, "other", STATUS_OF("applying", RESULT(PET, "create", "pending"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         false},
        {"an earlier Spec's, under way",
         {{RELEASE_APPLY, "other", STATUS_OF("applying", PLANNED(PET, "create"))}},
         "[" ENTRY(PET, "Terraform") "]",
         1,
         false},
        {"an earlier Spec's, killed before it said what it does",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(PET, "create", "succeeded"))},
          {RELEASE_APPLY, "other", "{\"phase\":\"generating\"}"}},
         "[" ENTRY(PET, "Terraform") "]",
         2,
         false},
        {"this Spec's, killed before that",
         {{RELEASE_APPLY, "u", "{\"phase\":\"generating\"}"}},
         "[]",
         0,
         false},
        {"this Spec's, which State would know",
         {{RELEASE_APPLY, "u", STATUS_OF("applying", PLANNED(PET, "create"))}},
         "[]",
         0,
         false},
        {"another's object, which is only read",
         {{RELEASE_APPLY, "u", STATUS_OF("succeeded", RESULT(PET, "read", "succeeded"))}},
         "[]",
         0,
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct memory_medium *medium = memory_medium_new(NULL);
        struct store *store = memory_store_new(medium);
        struct release_history *history = document_history_new(store);
        struct reconcile_context context = {
            .history = history, .runtimes = runtimes, .n_runtimes = ARRAY_SIZE(runtimes)};
        struct run run = {.context = &context, .subject = {.key = {"team", "web"}, .uid = "u"}};
        struct witness witness = {0};
        struct error error = {0};

        for (size_t n = 0; n < ARRAY_SIZE(rows[i].told) && rows[i].told[n].status; n++)
            tell(history, (int64_t)n + 1, &rows[i].told[n]);
        EXPECT_INT(witness_read(&run, &witness, &error), 0, error.message);
        {
            _cleanup_free_ char *entries = json_to_str(witness.entries);

            EXPECT_STR(entries, rows[i].entries, rows[i].note);
        }
        EXPECT_INT(witness.revision, rows[i].revision, rows[i].note);
        EXPECT_INT(witness.is_whole, rows[i].is_whole, rows[i].note);
        witness_done(&witness);
        history->ops->free(history);
        store->ops->free(store);
        memory_medium_free(medium);
    }
}

SUITE(witness, TEST(tells_what_may_be_there))
