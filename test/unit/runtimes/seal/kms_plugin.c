#include "test/unit/runtimes/seal/kms_plugin.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"

#define PROGRAM "build/kms-plugin"

static bool build(void)
{
    int status = -1;
    pid_t script = fork();

    if (script == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("hack/kms-plugin", "hack/kms-plugin", NULL);
        _exit(127);
    }
    waitpid(script, &status, 0);
    return status == 0;
}

bool kms_plugin_is_there(void)
{
    static int is_there = -1;

    if (is_there < 0) {
        is_there = build();
        if (!is_there)
            fprintf(stderr, "left out: there is no KMS plugin (hack/kms-plugin)\n");
    }
    return is_there;
}

void kms_plugin_init(struct kms_plugin *plugin)
{
    *plugin = (struct kms_plugin){.folder = str_new("/tmp/test-kms-XXXXXX")};
    if (!mkdtemp(plugin->folder))
        abort();
    plugin->socket = str_printf("%s/kms.sock", plugin->folder);
    plugin->switches = str_printf("%s/switches", plugin->folder);
}

void kms_plugin_done(struct kms_plugin *plugin)
{
    _cleanup_free_ char *calls = str_printf("%s.calls", plugin->switches);

    kms_plugin_stop(plugin);
    unlink(plugin->socket);
    unlink(plugin->switches);
    unlink(calls);
    rmdir(plugin->folder);
    free(plugin->folder);
    free(plugin->socket);
    free(plugin->switches);
}

static bool listens(const struct kms_plugin *plugin)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there;

    str_copy(address.sun_path, sizeof(address.sun_path), plugin->socket);
    is_there = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return is_there;
}

void kms_plugin_start(struct kms_plugin *plugin, const char *kind)
{
    unlink(plugin->socket);
    plugin->process = fork();
    if (plugin->process == 0) {
        execl(PROGRAM, PROGRAM, plugin->socket, plugin->switches, kind, NULL);
        _exit(127);
    }
    while (!listens(plugin)) {
        if (waitpid(plugin->process, NULL, WNOHANG) != 0)
            abort(); /* it has ended */
        usleep(5000);
    }
}

void kms_plugin_stop(struct kms_plugin *plugin)
{
    if (!plugin->process)
        return;
    kill(plugin->process, SIGKILL);
    waitpid(plugin->process, NULL, 0);
    plugin->process = 0;
}

void kms_plugin_switch(struct kms_plugin *plugin, const char *words)
{
    _cleanup_free_ char *new = str_printf("%s.new", plugin->switches);
    FILE *file = fopen(new, "we");

    if (!file || fputs(words, file) < 0 || fclose(file) != 0 || rename(new, plugin->switches) < 0)
        abort();
}

unsigned kms_plugin_calls(const struct kms_plugin *plugin, const char *call)
{
    _cleanup_free_ char *path = str_printf("%s.calls", plugin->switches);
    FILE *file = fopen(path, "re");
    unsigned count = 0;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        count += str_has_prefix(line, call);
    if (file)
        fclose(file);
    return count;
}
