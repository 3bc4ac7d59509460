/* Faults by rule, rights, and what was asked. */
#include <fnmatch.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/api_server/private.h"

#define PATIENCE 10 /* s */

/* ---- Which requests ---- */

static bool verb_is(const char *wanted, const char *verb, bool is_write)
{
    return !wanted || str_equal(wanted, verb) || (str_equal(wanted, "write") && is_write);
}

static bool matches(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text, 0) == 0;
}

/* An apply of what is not there asks for the right to create it, too. */
static bool is_create(const struct call *call)
{
    const struct route *route = &call->route;

    return str_equal(call->verb, "apply") && route->kind && route->name &&
           !api_storage_find(call->server, route->kind, route->namespace_name, route->name);
}

static bool is_meant(const struct api_rule *rule, const struct call *call)
{
    if (!verb_is(rule->verb, call->verb, call->is_write && call->is_dry_run == rule->dry_runs) &&
        !(str_equal(rule->verb, "create") && is_create(call)))
        return false;
    if (rule->dry_runs && !call->is_dry_run)
        return false;
    if (rule->user && !str_equal(rule->user, call->user ? call->user : ""))
        return false;
    return matches(rule->path, call->path) &&
           matches(rule->accept, call->accept ? call->accept : "");
}

struct rule *api_rules_apply(struct call *call)
{
    struct api_server *server = call->server;
    struct rule *taken = NULL;

    call->watch_epoch = server->watch_epoch;
    for (size_t i = 0; i < server->n_rules; i++) {
        struct rule *rule = server->rules[i];
        unsigned first = rule->rule.first ? rule->rule.first : 1;

        if (rule->is_released || !is_meant(&rule->rule, call))
            continue;
        rule->matched++;
        if (taken || rule->matched < first ||
            (rule->rule.times && rule->matched >= first + rule->rule.times))
            continue;
        taken = rule;
    }
    if (taken) {
        taken->hits++;
        pthread_cond_broadcast(&server->changed);
    }
    return taken;
}

/* ---- What was asked ---- */

void api_rules_note(struct call *call)
{
    struct api_server *server = call->server;
    const struct api_kind *kind = call->route.kind;
    struct entry *entry;

    server->entries = mem_grow(server->entries, server->n_entries, &server->entries_capacity,
                               sizeof(*server->entries));
    entry = &server->entries[server->n_entries++];
    *entry = (struct entry){
        .verb = str_new(call->verb),
        .path = str_new(call->target),
        .user = str_new(call->user),
        .what = str_printf("%s%s %s%s%s", call->verb, call->is_dry_run ? " dry" : "",
                           kind ? kind->plural : "?", call->route.subresource ? "/" : "",
                           call->route.subresource ? call->route.subresource : ""),
        .status = call->status,
    };
}

static bool is_counted(const struct call *call)
{
    const struct api_kind *kind = call->route.kind;

    return call->is_write && !call->is_dry_run && call->status >= 200 && call->status < 300 &&
           kind && !str_equal(kind->plural, "events") && !str_equal(kind->plural, "leases");
}

bool api_rules_count_write(struct call *call)
{
    struct api_server *server = call->server;

    if (!is_counted(call))
        return false;
    server->entries[server->n_entries - 1].is_write = true;
    server->n_writes++;
    if (server->writes_left == 0 || --server->writes_left > 0)
        return false;
    server->is_cut = true;
    pthread_cond_broadcast(&server->changed);
    return true;
}

static void entry_done(struct entry *entry)
{
    free(entry->verb);
    free(entry->path);
    free(entry->user);
    free(entry->what);
}

static void forget_entries(struct api_server *server)
{
    for (size_t i = 0; i < server->n_entries; i++)
        entry_done(&server->entries[i]);
    server->n_entries = 0;
}

