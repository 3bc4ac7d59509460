/*
 * The engine and its Terraform runtime without Kubernetes, for the tests of test/terraform: State
 * is in files.
 *
 *   terraform_driver MIRROR FOLDER PROVIDER…
 *
 * MIRROR and PROVIDER are those of the operator's flags, FOLDER keeps State. Each line of stdin is
 * a request, each line of stdout the answer to one:
 *
 *   {"do": "plan" or "apply", "name": the Spec's, "resources": […]}     no resources: all is to go
 *   {"error": …, "plan": [{id, deposed, action, unknown, reason, error}],
 *    "results": [{id, deposed, action, status, error}], "state": [{id, status, deposed, result}]}
 *
 * A request may have "from", the text of a state file of Terraform, from which objects are taken
 * over. With "export": true the answer has "file", the text of one of State.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/json.h"
#include "runtimes/file/store.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/runtime.h"

#define THREADS     32
#define PARALLELISM 10
#define TIMEOUT     120000 /* ms */

struct driver {
    struct source *allowed;
    size_t n_allowed;
    struct runtime *runtime;
    struct store *store;
    struct executor *executor;
    struct ledgers *ledgers;
    int64_t revision;
};

static void must(int r, const struct error *error)
{
    if (r >= 0)
        return;
    fprintf(stderr, "terraform_driver: %s: %s\n", error->reason, error->message);
    exit(1);
}

/* ---- Answers ---- */

static const struct value *error_value(const struct error *error)
{
    return error && error->code
               ? value_pack("{s:s, s:s}", "reason", error->reason, "message", error->message)
               : NULL;
}

static void add_plan(struct value_builder *b, const struct plan *plan)
{
    value_begin_array(b);
    for (size_t i = 0; plan && i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];
        _cleanup_value_ const struct value *shown = value_pack(
            "{s:s, s:s, s:s, s:b, s:s, s:V}", "id", change->id, "deposed", change->deposed,
            "action", plan_action_name(change->action), "unknown", change->has_unknown, "reason",
            change->reason, "error", error_value(change->error));

        value_add(b, shown);
    }
    value_end_array(b);
}

static void add_results(struct value_builder *b, struct operation *operation)
{
    static const char *const names[] = {"pending",   "succeeded", "failed",  "skipped",
                                        "cancelled", "timed out", "deferred"};
    struct operation_results results;

    operation_results(operation, &results);
    value_begin_array(b);
    for (size_t i = 0; i < results.count; i++) {
        const struct operation_result *result = &results.items[i];
        _cleanup_value_ const struct value *shown =
            value_pack("{s:s, s:s, s:s, s:s, s:V}", "id", result->change->id, "deposed",
                       result->change->deposed, "action", plan_action_name(result->action),
                       "status", names[result->status], "error", error_value(result->error));

        value_add(b, shown);
    }
    value_end_array(b);
    operation_results_done(&results);
}

static void add_state(struct value_builder *b, struct ledger *ledger)
{
    static const char *const names[] = {"intent", "creating", "applied", "tainted"};
    struct ledger_records records = ledger_records(ledger);

    value_begin_array(b);
    for (size_t i = 0; i < records.count; i++) {
        const struct record *record = records.items[i];
        _cleanup_value_ const struct value *shown =
            value_pack("{s:s, s:s, s:s, s:v}", "id", record->id, "deposed", record->deposed,
                       "status", names[record->status], "result", record->result);

        value_add(b, shown);
    }
    value_end_array(b);
    ledger_records_done(&records);
}

static void add_file(const struct driver *driver, struct value_builder *b, struct ledger *ledger)
{
    const struct runtime_mark mark = {"a-lineage", 1};
    struct ledger_records records = ledger_records(ledger);
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};

    must(driver->runtime->ops->foreign->write(driver->runtime, records.items, records.count, &mark,
                                              &text, &error),
         &error);
    value_add_string(b, text.data);
    ledger_records_done(&records);
}

static void answer(const struct driver *driver, const struct value *request,
                   struct operation *operation, const struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *failure = error_value(error), *shown = NULL;
    _cleanup_free_ char *text = NULL;
    struct error problem = {0};

    value_begin_object(b);
    value_key(b, "error");
    value_add(b, failure);
    if (operation) {
        value_key(b, "plan");
        add_plan(b, operation_get_plan(operation));
        value_key(b, "results");
        add_results(b, operation);
        value_key(b, "state");
        add_state(b, operation_ledger(operation));
        if (value_bool(value_get(request, "export"), false)) {
            value_key(b, "file");
            add_file(driver, b, operation_ledger(operation));
        }
    }
    value_end_object(b);
    must(value_builder_finish(b, &shown, &problem), &problem);
    text = json_to_str(shown);
    puts(text);
    fflush(stdout);
}

/* ---- Requests ---- */

