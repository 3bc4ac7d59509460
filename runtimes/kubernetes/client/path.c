#include "runtimes/kubernetes/client/path.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/escape.h"

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
        escape_add(to, text, (size_t)(slash - text), '%', escape_is_unreserved);
        buf_add_str(to, "%252F");
        length -= (size_t)(slash + 1 - text);
        text = slash + 1;
    }
    escape_add(to, text, length, '%', escape_is_unreserved);
}

static void add_string(struct buf *to, const char *text)
{
    add_segment(to, text, strlen(text));
}

static void add_ref(struct buf *to, const struct kube_ref *ref)
{
    const char *group_version = ref->kind->group_version, *slash = strchr(group_version, '/');

    buf_add_str(to, slash ? "/apis" : "/api");
    if (slash) {
        add_segment(to, group_version, (size_t)(slash - group_version));
        add_string(to, slash + 1);
    } else {
        add_string(to, group_version);
    }
    if (ref->namespace_name) {
        buf_add_str(to, "/namespaces");
        add_string(to, ref->namespace_name);
    }
    if (ref->kind->plural)
        add_string(to, ref->kind->plural);
    if (ref->name)
        add_string(to, ref->name);
    if (ref->subresource)
        add_string(to, ref->subresource);
}

/* ---- The query ---- */

struct query {
    struct buf *to;
    char separator;
};

/* value NULL: it is not asked for. */
static void add_param(struct query *query, const char *key, const char *value)
{
    if (!value)
        return;
    buf_add_char(query->to, query->separator);
    query->separator = '&';
    buf_add_str(query->to, key);
    buf_add_char(query->to, '=');
    escape_url(query->to, value, false);
}

static void add_flag(struct query *query, const char *key, const char *value, bool is_set)
{
    add_param(query, key, is_set ? value : NULL);
}

static void add_number(struct query *query, const char *key, unsigned number)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", number);
    add_flag(query, key, text, number > 0);
}

char *kube_path(const struct kube_request *request)
{
    struct buf path = BUF_INIT;
    struct query query = {&path, '?'};
    bool is_watch = request->watch_seconds > 0;

    if (request->path)
        buf_add_str(&path, request->path);
    else
        add_ref(&path, &request->ref);
    add_param(&query, "fieldManager", request->field_manager);
    add_flag(&query, "fieldValidation", "Strict", request->strict);
    add_flag(&query, "force", "true", request->force);
    add_flag(&query, "dryRun", "All", request->dry_run);
    add_param(&query, "fieldSelector", request->selector.fields);
    add_param(&query, "labelSelector", request->selector.labels);
    add_number(&query, "limit", request->limit);
    add_param(&query, "continue", request->continue_token);
    add_flag(&query, "watch", "1", is_watch);
    add_flag(&query, "allowWatchBookmarks", "true", is_watch);
    add_param(&query, "resourceVersion", request->resource_version);
    add_number(&query, "timeoutSeconds", request->watch_seconds);
    return buf_take(&path);
}
