#include "controller/desk/requests.h"

#include <string.h>

#include "controller/desk/desk_private.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/resource_version.h"

void request_done(struct request *request)
{
    free(request->release);
    free(request->uid);
    free(request->created);
    free(request->version);
    *request = (struct request){0};
}

char *request_supersedes(const struct request *request)
{
    return str_printf("superseded by Release %s (%s)", request->release,
                      release_operation_name(request->operation));
}

static void request_copy(struct request *to, const struct request *from)
{
    *to = (struct request){.release = str_new(from->release),
                           .uid = str_new(from->uid),
                           .created = str_new(from->created),
                           .version = str_new(from->version),
                           .operation = from->operation,
                           .to_revision = from->to_revision,
                           .revision = from->revision};
}

/* Which was made later. Of those of one second: one that was accepted is older than one that was
 * not, since what had come by then was ended. */
static int compare(const struct request *a, const struct request *b)
{
    int by_second = strcmp(a->created, b->created);

    if (by_second)
        return by_second;
    if (a->revision && b->revision)
        return a->revision < b->revision ? -1 : a->revision > b->revision;
    if (a->revision || b->revision)
        return a->revision ? -1 : 1;
    return kube_compare_versions(a->version, b->version);
}

void asked_free(struct asked *asked)
{
    request_done(&asked->request);
    free(asked);
}

/* ---- With the lock ---- */

/* What the Release has asked for. Gives the Spec; NULL: nothing. */
static struct desk_entry *drop(struct desk_entry *release)
{
    struct desk_entry *spec = release ? TAKE(release->asks) : NULL;

    if (!spec)
        return NULL;
    for (struct asked **at = &spec->asked; *at;) {
        struct asked *asked = *at;

        if (!str_equal(asked->request.release, release->object.name)) {
            at = &asked->next;
            continue;
        }
        *at = asked->next;
        asked_free(asked);
    }
    return spec;
}

static void insert(struct desk_entry *spec, const struct request *request)
{
    struct asked **at = &spec->asked, *asked = NEW(struct asked);

    request_copy(&asked->request, request);
    while (*at && compare(&(*at)->request, request) > 0)
        at = &(*at)->next;
    asked->next = *at;
    *at = asked;
}

static struct asked *find_uid(const struct desk_entry *spec, const char *uid)
{
    struct asked *asked = spec ? spec->asked : NULL;

    while (asked && !str_equal(asked->request.uid, uid))
        asked = asked->next;
    return asked;
}

/* ---- For everybody ---- */

void desk_add_request(struct desk *desk, const struct spec_key *spec, const struct request *request)
{
    LOCKED(&desk->lock);
    const struct spec_key name = {spec->namespace_name, request->release};
    struct desk_entry *entry, *release, *before;

    entry = desk_get(desk, DESK_SPEC, spec);
    if (!find_uid(entry, request->uid)) {
        release = desk_get(desk, DESK_RELEASE, &name);
        before = drop(release); /* an earlier one of the name */
        release->asks = entry;
        insert(entry, request);
        desk_tidy(before);
    }
}

void desk_end_request(struct desk *desk, const struct spec_key *spec, const char *uid)
{
    LOCKED(&desk->lock);
    struct asked *asked = find_uid(desk_find(desk, DESK_SPEC, spec), uid);

    if (asked)
        asked->has_ended = true;
}

char *desk_drop_request(struct desk *desk, const struct spec_key *release)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry, *spec;
    char *name;

    entry = desk_find(desk, DESK_RELEASE, release);
    spec = drop(entry);
    name = spec ? str_new(spec->object.name) : NULL;
    desk_tidy(spec);
    desk_tidy(entry);
    return name;
}

bool desk_newest_request(struct desk *desk, const struct spec_key *spec, const char *but,
                         struct request *ret)
{
    LOCKED(&desk->lock);
    const struct asked *asked;
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    asked = entry ? entry->asked : NULL;
    while (asked && (asked->has_ended || (but && str_equal(asked->request.uid, but))))
        asked = asked->next;
    if (asked)
        request_copy(ret, &asked->request);
    return asked;
}

bool desk_find_request(struct desk *desk, const struct spec_key *spec, const char *uid,
                       struct request *ret)
{
    LOCKED(&desk->lock);
    const struct asked *asked = find_uid(desk_find(desk, DESK_SPEC, spec), uid);

    if (asked)
        request_copy(ret, &asked->request);
    return asked;
}
