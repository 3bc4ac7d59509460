#include "runtimes/kubernetes/client/path.h"

#include <string.h>

static void add_encoded(struct buf *to, const char *text, size_t length)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (size_t i = 0; i < length; i++) {
        if (text[i] && strchr(plain, text[i]))
            buf_add_char(to, text[i]);
        else
            buf_printf(to, "%%%02X", (unsigned char)text[i]);
    }
}

/*
 * One segment. What would be more or less than one segment for the server,
 * which decodes before it splits (a slash, a dot or two, nothing at all: the
 * path of the collection), is encoded twice: as a name that no object has.
 */
static void add_segment(struct buf *to, const char *text, size_t length)
{
    buf_add_char(to, '/');
    if (length == 0) {
        buf_add_str(to, "%25");
        return;
    }
    if ((length == 1 && text[0] == '.') || (length == 2 && memcmp(text, "..", 2) == 0)) {
        for (size_t i = 0; i < length; i++)
            buf_add_str(to, "%252E");
        return;
    }
    for (const char *slash; (slash = memchr(text, '/', length));) {
        add_encoded(to, text, (size_t)(slash - text));
        buf_add_str(to, "%252F");
        length -= (size_t)(slash + 1 - text);
        text = slash + 1;
    }
    add_encoded(to, text, length);
}

static void add_string(struct buf *to, const char *text)
{
    add_segment(to, text, strlen(text));
}

char *kube_path(const char *group_version, const char *namespace_name, const char *plural,
                const char *name, const char *subresource)
{
    _cleanup_buf_ struct buf path = BUF_INIT;
    const char *slash = strchr(group_version, '/');

    buf_add_str(&path, slash ? "/apis" : "/api");
    if (slash) {
        add_segment(&path, group_version, (size_t)(slash - group_version));
        add_string(&path, slash + 1);
    } else {
        add_string(&path, group_version);
    }
    if (namespace_name) {
        buf_add_str(&path, "/namespaces");
        add_string(&path, namespace_name);
    }
    if (plural)
        add_string(&path, plural);
    if (name)
        add_string(&path, name);
    if (subresource)
        add_string(&path, subresource);
    return buf_take(&path);
}

void kube_path_query(struct buf *path, const char *key, const char *value)
{
    buf_add_char(path, strchr(path->data, '?') ? '&' : '?');
    add_encoded(path, key, strlen(key));
    buf_add_char(path, '=');
    add_encoded(path, value, strlen(value));
}