/* *ret: NULL: nothing is wanted. */
static int read_spec(const struct driver *driver, const struct value *request, struct spec **ret,
                     struct error *error)
{
    const struct spec_type type = {TF_RUNTIME_TYPE, driver->runtime->ops->check, driver->runtime};
    const struct value *resources = value_get(request, "resources");
    _cleanup_value_ const struct value *object =
        value_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:v}}", "apiVersion", "api.kusion.io/v1",
                   "kind", "Spec", "metadata", "name", value_get_string(request, "name"),
                   "namespace", "test", "uid", "1", "spec", "resources", resources);
    struct problems problems = PROBLEMS_INIT;
    int r = 0;

    *ret = NULL;
    if (value_count(resources))
        r = spec_parse(object, &(struct spec_options){.types = &type, .n_types = 1}, ret, &problems,
                       error);
    problems_done(&problems);
    return r;
}

static int begin(const struct driver *driver, const char *name, struct operation **ret,
                 struct error *error)
{
    const struct operation_config config = {
        .clock = &system_clock,
        .executor = driver->executor,
        .ledgers = driver->ledgers,
        .runtimes = (struct runtime *const *)&driver->runtime,
        .n_runtimes = 1,
        .scope = {.key = {"test", name}, .spec_uid = "1", .thorough = true},
        .parallelism = PARALLELISM,
        .timeout = TIMEOUT,
        .keeps_state = true,
    };

    return operation_new(&config, ret, error);
}

/* As the controller does it. */
static int take_over(const struct driver *driver, const char *text, const struct spec *spec,
                     struct operation *operation, struct error *error)
{
    struct runtime_target *targets = NEW_ARRAY(struct runtime_target, spec->n_resources + 1);
    _cleanup_value_ const struct value *found = NULL;
    int r;

    for (size_t i = 0; i < spec->n_resources; i++)
        targets[i] = (struct runtime_target){
            .id = spec->resources[i].id,
            .extensions = spec->resources[i].extensions,
            .prior = ledger_get(operation_ledger(operation), spec->resources[i].id, NULL)};
    r = driver->runtime->ops->foreign->find(driver->runtime, text, strlen(text), targets,
                                            spec->n_resources, &found, error);
    if (r >= 0)
        operation_take_over(operation, found, NULL);
    for (size_t i = 0; i < spec->n_resources; i++)
        record_unref(targets[i].prior);
    free(targets);
    return r;
}

static void serve(struct driver *driver, const struct value *request)
{
    struct operation *operation = NULL;
    struct spec *spec = NULL;
    struct error error = {0};
    int r = read_spec(driver, request, &spec, &error);

    if (r >= 0)
        r = begin(driver, value_get_string(request, "name"), &operation, &error);
    if (r >= 0 && value_get_string(request, "from"))
        r = take_over(driver, value_get_string(request, "from"), spec, operation, &error);
    if (r < 0) {
        spec_free(spec);
        operation_free(operation);
        answer(driver, request, NULL, &error);
        return;
    }
    operation_plan(operation, spec);
    operation_wait(operation);
    r = operation_error(operation, &error);
    if (r >= 0 && str_equal(value_get_string(request, "do"), "apply")) {
        operation_apply(operation, &(struct operation_apply){.revision = ++driver->revision});
        while (operation_wait(operation) != OPERATION_ENDED)
            ;
        operation_error(operation, &error);
    }
    answer(driver, request, operation, &error);
    operation_free(operation);
}

static void serve_line(struct driver *driver, const char *line)
{
    _cleanup_value_ const struct value *request = NULL;
    struct error error = {0};

    must(json_read_str(line, &request, &error), &error);
    serve(driver, request);
}

static void serve_all(struct driver *driver)
{
    _cleanup_free_ char *line = NULL;
    size_t capacity = 0;

    while (getline(&line, &capacity, stdin) >= 0)
        serve_line(driver, line);
}

/* ---- The process ---- */

static void open_driver(struct driver *driver, char **argv)
{
    struct error error = {0};

    while (argv[3 + driver->n_allowed])
        driver->n_allowed++;
    driver->allowed = NEW_ARRAY(struct source, driver->n_allowed + 1);
    for (size_t i = 0; i < driver->n_allowed; i++)
        must(source_read(argv[3 + i], '@', &driver->allowed[i], &error), &error);
    driver->runtime = tf_runtime_new(
        &(struct tf_runtime_config){.finder = {.mirror = argv[1], .cache_bytes = UINT64_C(1) << 32},
                                    .allowed = driver->allowed,
                                    .n_allowed = driver->n_allowed,
                                    .folder = "/tmp",
                                    .allow_unconfined = true});
    driver->store = file_store_new(argv[2]);
    driver->executor =
        executor_new(&(struct executor_config){.clock = &system_clock, .threads = THREADS});
    driver->ledgers = ledgers_new(
        &(struct ledgers_config){.store = driver->store, .clock = &system_clock, .effect_time = 1});
}

static void close_driver(struct driver *driver)
{
    executor_free(driver->executor);
    ledgers_free(driver->ledgers);
    driver->store->ops->free(driver->store);
    driver->runtime->ops->free(driver->runtime);
    for (size_t i = 0; i < driver->n_allowed; i++)
        source_done(&driver->allowed[i]);
    free(driver->allowed);
}

int main(int argc, char **argv)
{
    struct driver driver = {0};
    sigset_t set;

    if (argc < 4) {
        fputs("usage: terraform_driver MIRROR FOLDER PROVIDER…\n", stderr);
        return 2;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    open_driver(&driver, argv);
    serve_all(&driver);
    close_driver(&driver);
    return 0;
}