void api_rules_done(struct api_server *server)
{
    forget_entries(server);
    free(server->entries);
    for (size_t i = 0; i < server->n_rules; i++)
        free(server->rules[i]);
    free(server->rules);
}

/* ---- For tests ---- */

unsigned api_server_rule(struct api_server *server, const struct api_rule *config)
{
    struct rule *rule = NEW(struct rule);
    unsigned number;

    rule->rule = *config;
    pthread_mutex_lock(&server->lock);
    server->rules = mem_grow(server->rules, server->n_rules, &server->api_rules_capacity,
                             sizeof(struct rule *));
    number = (unsigned)server->n_rules;
    server->rules[server->n_rules++] = rule;
    pthread_mutex_unlock(&server->lock);
    return number;
}

unsigned api_server_forbid(struct api_server *server, const char *user, const char *verb,
                           const char *path)
{
    return api_server_rule(
        server, &(struct api_rule){.verb = verb, .path = path, .user = user, .fault = API_FORBID});
}

unsigned api_server_hits(struct api_server *server, unsigned rule)
{
    unsigned hits;

    pthread_mutex_lock(&server->lock);
    hits = server->rules[rule]->hits;
    pthread_mutex_unlock(&server->lock);
    return hits;
}

bool api_server_wait_hits(struct api_server *server, unsigned rule, unsigned n)
{
    struct timespec until;
    bool is_reached;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&server->lock);
    while (server->rules[rule]->hits < n && r == 0)
        r = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    is_reached = server->rules[rule]->hits >= n;
    pthread_mutex_unlock(&server->lock);
    return is_reached;
}

void api_server_release(struct api_server *server, unsigned rule)
{
    pthread_mutex_lock(&server->lock);
    server->rules[rule]->is_released = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void api_server_on_write(struct api_server *server, void (*fn)(void *arg, unsigned n), void *arg)
{
    pthread_mutex_lock(&server->lock);
    server->on_write = fn;
    server->on_write_arg = arg;
    pthread_mutex_unlock(&server->lock);
}

void api_server_mark(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    forget_entries(server);
    server->n_writes = 0;
    pthread_mutex_unlock(&server->lock);
}

unsigned api_server_writes(struct api_server *server)
{
    unsigned n;

    pthread_mutex_lock(&server->lock);
    n = server->n_writes;
    pthread_mutex_unlock(&server->lock);
    return n;
}

char *api_server_write_summary(struct api_server *server)
{
    struct buf text = BUF_INIT;
    char **whats;
    size_t count = 0;

    pthread_mutex_lock(&server->lock);
    whats = NEW_ARRAY(char *, server->n_entries + 1);
    for (size_t i = 0; i < server->n_entries; i++)
        if (server->entries[i].is_write)
            whats[count++] = server->entries[i].what;
    qsort(whats, count, sizeof(char *), str_compare);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && str_equal(whats[i], whats[end]);)
            end++;
        buf_printf(&text, "%s%s", i ? ", " : "", whats[i]);
        if (end - i > 1)
            buf_printf(&text, " %zu", end - i);
    }
    pthread_mutex_unlock(&server->lock);
    free(whats);
    return buf_take(&text);
}

unsigned api_server_count(struct api_server *server, const char *verb, const char *path)
{
    unsigned n = 0;

    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];
        _cleanup_free_ char *its = str_new_n(entry->path, strcspn(entry->path, "?"));

        n += verb_is(verb, entry->verb, entry->is_write) && matches(path, its);
    }
    pthread_mutex_unlock(&server->lock);
    return n;
}

char *api_server_log(struct api_server *server)
{
    struct buf text = BUF_INIT;

    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->n_entries; i++) {
        const struct entry *entry = &server->entries[i];

        buf_printf(&text, "%s %s%s%s: %d\n", entry->verb, entry->path, entry->user ? " as " : "",
                   entry->user ? entry->user : "", entry->status);
    }
    pthread_mutex_unlock(&server->lock);
    return buf_take(&text);
}
