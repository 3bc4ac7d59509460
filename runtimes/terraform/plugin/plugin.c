#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/threads/clock.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/plugin/plugin_private.h"
#include "runtimes/terraform/plugin/script.h"

#define MAX_FILES        1024
#define MAX_FILE_BYTES   (UINT64_C(1) << 30)
#define SHUTDOWN_TIMEOUT 2000 /* ms until a process that was asked to end is killed */
#define STUCK_AFTER      1000 /* ms; a call that had less says nothing about the process */
#define LONGEST_CALL     (INT64_C(24) * 3600 * 1000) /* ms, of a call without a deadline */
#define MOST_ENVIRONMENT 64

/* Bytes of answers. Schemas are the largest by far. */
#define MAX_SCHEMA_BYTES (256u << 20)
#define MAX_ANSWER_BYTES (32u << 20)

/* ---- Starting ---- */

/* What every provider needs: that it is one, what we speak, and that it writes no log, which takes
 * half of its time. */
static const char *const common_environment[] = {
    "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
    "PLUGIN_PROTOCOL_VERSIONS=6,5", "TF_LOG_SDK=off",
    "USER=provider", /* /etc/passwd cannot be read */
};

static int make_sandbox(const struct plugin *plugin, const struct plugin_config *config,
                        const char *program, struct sandbox **ret, struct error *error)
{
    struct error failure = {0};
    int r = sandbox_new(&(struct sandbox_config){.program = program,
                                                 .files = config->package,
                                                 .folder = plugin->folder,
                                                 .without_files = config->allow_unconfined},
                        ret, &failure);

    if (r == ERR_UNSUPPORTED)
        return err_set(error, r, "ProviderNotConfined",
                       "it could read any file of the operator: %s; the operator's flag "
                       "--terraform-allow-unconfined lets it run all the same",
                       failure.message);
    return err_copy(error, &failure);
}

static int start_process(struct plugin *plugin, const struct plugin_config *config,
                         struct error *error)
{
    _cleanup_(sandbox_free_p) struct sandbox *sandbox = NULL;
    _cleanup_(script_command_done) struct script_command command = {0};
    _cleanup_free_ char *folder = str_printf("TMPDIR=%s", plugin->folder);
    _cleanup_free_ char *home = str_printf("HOME=%s", plugin->folder);
    const char *environment[ARRAY_SIZE(common_environment) + 2 + MOST_ENVIRONMENT + 1] = {0};
    size_t n = ARRAY_SIZE(common_environment);
    int r;

    memcpy(environment, common_environment, sizeof(common_environment));
    environment[n++] = folder;
    environment[n++] = home;
    for (size_t i = 0; config->environment && config->environment[i]; i++) {
        if (i == MOST_ENVIRONMENT)
            return err_set(error, ERR_TOO_LARGE, NULL, "more than %d variables of the environment",
                           MOST_ENVIRONMENT);
        environment[n++] = config->environment[i];
    }
    r = script_command(config->program, &command, error);
    if (r >= 0)
        r = make_sandbox(plugin, config, command.arguments[0], &sandbox, error);
    if (r < 0)
        return r;
    return process_start(
        config->processes,
        &(struct process_config){.arguments = (const char *const *)command.arguments,
                                 .environment = environment,
                                 .directory = plugin->folder,
                                 .max_files = MAX_FILES,
                                 .max_file_bytes = MAX_FILE_BYTES,
                                 .max_memory = (uint64_t)config->max_memory,
                                 .sandbox = sandbox},
        &plugin->process, error);
}

static void add_words(struct error *error, const char *more)
{
    struct error whole = {0};

    err_set(&whole, error->code, error->reason, "%s (%s)", error->message, more);
    *error = whole;
}

/* Adds how the process ended, if it has. */
static void describe_end(struct plugin *plugin, struct error *error)
{
    _cleanup_free_ char *end = plugin->process ? process_describe_end(plugin->process) : NULL;

    if (end)
        add_words(error, end);
}

/* The process knows nothing yet but its environment, whose secrets the caller hides, so what it
 * printed can be shown. Later it may print values of any Spec that shares it. */
static void describe_start(struct plugin *plugin, struct error *error)
{
    _cleanup_free_ char *printed = plugin->process ? process_last_errors(plugin->process) : NULL;
    _cleanup_free_ char *shown = printed ? utf8_show(printed) : NULL;

    describe_end(plugin, error);
    if (shown)
        add_words(error, shown);
}

#define MEMORY_HINT                                                                                \
    "ask for less: this resource, or another of the namespace that uses the provider at the same " \
    "time, makes it take more than all providers may have together; or have --terraform-memory "   \
    "raised, and the limit of the operator's container with it"

