#include "controller/serve/probes.h"

#include "controller/serve/server.h"
#include "engine/base/str.h"

static unsigned answer(bool (*is_ok)(void *arg, struct buf *why_not), void *arg, struct buf *body)
{
    _cleanup_buf_ struct buf why_not = BUF_INIT;

    if (!is_ok || is_ok(arg, &why_not)) {
        buf_add_str(body, "ok");
        return 200;
    }
    buf_printf(body, "not ok%s%s\n", why_not.length ? ": " : "",
               why_not.length ? why_not.data : "");
    return 503;
}

unsigned probes_answer(void *arg, const char *path, struct buf *body)
{
    const struct probes *probes = arg;

    if (str_equal(path, "/healthz"))
        return answer(probes->is_alive, probes->arg, body);
    if (str_equal(path, "/readyz"))
        return answer(probes->is_ready, probes->arg, body);
    return server_not_found(body);
}
