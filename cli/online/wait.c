#include "cli/online/online.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"

#define TIME 300000 /* ms, without --timeout */

static int goal_of(const char *name, enum watch_goal *ret, struct error *error)
{
    static const struct {
        const char *name;
        enum watch_goal goal;
    } goals[] = {{"ready", WATCH_READY}, {"finished", WATCH_APPLIED}, {"approval", WATCH_APPROVAL}};

    for (size_t i = 0; i < ARRAY_SIZE(goals); i++)
        if (!name || str_equal(name, goals[i].name)) {
            *ret = goals[i].goal;
            return 0;
        }
    return err_set(error, ERR_INVALID, "InvalidOption",
                   "--for: \"%s\" is none of ready, finished, approval", name);
}

int run_wait(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL;
    struct watch_spec watch = {.target = &target};
    int r = goal_of(cli->options.for_what, &watch.goal, error);

    if (r == 0)
        r = spec_open(cli, &session, &target, &spec, error);
    if (r < 0)
        return r;
    watch.generation = object_int(spec, 0, "metadata", "generation", NULL);
    watch.timeout = cli->options.timeout ? cli->options.timeout : TIME;
    return watch_spec(&session, &watch, error);
}