/* It ended because it took too much memory. Its code stays: the call may have come through. */
static void blame_memory(struct plugin *plugin, struct error *failure)
{
    struct error whole = {0};

    if (failure->code != ERR_UNAVAILABLE || !plugin->process ||
        (!atomic_load(&plugin->is_too_large) && !process_lacked_memory(plugin->process)))
        return;
    err_set(&whole, failure->code, "ProviderMemory", "its process took too much memory, and ended");
    err_hint(&whole, MEMORY_HINT);
    *failure = whole;
}

/* What gives a call more time. The Spec's timeout does not end a change. */
#define MORE "if it needs more time, "
#define MORE_FOR_A_CHANGE \
    MORE "raise the resource's own timeouts (attributes.timeouts), if it has them"
#define MORE_FOR_OTHERS MORE "raise the timeout of the Spec"

/* What to do, unless that is said already. */
static void advise(struct error *failure, const char *late_hint)
{
    if (*err_hints(failure->message) || failure->code == ERR_CANCELLED)
        return;
    if (failure->code == ERR_TIMEOUT)
        err_hint(failure, "the next attempt is made with a new process of it; %s", late_hint);
    else if (failure->code == ERR_UNAVAILABLE)
        err_hint(failure, "the next attempt is made with a new process of it; if that fails, too, "
                          "use another version of the provider (extensions.provider)");
    else if (failure->code == ERR_INTERNAL || failure->code == ERR_TOO_LARGE)
        err_hint(failure, PLUGIN_DEFECT_HINT);
}

static int make_client(struct plugin *plugin, struct http_loop *loop, struct error *error)
{
    static atomic_uint last;
    /* The host tells the connections of several providers apart. */
    const struct handshake *handshake = &plugin->handshake;
    _cleanup_free_ char *url = str_printf(
        "%s://provider-%u", handshake->certificate ? "https" : "http", atomic_fetch_add(&last, 1));

    return http_client_new(loop,
                           &(struct http_client_config){.base_url = url,
                                                        .tls = {.ca_pem = handshake->certificate},
                                                        .trusts_one = handshake->certificate,
                                                        .unix_socket = handshake->socket,
                                                        .user_agent = "kusion-operator",
                                                        .http2 = true},
                           &plugin->client, error);
}

static int64_t time_left(int64_t deadline)
{
    int64_t left;

    if (deadline == CLOCK_FOREVER)
        return LONGEST_CALL;
    left = deadline - system_clock.monotonic(&system_clock);
    return left < 1 ? 1 : left < LONGEST_CALL ? left : LONGEST_CALL;
}

/* ---- What it prints ---- */

static int drop(void *arg, const char *data, size_t length, struct error *error)
{
    (void)arg, (void)data, (void)length, (void)error;
    return 0;
}

/* What the provider's code prints comes by a call that has no end. Unread, it would stand still
 * after 200 kB. */
static int drain_prints(struct plugin *plugin, struct error *error)
{
    static const char *const headers[] = {"content-type: application/grpc", "te: trailers"};
    static const char nothing[5]; /* an empty message */

    return http_stream_new(plugin->client,
                           &(struct http_request){.method = "POST",
                                                  .path = "/plugin.GRPCStdio/StreamStdio",
                                                  .headers = headers,
                                                  .n_headers = ARRAY_SIZE(headers),
                                                  .body = nothing,
                                                  .body_length = sizeof(nothing),
                                                  .on_body = drop},
                           NULL, NULL, &plugin->prints, error);
}

/* The reasons of errors that are the provider's. */
static int call_grpc(struct plugin *plugin, struct grpc_request *request,
                     const ProtobufCMessage *message, struct http_response *response,
                     struct grpc_end *ret_end, struct error *error)
{
    _cleanup_buf_ struct buf body = BUF_INIT;
    unsigned char *at = grpc_frame(&body, protobuf_c_message_get_packed_size(message));
    struct error failure = {0};
    int r;

    protobuf_c_message_pack(message, at);
    request->body = &body;
    r = grpc_call(plugin->client, request, response, ret_end, &failure);
    if (r == ERR_INTERNAL || r == ERR_UNSUPPORTED)
        return err_set(error, r, r == ERR_INTERNAL ? "ProviderFailed" : "InvalidProvider", "%s",
                       failure.message);
    return err_copy(error, &failure);
}

/* The first call makes the connection (http.h). Its answer does not matter: one that comes shows
 * that the provider can be called. */
