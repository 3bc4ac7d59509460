/*
 * A process of the tests' KMS plugin (test/kms), which hack/kms-plugin builds. Without it the tests
 * that want one are left out, and say so.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct kms_plugin {
    char *folder, *socket, *switches;
    pid_t process; /* 0: none */
};

bool kms_plugin_is_there(void);
void kms_plugin_init(struct kms_plugin *plugin);
void kms_plugin_done(struct kms_plugin *plugin);
/* kind: "v1", "raw"; NULL: a plugin. Waits until it listens. */
void kms_plugin_start(struct kms_plugin *plugin, const char *kind);
void kms_plugin_stop(struct kms_plugin *plugin);
/* What each call finds from now on: test/kms/main.go. */
void kms_plugin_switch(struct kms_plugin *plugin, const char *words);
/* How many calls have begun whose line begins so: "Status", "Decrypt key-1". */
unsigned kms_plugin_calls(const struct kms_plugin *plugin, const char *call);
