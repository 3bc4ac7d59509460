#include "controller/reconcile/records/releases.h"

#include "controller/reconcile/records/api.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/status/report.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/log/log.h"

/* Conflicts of one write: people label and approve meanwhile. */
#define WRITE_ATTEMPTS 8
/* Names in a row that Releases of people have. */
#define BEGIN_ATTEMPTS 8
/* Releases that are listed, and are no records when they are read: gone by now, or made by people
 * to look like records. There may be any number of those. */
#define LOAD_ATTEMPTS 8

void release_free(struct release *release)
{
    if (!release)
        return;
    free(release->name);
    free(release->version);
    release_approval_done(&release->approval);
    release_rejection_done(&release->rejection);
    free(release->spec_uid);
    free(release->spec_digest);
    value_unref(release->resources);
    value_unref(release->metadata);
    value_unref(release->spec);
    value_unref(release->status);
    free(release);
}

struct release *release_of(const struct value *object)
{
    const char *name = value_string(value_path(object, "metadata", "name", NULL));
    struct release *release;

    if (!name)
        return NULL;
    release = NEW(struct release);
    release->metadata = value_ref(value_get(object, "metadata"));
    release->spec = value_ref(value_get(object, "spec"));
    release->status = value_ref(value_get(object, "status"));
    release->name = str_new(name);
    release->own_generation = value_int(value_get(release->metadata, "generation"), 1);
    release_operation_parse(value_get_string(release->spec, "operation"), &release->operation);
    release->phase = release_status_phase(release->status);
    return release;
}

static struct release *release_new(const struct release_head *head, char *version)
{
    struct release *release = NEW(struct release);
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;

    release->name = str_new(release_name(&arena, head->spec.name, head->revision));
    release->revision = head->revision;
    release->generation = head->generation;
    release->operation = head->operation;
    release->phase = head->phase;
    release->own_generation = 1;
    release->spec_uid = str_new(head->spec_uid);
    release->spec_digest = str_new(head->spec_digest);
    release->resources = value_ref(head->resources);
    release->version = version;
    return release;
}

const char *release_plan(const struct release *release)
{
    return release ? value_string(value_path(release->status, "plan", "digest", NULL)) : NULL;
}

const char *release_message(const struct release *release)
{
    return value_get_string(conditions_ready(release->status), "message");
}

bool release_was_cancelled(const struct release *release, const char *reason)
{
    return release->phase == PHASE_CANCELLED &&
           str_equal(value_get_string(conditions_ready(release->status), "reason"), reason);
}

/* ---- Finding and making ---- */

/* revision 0: the newest. ERR_NOT_FOUND. */
static int load(const struct reconcile_context *context, const struct spec_key *key,
                int64_t revision, struct cancel *cancel, struct release **ret, struct error *error)
{
    const struct store_call call = context_call(context, cancel);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    char *version = NULL;
    int r = context->history->ops->load(context->history, key, revision, &call, &record, &version,
                                        error);

    if (r < 0)
        return r;
    *ret = release_new(&record->head, version);
    (*ret)->own_generation = record->own_generation;
    (*ret)->approval = record->approval;
    record->approval = (struct release_approval){0};
    (*ret)->rejection = record->rejection;
    record->rejection = (struct release_rejection){0};
    (*ret)->status = value_ref(record->status);
    return 0;
}

int releases_load(const struct reconcile_context *context, const struct release_subject *subject,
                  int64_t revision, struct cancel *cancel, struct release **ret,
                  struct error *error)
{
    struct error problem = {0};
    int r = load(context, &subject->key, revision, cancel, ret, &problem);

    if (r == ERR_NOT_FOUND)
        *ret = NULL;
    if (r >= 0 || r == ERR_NOT_FOUND)
        return 0;
    if (revision)
        err_wrap(&problem, "looking for Release %lld", (long long)revision);
    else
        err_wrap(&problem, "looking for the newest Release");
    return err_copy(error, &problem);
}

int releases_latest(const struct reconcile_context *context, const struct release_subject *subject,
                    struct cancel *cancel, struct release **ret, struct error *error)
{
    return releases_load(context, subject, 0, cancel, ret, error);
}

void release_revisions_add(struct release_revisions *revisions, int64_t revision,
                           const char *document)
{
    size_t capacity = revisions->capacity;

    revisions->items = mem_grow(revisions->items, revisions->count, &revisions->capacity,
                                sizeof(*revisions->items));
    revisions->documents =
        mem_grow(revisions->documents, revisions->count, &capacity, sizeof(*revisions->documents));
    revisions->items[revisions->count] = revision;
    revisions->documents[revisions->count++] = str_new(document);
}