static int make_connection(struct plugin *plugin, const struct plugin_call *call,
                           struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct grpc_end end;
    Tfplugin__Empty empty = TFPLUGIN__EMPTY__INIT;
    int r;

    r = call_grpc(plugin,
                  &(struct grpc_request){.path = "/grpc.health.v1.Health/Check",
                                         .max_answer = MAX_ANSWER_BYTES,
                                         .timeout = time_left(call->deadline),
                                         .cancel = call->cancel},
                  &empty.base, &response, &end, error);
    if (!response.status)
        return r;
    err_clear(error);
    return drain_prints(plugin, error);
}

static int reach(struct plugin *plugin, const struct plugin_config *config,
                 const struct plugin_call *call, struct error *error)
{
    _cleanup_free_ char *line = NULL;
    int r = start_process(plugin, config, error);

    if (r >= 0)
        r = process_wait_line(plugin->process, call->deadline, call->cancel, &line, error);
    if (r >= 0)
        r = handshake_read(line, plugin->folder, &plugin->handshake, error);
    if (r >= 0)
        r = make_client(plugin, config->loop, error);
    return r < 0 ? r : make_connection(plugin, call, error);
}

static const char *late_hint(const struct plugin_call *call)
{
    return call->late_hint ? call->late_hint : MORE_FOR_OTHERS;
}

static void advise_start(const struct plugin_call *call, struct error *failure)
{
    if (failure->code == ERR_INVALID || failure->code == ERR_TOO_LARGE ||
        (failure->code == ERR_UNSUPPORTED && !str_equal(failure->reason, "ProviderNotConfined")))
        err_hint(failure, "check that its package has a provider of Terraform for this platform, "
                          "or use another version of it (extensions.provider)");
    else
        advise(failure, late_hint(call));
}

int plugin_start(const struct plugin_config *config, const struct plugin_call *call,
                 struct plugin **ret, struct error *error)
{
    _cleanup_(plugin_free_p) struct plugin *plugin = NEW(struct plugin);
    struct error failure = {0};
    int r;

    plugin->name = str_new(config->name);
    r = folder_make(config->folder, &plugin->folder, &failure);
    if (r >= 0)
        r = reach(plugin, config, call, &failure);
    if (r < 0) {
        atomic_store(&plugin->is_stuck, true);
        describe_start(plugin, &failure);
        err_wrap(&failure, "the provider %s did not start", plugin->name);
        advise_start(call, &failure);
        return err_copy(error, &failure);
    }
    *ret = TAKE(plugin);
    return 0;
}

/* ---- Calls ---- */

static const struct {
    const char *names[2]; /* of protocol 5 and 6 */
    const ProtobufCMessageDescriptor *answer;
} methods[] = {
#define METHOD(name5, name6, answer)                      \
    {                                                     \
        {name5, name6}, &tfplugin__##answer##__descriptor \
    }
    [PLUGIN_GET_SCHEMA] = METHOD("GetSchema", "GetProviderSchema", get_schema_response),
    [PLUGIN_VALIDATE_PROVIDER] =
        METHOD("PrepareProviderConfig", "ValidateProviderConfig", validate_provider_response),
    [PLUGIN_CONFIGURE] = METHOD("Configure", "ConfigureProvider", said),
    [PLUGIN_VALIDATE_RESOURCE] =
        METHOD("ValidateResourceTypeConfig", "ValidateResourceConfig", said),
    [PLUGIN_UPGRADE_STATE] =
        METHOD("UpgradeResourceState", "UpgradeResourceState", upgrade_state_response),
    [PLUGIN_READ] = METHOD("ReadResource", "ReadResource", read_resource_response),
    [PLUGIN_IMPORT] = METHOD("ImportResourceState", "ImportResourceState", import_response),
    [PLUGIN_PLAN] = METHOD("PlanResourceChange", "PlanResourceChange", plan_response),
    [PLUGIN_APPLY] = METHOD("ApplyResourceChange", "ApplyResourceChange", apply_response),
    [PLUGIN_VALIDATE_DATA] = METHOD("ValidateDataSourceConfig", "ValidateDataResourceConfig", said),
    [PLUGIN_READ_DATA] = METHOD("ReadDataSource", "ReadDataSource", read_data_response),
    [PLUGIN_MOVE] = METHOD("MoveResourceState", "MoveResourceState", move_response),
    [PLUGIN_GET_IDENTITIES] =
        METHOD("GetResourceIdentitySchemas", "GetResourceIdentitySchemas", get_identities_response),
    [PLUGIN_UPGRADE_IDENTITY] =
        METHOD("UpgradeResourceIdentity", "UpgradeResourceIdentity", upgrade_identity_response),
#undef METHOD
};

