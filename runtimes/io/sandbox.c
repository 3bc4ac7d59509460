#include <errno.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "runtimes/io/sandbox_private.h"

struct sandbox {
    int rules; /* of files; -1: none */
    struct call_filter calls;
};

static const char *why_none(int code)
{
    switch (code) {
    case ENOSYS:
        return "the kernel has no Landlock (Linux 5.13), or the container's seccomp profile does "
               "not allow it";
    case EOPNOTSUPP:
        return "Landlock is not among the kernel's security modules (its parameter lsm=)";
    case EPERM:
        return "the container's seccomp profile does not allow Landlock";
    default:
        return "the kernel refuses to use Landlock";
    }
}

bool sandbox_guards_files(const char **ret_why)
{
    bool guards = landlock_version() > 0;

    if (!guards && ret_why)
        *ret_why = why_none(errno);
    return guards;
}

int sandbox_new_for(const struct sandbox_config *config, int version, struct sandbox **ret,
                    struct error *error)
{
    struct sandbox *sandbox;
    int rules = -1, r = 0;

    if (version > 0)
        r = landlock_rules(config, version, &rules, error);
    if (r < 0)
        return r;
    sandbox = NEW(struct sandbox);
    sandbox->rules = rules;
    call_filter_make(version, &sandbox->calls);
    *ret = sandbox;
    return 0;
}

int sandbox_new(const struct sandbox_config *config, struct sandbox **ret, struct error *error)
{
    const char *why;

    if (!sandbox_guards_files(&why) && !config->without_files)
        return err_set(error, ERR_UNSUPPORTED, NULL, "%s", why);
    return sandbox_new_for(config, landlock_version(), ret, error);
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->rules >= 0)
        close(sandbox->rules);
    free(sandbox);
}

const char *sandbox_enter(const struct sandbox *sandbox)
{
    if (sandbox->rules >= 0 && landlock_enter(sandbox->rules) < 0)
        return "Landlock";
    return call_filter_enter(&sandbox->calls) < 0 ? "seccomp" : NULL;
}