void release_revisions_done(struct release_revisions *revisions)
{
    for (size_t i = 0; i < revisions->count; i++)
        free(revisions->documents[i]);
    free(revisions->documents);
    free(revisions->items);
    *revisions = (struct release_revisions){0};
}

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    (void)error;
    release_revisions_add(arg, head->revision, head->spec_digest);
    return 0;
}

int releases_list(const struct reconcile_context *context, const struct release_subject *subject,
                  struct cancel *cancel, struct release_revisions *ret, struct error *error)
{
    const struct store_call call = context_call(context, cancel);
    int r =
        context->history->ops->list(context->history, &subject->key, on_head, ret, &call, error);

    if (r < 0)
        err_wrap(error, "looking for Releases");
    return r;
}

int releases_find(const struct reconcile_context *context, const struct release_subject *subject,
                  struct cancel *cancel, struct release_revisions *ret, struct release **ret_latest,
                  struct error *error)
{
    struct release *latest = NULL;
    int r = releases_list(context, subject, cancel, ret, error);

    for (size_t i = 0; i < ret->count && i < LOAD_ATTEMPTS && r >= 0 && !latest; i++)
        r = releases_load(context, subject, ret->items[i], cancel, &latest, error);
    if (r >= 0)
        *ret_latest = latest;
    return r;
}

static struct release_head head_of(const struct release_subject *subject,
                                   enum release_operation operation, int64_t revision)
{
    return (struct release_head){.spec = subject->key,
                                 .revision = revision,
                                 .generation = subject->generation,
                                 .operation = operation,
                                 .spec_uid = subject->uid,
                                 .to_revision = subject->to_revision,
                                 .spec_digest = subject->spec_digest,
                                 .resources = subject->resources};
}

static int create(const struct reconcile_context *context, const struct release_head *head,
                  struct release **ret, struct error *error)
{
    const struct store_call call = context_call(context, NULL);
    char *version = NULL;
    int r = context->history->ops->create(context->history, head, &call, &version, error);

    if (r >= 0)
        *ret = release_new(head, version);
    return r;
}

static bool is_to_go_on(const struct release *release, const struct release_head *head,
                        bool has_sources)
{
    return release->operation == head->operation && release->generation == head->generation &&
           (!release->spec_uid || str_equal(release->spec_uid, head->spec_uid)) &&
           (!has_sources || str_equal(release->spec_digest, head->spec_digest)) &&
           !release_phase_is_terminal(release->phase);
}

/* 1: the revision is taken by another; error says by what. */
static int begin_at(const struct reconcile_context *context, const struct release_subject *subject,
                    enum release_operation operation, int64_t revision, struct release **ret,
                    struct error *error)
{
    _cleanup_(release_free_p) struct release *there = NULL;
    const struct release_head head = head_of(subject, operation, revision);
    struct error problem = {0};
    int r = create(context, &head, ret, &problem);

    if (r >= 0)
        return 0;
    /* Taken, or it may have been made all the same. */
    if ((r == ERR_EXISTS || r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) &&
        load(context, &subject->key, revision, NULL, &there, NULL) >= 0 &&
        is_to_go_on(there, &head, subject->sources)) {
        *ret = TAKE(there);
        return 0;
    }
    if (there || str_equal(problem.reason, "ReleaseNameTaken")) {
        err_copy(error, &problem);
        return 1;
    }
    if (r == ERR_EXISTS)
        err_set(&problem, ERR_UNAVAILABLE, NULL, "revision %lld was there, and is gone again",
                (long long)revision);
    err_wrap(&problem, "making a Release");
    return err_copy(error, &problem);
}

int release_begin(const struct reconcile_context *context, const struct release_subject *subject,
                  enum release_operation operation, int64_t revision, struct release **ret,
                  struct error *error)
{
    struct error problem = {0};
    int r = 1;

    for (unsigned n = 0; n < BEGIN_ATTEMPTS && r == 1; n++)
        r = begin_at(context, subject, operation, revision + n, ret, &problem);
    return r ? err_copy(error, &problem) : 0;
}

void release_begin_first(const struct reconcile_context *context,
                         const struct release_subject *subject, enum release_operation operation,
                         struct release **ret)
{
    const struct release_head head = head_of(subject, operation, 1);

    create(context, &head, ret, NULL);
}

/* ---- What is said ---- */

static void set(const struct value **status, const char *key, const struct value *taken)
{
    const struct value *next;

    if (!taken)
        return;
    next = value_with(*status, key, taken);
    value_unref(*status);
    value_unref(taken);
    *status = next;
}