int plugin_protocol(const struct plugin *plugin)
{
    return plugin->handshake.protocol;
}

bool plugin_has_ended(struct plugin *plugin)
{
    return process_has_ended(plugin->process);
}

bool plugin_is_stuck(const struct plugin *plugin)
{
    return atomic_load(&plugin->is_stuck);
}

int64_t plugin_memory(const struct plugin *plugin)
{
    return process_memory(plugin->process);
}

void plugin_kill_for_memory(struct plugin *plugin)
{
    atomic_store(&plugin->is_too_large, true);
    process_kill(plugin->process);
}

static int unpack(const struct http_response *response, const ProtobufCMessageDescriptor *type,
                  ProtobufCMessage **ret, struct error *error)
{
    const unsigned char *data;
    size_t length;
    struct error failure = {0};

    if (grpc_message(response, &data, &length, &failure) < 0)
        return err_set(error, ERR_INTERNAL, "ProviderFailed", "%s", failure.message);
    *ret = protobuf_c_message_unpack(type, NULL, length, data);
    return *ret ? 0 : err_set(error, ERR_INTERNAL, "ProviderFailed", "its answer cannot be read");
}

/* A dying process closes its socket a moment before it ends. */
static void explain(struct plugin *plugin, enum plugin_method method,
                    const struct plugin_call *call, struct error *failure)
{
    if (failure->code == ERR_UNAVAILABLE)
        process_wait_end(plugin->process, system_clock.monotonic(&system_clock) + 200);
    blame_memory(plugin, failure);
    if (!str_equal(failure->reason, "ProviderMemory"))
        describe_end(plugin, failure);
    err_wrap(failure, "the provider %s: %s", plugin->name,
             methods[method].names[plugin->handshake.protocol - 5]);
    advise(failure, method == PLUGIN_APPLY ? MORE_FOR_A_CHANGE : late_hint(call));
}

int plugin_call(struct plugin *plugin, enum plugin_method method, const ProtobufCMessage *request,
                const struct plugin_call *call, void *ret, enum grpc_delivery *ret_delivery,
                struct error *error)
{
    int protocol = plugin->handshake.protocol, r;
    const char *name = methods[method].names[protocol - 5];
    _cleanup_free_ char *path = str_printf("/tfplugin%d.Provider/%s", protocol, name);
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    bool is_change = method == PLUGIN_APPLY;
    struct grpc_request grpc = {.path = path,
                                .max_answer = method == PLUGIN_GET_SCHEMA ? MAX_SCHEMA_BYTES
                                                                          : MAX_ANSWER_BYTES,
                                .timeout = time_left(call->deadline),
                                .cancel = call->cancel,
                                .is_change = is_change,
                                .permit = is_change ? call->permit : NULL};
    struct grpc_end end;
    struct error failure = {0};

    r = call_grpc(plugin, &grpc, request, &response, &end, &failure);
    if (ret_delivery)
        *ret_delivery = end.delivery;
    if (r >= 0)
        r = unpack(&response, methods[method].answer, ret, &failure);
    if (r < 0) {
        if (r == ERR_TIMEOUT && end.status == GRPC_NO_STATUS && grpc.timeout >= STUCK_AFTER)
            atomic_store(&plugin->is_stuck, true);
        explain(plugin, method, call, &failure);
        return err_copy(error, &failure);
    }
    return 0;
}

/* ---- The end ---- */

/* The process ends without an answer. */
static void shut_down(struct plugin *plugin)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    int64_t deadline = system_clock.monotonic(&system_clock) + SHUTDOWN_TIMEOUT;
    struct grpc_end end;
    Tfplugin__Empty empty = TFPLUGIN__EMPTY__INIT;

    call_grpc(plugin,
              &(struct grpc_request){.path = "/plugin.GRPCController/Shutdown",
                                     .max_answer = MAX_ANSWER_BYTES,
                                     .timeout = SHUTDOWN_TIMEOUT},
              &empty.base, &response, &end, NULL);
    process_wait_end(plugin->process, deadline);
}

void plugin_free(struct plugin *plugin)
{
    if (!plugin)
        return;
    if (plugin->client && !plugin_is_stuck(plugin) && !plugin_has_ended(plugin))
        shut_down(plugin);
    http_stream_free(plugin->prints);
    http_client_free(plugin->client);
    process_free(plugin->process);
    folder_remove(plugin->folder);
    handshake_done(&plugin->handshake);
    free(plugin->name);
    free(plugin);
}
