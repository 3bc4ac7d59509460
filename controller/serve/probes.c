#include "controller/serve/probes.h"

#include "controller/serve/server.h"
#include "engine/base/str.h"

static unsigned answer(bool (*is_ok)(void *arg, struct buf *text), void *arg, struct buf *body)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    bool ok = !is_ok || is_ok(arg, &text);

    buf_add_str(body, ok ? "ok" : "not ok");
    if (text.length)
        buf_printf(body, ": %s", text.data);
    if (text.length || !ok)
        buf_add_str(body, "\n");
    return ok ? 200 : 503;
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