static void set_first(const struct value **status, const char *key, const char *text)
{
    if (text && !value_get(*status, key))
        set(status, key, value_pack("s", text));
}

static const struct value *status_with_phase(const struct release_subject *subject,
                                             const struct release *release,
                                             enum release_phase phase, const char *now)
{
    const struct value *status = value_ref(release->status);

    set_first(&status, "createTime", now);
    set(&status, "modifiedTime", value_pack("s", now));
    set_first(&status, "project", subject->project);
    set_first(&status, "stack", subject->stack);
    set_first(&status, "workspace", subject->workspace);
    if (subject->sources && !value_get(status, "sources") &&
        (!release->revision || str_equal(release->spec_digest, subject->spec_digest)))
        set(&status, "sources", value_ref(subject->sources));
    if (release->revision)
        set(&status, "revision", value_pack("I", release->revision));
    /* Its own: it may be a later one that cancels it. */
    set(&status, "specGeneration",
        value_pack("I", release->generation ? release->generation : subject->generation));
    set(&status, "phase", value_pack("s", release_phase_name(phase)));
    set(&status, "observedGeneration", value_pack("I", release->own_generation));
    return status;
}

static bool lacks_fields(const struct value *results)
{
    for (size_t i = 0; i < value_count(results); i++)
        if (value_get(value_at(results, i), "omittedFields"))
            return true;
    return false;
}

/* Results into a status; all of them beside it, where there are too many: if that goes wrong, the
 * status tells what it has room for. */
static void set_results(const struct reconcile_context *context,
                        const struct release_subject *subject, const struct release *release,
                        const struct outcome *outcome, const struct value **status)
{
    const struct store_call call = context_call(context, NULL);
    const struct document_name name = {DOCUMENT_PLAN, subject->key, release->name};
    _cleanup_value_ const struct value *all = NULL;
    _cleanup_free_ char *place = NULL;
    struct error problem = {0};
    size_t omitted;
    const struct report_source source = {.plan = outcome->plan,
                                         .epoch = context_now(context) - context_monotonic(context),
                                         .results = outcome->results,
                                         .to_approve = outcome->phase == PHASE_AWAITING_APPROVAL,
                                         .earlier = value_get(release->status, "results")};

    set(status, "results", report_results(&source, &omitted));
    set(status, "omitted", value_pack("I", (int64_t)omitted));
    if (!omitted && !lacks_fields(value_get(*status, "results")))
        return;
    all = report_all_results(&source);
    if (plans_keep(context, &name, all, &call, &place, &problem) >= 0)
        set(status, "planRef", value_pack("{s:s}", "name", place));
    else
        log_warn("a plan is not kept in full", "namespace", subject->key.namespace_name, "release",
                 release->name, "reason", problem.reason, "error", problem.message, NULL);
}

/* ---- Writing ---- */

/* As it was ended, by whomever: it stays so. */
static void adopt(struct release *release, const struct value *status)
{
    release->phase = release_status_phase(status);
    value_assign(&release->status, status);
}

/* A record that was changed meanwhile is looked at: 1: it has ended, and this is its end. */
static int refresh_record(const struct reconcile_context *context,
                          const struct release_subject *subject, struct release *release,
                          struct error *error)
{
    _cleanup_(release_free_p) struct release *now = NULL;
    int r = load(context, &subject->key, release->revision, NULL, &now, error);

    if (r < 0)
        return r;
    if (now->operation != release->operation || now->generation != release->generation)
        return err_set(error, ERR_NOT_FOUND, NULL, "it was deleted, and made anew");
    if (release_phase_is_terminal(now->phase)) {
        adopt(release, now->status);
        return 1;
    }
    free(release->version);
    release->version = TAKE(now->version);
    release->own_generation = now->own_generation;
    return 0;
}

/* 1: it had ended. */
static int write_record(const struct reconcile_context *context,
                        const struct release_subject *subject, struct release *release,
                        const struct value *status, struct error *error)
{
    const struct store_call call = context_call(context, NULL);
    const struct release_record record = {
        .head = {.spec = subject->key, .revision = release->revision}, .status = status};

    for (unsigned attempt = 0;; attempt++) {
        struct error problem = {0};
        int r = context->history->ops->update(context->history, &record, &call, &release->version,
                                              &problem);

        if (r != ERR_CONFLICT || attempt == WRITE_ATTEMPTS)
            return err_copy(error, &problem);
        r = refresh_record(context, subject, release, error);
        if (r)
            return r;
    }
}

static bool was_ended(void *arg, const struct value *object)
{
    const struct value *status = value_get(object, "status");

    if (!release_phase_is_terminal(release_status_phase(status)))
        return false;
    adopt(arg, status);
    return true;
}

