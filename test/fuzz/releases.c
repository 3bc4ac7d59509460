/*
 * The history of Releases, over objects of any form: anyone may write labels and annotations. The
 * first line is the Spec's name and how many steps follow, one a line; then the answers
 * (answers.h): c REVISION OPERATION   creates    g REVISION   loads (0: the newest)    l   lists u
 * PHASE   updates what was loaded last                                  r REVISION   removes
 *
 * A revision is in its bounds and of this Spec; lists are in order; what has ended is not written;
 * no request is for another object than a Release of this Spec's name.
 */
#include "runtimes/kubernetes/history/history.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"
#include "test/fuzz/answers/answers.h"
#include "test/fuzz/fuzz.h"

#define MOST_STEPS 30

static struct spec_key key = {.namespace_name = "team"};
static int64_t asked; /* revision; 0: any */
static bool may_write;

static void see(const struct kube_request *request, int r, const struct value *body)
{
    struct arena arena = ARENA_INIT;
    const char *name = request->ref.name;
    bool is_write = !str_equal(request->method, "GET");

    (void)r;
    (void)body;
    must(request->ref.kind == &kube_releases);
    must(str_equal(request->ref.namespace_name, key.namespace_name));
    must(may_write || !is_write);
    must(name || !is_write || str_equal(request->method, "POST"));
    if (str_equal(request->method, "POST"))
        name = value_string(value_path(request->body, "metadata", "name", NULL));
    must(!name || !asked || str_equal(name, release_name(&arena, key.name, asked)));
    must(strlen(name ? name : "") <= 253);
    arena_done(&arena);
}

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    int64_t *last = arg;

    (void)error;
    must(release_revision_is_valid(head->revision) && head->revision < *last);
    must(str_equal(head->spec.name, key.name));
    must(*release_operation_name(head->operation) && head->phase == PHASE_NONE);
    *last = head->revision;
    return 0;
}

static void check_record(const struct release_record *record, const char *version, int64_t revision)
{
    must(version && release_revision_is_valid(record->head.revision));
    must(!revision || record->head.revision == revision);
    must(str_equal(record->head.spec.name, key.name));
    must(record->head.phase == release_status_phase(record->status));
    must(!record->status || record->head.phase != PHASE_NONE);
}

/* What was loaded or created last. */
struct last {
    int64_t revision;
    enum release_phase phase;
    char *version;
};

static int load(struct release_history *history, const struct store_call *call, int64_t revision,
                struct last *last, struct error *error)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    char *version = NULL;
    int r = history->ops->load(history, &key, revision, call, &record, &version, error);

    must((r == 0) == (record != NULL) && (r == 0) == (version != NULL));
    if (r < 0)
        return r;
    check_record(record, version, revision);
    free(last->version);
    *last = (struct last){record->head.revision, record->head.phase, version};
    return 0;
}

static int create(struct release_history *history, const struct store_call *call, int64_t revision,
                  const char *operation, struct last *last, struct error *error)
{
    struct release_head head = {.spec = key, .revision = revision, .generation = 1};
    char *version = NULL;
    size_t before = answers_given();
    int r;

    release_operation_parse(operation, &head.operation);
    may_write = true;
    r = history->ops->create(history, &head, call, &version, error);
    must((r == 0) == (version != NULL));
    must(release_revision_is_valid(revision) || (r == ERR_INVALID && answers_given() == before));
    if (r == 0) {
        free(last->version);
        *last = (struct last){revision, PHASE_NONE, version};
    }
    return r;
}

static int update(struct release_history *history, const struct store_call *call, const char *phase,
                  struct last *last, struct error *error)
{
    _cleanup_value_ const struct value *status = value_pack("{s:s}", "phase", phase);
    const struct release_record record = {.head = {.spec = key, .revision = last->revision},
                                          .status = status};
    int r;

    if (!last->version || !status)
        return 0;
    asked = last->revision;
    may_write = !release_phase_is_terminal(last->phase);
    r = history->ops->update(history, &record, call, &last->version, error);
    must(last->version && (may_write || r == ERR_CONFLICT));
    if (r == 0)
        last->phase = release_status_phase(status);
    return r;
}

static void step(struct release_history *history, struct last *last, const char *line)
{
    const struct store_call call = {0};
    char what = 0, text[64] = "", operation[32] = "";
    int64_t above = INT64_MAX, revision = 0;
    struct error error = {0};
    int r = 0;

    sscanf(line, "%c %63s %31s", &what, text, operation);
    str_to_int64(text, &revision);
    asked = revision;
    may_write = false;
    if (what == 'c')
        r = create(history, &call, revision, operation, last, &error);
    else if (what == 'g')
        r = load(history, &call, revision, last, &error);
    else if (what == 'u')
        r = update(history, &call, text, last, &error);
    else if (what == 'r') {
        may_write = true;
        r = history->ops->remove(history, &key, revision, RELEASE_ANYWAY, &call, &error);
    } else if (what == 'l') {
        asked = 0;
        r = history->ops->list(history, &key, on_head, &above, &call, &error);
    }
    must_agree(r, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct kube_cluster cluster = {0};
    struct release_history *history = kube_history_new(&cluster);
    _cleanup_free_ char *line = take_line(&data, &size);
    char *steps[MOST_STEPS], name[256] = "";
    size_t count = 0;
    struct last last = {0};

    sscanf(line, "%255s %zu", name, &count);
    key.name = str_is_dns_subdomain(name) ? name : "web";
    if (count > MOST_STEPS)
        count = MOST_STEPS;
    for (size_t i = 0; i < count; i++)
        steps[i] = take_line(&data, &size);
    answers_begin(data, size, see);
    for (size_t i = 0; i < count; i++) {
        step(history, &last, steps[i]);
        free(steps[i]);
    }
    free(last.version);
    history->ops->free(history);
    return 0;
}
