/*
 * A provider's process, and calls to it.
 *
 * It is started in a sandbox (runtimes/io/sandbox.h), with an environment and a temporary folder of
 * its own, and says on its first line of output how it can be reached:
 *
 *   1|5|unix|/tmp/kusion-tf-x7Kq2a/3f0c91…/plugin12345|grpc|
 *
 * It answers whoever connects to that socket, so no other process may learn the path (folder.h).
 *
 * Calls are gRPC over that socket, by libcurl (runtimes/io/http.h). Any number may be in flight.
 * The two versions of the protocol are spoken with the same messages (proto/tfplugin.proto).
 *
 * A plugin is thread-safe. It is freed when no call is in flight.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <tfplugin.pb-c.h>

#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/permit.h"
#include "runtimes/grpc/grpc.h"
#include "runtimes/io/http.h"
#include "runtimes/io/process.h"

struct plugin;

/* A hint of errors. */
#define PLUGIN_DEFECT_HINT                                                                    \
    "this is a defect of the provider: use another version of it (extensions.provider), and " \
    "tell its authors"

/* Borrowed for the call; processes and loop live longer than the plugin. */
struct plugin_config {
    struct processes *processes;
    struct http_loop *loop;
    const char *name;               /* for messages: "hashicorp/random 3.7.2" */
    const char *program;            /* absolute path; a script, too (script.h) */
    const char *package;            /* the folder of its files, which it may read; or NULL */
    const char *folder;             /* in which a temporary folder is made (folder.h) */
    const char *const *environment; /* more of it, "NAME=value", then NULL; or NULL */
    bool allow_unconfined;          /* also where the kernel cannot guard files */
    int64_t max_memory;             /* bytes that the process may ask for; 0: no limit */
};

struct plugin_call {
    int64_t deadline; /* ms, monotonic; CLOCK_FOREVER: none */
    struct cancel *cancel;
    const struct permit *permit; /* asked before an apply is sent */
    const char *late_hint; /* what to do when a start or a read has no time left; NULL: as it is
                              when the deadline is that of the Spec */
};

/* Starts the process and waits until it can be called. Errors may quote what it printed, and so its
 * environment: the caller hides what is secret of that.
 * ERR_INVALID: it is no provider; ERR_UNSUPPORTED: of a protocol that we do not speak, or
 * ProviderNotConfined: the kernel cannot guard files; ERR_UNAVAILABLE, ERR_TIMEOUT,
 * ERR_CANCELLED. */
int plugin_start(const struct plugin_config *config, const struct plugin_call *call,
                 struct plugin **ret, struct error *error);
/* Asks the process to end, and kills it if it does not; at once if it is stuck. Accepts NULL. */
void plugin_free(struct plugin *plugin);
DEFINE_CLEANUP(struct plugin *, plugin_free)

int plugin_protocol(const struct plugin *plugin); /* 5 or 6 */
bool plugin_has_ended(struct plugin *plugin);
/* A call got no answer in its time, so it may be that none will: the process is not to be given to
 * anybody any more. */
bool plugin_is_stuck(const struct plugin *plugin);
int64_t plugin_memory(const struct plugin *plugin); /* as process_memory() */
/* Kills the process because of its memory: calls in flight fail with ProviderMemory. */
void plugin_kill_for_memory(struct plugin *plugin);

enum plugin_method {
    PLUGIN_GET_SCHEMA,
    PLUGIN_VALIDATE_PROVIDER,
    PLUGIN_CONFIGURE,
    PLUGIN_VALIDATE_RESOURCE,
    PLUGIN_UPGRADE_STATE,
    PLUGIN_READ,
    PLUGIN_IMPORT,
    PLUGIN_PLAN,
    PLUGIN_APPLY,
    PLUGIN_VALIDATE_DATA,
    PLUGIN_READ_DATA,
    PLUGIN_MOVE,
    PLUGIN_GET_IDENTITIES,
    PLUGIN_UPGRADE_IDENTITY,
};

/*
 * Calls a method and waits for its answer: request and *ret are of the types that the method's name
 * says (Tfplugin__PlanRequest, …). *ret: _cleanup_message_. *ret_delivery (may be NULL) is
 * set after an error, too. An apply is not cancelled once it was sent.
 *
 * Diagnostics of the provider are no error of the call. ERR_UNAVAILABLE: the process ended
 * (ProviderMemory: because it took too much memory);
 * ERR_TIMEOUT; ERR_TOO_LARGE; ERR_INTERNAL: an answer that is none; what the permit said. A hint of
 * the error says what to do.
 */
int plugin_call(struct plugin *plugin, enum plugin_method method, const ProtobufCMessage *request,
                const struct plugin_call *call, void *ret, enum grpc_delivery *ret_delivery,
                struct error *error);

/* A local that owns a message, of any type. */
static inline void message_free_p(void *message)
{
    protobuf_c_message_free_unpacked(*(ProtobufCMessage **)message, NULL);
}
#define _cleanup_message_ _cleanup_(message_free_p)