/* 1: it had ended. */
static int write_object(const struct reconcile_context *context, struct release *release,
                        const struct value *status, struct error *error)
{
    struct spec_key key = {value_get_string(release->metadata, "namespace"), release->name};
    struct api_status write = {.ref = api_release_ref(&key, "status"),
                               .status = status,
                               .is_final = was_ended,
                               .arg = release};
    int r = api_put_status(context, &write, &release->metadata, error);

    release->own_generation = value_int(value_get(release->metadata, "generation"), 1);
    return r == API_IS_FINAL ? 1 : r;
}

/* It does not stop the work if somebody deletes a record. */
static int write_status(const struct reconcile_context *context,
                        const struct release_subject *subject, struct release *release,
                        const struct value *status, struct error *error)
{
    struct error problem = {0};
    int r = release->version ? write_record(context, subject, release, status, &problem)
                             : write_object(context, release, status, &problem);

    if (r < 0 && r != ERR_NOT_FOUND) {
        err_wrap(&problem, "writing the status of a Release");
        return err_copy(error, &problem);
    }
    if (r != 1)
        adopt(release, status);
    return 0;
}

/* A Release that has ended is not Reconciling any more, although its Spec may be. */
static const struct value *make_conditions(const struct release *release,
                                           const struct outcome *outcome, int64_t now)
{
    const struct conditions_generation own = {release->own_generation, release->own_generation};
    struct verdict verdict = outcome->verdict;

    if (verdict.progress == PROGRESS_RECONCILING && release_phase_is_terminal(outcome->phase))
        verdict.progress = PROGRESS_STALLED;
    return conditions_make(value_get(release->status, "conditions"), &verdict, NULL, own, now);
}

static const struct value *make_summary(const struct outcome *outcome)
{
    const char *message = outcome->summary ? outcome->summary : outcome->verdict.message;
    char summary[REPORT_RELEASE_SUMMARY_SIZE];

    report_short(message, outcome->phase == PHASE_FAILED ? outcome->results : NULL, summary,
                 sizeof(summary));
    return value_pack("s", summary);
}

static const struct value *plan_value(const struct outcome *outcome)
{
    const struct value *plan = report_plan(outcome->plan, outcome->digest);

    if (outcome->unseen)
        set(&plan, "unseen", value_pack("I", (int64_t)outcome->unseen));
    if (outcome->account)
        set(&plan, "serviceAccountName", value_pack("s", outcome->account));
    return plan;
}

static const struct value *approval_value(const struct release_approval *approval)
{
    return value_pack("{s:s, s:s?, s:s?, s:s?}", "plan", approval->plan, "approver",
                      approval->approver, "manager", approval->manager, "time", approval->time);
}

int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, const struct outcome *outcome, struct error *error)
{
    const struct plan *plan = outcome->keeps_plan ? NULL : outcome->plan;
    int64_t now = context_now(context);
    const struct value *status;
    char time[TIMESTAMP_SIZE];
    bool shows_all;
    int r;

    if (!release || release_phase_is_terminal(release->phase))
        return 0;
    if (outcome->phase != release->phase &&
        !release_phase_may_follow(release->operation, release->phase, outcome->phase))
        return err_set(error, ERR_INTERNAL, "PhaseOrder",
                       "Release %s cannot go from \"%s\" to \"%s\"", release->name,
                       release_phase_name(release->phase), release_phase_name(outcome->phase));
    timestamp_format(now, time);
    status = status_with_phase(subject, release, outcome->phase, time);
    if (outcome->approval)
        set(&status, "approval", approval_value(outcome->approval));
    /* An approved plan stays as it was shown, though part of it is done when it is planned anew. */
    if (plan && !(outcome->approval && value_get(status, "plan")))
        set(&status, "plan", plan_value(outcome));
    /* The status gets what is planned for each resource if it is over, or a person is to decide;
     * and, of what is carried out, the first plan. After a restart there is another one, without
     * the fields of what is done. */
    shows_all = release_phase_is_terminal(outcome->phase) ||
                outcome->phase == PHASE_AWAITING_APPROVAL || !value_get(release->status, "results");
    if (outcome->results || (plan && shows_all))
        set_results(context, subject, release, outcome, &status);
    if (outcome->results)
        set(&status, "counts", report_counts(outcome->results));
    if (outcome->verdict.ready) {
        set(&status, "conditions", make_conditions(release, outcome, now));
        set(&status, "summary", make_summary(outcome));
    }
    r = write_status(context, subject, release, status, error);
    value_unref(status);
    return r;
}
