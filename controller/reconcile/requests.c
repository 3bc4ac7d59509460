#include "controller/reconcile/requests.h"

#include <pthread.h>
#include <string.h>

#include "controller/reconcile/api.h"
#include "engine/base/log.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/resource_version.h"

struct entry {
    char *namespace_name, *spec;
    struct request request;
    bool has_ended;
    struct entry *next;
};

struct requests {
    pthread_mutex_t lock;
    struct entry *first; /* newest first. There are few: people make them */
};

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

static void entry_free(struct entry *entry)
{
    free(entry->namespace_name);
    free(entry->spec);
    request_done(&entry->request);
    free(entry);
}

struct requests *requests_new(void)
{
    struct requests *requests = NEW(struct requests);

    pthread_mutex_init(&requests->lock, NULL);
    return requests;
}

void requests_free(struct requests *requests)
{
    if (!requests)
        return;
    for (struct entry *next, *entry = requests->first; entry; entry = next) {
        next = entry->next;
        entry_free(entry);
    }
    pthread_mutex_destroy(&requests->lock);
    free(requests);
}

/* ---- The table. With the lock. ---- */

static void drop(struct requests *requests, const char *namespace_name, const char *release)
{
    for (struct entry **at = &requests->first; *at;) {
        struct entry *entry = *at;

        if (str_equal(entry->namespace_name, namespace_name) &&
            str_equal(entry->request.release, release)) {
            *at = entry->next;
            entry_free(entry);
        } else {
            at = &entry->next;
        }
    }
}

static void insert(struct requests *requests, struct entry *entry)
{
    struct entry **at = &requests->first;

    while (*at && compare(&(*at)->request, &entry->request) > 0)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

/* The newest of the Spec that has not ended but the one with the uid. */
static const struct entry *find(const struct requests *requests, const struct spec_key *spec,
                                const char *but)
{
    for (const struct entry *entry = requests->first; entry; entry = entry->next)
        if (!entry->has_ended && str_equal(entry->namespace_name, spec->namespace_name) &&
            str_equal(entry->spec, spec->name) && !(but && str_equal(entry->request.uid, but)))
            return entry;
    return NULL;
}

static struct entry *find_uid(const struct requests *requests, const char *uid)
{
    struct entry *entry = requests->first;

    while (entry && !str_equal(entry->request.uid, uid))
        entry = entry->next;
    return entry;
}

/* ---- Its functions ---- */

void requests_add(struct requests *requests, const struct spec_key *spec,
                  const struct request *request)
{
    pthread_mutex_lock(&requests->lock);
    if (!find_uid(requests, request->uid)) {
        struct entry *entry = NEW(struct entry);

        drop(requests, spec->namespace_name, request->release); /* an earlier one of the name */
        entry->namespace_name = str_new(spec->namespace_name);
        entry->spec = str_new(spec->name);
        request_copy(&entry->request, request);
        insert(requests, entry);
    }
    pthread_mutex_unlock(&requests->lock);
}

void requests_end(struct requests *requests, const char *uid)
{
    struct entry *entry;

    pthread_mutex_lock(&requests->lock);
    entry = find_uid(requests, uid);
    if (entry)
        entry->has_ended = true;
    pthread_mutex_unlock(&requests->lock);
}

void requests_drop(struct requests *requests, const char *namespace_name, const char *release)
{
    pthread_mutex_lock(&requests->lock);
    drop(requests, namespace_name, release);
    pthread_mutex_unlock(&requests->lock);
}

char *requests_spec(struct requests *requests, const char *namespace_name, const char *release)
{
    char *spec = NULL;

    pthread_mutex_lock(&requests->lock);
    for (const struct entry *entry = requests->first; entry && !spec; entry = entry->next)
        if (str_equal(entry->namespace_name, namespace_name) &&
            str_equal(entry->request.release, release))
            spec = str_new(entry->spec);
    pthread_mutex_unlock(&requests->lock);
    return spec;
}

bool requests_other(struct requests *requests, const struct spec_key *spec, const char *uid,
                    struct request *ret)
{
    const struct entry *entry;

    pthread_mutex_lock(&requests->lock);
    entry = find(requests, spec, uid);
    if (entry)
        request_copy(ret, &entry->request);
    pthread_mutex_unlock(&requests->lock);
    return entry;
}

bool requests_find(struct requests *requests, const char *uid, struct request *ret)
{
    const struct entry *entry;

    pthread_mutex_lock(&requests->lock);
    entry = find_uid(requests, uid);
    if (entry)
        request_copy(ret, &entry->request);
    pthread_mutex_unlock(&requests->lock);
    return entry;
}

bool requests_newest(struct requests *requests, const struct spec_key *spec, struct request *ret)
{
    return requests_other(requests, spec, NULL, ret);
}

/* ---- Its Release ---- */

static bool says_already(const struct release *release, const struct request_report *report)
{
    return release->phase == report->phase &&
           value_int(value_get(release->status, "revision"), 0) == report->revision;
}

/* 1: it has ended, or is gone. */
static int write_report(const struct reconcile_context *context,
                        const struct release_subject *subject, const struct request *request,
                        const struct request_report *report, struct cancel *cancel,
                        struct error *error)
{
    const struct spec_key key = {subject->key.namespace_name, request->release};
    const struct release_report said = {
        .phase = report->phase, .verdict = report->verdict, .summary = report->summary};
    _cleanup_(release_free_p) struct release *release = NULL;
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r = kube_get(context->client, api_release_ref(&key, NULL), cancel, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return 1;
    if (r < 0)
        return err_copy(error, &problem);
    release = release_of(object);
    if (!release || !str_equal(value_get_string(release->metadata, "uid"), request->uid) ||
        release_phase_is_terminal(release->phase))
        return 1;
    if (says_already(release, report))
        return 0;
    release->revision = report->revision;
    r = release_write(context, subject, release, &said, error);
    return r < 0 ? r : release_phase_is_terminal(release->phase);
}

int request_write(const struct reconcile_context *context, const struct release_subject *subject,
                  const struct request *request, const struct request_report *report,
                  struct cancel *cancel, struct error *error)
{
    struct error problem = {0};
    int r = write_report(context, subject, request, report, cancel, &problem);

    if (r > 0 || r == ERR_TOO_LARGE)
        requests_end(context->requests, request->uid);
    if (r == ERR_TOO_LARGE) /* nothing waits for it */
        log_warn("a Release has no room for its status", "namespace", subject->key.namespace_name,
                 "release", request->release, "error", problem.message, NULL);
    if (r >= 0 || r == ERR_TOO_LARGE)
        return 0;
    err_wrap(&problem, "Release %s", request->release);
    return err_copy(error, &problem);
}
